#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the present outputs into the golden cases. Build the tests first.
# Usage: tests/cases/update.sh [BUILD_DIR]
set -euo pipefail
build=${1:-$(dirname "$0")/../../build/release}
WEFT_UPDATE_CASES=1 ctest --test-dir "$build" -R Cases --output-on-failure
git -C "$(dirname "$0")" status --short .
