#!/usr/bin/env bash
# Runs every benchmark and prints its figures. Recordings that are not part of the repository are
# looked for in ../shared; what is not there is named and left out.
# Usage: bench/run.sh BUILD_DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=$1
shared=../shared/traces
large=${WEFT_LARGE_MB:-2000}

title() { printf '\n== %s\n' "$1"; }

title "reading (one core)"
"$dir/bench/read_bench" examples/resnet50-w4/resnet50-w4-r0.json.gz
resolver=$shared/facebookresearch_HolisticTraceAnalysis/df_index_resolver/df_index_resolver.json.gz
if [ -e "$resolver" ]; then
  "$dir/bench/read_bench" "$resolver"
else
  echo "left out: df_index_resolver (54 MB) is not in $shared"
fi

title "reading a made file of $large MB, plain and gzip"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
.venv/bin/python bench/make_large_trace.py examples/resnet50-w4/resnet50-w4-r0.json.gz \
  "$scratch/large.json" "$large"
"$dir/bench/read_bench" "$scratch/large.json"
gzip -1 "$scratch/large.json"
"$dir/bench/read_bench" "$scratch/large.json.gz"

for program in align_bench replay_bench accuracy; do
  title "$program"
  # 4: the recordings it needs are not there, which it says itself.
  "$dir/bench/$program" || [ $? -eq 4 ]
done
