# SPDX-License-Identifier: Apache-2.0
"""Run.memory returns memory use over time as NumPy columns, with its peak."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import trace_text

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "resnet50-w4"


@pytest.fixture(scope="module")
def run() -> weft.Run:
    return weft.load(EXAMPLE)


def allocated(total: bool) -> str:
    """A trace with two allocations and a free in its first step (step 5). The second allocation is
    within aten::mm."""
    trace = json.loads(trace_text(0, 1))
    for at, change, level in ((1_000_005, 100, 1100), (1_000_030, 50, 1150), (1_000_200, -100, 1050)):
        args: dict[str, Any] = {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": change}
        if total:
            args |= {"Total Allocated": level, "Total Reserved": 4096}
        trace["traceEvents"].append(
            {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1000,
             "tid": 1000, "ts": at, "args": args}
        )  # fmt: skip
    return json.dumps(trace)


def test_there_is_one_curve_per_rank_and_device(run: weft.Run) -> None:
    curves = run.memory()
    assert [(curve.rank, curve.device) for curve in curves] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    (only,) = run.memory(rank=2)
    assert only.rank == 2 and (only.bytes == curves[2].bytes).all()
    assert isinstance(only, weft.MemoryCurve) and isinstance(only.peak, weft.MemoryPeak)
    with pytest.raises(weft.UsageError, match="rank 9 is not in this recording"):
        run.memory(rank=9)


def test_columns_have_equal_length(run: weft.Run) -> None:
    for curve in run.memory():
        assert curve.time.dtype == curve.bytes.dtype == np.int64
        assert len(curve.time) == len(curve.bytes) > 100
        assert (np.diff(curve.time) >= 0).all()
        assert curve.bytes.min() >= 0
        highest = int(curve.bytes.argmax())
        assert curve.peak.bytes == curve.bytes[highest]
        assert curve.peak.time == curve.time[highest]


def test_peak_names_its_step_and_op(run: weft.Run) -> None:
    for rank, curve in zip(run.ranks, run.memory()):
        assert curve.source == "estimated"
        (step,) = (step for step in rank.steps if step.number == curve.peak.step)
        assert step.start <= curve.peak.time < step.end
        events = rank.events
        running = (events.start <= curve.peak.time) & (
            curve.peak.time <= events.start + events.duration
        )
        assert curve.peak.op in {events.names[i] for i in events.name[running]}


def test_replay_reports_the_same_peak(run: weft.Run) -> None:
    curve = run.memory(rank=0)[0]
    told = run.replay("comm=off").ranks[0].memory_peak
    assert told is not None
    assert told.bytes == curve.peak.bytes
    assert (told.step, told.op) == (curve.peak.step, curve.peak.op)
    assert (told.device, told.source) == (curve.device, curve.source)
    since_first_event = curve.peak.time - int(run.events[0].start.min())
    assert told.at_ms == pytest.approx(since_first_event / 1e6, abs=1e-6)


def test_columns_outlive_the_run_and_are_read_only() -> None:
    levels = weft.load(EXAMPLE).memory(rank=0)[0].bytes
    gc.collect()
    assert int(levels.max()) > 1_000_000_000
    with pytest.raises(ValueError, match="read-only"):
        levels[0] = 1


@pytest.mark.parametrize(
    ("total", "source", "levels"),
    [(True, "allocator", [1100, 1150, 1050]), (False, "allocations", [100, 150, 50])],
)
def test_allocator_events_are_preferred(
    tmp_path: Path, total: bool, source: str, levels: list[int]
) -> None:
    (tmp_path / "rank0.json").write_text(allocated(total))
    (curve,) = weft.load(tmp_path).memory()
    assert (curve.device, curve.source) == (0, source)
    assert curve.bytes.tolist() == levels
    assert curve.peak == (levels[1], curve.time[1], 5, "aten::mm")


def test_nothing_recorded_gives_no_curve(tmp_path: Path) -> None:
    (tmp_path / "rank0.json").write_text(trace_text(0, 1))
    run = weft.load(tmp_path)
    assert run.memory() == []
    assert run.replay().ranks[0].memory_peak is None
