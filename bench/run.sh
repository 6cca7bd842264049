#!/usr/bin/env bash
# Runs every benchmark and prints its measurements. Recordings that are not part of the repository
# are expected in ../shared/traces; a benchmark without its recordings says so and is skipped.
# WEFT_LARGE_MB sets the size of the generated trace (default: 2000).
# Usage: bench/run.sh BUILD_DIR
# Exit status 1 if a benchmark fails or misses its bar.
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
  echo "skipped: df_index_resolver (54 MB) is not in $shared"
fi

title "reading a generated file of $large MB, plain and gzip"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
.venv/bin/python bench/make_large_trace.py examples/resnet50-w4/resnet50-w4-r0.json.gz \
  "$scratch/large.json" "$large"
"$dir/bench/read_bench" "$scratch/large.json"
gzip -1 "$scratch/large.json"
"$dir/bench/read_bench" "$scratch/large.json.gz"

# A missed bar does not stop the later benchmarks: all tables are printed, and the exit status at
# the end says whether a bar was missed.
failed=0
run() {
  title "$1"
  local status=0
  "${@:2}" || status=$?
  # Status 4: a benchmark lacks a recording or a program, and has already printed what it lacks.
  if [ $status -ne 0 ] && [ $status -ne 4 ]; then failed=1; fi
}
for program in align_bench replay_bench recorded_replay_bench accuracy pipeline_planning pipeline_replanning pipeline_tight; do
  run "$program" "$dir/bench/$program"
done
run "a job of a thousand ranks" "$dir/bench/thousand_ranks" "$dir/bin/weft"
run "the whole import against HTA and Python's json" \
  .venv/bin/python bench/compare_hta.py "$dir/bench/import_bench" --venv "$dir/hta-venv"
run "diagnose and report as whole commands, against HTA's import" \
  .venv/bin/python bench/commands.py "$dir/bin/weft" --venv "$dir/hta-venv"
run "a report with a million spans" .venv/bin/python bench/report_timeline.py "$dir/bin/weft"
run "redistribution over MPI against MPI_Alltoallw" bench/reshard_mpi.sh "$dir"
run "redistribution of DTensors, Weft against PyTorch" \
  .venv/bin/python bench/reshard_torch.py --local 16 --repeats 3
run "schedules of pipelines against CP-SAT" \
  .venv/bin/python bench/pipeline_schedules.py "$dir/bin/weft" --venv "$dir/ortools-venv"
run "plans of pipelines run by PyTorch, on hosts with unequal links" \
  .venv/bin/python bench/pipeline_torch.py "$dir/bin/weft" --repeats 5
exit $failed
