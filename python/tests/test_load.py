# SPDX-License-Identifier: Apache-2.0
"""weft.load reads what the command reads, without copying and without holding the GIL."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import weft
from tests.conftest import trace_text

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "resnet50-w4"


def test_run_lists_its_ranks() -> None:
    run = weft.load(EXAMPLE)
    assert run.world == 4
    assert [rank.rank for rank in run.ranks] == [0, 1, 2, 3]
    assert len(run.steps) == 3
    assert "4 of 4 ranks" in repr(run)
    assert run.ranks[0].devices == ["NVIDIA H200"]


def test_several_paths_can_be_given() -> None:
    files = sorted(EXAMPLE.glob("resnet50-w4-r*.json.gz"))
    assert [r.rank for r in weft.load(files[:2]).ranks] == [0, 1]
    assert [r.rank for r in weft.load(str(EXAMPLE / "*-r3.json.gz")).ranks] == [3]


def test_event_columns_have_equal_length() -> None:
    run = weft.load(EXAMPLE)
    assert list(run.events) == [0, 1, 2, 3]
    events = run.events[0]
    columns = (events.start, events.duration, events.name, events.lane, events.correlation,
               events.external_id, events.kind)  # fmt: skip
    assert {len(column) for column in columns} == {len(events)}
    assert events.start.dtype == np.int64
    assert events.kind.dtype == np.uint8
    assert int(events.name.max()) < len(events.names)
    kernels = events.kind == weft.EventKind.KERNEL
    names = {events.names[i] for i in events.name[kernels]}
    assert any(name.startswith("nccl") for name in names)
    assert all(run.ranks[0].lanes[i].on_device for i in np.unique(events.lane[kernels]))


def test_columns_are_views_that_outlive_the_run() -> None:
    run = weft.load(EXAMPLE)
    events = run.events[0]
    start = events.start
    assert start.ctypes.data == events.start.ctypes.data, "the same memory, not a copy"
    with pytest.raises(ValueError, match="read-only"):
        start[0] = 1
    total = int(start.sum())
    del run, events
    gc.collect()
    assert int(start.sum()) == total


def test_steps_are_in_order_of_time() -> None:
    for rank in weft.load(EXAMPLE).ranks:
        assert [step.number for step in rank.steps] == sorted(s.number for s in rank.steps)
        assert all(step.start < step.end for step in rank.steps)


def test_errors_have_a_common_base_class() -> None:
    assert issubclass(weft.NotFound, weft.BadInput)
    assert issubclass(weft.BadInput, weft.WeftError)
    assert not issubclass(weft.InternalError, weft.WeftError)
    with pytest.raises(weft.NotFound):
        weft.load("/does/not/exist")


def test_bad_input_names_the_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("hello")
    with pytest.raises(weft.BadInput) as caught:
        weft.load(bad)
    assert caught.value.file == str(bad)


def test_strict_refuses_a_truncated_file(tmp_path: Path) -> None:
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes((EXAMPLE / "resnet50-w4-r0.json.gz").read_bytes()[:300_000])
    run = weft.load(cut)
    assert any(item.severity == "data loss" for item in run.diagnostics)
    assert all(item.count > 0 and item.advice for item in run.diagnostics)
    with pytest.raises(weft.BadInput):
        weft.load(cut, strict=True)


def test_several_runs_need_a_choice(tmp_path: Path) -> None:
    for name, year in (("before", "17"), ("after", "18")):
        (tmp_path / name).mkdir()
        text = trace_text(0, 1).replace('Nanoseconds": 17', f'Nanoseconds": {year}')
        (tmp_path / name / "rank0.json").write_text(text)
    folders = [tmp_path / "after", tmp_path / "before"]
    with pytest.raises(weft.UsageError, match="2 runs"):
        weft.load(folders)
    assert "before" in weft.load(folders, run=1).ranks[0].file
    assert "after" in weft.load(folders, run=2).ranks[0].file


def test_other_threads_run_during_a_load(large: Path) -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    weft.load(large)
    done.set()
    thread.join()
    assert ticks >= 5


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5,
             "dur": 2.5, "args": {"External id": 7, "Sequence number": 9}}  # fmt: skip
    piece = ",".join([json.dumps(event)] * 10_000)
    with open(path, "w") as file:
        file.write('{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[')
        file.write(piece)
        while file.tell() < 150_000_000:
            file.write("," + piece)
        file.write("]}")
    return path


def test_ctrl_c_ends_a_load(large: Path) -> None:
    script = (
        "import sys, threading, os, signal, time, weft\n"
        # Shells make background processes ignore SIGINT.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    while True: weft.load(sys.argv[1])\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(large)], timeout=60)
    assert done.returncode == 42


def test_the_launcher_runs_the_command_of_the_package() -> None:
    launcher = EXAMPLE.parents[1] / "python" / "launcher" / "weft"
    words = [sys.executable, str(launcher), "--version"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout == f"weft {weft.__version__}\n", done.stderr


def test_the_launcher_without_the_package_says_what_to_do(tmp_path: Path) -> None:
    launcher = EXAMPLE.parents[1] / "python" / "launcher" / "weft"
    words = [sys.executable, "-I", "-S", str(launcher), "--version"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "weft: error: the package weft is not installed for this Python; install it again\n"
    )


def test_kinds_are_those_of_the_library() -> None:
    header = EXAMPLE.parents[1] / "weft" / "trace" / "events.h"
    body = header.read_text().split("enum class EventKind", 1)[1].split("};", 1)[0]
    names = [line.split(",")[0].strip() for line in body.splitlines() if line.strip().startswith("k")]
    snake = ["".join("_" + c if c.isupper() and i > 1 else c for i, c in enumerate(name))[1:].upper()
             for name in names]  # fmt: skip
    assert snake == [kind.name for kind in weft.EventKind]
