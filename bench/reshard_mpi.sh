#!/usr/bin/env bash
# Weft over MPI against MPI_Alltoallw on 4, 8 and 16 ranks of this machine: a table each.
# Usage: bench/reshard_mpi.sh BUILD_DIR [BYTES A DEVICE [CASES [REPEATS]]]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$1/bench/reshard_mpi
cases=../shared/reshard/cases.json
if ! command -v mpirun > /dev/null || [ ! -x "$program" ]; then
  echo "left out: no MPI here, or $program was not built (WEFT_BENCH)"
  exit 4
fi
if [ ! -e "$cases" ]; then
  echo "left out: $cases is not there"
  exit 4
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader
export OMPI_MCA_oob_tcp_if_include=lo
# More ranks than cores wait without holding one.
export OMPI_MCA_mpi_yield_when_idle=1
failed=0
for ranks in 4 8 16; do
  mpirun -q --oversubscribe -n "$ranks" "$program" "$cases" "${@:2}" || failed=1
done
exit $failed
