# SPDX-License-Identifier: Apache-2.0
"""Tests the probes of NCCL and MPI: calls them as these libraries do, and reads their logs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.frameworks import record
from tests.cli.probes import MPI, NCCL, ids, info
from tests.conftest import ROOT, Weft, clean_environment, trace_text

# -- NCCL ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nccl_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("nccl") / "nccl_driver"
    source = ROOT / "tests" / "cli" / "nccl_driver.c"
    subprocess.run(["cc", "-O1", f"-I{ROOT}", "-o", program, source, "-ldl"], check=True)
    return program


def drive_nccl(program: Path, folder: Path, version: int, **more: str) -> None:
    for rank in range(2):
        done = subprocess.run(
            [program, NCCL, str(version), str(rank)], capture_output=True, text=True,
            env=clean_environment(WEFT_RECORD=str(folder), RANK=str(rank), WORLD_SIZE="2", **more),
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


def named(rank: Any) -> dict[str, int]:
    return {entry["name"]: entry["with_size"] for entry in rank["collectives"]}


@pytest.mark.parametrize("version", [3, 4, 5, 6])
@pytest.mark.parametrize("events", ["", "all"])
def test_plugin_supports_every_interface_version_of_nccl(
    weft: Weft, nccl_driver: Path, tmp_path: Path, version: int, events: str
) -> None:
    drive_nccl(nccl_driver, tmp_path, version, WEFT_NCCL_EVENTS=events)
    assert sorted(log.name for log in tmp_path.iterdir()) == ["r0.nccl.weftlog", "r1.nccl.weftlog"]
    report = info(weft, tmp_path)
    (run,) = report["runs"]
    assert run["world"] == 2
    for number, rank in enumerate(run["ranks"]):
        assert rank["rank"] == number
        assert named(rank)["allreduce"] == 1
        wire = rank["transfers"]
        assert wire["sent_bytes"] == wire["received_bytes"] == 4_000_000
        assert wire["count"] == 8
        assert [peer["peer"] for peer in wire["peers"]] == [f"rank {1 - number}"]
    assert "log-lost" not in ids(report)


def test_gpu_clock_gives_the_length_of_a_collective(
    weft: Weft, nccl_driver: Path, tmp_path: Path
) -> None:
    drive_nccl(nccl_driver, tmp_path, 5, WEFT_NCCL_EVENTS="all")
    done = weft("export", tmp_path, "-o", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    spans = [
        event
        for event in json.loads((tmp_path / "out.json").read_text())["traceEvents"]
        if "AllReduce" in event.get("name", "") and event.get("ph") == "X"
    ]
    assert spans
    assert all(abs(span["dur"] - 345.678) < 0.01 for span in spans)


def test_plugin_waits_for_its_window(weft: Weft, nccl_driver: Path, tmp_path: Path) -> None:
    drive_nccl(nccl_driver, tmp_path, 5, WEFT_RECORD_WAIT="1")
    for rank in info(weft, tmp_path)["runs"][0]["ranks"]:
        assert named(rank)["allreduce"] == 1


# Loads the plug-in as NCCL does (RTLD_LOCAL), before or after the hook has opened the window, which
# is the time in which events are recorded. Prints for each state whether the plug-in requests
# events from NCCL.
WINDOW = """
import ctypes, os, sys, types
weft = sys.modules["weft"] = types.ModuleType("weft")
weft.__path__ = [sys.argv[1]]
from weft._recording.probes import Probes

class Profiler(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("init", ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p,
        ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p))]

context, mask = ctypes.c_void_p(), ctypes.c_int()

def load():
    plugin = ctypes.CDLL(sys.argv[2], mode=os.RTLD_LOCAL | os.RTLD_NOW)
    table = Profiler.in_dll(plugin, "ncclProfiler_v5")
    table.init(ctypes.byref(context), 1, ctypes.byref(mask), b"world", 1, 2, 0, None)

