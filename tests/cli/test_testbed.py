# SPDX-License-Identifier: Apache-2.0
"""Tests `weft testbed` without root: requests that it refuses, and ranks on one GPU."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import Weft, clean_environment, weft_command

ONE_GPU = '{"kind": "one-gpu", "hosts": 2}'


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["dwon", "2x"], 2, "did you mean 'down'?"),
        (["run"], 2, "CLUSTER is missing"),
        (["run", "2x"], 2, "the command is missing"),
        (["run", "nowhere", "--", "true"], 3, "no cluster 'nowhere'"),
        (["run", "2x", "--style", "torhc", "--", "true"], 2, "did you mean 'torch'?"),
    ],
)
def test_invalid_requests_are_refused(weft: Weft, words: list[str], code: int, message: str) -> None:
    done = weft("testbed", *words)
    assert done.returncode == code, done.stderr
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_broken_description_names_the_file(weft: Weft, tmp_path: Path) -> None:
    file = tmp_path / "lab.json"
    file.write_text('{"hosts": 2, "rate": "fast"}')
    done = weft("testbed", "run", file, "--", "true")
    assert done.returncode == 3
    assert f"{file}: rate 'fast' is not a rate such as" in done.stderr


@pytest.mark.parametrize("words", [["run", "2x", "--", "true"], ["list"]])
def test_without_root_the_error_is_one_sentence(tmp_path: Path, words: list[str]) -> None:
    words = [weft_command(), "testbed", *words]
    if os.geteuid() == 0:
        # Other users may not be able to read the build folder, so the test runs a copy.
        command = tmp_path / "weft"
        command.write_bytes(Path(words[0]).read_bytes())
        for path in (command, tmp_path, *tmp_path.parents[:2]):
            path.chmod(0o755)
        words = ["setpriv", "--reuid", "65534", "--clear-groups", str(command), *words[1:]]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=60, env=clean_environment(), cwd="/"
    )
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("weft: error: ") and "a testbed needs root" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def gpu(tmp_path: Path) -> Path:
    file = tmp_path / "gpu.json"
    file.write_text(ONE_GPU)
    return file


def test_ranks_on_one_gpu_need_the_service(weft: Weft, gpu: Path, tmp_path: Path) -> None:
    done = weft("testbed", "run", gpu, "--", "true", PATH="/usr/bin:/bin")
    if done.returncode == 0:
        pytest.skip("the MPS service runs on this machine")
    assert done.returncode == 4
    assert "nvidia-cuda-mps-control" in done.stderr and '"mps": false' in done.stderr


@pytest.fixture
def service(tmp_path: Path) -> dict[str, str]:
    """A fake MPS service, first on PATH, that logs its requests."""
    tools = tmp_path / "tools"
    tools.mkdir()
    program = tools / "nvidia-cuda-mps-control"
    note = f'"$1 $CUDA_MPS_PIPE_DIRECTORY $(cat)" >>{tmp_path / "log"}'
    program.write_text(f"#!/bin/sh\necho {note}\n")
    program.chmod(0o755)
    return {"PATH": f"{tools}:{os.environ['PATH']}"}


def test_ranks_on_one_gpu_share_it(
    weft: Weft, gpu: Path, tmp_path: Path, service: dict[str, str]
) -> None:
    script = "echo $NCCL_HOSTID $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE $CUDA_MPS_PIPE_DIRECTORY"
    words = ["--slow", "host1=0.5", "--", "sh", "-c", script]
    done = weft("testbed", "run", gpu, *words, **service)
    assert done.returncode == 0, done.stderr
    start, stop = (tmp_path / "log").read_text().splitlines()
    folder = start.split()[1]
    assert start.split() == ["-d", folder] and stop.split() == [folder, "quit"]
    assert sorted(done.stdout.splitlines()) == [f"r0| host0 50 {folder}", f"r1| host1 25 {folder}"]
    assert not Path(folder).parent.exists()


def test_service_also_stops_if_the_run_is_killed(
    gpu: Path, tmp_path: Path, service: dict[str, str]
) -> None:
    run = subprocess.Popen(
        [weft_command(), "testbed", "run", gpu, "--", "sh", "-c", "echo on; exec sleep 600"],
        stdout=subprocess.PIPE, env=clean_environment(**service),
    )  # fmt: skip
    assert run.stdout and run.stdout.readline()
    run.kill()
    run.communicate()
    log = tmp_path / "log"
    deadline = time.monotonic() + 20
    while "quit" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert log.read_text().splitlines()[-1].endswith("quit")
