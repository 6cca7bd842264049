# SPDX-License-Identifier: Apache-2.0
"""Fixtures shared by the Python tests: the `weft` command, and small traces as its input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "resnet50-w4"

# The name of the sanitizer that the command is built with ("asan", "tsan"), or "". The Makefile sets
# it. A command with a sanitizer runs about ten times slower, so time limits are longer.
SANITIZER = os.environ.get("WEFT_SANITIZER", "")
SLOWDOWN = 10 if SANITIZER else 1


def weft_command() -> str:
    command = os.environ.get("WEFT_COMMAND", str(ROOT / "build" / "weft"))
    if not os.access(command, os.X_OK):
        pytest.fail(f"{command} is missing; run make build, or set WEFT_COMMAND")
    return command


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment without the developer's settings of colours and terminal widths."""
    dropped = {"NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"}
    return {k: v for k, v in os.environ.items() if k not in dropped} | {"TERM": "xterm"} | extra


Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def weft() -> Weft:
    """weft("info", path): runs the command with its output in pipes, as in a script."""
    command = weft_command()

    def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *map(str, words)],
            capture_output=True,
            text=True,
            env=clean_environment(**environment),
            timeout=120 * SLOWDOWN,
        )

    return run


def trace_events(rank: int, steps: int = 3) -> list[dict[str, Any]]:
    """Events of the PyTorch profiler. A step has one host op, one kernel and one all-reduce."""
    events: list[dict[str, Any]] = []

    def add(cat: str, name: str, tid: int | str, ts: float, dur: float, **args: Any) -> None:
        pid = 0 if isinstance(tid, int) and tid < 100 else 1000 + rank
        events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
             "args": args}
        )  # fmt: skip

    for step in range(steps):
        at = 1_000_000.0 + 10_000.0 * step
        first, second = 2 * step + 1, 2 * step + 2
        add("user_annotation", f"ProfilerStep#{step + 5}", 1000 + rank, at, 9_900.0)
        add("cpu_op", "aten::mm", 1000 + rank, at + 10, 100.0, **{"External id": first})
        add("cuda_runtime", "cudaLaunchKernel", 1000 + rank, at + 20, 10.0, correlation=first,
            **{"External id": first})  # fmt: skip
        add("kernel", "gemm", 7, at + 50, 3_000.0, correlation=first, stream=7, device=0,
            **{"External id": first})  # fmt: skip
        add("cuda_runtime", "cudaLaunchKernel", 1000 + rank, at + 200, 10.0, correlation=second,
            **{"External id": second})  # fmt: skip
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            20, at + 3_100, 2_000.0, correlation=second, stream=20, device=0,
            **{"External id": second, "Collective name": "allreduce", "In msg nelems": 1_048_576,
               "Out msg nelems": 1_048_576, "Group size": 2, "dtype": "Float",
               "Process Group Name": "0"})  # fmt: skip
    return events


def trace_text(rank: int, world: int, steps: int = 3) -> str:
    return json.dumps(
        {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "Test Device"}],
            "record_shapes": 1,
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world},
            "baseTimeNanoseconds": 1_700_000_000_000_000_000,
            "traceEvents": trace_events(rank, steps),
        }
    )


@pytest.fixture(scope="session")
def large_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of 200 MB. Reading it takes long enough to be interrupted."""
    path = tmp_path_factory.mktemp("large") / "large.json"
    piece = ",".join(json.dumps(event) for event in trace_events(0, 400))
    with open(path, "w") as file:
        file.write('{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[')
        file.write(piece)
        while file.tell() < 200_000_000:
            file.write("," + piece)
        file.write("]}")
    return path


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Path]:
    """job(ranks=2): a folder with one trace per rank."""

    def make(ranks: int = 2, world: int | None = None, steps: int = 3) -> Path:
        folder = tmp_path / "job"
        folder.mkdir()
        for rank in range(ranks):
            text = trace_text(rank, world or ranks, steps)
            (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(text.encode()))
        return folder

    return make
