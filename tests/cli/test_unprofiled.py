# SPDX-License-Identifier: Apache-2.0
"""The steps that a job took without profiler, which `weft record` times."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Weft


def add_facts(folder: Path, step_ms: float) -> None:
    """Facts of a job of 30 steps. Steps 5, 6 and 7 are recorded; 3, 4 and 8 are disturbed."""
    for rank in range(2):
        facts = {
            "rank": rank,
            "recorded_steps": [5, 6, 7],
            "disturbed_steps": [3, 4, 8],
            "step_ms": [None, 900.0, 500.0] + [step_ms + rank] * 27,
        }
        (folder / f"rank{rank}.job.json").write_text(json.dumps(facts))


def replayed(weft: Weft, folder: Path) -> Any:
    done = weft("replay", "--json", folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_recording_that_is_not_typical_is_reported(weft: Weft, job: Callable[..., Path]) -> None:
    folder = job()
    baseline = replayed(weft, folder)["baseline_step_ms"]
    assert replayed(weft, folder)["unprofiled"] is None
    add_facts(folder, baseline)
    answer = replayed(weft, folder)
    # Steps 9 to 29, on the slower rank.
    assert answer["unprofiled"]["steps"] == 21
    assert answer["unprofiled"]["median_ms"] == pytest.approx(baseline + 1)
    assert answer["unprofiled"]["typical"]
    assert not [each for each in answer["diagnostics"] if each["id"] == "untypical-steps"]

    add_facts(folder, 3 * baseline)
    answer = replayed(weft, folder)
    assert not answer["unprofiled"]["typical"]
    assert [each["id"] for each in answer["diagnostics"]].count("untypical-steps") == 1
    done = weft("replay", folder)
    assert "untypical-steps" in done.stderr and "weft record --steps" in done.stderr
    assert "median of 21 steps without profiler" in done.stdout
    assert weft("replay", "--strict", folder).returncode == 3


def test_info_shows_the_steps_without_profiler(weft: Weft, job: Callable[..., Path]) -> None:
    folder = job()
    (run,) = json.loads(weft("info", "--json", folder).stdout)["runs"]
    assert run["unprofiled"] is None
    add_facts(folder, 40.0)
    (run,) = json.loads(weft("info", "--json", folder).stdout)["runs"]
    assert run["unprofiled"] == {"steps": 21, "median_ms": 41, "low_ms": 41, "high_ms": 41}
    assert "21 steps without profiler: median 41.0 ms (41.0..41.0)" in weft("info", folder).stdout


@pytest.mark.parametrize("text", ["", "[]", "{", '{"step_ms": 3}', '{"step_ms": [1e300, -1, "x"]}'])
def test_damaged_facts_change_nothing(weft: Weft, job: Callable[..., Path], text: str) -> None:
    folder = job()
    (folder / "rank0.job.json").write_text(text)
    assert replayed(weft, folder)["unprofiled"] is None
