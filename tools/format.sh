#!/usr/bin/env bash
# Formats all C, C++ and CUDA sources that git does not ignore. With --check it changes nothing: it
# names the files that are not formatted, and fails if there are any.
# Usage: tools/format.sh [--check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.c' '*.cc' '*.cu' '*.cuh' |
  while read -r f; do [ -e "$f" ] && echo "$f"; done)
[ "${#files[@]}" -gt 0 ] || exit 0
if [ "${1:-}" = --check ]; then
  if ! clang-format-14 --dry-run -Werror "${files[@]}" 2>/tmp/weft-format.$$; then
    grep -oE '^[^:]+\.(h|c|cc|cu|cuh)' /tmp/weft-format.$$ | sort -u |
      sed 's/$/: not formatted; run make format/' >&2
    rm -f /tmp/weft-format.$$
    exit 1
  fi
  rm -f /tmp/weft-format.$$
  if git grep -nE '^(<<<<<<<|>>>>>>>) '; then
    echo "format: remove these conflict markers of a merge" >&2
    exit 1
  fi
  echo "format: ${#files[@]} files are formatted"
else
  clang-format-14 -i "${files[@]}"
fi
