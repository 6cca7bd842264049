#!/usr/bin/env bash
# Formats the C and C++ sources that git knows, or with --check fails and names those that differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.c' '*.cc' '*.cu' '*.cuh' |
  while read -r f; do [ -e "$f" ] && echo "$f"; done)
[ "${#files[@]}" -gt 0 ] || exit 0
if [ "${1:-}" = --check ]; then
  if ! clang-format-14 --dry-run -Werror "${files[@]}" 2>/tmp/weft-format.$$; then
    grep -oE '^[^:]+\.(h|c|cc|cu|cuh)' /tmp/weft-format.$$ | sort -u |
      sed 's/$/: not in the house style; run make format/' >&2
    rm -f /tmp/weft-format.$$
    exit 1
  fi
  rm -f /tmp/weft-format.$$
  if git grep -nE '^(<<<<<<<|>>>>>>>) '; then
    echo "format: these lines are left over from a merge" >&2
    exit 1
  fi
  echo "format: ${#files[@]} files are in the house style"
else
  clang-format-14 -i "${files[@]}"
fi
