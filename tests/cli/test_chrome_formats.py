# SPDX-License-Identifier: Apache-2.0
"""Horovod timelines and MXNet profiles: reading, replay and diagnosis."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.horovod_timeline import Job
from tests.conftest import ROOT, Weft

HOROVOD = ROOT / "tests" / "data" / "horovod"
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
        assert [step["number"] for step in rank["steps"]] == [1, 2, 3]
        assert sum(entry["count"] for entry in rank["collectives"]) == 8
    assert report["advice"] == []
    assert report["diagnostics"] == []


@pytest.mark.parametrize("fused", [3, 6])
def test_late_rank_of_a_timeline_is_found(weft: Weft, tmp_path: Path, fused: int) -> None:
    job = partial(Job, fused=fused)
    late = weft("replay", timeline(tmp_path, job(late_us=3000)))
    assert late.returncode == 0, late.stderr
    assert "culprit: rank 2" in late.stdout
    assert "off by at most 0.00%" in late.stdout
    even = answer(weft, "replay", timeline(tmp_path, job(late_us=0)))
    slow = answer(weft, "replay", timeline(tmp_path, job(late_us=3000)))
    assert slow["stragglers"]["slowdown"] > 1.05
    assert even["stragglers"]["slowdown"] < 1.01


@pytest.mark.parametrize("transfer_us", [50, 1500])
def test_the_late_rank_also_waits_for_the_transfer(
    weft: Weft, tmp_path: Path, transfer_us: int
) -> None:
    job = Job(fused=6, late_us=3000, transfer_us=transfer_us, cycle_us=20)
    file = timeline(tmp_path, job)
    without = answer(weft, "replay", file, "--what-if", "comm=off")
    exchange = (20 + 40 + transfer_us + 30) / 1000  # transfer plus the copies before and after it
    saved = without["baseline_step_ms"] - without["predicted_step_ms"]
    assert saved == pytest.approx(exchange, abs=0.01)


def test_recorded_timeline_names_the_rank_that_sleeps(weft: Weft) -> None:
    file = HOROVOD / "timeline.json.gz"
    report = answer(weft, "info", file)
    (run,) = report["runs"]
    assert run["world"] == 2
    assert report["diagnostics"] == []
    for rank in run["ranks"]:
        assert [step["number"] for step in rank["steps"]] == [1, 2, 3, 4, 5]
        assert {c["name"]: c["count"] for c in rank["collectives"]} == {
            "allreduce": 6,
            "broadcast": 6,
        }
    replay = answer(weft, "replay", file)
    assert replay["replay_error"] == 0
    assert replay["stragglers"]["culprit_rank"] == 1
    assert replay["stragglers"]["slowdown"] > 1.3
    # A Horovod timeline comes from no profiler, so Weft has no cost of a profiler to subtract.
    assert replay["baseline_step_ms"] == pytest.approx(replay["recorded_step_ms"], rel=0.01)
    without = answer(weft, "replay", file, "--what-if", "comm=off")
    assert 20 < without["predicted_step_ms"] < replay["baseline_step_ms"]
    diagnosis = answer(weft, "diagnose", file)
    assert diagnosis["findings"][0]["title"] == "the delay of rank 1"
    # The file shows no devices, so findings about devices that wait for launches are impossible.
    assert not {"host_bound", "host_sync"} & {found["kind"] for found in diagnosis["findings"]}


def test_recorded_timeline_with_the_response_cache_names_no_straggler(weft: Weft) -> None:
    file = HOROVOD / "cached.json.gz"
    report = answer(weft, "info", file)
    (run,) = report["runs"]
    assert (run["world"], len(run["ranks"])) == (2, 1)
    found = {d["id"]: d["count"] for d in report["diagnostics"]}
    assert found["horovod-arrivals-unknown"] == 5
    # At shutdown, Horovod discards events that are not yet written.
    assert found["unfinished-spans"] == 6
    assert answer(weft, "replay", file).get("stragglers") is None


def test_response_cache_hides_which_rank_was_late(weft: Weft, tmp_path: Path) -> None:
    report = answer(weft, "info", timeline(tmp_path, Job(cached=True)))
    assert len(report["runs"][0]["ranks"]) == 1
    (found,) = [d for d in report["diagnostics"] if d["id"] == "horovod-arrivals-unknown"]
    assert "HOROVOD_CACHE_CAPACITY=0" in found["advice"]


def test_mxnet_workers_are_matched_at_the_store(weft: Weft) -> None:
    (run,) = answer(weft, "info", MXNET)["runs"]
    assert [rank["rank"] for rank in run["ranks"]] == [0, 1]
    for rank in run["ranks"]:
        assert [step["number"] for step in rank["steps"]] == [0, 1, 2]
        assert [(c["name"], c["count"]) for c in rank["collectives"]] == [("pushpull", 12)]
    replay = weft("replay", MXNET)
    assert replay.returncode == 0, replay.stderr
    assert "off by at most 0.00%" in replay.stdout
