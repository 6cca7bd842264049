#!/usr/bin/env bash
# Runs a command and appends "SECONDS<tab>NAME" to FOLDER/times.tsv, whether it succeeds or not.
# Usage: tools/timed.sh FOLDER NAME COMMAND...
set -euo pipefail
folder=$1
name=$2
shift 2
mkdir -p "$folder"
trap 'printf "%s\t%s\n" "$SECONDS" "$name" >>"$folder/times.tsv"' EXIT
"$@"
