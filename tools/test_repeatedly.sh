#!/usr/bin/env bash
# Runs `make test` five times. During the last three runs, two busy loops also use the processors.
# Prints one line per run. Stops at the first run that fails. The outputs are in build/repeated/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
logs=build/repeated
mkdir -p "$logs"

loops=()
trap '[ ${#loops[@]} -eq 0 ] || kill "${loops[@]}"' EXIT
for run in 1 2 3 4 5; do
  load=""
  if [ "$run" -ge 3 ]; then
    load=" beside two busy loops"
    if [ ${#loops[@]} -eq 0 ]; then
      for _ in 1 2; do
        while :; do :; done &
        loops+=($!)
      done
    fi
  fi
  begin=$SECONDS
  if ! make test >"$logs/run$run.log" 2>&1; then
    echo "run $run$load FAILED: see $logs/run$run.log"
    exit 1
  fi
  echo "run $run$load: $(tail -n 1 "$logs/run$run.log"), $(((SECONDS - begin) / 60)) min"
done
