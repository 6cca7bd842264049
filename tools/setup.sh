#!/usr/bin/env bash
# Installs the packages that Weft needs on Debian 12 and that are not installed yet:
#   build  the packages for the build
#   test   the packages for the build and for the tests
#   wheel  the packages for the build, for `make wheel` and for `make check-wheel`
# apt runs as root or through sudo. PyPI packages go into .venv of the repository. The frameworks
# whose jobs are recorded go into .venvs.
# Usage: tools/setup.sh build|test|wheel
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(
  build-essential cmake ninja-build pkg-config ccache python3
  libtbb-dev libfmt-dev libcli11-dev libexpected-dev libisal-dev robin-map-dev zlib1g-dev
  libsqlite3-dev libprotozero-dev libzstd-dev esbuild
)
test_packages=(
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
  clang-19 libclang-rt-19-dev clang-format-14 python3-venv python3-dev
  node-typescript chromium protobuf-compiler sqlite3 zsh fish man-db
  iproute2 iputils-ping libfaketime openmpi-bin libopenmpi-dev util-linux procps
)

packages=("${build_packages[@]}")
case "${1:-}" in
  build) ;;
  test) packages+=("${test_packages[@]}") ;;
  wheel) packages+=(python3-venv python3-dev mmdebstrap) ;;
  *) echo "usage: tools/setup.sh build|test|wheel" >&2; exit 2 ;;
esac

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
else
  echo "setup: this is no Debian machine; provide these yourself: ${packages[*]}" >&2
fi

if [ "${#missing[@]}" -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: not root and no sudo; as root, run: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}" >&2
  "${as_root[@]}" apt-get update -qq
  # Use env, because sudo does not pass on the environment variables of its caller.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

[ "$1" = test ] || exit 0

# Prefer the Python of the distribution, because python3-dev belongs to it. The first python3 on the
# PATH may be another version, which a version manager such as pyenv has put there.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
stamp=.venv/.installed-$(cksum <tools/requirements.txt | cut -d' ' -f1)
if [ ! -e "$stamp" ]; then
  [ -x .venv/bin/python ] || "$python" -m venv .venv
  echo "setup: installing tools/requirements.txt into .venv" >&2
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tools/requirements.txt
  rm -f .venv/.installed-*
  touch "$stamp"
fi

tools/frameworks.sh torch tensorflow jax mxnet
