#!/usr/bin/env bash
# Runs a command as two ranks on this host. It is used instead of torchrun, because torchrun needs
# libuv and Debian's PyTorch is built without libuv.
# Usage: ranks.sh PORT COMMAND...
set -euo pipefail
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$1 WORLD_SIZE=2 USE_LIBUV=0
shift
RANK=1 LOCAL_RANK=1 "$@" &
RANK=0 LOCAL_RANK=0 "$@"
wait $!
