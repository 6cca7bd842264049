#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts step times of a real job under several settings and compares them with measurements.

The predictions come from one recording. The truth file holds step times of the same job, measured
without profiler under each setting; predictions do not use it.

Usage: demo.py WEFT EXAMPLE
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

# Pairs of a what-if and the variant of the truth file that was measured with this setting.
CHECKS = [
    ("", "bucket25"),
    ("ddp.bucket_mb=1", "bucket1"),
    ("ddp.bucket_mb=5", "bucket5"),
    ("ddp.bucket_mb=100", "bucket100"),
    ("ddp.bucket_mb=2000", "bucket2000"),
    ("comm=off", "no_sync"),
]


def ask(command: list[str], what_if: str) -> Any:
    words = [*command, "--json", *(["--what-if", what_if] if what_if else [])]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    weft, example = sys.argv[1], Path(sys.argv[2])
    (table,) = example.glob("allreduce-*.json")
    (truth_file,) = example.glob("*.truth.json")
    command = [weft, "replay", str(example), "--links", str(table)]
    print("$", *command, flush=True)
    subprocess.run(command, check=True)

    truth = json.loads(truth_file.read_text())["variants"]
    print("\ncheck: the same job was measured without profiler under each of these settings:\n")
    print(f"{'':24}{'predicted ms':>12}{'measured ms':>13}{'error':>8}")
    errors = []
    for what_if, variant in CHECKS:
        predicted = ask(command, what_if)["predicted_step_ms"]
        measured = truth[variant]["pipelined_ms"]
        errors.append(predicted / measured - 1)
        name = what_if or "as recorded"
        print(f"{name:24}{predicted:12.1f}{measured:13.1f}{errors[-1]:+8.1%}")
    mean = sum(map(abs, errors)) / len(errors)
    again = truth["bucket25_again"]["pipelined_ms"] / truth["bucket25"]["pipelined_ms"] - 1
    print(f"\nmean error {mean:.1%}; the same job measured twice differs by {abs(again):.1%}")
    print(f"next: {weft} info YOUR-TRACES (docs/guide/first-look.md)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
