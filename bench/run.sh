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

# Every table is printed, also behind a bar that fails; the status tells at the end.
failed=0
run() {
  title "$1"
  local status=0
  "${@:2}" || status=$?
  # 4: something it needs is not here, which it says itself.
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
run "redistribution of DTensors against DTensor's own" \
  .venv/bin/python bench/reshard_torch.py --local 16 --repeats 3
run "schedules of pipelines against CP-SAT" \
  .venv/bin/python bench/pipeline_schedules.py "$dir/bin/weft" --venv "$dir/ortools-venv"
run "plans of pipelines run by PyTorch, on hosts with unequal links" \
  .venv/bin/python bench/pipeline_torch.py "$dir/bin/weft" --repeats 5
exit $failed
