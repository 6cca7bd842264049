# SPDX-License-Identifier: Apache-2.0
"""Tests that torch loads and runs the schedules that `weft
pipeline export` writes, on gloo ranks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.frameworks import python_of
from tests.conftest import ROOT, Weft
from tests.torch.ranks import ranks_of

PATIENCE_S = 300
FLAT = {"P": 4, "M": 8, "f": [5, 6, 7, 9], "b": [4, 7, 8, 6], "w": [6, 4, 2, 2], "c": 2}
DEALT = {"P": 8, "M": 8, "f": 5, "b": 6, "w": 4, "c": 1, "device": [0, 1, 2, 3, 0, 1, 2, 3]}
V = {"P": 8, "M": 8, "f": 5, "b": 6, "w": 4, "c": 1, "device": [0, 1, 2, 3, 3, 2, 1, 0]}
PERMUTED = {**FLAT, "device": [2, 0, 3, 1], "cap_F": 4}
UNEVEN = {"P": 6, "M": 8, "f": 5, "b": 6, "w": 4, "c": 1, "device": [0, 1, 1, 2, 3, 3]}
CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "gpipe": (FLAT, "gpipe"),
    "1f1b": (FLAT, "1f1b"),
    "zb-h1": (FLAT, "zb-h1"),
    "zb-auto": (FLAT, "zb-auto"),
    "searched": (FLAT, None),
    "interleaved": (DEALT, "interleaved"),
    "zb-v": (V, "zb-v"),
    "dualpipe-v": (V, "dualpipe-v"),
    "permuted": (PERMUTED, None),
    "uneven": (UNEVEN, "gpipe"),
}  # fmt: skip
FORMATS = {"torch-csv": "compute_only", "torch-comms-csv": "compute_comms"}


@pytest.fixture(scope="module")
def errors(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """The error of the gradients, by file. All files run in one set of processes."""
    python_of("torch")
    folder = tmp_path_factory.mktemp("exports")
    instances = folder / "instances.json"
    instances.write_text(json.dumps({"instances": {name: case for name, (case, _) in CASES.items()}}))
    plan = folder / "plan.json"
    done = weft("pipeline", ROOT / "examples/pipeline/gpt8l.json", "--cluster", "4 devices, 12.5GB/s",
                "--microbatches", "8", "--stages", "4", "--replicas", "1", "-o", plan)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for flag, name in FORMATS.items():
        for case, (_, schedule) in CASES.items():
            words = ["--schedule", schedule] if schedule else []
            done = weft("pipeline", "export", instances, "--instance", case, "--to", flag, *words,
                        "--time-limit", "5", "-o", folder / f"{case}.{name}.csv")  # fmt: skip
            assert done.returncode == 0, done.stderr
        done = weft("pipeline", "export", plan, "--to", flag, "-o", folder / f"plan.{name}.csv")
        assert done.returncode == 0, done.stderr
    with ranks_of("tests.torch.jobs.exported_schedules", str(folder), folder=folder) as ranks:
        outputs = [rank.communicate(timeout=PATIENCE_S) for rank in ranks]
    lines = [json.loads(line) for out, _ in outputs for line in out.splitlines()]
    failures = [line["failure"] for line in lines if "failure" in line]
    assert not failures, failures[0]
    return {line["file"]: line["error"] for line in lines}


@pytest.mark.parametrize("case", [*CASES, "plan"])
@pytest.mark.parametrize("name", FORMATS.values())
def test_torch_loads_it_and_gradients_are_those_of_the_whole_model(
    errors: dict[str, float], case: str, name: str
) -> None:
    assert errors[f"{case}.{name}.csv"] < 1e-5


