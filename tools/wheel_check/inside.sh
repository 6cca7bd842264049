#!/usr/bin/env bash
# Installs and tries a wheel. check.sh runs this script inside a clean root folder. The current
# folder must contain packages/ and examples/.
# Usage: inside.sh VENV_FLAGS
set -euo pipefail
! command -v cc gcc g++ cmake >/dev/null || { echo "this root has a compiler" >&2; exit 1; }
# shellcheck disable=SC2086
python3 -m venv $1 venv
export PATH=$PWD/venv/bin:$PATH
packages=(packages/weft-*.whl)
[ -z "$(ls packages/torch-*.whl 2>/dev/null)" ] || packages+=(packages/torch-*.whl)
pip install -q --no-index --find-links packages "${packages[@]}"

step() { echo "  $1" >&2; }
step "the command"
weft --version
weft diagnose examples/resnet50-w4 | head -n 3
step "record a job of two ranks"
export OMP_NUM_THREADS=1
weft record -o traces -- bash ranks.sh 29517 python job.py
step "predict"
weft info traces | head -n 2
weft replay traces --what-if network.bandwidth=2x | grep predicted
step "report"
weft report traces -o report.html
test -s report.html
python -c 'import weft; print(weft.load("traces").replay("comm=off").predicted_step_ms > 0)' | grep True
step "redistribute on two ranks"
bash ranks.sh 29518 python redistribute.py
step "parts for MPI: a clear sentence without a compiler"
status=0
python -m weft.build_mpi 2>mpi.txt || status=$?
[ $status -eq 4 ] && grep -q "no 'mpicc' on the PATH" mpi.txt
