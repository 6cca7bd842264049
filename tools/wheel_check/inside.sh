#!/usr/bin/env bash
# Installs and tries a wheel. check.sh runs this script inside a clean root folder. The current
# folder must contain packages/ and examples/.
# Usage: inside.sh VENV_FLAGS
set -euo pipefail
! command -v cc gcc g++ clang cmake esbuild >/dev/null || { echo "this root has a compiler" >&2; exit 1; }
# shellcheck disable=SC2086
python3 -m venv $1 venv
export PATH=$PWD/venv/bin:$PATH OMP_NUM_THREADS=1 JAX_PLATFORMS=cpu

# Prints the name of a step, and how long the step before took.
step() {
  [ -z "${name:-}" ] || printf '  %5d s  %s\n' $((SECONDS - begin)) "$name" >&2
  name=$1 begin=$SECONDS
}

step "install the wheel and the frameworks"
packages=(packages/weft-*.whl jax)
[ -z "$(ls packages/torch-*.whl 2>/dev/null)" ] || packages+=(packages/torch-*.whl)
pip install -q --disable-pip-version-check --no-index --find-links packages "${packages[@]}"
step "the command"
weft --version
weft diagnose examples/resnet50-w4 | head -n 3
step "record a job of two ranks"
weft record -o traces -- bash ranks.sh 29517 python job.py
# The hook and the probe of the wheel wrote these files.
ls traces/r0.kineto.json.gz traces/r1.kineto.json.gz traces/*.wire.weftlog
step "predict"
weft info traces | head -n 2
weft replay traces --what-if network.bandwidth=2x | grep predicted
step "report"
weft report traces -o report.html
test -s report.html
python -c 'import weft; print(weft.load("traces").replay("comm=off").predicted_step_ms > 0)' | grep True
step "redistribute on two ranks of PyTorch"
bash ranks.sh 29518 python redistribute.py
step "redistribute on two processes of JAX"
bash ranks.sh 29519 python redistribute_jax.py
step "parts for MPI: a clear sentence without a compiler"
status=0
python -m weft.build_mpi 2>mpi.txt || status=$?
[ $status -eq 4 ] && grep -q "no 'mpicc' on the PATH" mpi.txt
step ""