probes, told = Probes(), []
def tell():
    told.append(f"{'on' if mask.value else 'off'}/{os.environ['WEFT_RECORD_WAIT']}")

if sys.argv[3] == "before":
    load()
tell()
probes.record(True)
if sys.argv[3] == "within":
    load()
tell()
probes.record(False)
tell()
print(" ".join(told))
"""


@pytest.mark.parametrize("when", ["before", "within"])
def test_hook_opens_the_window_of_the_plugin(tmp_path: Path, when: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WINDOW, ROOT / "python" / "weft", NCCL, when],
        capture_output=True, text=True, timeout=60,
        env=clean_environment(WEFT_RECORD=str(tmp_path), WEFT_RECORD_WAIT="1", RANK="0"),
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("off/1 on/0 off/1\n", "")
    assert [log.name for log in tmp_path.iterdir()] == ["r0.nccl.weftlog"]


def test_nccl_log_adds_its_transfers_to_the_profile(
    weft: Weft, nccl_driver: Path, tmp_path: Path
) -> None:
    drive_nccl(nccl_driver, tmp_path, 5)
    for rank in range(2):
        text = trace_text(rank, 2).replace(f'"pid": {1000 + rank}', '"pid": "?"')
        (tmp_path / f"rank{rank}.json").write_text(text)
    # The profile has no process id, so the log is joined by rank.
    report = info(weft, tmp_path)
    (run,) = report["runs"]
    assert [rank["format"] for rank in run["ranks"]] == ["kineto", "kineto"]
    assert [rank["transfers"]["count"] for rank in run["ranks"]] == [8, 8]
    assert "nccl-enqueue-times" not in ids(report)


def test_unknown_events_are_named(nccl_driver: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [nccl_driver, NCCL, "5", "0"], capture_output=True, text=True,
        env=clean_environment(WEFT_RECORD=str(tmp_path), WEFT_NCCL_EVENTS="coll,everything"),
    )  # fmt: skip
    assert done.returncode == 0
    assert 'WEFT_NCCL_EVENTS: unknown value "everything" was ignored' in done.stderr


# -- MPI ----------------------------------------------------------------------------------------


def test_every_mpi_call_is_recorded_and_matched(weft: Weft, tmp_path: Path) -> None:
    if not MPI.exists() or shutil.which("mpirun") is None or shutil.which("mpicc") is None:
        pytest.skip("MPI is not installed")
    job = tmp_path / "job"
    logs = tmp_path / "logs"
    subprocess.run(["mpicc", "-O1", "-o", job, ROOT / "tests" / "cli" / "mpi_job.c"], check=True)
    done = record(
        logs,
        ["mpirun", "-n", "2", "--oversubscribe", "--mca", "btl", "tcp,self", "--mca",
         "btl_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1", job],
        "--mpi", "--no-wire",
        OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "recorded MPI calls, ranks 0, 1" in done.stderr
    assert sorted(log.name for log in logs.iterdir()) == ["r0.mpi.weftlog", "r1.mpi.weftlog"]
    (run,) = info(weft, logs)["runs"]
    assert run["world"] == 2
    for rank in run["ranks"]:
        # The two ends of a message count separately. A broadcast in a group of one rank moves no
        # data, so it does not count.
        assert {entry["name"]: entry["count"] for entry in rank["collectives"]} == {
            "allgather": 1, "allreduce": 2, "barrier": 1, "broadcast": 1, "sendrecv": 4,
        }  # fmt: skip
    done = weft("diagnose", "--json", logs)
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    sizes = {(entry["name"], entry["bytes"]) for entry in parsed["collectives"]}
    assert "collective-without-peers" not in ids(parsed)
    assert {("allreduce", 4000), ("allreduce", 2400), ("allgather", 400), ("broadcast", 70),
            ("sendrecv", 80_000), ("sendrecv", 44)} <= sizes  # fmt: skip
