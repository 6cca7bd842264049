# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests with real frameworks, which tools/frameworks.sh installs into .venvs."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, clean_environment, weft_command

PATIENCE_S = 180


def python_of(framework: str) -> Path:
    """The Python of the framework's environment. Skips the test if there is none."""
    python = ROOT / ".venvs" / framework / "bin" / "python"
    if not python.exists():
        pytest.skip(f".venvs/{framework} is missing; run tools/frameworks.sh {framework}")
    return python


def weft_alone(folder: Path) -> Path:
    """A folder for PYTHONPATH that holds only the installed Weft. It makes Weft available in
    environments with other packages. Their Python must have the version that Weft was built for."""
    spec = importlib.util.find_spec("weft")
    assert spec is not None and spec.origin is not None
    folder.mkdir(exist_ok=True)
    (folder / "weft").symlink_to(Path(spec.origin).parent.resolve())
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ranks_environment(rank: int, world: int, port: int) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_RANK": str(rank),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }


def record(
    folder: Path, command: list[str | Path], *flags: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    words = [weft_command(), "record", "-o", folder, *flags, "--", *command]
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=PATIENCE_S,
        env=clean_environment(**environment),
    )  # fmt: skip


def start(command: list[str | Path], **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=clean_environment(**environment),
    )  # fmt: skip


def is_root() -> bool:
    return os.geteuid() == 0
