#!/usr/bin/env bash
# Makes one environment a framework under .venvs: what the jobs of the testbed and the tests of
# `weft record` run in. Kept between runs; made anew where the list of its packages changed. A
# framework that cannot be installed is named and left out, and the tests that need it are skipped.
# Usage: tools/frameworks.sh NAME...   (torch, tensorflow, jax, mxnet)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The CPU builds, each pinned: what a profiler writes changes between versions.
packages_of() {
  case "$1" in
    torch) echo "torch==2.13.0 numpy<3" ;;
    tensorflow) echo "tensorflow-cpu==2.21.0" ;;
    jax) echo "jax==0.10.2" ;;
    # MXNet is no longer kept up: it needs the NumPy of its time, and Python up to 3.11.
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
  packages_of "$name" >/dev/null || { echo "frameworks: no framework '$name'" >&2; exit 2; }
done
failed=()
for name in "$@"; do
  install "$name" || failed+=("$name")
done
if [ "${#failed[@]}" -gt 0 ]; then
  echo "frameworks: cannot be installed here: ${failed[*]}; what needs them is skipped" >&2
fi
