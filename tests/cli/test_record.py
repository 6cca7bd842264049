# SPDX-License-Identifier: Apache-2.0
"""`weft record` and `weft gather` with commands that do not train."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from tests.cli.frameworks import PATIENCE_S, record, start
from tests.conftest import Weft, weft_command


@pytest.mark.parametrize("status", [0, 3, 77])
def test_the_exit_status_is_that_of_the_command(tmp_path: Path, status: int) -> None:
    done = record(tmp_path / "t", ["sh", "-c", f"exit {status}"])
    # If nothing was recorded, the status is 1, unless the job itself failed.
    assert done.returncode == (status or 1)
    assert "nothing was recorded: no Python process" in done.stderr


def test_streams_and_arguments_reach_the_command(tmp_path: Path) -> None:
    done = record(tmp_path / "t", ["sh", "-c", 'echo "$1"; echo "$2" >&2', "sh", "--steps", "-o"])
    assert done.stdout == "--steps\n"
    assert done.stderr.startswith("-o\n")


def test_python_without_a_framework_is_named(tmp_path: Path) -> None:
    script = tmp_path / "tool.py"
    script.write_text("print(1)\n")
    done = record(tmp_path / "t", [sys.executable, script])
    assert done.returncode == 1
    assert f"Python ran ({script}), but imported none of torch" in done.stderr
    assert list((tmp_path / "t").iterdir()) == [], "temporary files are removed"


def test_another_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine ran')\n")
    done = record(tmp_path / "t", [sys.executable, "-c", "pass"], PYTHONPATH=str(tmp_path))
    assert done.stdout == "mine ran\n"


def test_a_module_with_the_name_of_a_framework_does_not_break_the_job(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("answer = 42\n")
    script = tmp_path / "main.py"
    script.write_text("import torch\nprint(torch.answer)\n")
    done = record(tmp_path / "t", [sys.executable, script])
    assert done.stdout == "42\n"
    assert done.stderr.count("weft: warning: Weft cannot record torch: ") == 1
    assert "nothing was recorded: a process reported a problem: torch: " in done.stderr


def test_signals_are_forwarded_to_the_command(tmp_path: Path) -> None:
    script = "trap 'echo told; exit 5' TERM; echo ready; while :; do sleep 0.02; done"
    process = start([weft_command(), "record", "-o", tmp_path / "t", "--", "sh", "-c", script])
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (5, "told\n")


def test_death_by_a_signal_gives_the_same_status_as_in_a_shell(tmp_path: Path) -> None:
    started = time.monotonic()
    assert record(tmp_path / "t", ["sh", "-c", "kill -9 $$"]).returncode == 137
    assert time.monotonic() - started < PATIENCE_S


def test_a_missing_command_leaves_no_folder(tmp_path: Path) -> None:
    done = record(tmp_path / "t", ["/no/such/command"])
    assert done.returncode == 3
    assert "cannot run '/no/such/command': No such file or directory" in done.stderr
    assert not (tmp_path / "t").exists()


def test_a_recording_is_not_overwritten_without_force(tmp_path: Path) -> None:
    (tmp_path / "r0.kineto.json.gz").write_text("precious")
    (tmp_path / "train.py").write_text("mine")
    done = record(tmp_path, ["true"])
    assert done.returncode == 2
    assert "there is already a recording (r0.kineto.json.gz" in done.stderr
    record(tmp_path, ["true"], "--force")
    assert [file.name for file in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        ("0..3", "step 0 cannot be recorded"),
        ("5..4", "5..4 ends before it begins"),
        ("many", "'many' is not a range of steps such as 10..14"),
    ],
)
def test_invalid_steps_are_refused(tmp_path: Path, steps: str, complaint: str) -> None:
    done = record(tmp_path / "t", ["true"], "--steps", steps)
    assert done.returncode == 2 and complaint in done.stderr


def test_the_next_command_can_be_copied(tmp_path: Path) -> None:
    write = (
        "echo trace > \"$WEFT_RECORD/r0.kineto.json.gz\"; "
        "echo '{\"framework\": \"torch\", \"rank\": 0, \"world\": 2}' > \"$WEFT_RECORD/r0.job.json\""
    )
    done = record(tmp_path / "my traces", ["sh", "-c", write])
    assert f"next command: weft diagnose '{tmp_path}/my traces'" in done.stderr
    assert f"weft gather -o ALL '{tmp_path}/my traces' HOST" in done.stderr


def test_gather_joins_folders_and_names_missing_ranks(weft: Weft, tmp_path: Path) -> None:
    facts = '{"framework": "torch", "rank": %d, "world": 3}'
    for rank in range(2):
        folder = tmp_path / f"host{rank}"
        folder.mkdir()
        (folder / f"r{rank}.kineto.json.gz").write_text(f"rank {rank}")
        (folder / f"r{rank}.job.json").write_text(facts % rank)
    done = weft("gather", "-o", tmp_path / "all", tmp_path / "host0", tmp_path / "host1")
    assert done.returncode == 1
    assert done.stdout == (
        f"{tmp_path / 'all'}: 2 files, 12 B; ranks 0, 1 of 3\nmissing: rank 2\n"
    )
    assert (tmp_path / "all" / "r1.kineto.json.gz").read_text() == "rank 1"


def test_gather_refuses_two_files_of_the_same_name(weft: Weft, tmp_path: Path) -> None:
    for host in ("a", "b"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "r0.kineto.json.gz").write_text(host)
    done = weft("gather", "-o", tmp_path / "all", tmp_path / "a", tmp_path / "b")
    assert done.returncode == 3 and "two hosts used the same rank" in done.stderr
    assert list((tmp_path / "all").iterdir()) == [] if (tmp_path / "all").exists() else True


def test_gather_copies_from_hosts_with_an_available_tool(weft: Weft, tmp_path: Path) -> None:
    remote = tmp_path / "remote"
    remote.mkdir()
    (remote / "r0.kineto.json.gz").write_text("far")
    tools = tmp_path / "bin"
    tools.mkdir()
    # Replaces rsync and the network: copies from the path after the colon.
    (tools / "rsync").write_text(
        '#!/bin/sh\nshift 2\nsource=${1#node1:}\n[ "$source" = "$1" ] && exit 9\ncp "$source"* "$2"\n'
    )
    (tools / "rsync").chmod(0o755)
    path = f"{tools}:/usr/bin:/bin"
    done = weft("gather", "-o", tmp_path / "all", f"node1:{remote}", PATH=path)
    assert done.returncode == 0, done.stderr
    assert [file.name for file in (tmp_path / "all").iterdir()] == ["r0.kineto.json.gz"]
    failed = weft("gather", "-o", tmp_path / "none", "node2:/x", PATH=path)
    assert failed.returncode == 3 and "node2:/x: rsync failed to copy the folder (status 9)" in failed.stderr
