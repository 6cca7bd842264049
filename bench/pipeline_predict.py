#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predicted with measured steps of recorded pipelines under other schedules.

Usage: pipeline_predict.py [FOLDER] [--weft COMMAND] [--links]

FOLDER holds NAME.truth.json and one recording NAME-rR.json.gz per rank R of a job with
torch.distributed.pipelining. Each job was recorded once with 1F1B and timed without profiler under
each variant. Predictions are compared with `pipelined_ms`, the time of steps that run back to back.
Exit status: 1 if an error exceeds the bar of its variant, else 0.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VARIANTS = {
    # Maps each variant to its schedule, number of micro-batches and bar. If the bar is None, the
    # variant has none, because its repeated measurements differ by more than the errors of other
    # variants.
    "base": ("1f1b", 8, None),
    "base_again": ("1f1b", 8, None),
    "gpipe": ("gpipe", 8, 0.06),
    "micro16": ("1f1b", 16, 0.06),
    "interleaved": ("interleaved", 8, 0.10),
}


def predict(command: list[str], files: list[Path], schedule: str, micro: int) -> float:
    words = [*command, *map(str, files), "--schedule", schedule, "--microbatches", str(micro)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return float(json.loads(done.stdout)["step_ms"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = ROOT.parent / "shared/traces/h200-nccl"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--weft", default=str(ROOT / "build/weft"))
    parser.add_argument("--links", action="store_true", help="use send_recv-wN.json of the folder")
    options = parser.parse_args()
    truths = sorted(options.folder.glob("pp-*.truth.json"))
    if not truths:
        sys.exit(f"{options.folder}: no pp-*.truth.json")
    failed = False
    print(f"{'recording':<14} {'variant':<12} {'true ms':>8} {'predicted':>10} {'error':>7}  bar")
    for path in truths:
        truth = json.loads(path.read_text())
        name = path.name.removesuffix(".truth.json")
        files = [options.folder / f"{name}-r{r}.json.gz" for r in range(truth["world"])]
        command = [options.weft, "pipeline", "predict", "--json"]
        if options.links:
            command += ["--links", str(options.folder / f"send_recv-w{truth['world']}.json")]
        for variant, (schedule, micro, bar) in VARIANTS.items():
            if variant not in truth["variants"]:
                continue
            true_ms = truth["variants"][variant]["pipelined_ms"]
            step = predict(command, files, schedule, micro)
            error = step / true_ms - 1
            over = bar is not None and abs(error) > bar
            failed = failed or over
            shown = "" if bar is None else f"{100 * bar:.0f} %{' OVER' if over else ''}"
            print(f"{name:<14} {variant:<12} {true_ms:8.1f} {step:10.1f} {100 * error:+6.1f}%  {shown}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
