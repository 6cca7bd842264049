# SPDX-License-Identifier: Apache-2.0
"""Tests that weft.torch.pipeline runs what `weft pipeline`
plans, schedules and exports, on gloo ranks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.frameworks import python_of, record
from tests.conftest import ROOT, Weft
from tests.torch.ranks import Outcomes, ranks_of
from tests.torch.test_pipeline_export import CASES, FORMATS

LAYERS = [str(n) for n in range(8)]


def plan_of(schedule: dict[str, Any]) -> dict[str, Any]:
    """A plan for the layers of the test's model from a schedule
    of `weft pipeline export --to json`."""
    stages = len(schedule["stages"])
    ends = [len(LAYERS) * (stage + 1) // stages for stage in range(stages)]
    groups = schedule["groups"]
    first = dict.fromkeys(stage["group"] for stage in schedule["stages"])
    return {
        "pipeline_plan_version": 1,
        "microbatches": schedule["microbatches"],
        "stages": [
            {"layers": LAYERS[begin:end], "devices": groups[stage["group"]]["devices"]}
            for begin, end, stage in zip([0, *ends], ends, schedule["stages"])
        ],
        "orders": [
            " ".join(f"{op['stage']}{op['kind']}{op['microbatch']}" for op in groups[group]["ops"])
            for group in first
        ],
        "cluster": {"devices": 4},
    }


def recorded_plans(weft: Weft, folder: Path) -> None:
    """Record the model, make a profile of it, and plan with and without replicas."""
    traces, profile = folder / "traces", folder / "profile"
    done = record(
        traces, [python_of("torch"), "-m", "tests.torch.jobs.train_chain"], "--stacks", "--steps",
        "8..11", PYTHONPATH=str(ROOT),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert weft("pipeline", "profile", traces, "-o", profile).returncode == 0
    layers = json.loads(profile.read_text())["layers"]
    assert len(layers) == len(LAYERS)
    assert all(layer["forward_ms"] > 0 and layer["backward_ms"] > 0 for layer in layers)
    for name, flags in (("recorded", ()), ("recorded-apart", ("--replicas", "1", "--stages", "4"))):
        done = weft("pipeline", profile, "--cluster", "4 devices, 10GB/s", "--microbatches", "6",
                    *flags, "-o", folder / f"{name}.json")  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def runs(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    folder = tmp_path_factory.mktemp("families")
    plans = folder / "plans"
    plans.mkdir()
    recorded_plans(weft, plans)
    instances = folder / "instances.json"
    instances.write_text(json.dumps({"instances": {name: case for name, (case, _) in CASES.items()}}))
    for case, (_, schedule) in CASES.items():
        for flag, name in {"json": "", **FORMATS}.items():
            words = ["--schedule", schedule] if schedule else []
            out = plans / (f"{case}.{name}.csv" if name else f"{case}.json")
            done = weft("pipeline", "export", instances, "--instance", case, "--to", flag, *words,
                        "--time-limit", "5", "-o", out)  # fmt: skip
            assert done.returncode == 0, done.stderr
        out = plans / f"{case}.json"
        out.write_text(json.dumps(plan_of(json.loads(out.read_text()))))
    with ranks_of("tests.torch.jobs.planned_families", str(plans), folder=folder) as ranks:
        assert ranks[0].stdout is not None and ranks[0].stderr is not None
        yield Outcomes(ranks[0].stdout, ranks[0].stderr)


@pytest.mark.parametrize("case", ["recorded", "recorded-apart", *CASES])
def test_gradients_of_a_plan_are_those_of_the_whole_model(runs: Outcomes, case: str) -> None:
    assert runs.failure(f"{case} weft") == ""


@pytest.mark.parametrize("case", ["recorded-apart", *CASES])
def test_torch_runs_it_too(runs: Outcomes, case: str) -> None:
    assert runs.failure(f"{case} torch") == ""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", FORMATS.values())
def test_torch_runs_what_is_exported(runs: Outcomes, case: str, kind: str) -> None:
    assert runs.failure(f"{case}.{kind} torch") == ""
