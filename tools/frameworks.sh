#!/usr/bin/env bash
# Makes one virtual environment per framework under .venvs. The jobs of the testbed and the tests of
# `weft record` run in them. An environment is kept between runs and updated if its list of packages
# changes. A framework that cannot be installed is named, and the tests that need it are skipped.
# Usage: tools/frameworks.sh NAME...   (torch, tensorflow, jax, mxnet)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# CPU builds with pinned versions, because the output of profilers changes between versions.
packages_of() {
  case "$1" in
    torch) echo "torch==2.13.0 numpy<3" ;;
    tensorflow) echo "tensorflow-cpu==2.21.0" ;;
    jax) echo "jax==0.10.2" ;;
    # MXNet is no longer maintained: it needs an old NumPy, and Python 3.11 or older.
    mxnet) echo "mxnet==1.9.1 numpy<1.24" ;;
    *) return 1 ;;
  esac
}

python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)

install() {
  local name=$1 packages
  read -r -a packages <<<"$(packages_of "$name")"
  local folder=.venvs/$name
  # The name of the stamp file contains the checksum of the package list. So a changed list is
  # installed again.
  local stamp
  stamp=$folder/.installed-$(printf '%s\n' "${packages[@]}" | cksum | cut -d' ' -f1)
  [ -e "$stamp" ] && return 0
  echo "frameworks: installing ${packages[*]} into $folder" >&2
  mkdir -p .venvs
  [ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
  local pip=("$folder/bin/python" -m pip install -qq --disable-pip-version-check)
  "${pip[@]}" "${packages[@]}" || return 1
  rm -f "$folder"/.installed-*
  touch "$stamp"
}

[ "$#" -gt 0 ] || { echo "usage: tools/frameworks.sh torch|tensorflow|jax|mxnet ..." >&2; exit 2; }
for name in "$@"; do
  packages_of "$name" >/dev/null || { echo "frameworks: unknown framework '$name'; use torch, tensorflow, jax or mxnet" >&2; exit 2; }
done
failed=()
for name in "$@"; do
  install "$name" || failed+=("$name")
done
if [ "${#failed[@]}" -gt 0 ]; then
  echo "frameworks: cannot install ${failed[*]}; tests that need them are skipped" >&2
fi
