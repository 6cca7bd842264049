#!/usr/bin/env bash
# Builds all libFuzzer targets and runs each for SECONDS, two at a time. A target starts from the
# seeds in tests/fuzz/<name>/. New inputs are kept in BUILD_DIR/corpus, and inputs that crash the
# target in BUILD_DIR/crashes. The exit status is not 0 if a target fails. An input may take a minute,
# because libFuzzer measures by the clock and other programs may keep the processors busy.
# Usage: tools/fuzz.sh BUILD_DIR SECONDS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=$1
seconds=$2

cmake --preset fuzz -B "$dir"
cmake --build "$dir" --target fuzzers -j "$(nproc)"
mkdir -p "$dir/crashes"

run_one() {
  local target=$1 name
  name=$(basename "$target" _fuzz)
  local seeds=()
  mkdir -p "$dir/corpus/$name"
  [ -d "tests/fuzz/$name" ] && seeds=("tests/fuzz/$name")
  if "$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 -verbosity=0 \
      -print_final_stats=1 -artifact_prefix="$dir/crashes/$name-" \
      "$dir/corpus/$name" "${seeds[@]}" >"$dir/$name.log" 2>&1; then
    echo "fuzz: $name: $(awk '/number_of_executed_units/ {print $2}' "$dir/$name.log") inputs," \
      "no failure within $seconds s"
  else
    tail -n 40 "$dir/$name.log" >&2
    echo "fuzz: $name FAILED; the input is in $dir/crashes" >&2
    return 1
  fi
}
export -f run_one
export dir seconds

find "$dir/fuzzers" -name '*_fuzz' -type f | sort | xargs -r -P 2 -I{} bash -c 'run_one {}'
