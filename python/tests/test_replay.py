# SPDX-License-Identifier: Apache-2.0
"""Run.replay returns the result of the command as objects."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pytest

import weft

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "resnet50-w4"
LINKS = EXAMPLE / "allreduce-w4.json"


@pytest.fixture(scope="module")
def run() -> weft.Run:
    return weft.load(EXAMPLE)


def test_same_answer_as_the_command(run: weft.Run) -> None:
    command = Path(weft.__file__).parent / "_native" / "bin" / "weft"
    words = [str(command), "replay", "--json", str(EXAMPLE), "--links", str(LINKS), "--what-if",
             "ddp.bucket_mb=5"]  # fmt: skip
    printed = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    assert run.replay("ddp.bucket_mb=5", links=LINKS).to_dict() == printed


def test_result_has_the_field_names_of_the_json(run: weft.Run) -> None:
    result = run.replay(["network.bandwidth=2x", "compute=1.5x"], links=[str(LINKS)])
    assert isinstance(result, weft.Replay)
    assert result.what_if == ["network.bandwidth=2x", "compute=1.5x"]
    assert result.predicted_step_ms < result.baseline_step_ms
    assert result.speedup == pytest.approx(result.baseline_step_ms / result.predicted_step_ms)
    assert result.low_ms < result.predicted_step_ms < result.high_ms
    assert [rank.rank for rank in result.ranks] == [0, 1, 2, 3]
    assert all(len(rank.recorded_step_ms) == len(result.steps) for rank in result.ranks)
    assert result.ranks[0].clock.offset_us == 0
    parts = result.breakdown["baseline"]
    total = parts.compute_ms + parts.communication_ms + parts.waiting_ms + parts.host_ms
    assert total == pytest.approx(result.baseline_step_ms, rel=1e-3)
    assert result.stragglers is not None and result.stragglers.slowdown > 0.9
    for name in result.to_dict().keys() - {"schema_version", "command"}:
        assert hasattr(result, name)


def test_without_what_ifs_weft_answers_some_of_its_own_choice(run: weft.Run) -> None:
    result = run.replay(links=LINKS)
    assert {"comm=off", "ddp.bucket_mb=25"} <= {answer.what_if for answer in result.worth_knowing}
    assert sum(answer.best for answer in result.worth_knowing) == 1
    assert run.replay("comm=off").worth_knowing == []


def test_steps_can_be_chosen(run: weft.Run) -> None:
    assert run.replay("comm=off", steps=[5, 4]).steps == [4, 5]
    assert run.replay("comm=off", steps=4).steps == [4]


def test_events_stay_as_recorded(run: weft.Run) -> None:
    fresh = weft.load(EXAMPLE)
    start = fresh.events[1].start
    before = start.copy()
    fresh.replay("comm=off")
    assert (start == before).all(), "aligning clocks works on a copy"


def test_errors_list_the_possible_what_ifs(run: weft.Run) -> None:
    with pytest.raises(weft.UsageError, match="this recording can answer: .*ddp.bucket_mb"):
        run.replay("network.speed=2x")
    with pytest.raises(weft.UsageError, match="step 99 is not in this recording"):
        run.replay(steps=99)
    with pytest.raises(weft.NotFound):
        run.replay(links="/does/not/exist.json")


def test_notebooks_show_a_table(run: weft.Run) -> None:
    result = run.replay("comm=off")
    page = result._repr_html_()
    assert page.startswith("<table>") and "comm=off" in page
    assert "predicted" in repr(result) and "comm=off" in repr(result)


def test_other_threads_run_during_a_replay() -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=count)
    fresh = weft.load(EXAMPLE)
    thread.start()
    fresh.replay()
    done.set()
    thread.join()
    assert ticks >= 5


def test_several_threads_can_replay_at_once() -> None:
    fresh = weft.load(EXAMPLE)
    steps: dict[str, float] = {}

    def ask(question: str) -> None:
        steps[question] = fresh.replay(question).predicted_step_ms

    questions = ["comm=off", "compute=2x", "network.bandwidth=2x"]
    threads = [threading.Thread(target=ask, args=(question,)) for question in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert steps == {question: fresh.replay(question).predicted_step_ms for question in questions}
