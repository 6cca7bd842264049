# SPDX-License-Identifier: Apache-2.0
"""The jobs of testbed/jobs, on hosts of their own: alone, and recorded without a change to them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, Weft, clean_environment, weft_command
from tests.testbed.conftest import Clusters

TORCH = ROOT / ".venvs/torch/bin/python"
JOB = ROOT / "testbed/jobs/torch_ddp.py"
needs_torch = pytest.mark.skipif(
    not TORCH.exists(), reason="no PyTorch (tools/frameworks.sh torch)"
)


def result(output: str) -> dict[str, list[float]]:
    line = next(line for line in output.splitlines() if line.startswith("r0| {"))
    found: dict[str, list[float]] = json.loads(line.removeprefix("r0| "))
    return found


@needs_torch
def test_first_rank_tells_the_time_of_every_step(testbed: Clusters) -> None:
    testbed.describe('{"hosts": 2, "rate": "1gbit"}')
    words = [TORCH, JOB, "--steps", "3", "--emulate", "10,30", "--bucket-mb", "5"]
    done = testbed("run", testbed.file, "--", *words)
    assert done.returncode == 0, done.stderr
    steps = result(done.stdout)["step_ms"]
    assert len(steps) == 3
    # Each host sends all its 25 MB once; the longer hold has to pass as well.
    assert min(steps) > 30 and min(steps[1:]) > 25.1 * 8 * 0.9


@needs_torch
def test_unchanged_job_is_recorded_on_all_hosts(
    testbed: Clusters, weft: Weft, tmp_path: Path
) -> None:
    testbed.describe('{"hosts": 2, "rate": "1gbit"}')
    folder = tmp_path / "recording"
    words: list[str | Path] = ["record", "-o", folder, "--steps", "3..5", "--", weft_command(), "testbed", "run"]
    words += [testbed.file, "--skew", "host1=+50ms", "--", TORCH, JOB, "--steps", "8"]
    done = subprocess.run(
        [weft_command(), *map(str, words)], capture_output=True, text=True, timeout=120,
        env=clean_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(result(done.stdout)["step_ms"]) == 8
    run = json.loads(weft("info", "--json", folder).stdout)["runs"][0]
    assert (run["world"], run["missing_count"]) == (2, 0)
    assert [rank["host"] for rank in run["ranks"]] == ["host0", "host1"]
    replay = json.loads(weft("replay", "--json", folder).stdout)
    assert replay["predicted_step_ms"] > 0
