#!/usr/bin/env bash
# Checks that the wheels work on a machine on which Weft was never built. Clean root folders of
# Debian 12 and 13 serve as such machines. They are made from Debian's packages and contain no
# compiler.
# In each root folder, an ordinary user does this:
#   install the wheel offline, diagnose the example, record a job of two ranks, predict, write a
#   report, and redistribute an array between two ranks with weft.torch and with weft.jax
# Debian 12 runs PyTorch from PyPI, and Debian 13 runs Debian's own PyTorch package. Both run JAX
# from PyPI.
# The root folders and the downloaded packages are kept in BUILD_DIR and used again. This script must
# run as root.
# Usage: tools/wheel_check/check.sh DIST_DIR BUILD_DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dist=$1
build=$2
[ "$(id -u)" -eq 0 ] || { echo "check_wheel: needs root, to make clean roots" >&2; exit 4; }

mirror=$(apt-cache policy base-files | awk '$1 == "500" && $2 ~ /^https?:/ {print $2; exit}')
[ -n "$mirror" ] || { echo "check_wheel: apt knows no mirror; run apt-get update" >&2; exit 4; }
mkdir -p "$build"

make_root() {
  local suite=$1
  shift
  local root=$build/root-$suite
  [ ! -e "$root/.complete" ] || return 0
  echo "check_wheel: making a clean root of Debian $suite" >&2
  rm -rf "$root"
  mmdebstrap --quiet --variant=apt --include="$*" "$suite" "$root" "deb $mirror $suite main"
  chroot "$root" useradd --create-home user
  # JAX asks for the address of this machine's name.
  echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
  touch "$root/.complete"
}

# Downloads the packages that the test jobs need, for one version of Python. This is done outside of
# the root folder, because the root folder has no network settings.
fetch_packages() {
  local suite=$1 python=$2
  shift 2
  local folder=$build/packages-$suite stamp
  stamp=$folder/.complete-$(printf '%s\n' "$@" | cksum | cut -d' ' -f1)
  [ ! -e "$stamp" ] || return 0
  echo "check_wheel: downloading $* for Python $python" >&2
  rm -rf "$folder"
  [ -x "$build/venv/bin/python" ] || /usr/bin/python3 -m venv "$build/venv"
  "$build/venv/bin/python" -m pip download -q --disable-pip-version-check -d "$folder" \
    --python-version "$python" --only-binary=:all: "$@"
  touch "$stamp"
}

# Runs a command in a root folder. The mounts and all processes that the command starts exist only in
# namespaces of their own, so nothing is left behind when the command ends.
in_root() {
  local root=$1
  shift
  mkdir -p "$root/dev/shm"
  # shellcheck disable=SC2016
  unshare --mount --pid --ipc --kill-child bash -ec '
    mount -t proc proc "$0/proc"
    mount -t tmpfs shm "$0/dev/shm"
    exec chroot "$0" "$@"' "$root" "$@"
}

check() {
  local suite=$1 python_tag=$2 venv_flags=$3 root=$build/root-$1
  local home=$root/home/user
  local wheels=("$dist"/weft-*-"$python_tag"-*.whl)
  if [ "${#wheels[@]}" -ne 1 ] || [ ! -e "${wheels[0]}" ]; then
    echo "check_wheel: need exactly one wheel for $python_tag in $dist, found: ${wheels[*]}" >&2
    exit 1
  fi
  echo "check_wheel: Debian $suite: ${wheels[0]##*/}" >&2
  rm -rf "$home/weft"
  mkdir -p "$home/weft/packages"
  cp "${wheels[0]}" "$build/packages-$suite"/*.whl "$home/weft/packages/"
  cp -r examples "$home/weft/"
  cp tools/wheel_check/{inside.sh,ranks.sh,job.py,redistribute.py,redistribute_jax.py} "$home/weft/"
  chroot "$root" chown -R user:user /home/user/weft
  in_root "$root" su --login user -c "cd weft && bash inside.sh '$venv_flags'" ||
    { echo "check_wheel: Debian $suite FAILED" >&2; exit 1; }
  echo "check_wheel: Debian $suite: the wheel works"
}

make_root bookworm python3 python3-venv
make_root trixie python3 python3-venv python3-torch python3-numpy
fetch_packages bookworm 3.11 "torch==2.13.0" "jax==0.10.2" "numpy<3"
# Debian's PyTorch is compiled for Debian's NumPy 2.2, and JAX works with it, too.
fetch_packages trixie 3.13 "jax==0.10.2" "numpy==2.2.*"
check bookworm cp311 ""
check trixie abi3 --system-site-packages
