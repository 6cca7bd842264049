#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Replaces the expected outputs of all golden cases by the current outputs. Build the tests first.
# Usage: tests/cases/update.sh [BUILD_DIR]
set -euo pipefail
build=${1:-$(dirname "$0")/../../build/release}
WEFT_UPDATE_CASES=1 ctest --test-dir "$build" -R Cases --output-on-failure
git -C "$(dirname "$0")" status --short .
