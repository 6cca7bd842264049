#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of weft.torch.pipeline on NCCL ranks that share one GPU, instead of gloo ranks.

Compares losses, gradients and parameters with those of the whole model on one rank, for each family
of schedules, with replicas, recomputation and split backwards. Weft must be installed for this
Python (or lie on PYTHONPATH).

usage: pipeline_torch.py check [CASE...]
"""
import json
import re
import subprocess
import sys
from pathlib import Path

import one_gpu

ROOT = Path(__file__).resolve().parents[2]
RANKS = 4
JOB = "tests.torch.jobs.pipeline_cases"


def cases():
    return re.findall(r"^def (case_\w+)", (ROOT / f"{JOB.replace('.', '/')}.py").read_text(), re.M)


def main():
    verb, *names = sys.argv[1:]
    if verb != "check":
        sys.exit(__doc__)
    names = names or cases()
    environments = one_gpu.environments(RANKS, 29571, WEFT_TEST_DEVICE="cuda")
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", JOB, *names], env=env, cwd=ROOT, text=True,
            stdout=subprocess.PIPE if env["RANK"] == "0" else subprocess.DEVNULL,
        )
        for env in environments
    ]  # fmt: skip
    outcomes = {}
    try:
        for line in ranks[0].stdout:
            outcome = json.loads(line)
            outcomes[outcome["case"]] = outcome["failure"]
            print(outcome["case"], outcome["failure"] or "right", flush=True)
    finally:
        one_gpu.end_within(ranks, 30)
    wrong = [name for name in names if outcomes.get(name, "not run")]
    print(f"{len(names) - len(wrong)} of {len(names)} cases on {RANKS} NCCL ranks are right")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
