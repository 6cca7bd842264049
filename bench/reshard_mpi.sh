#!/usr/bin/env bash
# Compares Weft over MPI with MPI_Alltoallw on 4, 8 and 16 ranks of this machine, one table for each.
# Usage: bench/reshard_mpi.sh BUILD_DIR [BYTES_PER_DEVICE [CASES [REPEATS]]]
# Exit status: 0 at least parity, 1 below, 4 if MPI, the program or the case file is missing.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$1/bench/reshard_mpi
cases=../shared/reshard/cases.json
if ! command -v mpirun > /dev/null || [ ! -x "$program" ]; then
  echo "skipped: MPI is not installed, or $program was not built (configure with -DWEFT_BENCH=ON)"
  exit 4
fi
if [ ! -e "$cases" ]; then
  echo "skipped: the case file $cases does not exist"
  exit 4
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader
export OMPI_MCA_oob_tcp_if_include=lo
# There may be more ranks than cores, so a rank that waits must yield its core.
export OMPI_MCA_mpi_yield_when_idle=1
failed=0
for ranks in 4 8 16; do
  mpirun -q --oversubscribe -n "$ranks" "$program" "$cases" "${@:2}" || failed=1
done
exit $failed
