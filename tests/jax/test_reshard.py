# SPDX-License-Identifier: Apache-2.0
"""Tests weft.jax.reshard with the JAX of .venvs/jax, on 8 CPU devices of one process and between
processes over loopback."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.frameworks import free_port, python_of, ranks_environment, start, weft_alone
from tests.conftest import ROOT, clean_environment

JOBS = Path(__file__).parent / "jobs"
PATIENCE_S = 240


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    packages = weft_alone(tmp_path_factory.mktemp("weft") / "packages")
    return {
        "PYTHONPATH": str(packages),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    }


ONE_PROCESS = [
    "pairs", "issues", "devices", "shapes", "dtypes", "columns_first", "not_yet_there", "memory", "peak",
    "pieces", "refusals", "checked", "options", "cached",
]  # fmt: skip


@pytest.mark.parametrize("check", ONE_PROCESS)
def test_eight_devices_of_one_process(environment: dict[str, str], check: str) -> None:
    done = subprocess.run(
        [python_of("jax"), JOBS / "one_process.py", check], capture_output=True, text=True,
        timeout=PATIENCE_S, env=clean_environment(**environment),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if "skipped" in done.stdout:
        pytest.skip(done.stdout.splitlines()[0])
    assert done.stdout.splitlines()[-1] == "right"


def test_the_guide_runs(environment: dict[str, str], tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guide" / "redistribution-jax.md").read_text()
    script = tmp_path / "script.py"
    script.write_text("".join(re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)))
    done = subprocess.run(
        [python_of("jax"), script], capture_output=True, text=True, timeout=PATIENCE_S,
        env=clean_environment(**environment),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


Processes = list["subprocess.Popen[str]"]


@pytest.fixture
def processes() -> Iterator[Processes]:
    """A list for the processes that a test starts. All of them are killed after the test."""
    started: Processes = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def run_processes(
    started: Processes, environment: dict[str, str], check: str, count: int, devices: int
) -> list[tuple[int, str, str]]:
    port = free_port()
    for rank in range(count):
        words: list[str | Path] = [python_of("jax"), JOBS / "processes.py", check, str(devices)]
        started.append(start(words, **environment, **ranks_environment(rank, count, port)))
    ended = []
    for process in started:
        out, err = process.communicate(timeout=PATIENCE_S)
        ended.append((process.returncode, out, err))
    return ended


@pytest.mark.parametrize(
    ("check", "count", "devices"),
    [("pairs", 2, 2), ("pairs", 4, 1), ("devices", 2, 2), ("devices", 3, 2), ("large", 2, 2),
     ("large", 4, 1), ("dtypes", 2, 1), ("with_jax", 2, 2), ("mixed_up", 2, 1)],
)  # fmt: skip
def test_several_processes(
    processes: Processes, environment: dict[str, str], check: str, count: int, devices: int
) -> None:
    for status, out, err in run_processes(processes, environment, check, count, devices):
        assert status == 0 and "right" in out, err


@pytest.mark.parametrize("check", ["lost", "silent", "absent"])
def test_a_lost_process_is_an_error_on_all_others(
    processes: Processes, environment: dict[str, str], check: str
) -> None:
    ended = run_processes(processes, environment, check, 3, 2)
    for status, out, err in ended[:-1]:
        assert status == 0 and "right" in out, err
        assert check == "absent" or "survived: process" in out


def test_the_bench_runs_on_small_arrays() -> None:
    if not (ROOT.parent / "shared" / "reshard" / "cases.json").exists():
        pytest.skip("the shared cases are not beside this checkout")
    python_of("jax")
    words = ["--local", "1", "--repeats", "1", "--only", "issue/xla15207"]
    done = subprocess.run(
        [ROOT / ".venv" / "bin" / "python", ROOT / "bench" / "reshard_jax.py", *words],
        capture_output=True, text=True, timeout=PATIENCE_S, env=clean_environment(),
    )  # fmt: skip
    assert "1 cases, 1 distinct, 0 wrong," in done.stdout, done.stdout + done.stderr
