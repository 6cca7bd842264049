# SPDX-License-Identifier: Apache-2.0
"""The jobs of testbed/jobs on hosts of the testbed, unrecorded and under `weft record`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.frameworks import python_of, record
from tests.conftest import ROOT, Weft, weft_command
from tests.testbed.conftest import Clusters

JOBS = ROOT / "testbed/jobs"
SMALL = ["--layers", "2", "--width", "512"]


def step_times(output: str) -> list[float]:
    line = next(line for line in output.splitlines() if '| {"step_ms"' in line)
    found: list[float] = json.loads(line.partition("| ")[2])["step_ms"]
    return found


def test_torch_job_prints_the_time_of_every_step(testbed: Clusters) -> None:
    testbed.describe('{"hosts": 2, "rate": "1gbit"}')
    words = ["--steps", "3", "--emulate", "10,30", "--bucket-mb", "5"]
    done = testbed("run", testbed.file, "--", python_of("torch"), JOBS / "torch_ddp.py", *words)
    assert done.returncode == 0, done.stderr
    steps = step_times(done.stdout)
    assert len(steps) == 3
    # Each host sends 25 MB per step. The shaper of the link allows a burst after idle time, so the
    # first step may be a little faster.
    assert min(steps) > 25.1 * 8 * 0.9


def recorded(testbed: Clusters, weft: Weft, folder: Path, *words: str | Path) -> Any:
    """Records a job of eight steps on two hosts with different clocks; the result of weft info."""
    testbed.describe('{"hosts": 2, "rate": "1gbit"}')
    run = [weft_command(), "testbed", "run", testbed.file, "--skew", "host1=+50ms", *words]
    done = record(folder, [*run, "--steps", "8"], "--steps", "4..6")
    assert done.returncode == 0, done.stderr
    assert len(step_times(done.stdout)) == 8
    (found,) = json.loads(weft("info", "--json", folder).stdout)["runs"]
    assert found["missing_count"] == 0
    return found


def predicted_ms(weft: Weft, folder: Path) -> float:
    return float(json.loads(weft("replay", "--json", folder).stdout)["predicted_step_ms"])


def test_torch_job_is_recorded_on_all_hosts(testbed: Clusters, weft: Weft, tmp_path: Path) -> None:
    command: list[str | Path] = [python_of("torch"), JOBS / "torch_ddp.py", "--model", "cnn"]
    run = recorded(testbed, weft, tmp_path, "--", *command)
    assert [rank["host"] for rank in run["ranks"]] == ["host0", "host1"]
    assert predicted_ms(weft, tmp_path) > 0


def test_jax_job_is_recorded_on_all_hosts(testbed: Clusters, weft: Weft, tmp_path: Path) -> None:
    run = recorded(testbed, weft, tmp_path, "--", python_of("jax"), JOBS / "jax_dp.py", *SMALL)
    assert [rank["host"] for rank in run["ranks"]] == ["host0", "host1"]
    assert predicted_ms(weft, tmp_path) > 0


def test_mxnet_job_is_recorded_with_its_servers(
    testbed: Clusters, weft: Weft, tmp_path: Path
) -> None:
    style = ["--style", "ps", "--servers", "2"]
    command: list[str | Path] = [python_of("mxnet"), JOBS / "mxnet_ps.py", *SMALL]
    run = recorded(testbed, weft, tmp_path, *style, "--", *command)
    names = [Path(rank["file"]).name for rank in run["ranks"]]
    assert names == ["r0.mxnet.json", "r1.mxnet.json"]
    for server in ("server0", "server1"):
        assert (tmp_path / f"{server}.mxnet.json").exists()
    # Messages to and from the servers align the clocks of the workers. One clock is 50 ms ahead.
    assert {process["role"] for process in run["bystanders"]} == {"server"}
    hosts = [rank["host"] for rank in run["ranks"]]
    clock = json.loads(weft("replay", "--json", tmp_path).stdout)["ranks"][1]["clock"]
    expected = -50_000 if hosts[1] == "host1" else 50_000
    assert abs(clock["offset_us"] - expected) < 3_000
    assert predicted_ms(weft, tmp_path) > 0


def test_tensorflow_servers_exchange_tensors_with_their_workers(
    testbed: Clusters, weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sizes of tensors come from buffer sizes. TensorFlow records these only with the allocator of
    # oneDNN, which it uses by default on some processors only.
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    style = ["--style", "tensorflow", "--servers", "1"]
    command: list[str | Path] = [python_of("tensorflow"), JOBS / "tf_ps.py", *SMALL]
    run = recorded(testbed, weft, tmp_path, *style, "--", *command)
    near, far = run["ranks"]
    assert (near["host"], far["host"]) == ("host0", "host1")
    (exchanges,) = [entry for entry in far["collectives"] if entry["name"] == "pushpull"]
    # Each of the three steps has two tensors in each direction and one message that ends the step.
    assert exchanges["count"] >= 15 and exchanges["with_size"] >= 12
    assert all(entry["name"] == "barrier" for entry in near["collectives"])
    asked = weft("replay", "--json", tmp_path, "--what-if", "network.bandwidth=0.5x")
    answer = json.loads(asked.stdout)
    assert answer["predicted_step_ms"] > 1.2 * answer["baseline_step_ms"]
