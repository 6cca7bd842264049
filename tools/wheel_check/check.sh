#!/usr/bin/env bash
# Checks that the wheels work on a machine on which Weft was never built. Clean root folders of
# Debian 12 and 13 serve as such machines. They are made from Debian's packages and contain no
# compiler.
# In each root folder, an ordinary user does this:
#   install the wheel offline, diagnose the example, record a job of two ranks, predict, write a
#   report, and redistribute an array between two ranks
# Debian 12 runs PyTorch from PyPI, and Debian 13 runs Debian's own PyTorch package.
# The root folders are kept in BUILD_DIR and used again. This script must run as root.
# Usage: tools/wheel_check/check.sh DIST_DIR BUILD_DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dist=$1
build=$2
[ "$(id -u)" -eq 0 ] || { echo "check_wheel: needs root, to make clean roots" >&2; exit 4; }

mirror=$(apt-cache policy base-files | awk '$1 == "500" && $2 ~ /^https?:/ {print $2; exit}')
mkdir -p "$build/packages-bookworm" "$build/packages-trixie"

make_root() {
  local suite=$1
  shift
  local root=$build/root-$suite
  [ ! -e "$root/.complete" ] || return 0
  echo "check_wheel: making a clean root of Debian $suite" >&2
  rm -rf "$root"
  mmdebstrap --quiet --variant=apt --include="$*" "$suite" "$root" "deb $mirror $suite main"
  chroot "$root" useradd --create-home user
  touch "$root/.complete"
}

# Downloads the packages that the test job needs. This is done outside of the root folder, because
# the root folder has no network settings.
fetch_torch() {
  [ -z "$(ls "$build/packages-bookworm")" ] || return 0
  /usr/bin/python3 -m venv "$build/venv"
  "$build/venv/bin/python" -m pip download -q --disable-pip-version-check -d "$build/packages-bookworm" \
    "torch==2.13.0" "numpy<3"
}

check() {
  local suite=$1 wheel=$2 root=$build/root-$1 venv_flags=$3
  local home=$root/home/user
  rm -rf "$home/weft"
  mkdir -p "$home/weft/packages"
  cp "$wheel" "$home/weft/packages/"
  cp "$build/packages-$suite"/* "$home/weft/packages/" 2>/dev/null || true
  cp -r examples "$home/weft/"
  cp tools/wheel_check/{inside.sh,ranks.sh,job.py,redistribute.py} "$home/weft/"
  chroot "$root" chown -R user:user /home/user/weft
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  mountpoint -q "$root/dev/shm" || { mkdir -p "$root/dev/shm"; mount -t tmpfs shm "$root/dev/shm"; }
  local status=0
  chroot "$root" su user -c "cd ~/weft && bash inside.sh '$venv_flags'" || status=$?
  umount "$root/proc" "$root/dev/shm"
  [ $status -eq 0 ] || { echo "check_wheel: Debian $suite FAILED" >&2; exit 1; }
  echo "check_wheel: Debian $suite: the wheel works"
}

make_root bookworm python3 python3-venv
fetch_torch
check bookworm "$(ls "$dist"/weft-*-cp311-*.whl)" ""
make_root trixie python3 python3-venv python3-torch python3-numpy
check trixie "$(ls "$dist"/weft-*-abi3-*.whl)" --system-site-packages
