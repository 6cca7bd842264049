# SPDX-License-Identifier: Apache-2.0
"""Horovod timelines and MXNet profiles, from the file to the replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.horovod_timeline import Job
from tests.conftest import ROOT, Weft

MXNET = ROOT / "tests" / "data" / "mxnet"


def answer(weft: Weft, verb: str, *words: str | Path) -> Any:
    done = weft(verb, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def timeline(folder: Path, job: Job) -> Path:
    path = folder / "timeline.json"
    path.write_text(job.text())
    return path


@pytest.mark.parametrize("closed", [False, True])
def test_coordinator_timeline_shows_every_rank(weft: Weft, tmp_path: Path, closed: bool) -> None:
    report = answer(weft, "info", timeline(tmp_path, Job(closed=closed)))
    (run,) = report["runs"]
    assert run["world"] == 4
    assert [rank["rank"] for rank in run["ranks"]] == [0, 1, 2, 3]
    for rank in run["ranks"]:
        assert len(rank["steps"]) == 4
        assert sum(entry["count"] for entry in rank["collectives"]) == 8
    assert report["advice"] == []
    assert report["diagnostics"] == []


def test_late_rank_of_a_timeline_is_found(weft: Weft, tmp_path: Path) -> None:
    late = weft("replay", timeline(tmp_path, Job(late_us=3000)))
    assert late.returncode == 0, late.stderr
    assert "culprit: rank 2" in late.stdout
    assert "off by at most 0.00%" in late.stdout
    even = answer(weft, "replay", timeline(tmp_path, Job(late_us=0)))
    slow = answer(weft, "replay", timeline(tmp_path, Job(late_us=3000)))
    assert slow["stragglers"]["slowdown"] > 1.05
    assert even["stragglers"]["slowdown"] < 1.01


def test_response_cache_hides_who_was_late(weft: Weft, tmp_path: Path) -> None:
    report = answer(weft, "info", timeline(tmp_path, Job(cached=True)))
    assert len(report["runs"][0]["ranks"]) == 1
    (found,) = [d for d in report["diagnostics"] if d["id"] == "horovod-arrivals-unknown"]
    assert "HOROVOD_CACHE_CAPACITY=0" in found["advice"]


def test_mxnet_workers_meet_at_the_store(weft: Weft) -> None:
    (run,) = answer(weft, "info", MXNET)["runs"]
    assert [rank["rank"] for rank in run["ranks"]] == [0, 1]
    for rank in run["ranks"]:
        assert [step["number"] for step in rank["steps"]] == [0, 1, 2]
        assert [(c["name"], c["count"]) for c in rank["collectives"]] == [("pushpull", 12)]
    replay = weft("replay", MXNET)
    assert replay.returncode == 0, replay.stderr
    assert "off by at most 0.00%" in replay.stdout
