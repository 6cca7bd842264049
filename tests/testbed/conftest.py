# SPDX-License-Identifier: Apache-2.0
"""Fixtures that make real clusters. They need root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import clean_environment, weft_command


def namespaces() -> set[str]:
    folder = Path("/run/netns")
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    return {name for name in names if name.startswith("weft-testbed.")}


def left_behind(cluster: str) -> list[str]:
    """Namespaces, files and mounts of a cluster that still exist. Other clusters may be up at the
    same time, so only names of this cluster count."""
    mark = f".{cluster}"
    found = [name for name in namespaces() if mark in name]
    for folder in ("/run/weft-testbed", "/sys/fs/cgroup/cpu/weft-testbed"):
        if Path(folder).exists():
            found += [str(path) for path in Path(folder).iterdir() if path.name.startswith(cluster)]
    mounts = Path("/proc/mounts").read_text().splitlines()
    return found + [line for line in mounts if f"/weft-testbed/{cluster}" in line]


def missing() -> str:
    if os.geteuid() != 0:
        return "clusters need root"
    for tool in ("ip", "tc"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            return f"{tool} is not installed"
    probe = ["ip", "netns", "exec", "weft-testbed.probe", "true"]
    made = subprocess.run(["ip", "netns", "add", probe[3]], capture_output=True, text=True)
    if made.returncode != 0:
        return f"network namespaces cannot be created: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", probe[3]], check=True)
    return ""


@pytest.fixture(scope="session", autouse=True)
def needs_root() -> None:
    if reason := missing():
        pytest.skip(reason)


class Clusters:
    """Runs `weft testbed` with a cluster name that no other test run uses."""

    def __init__(self, folder: Path) -> None:
        self.name = f"test-{os.getpid()}"
        self.file = folder / f"{self.name}.json"

    def describe(self, text: str) -> Path:
        self.file.write_text(text)
        return self.file

    def __call__(self, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [weft_command(), "testbed", *map(str, words)], capture_output=True, text=True,
            env=clean_environment(**environment), timeout=60,
        )  # fmt: skip

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [weft_command(), "testbed", *map(str, words)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=clean_environment(),
        )  # fmt: skip


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[Clusters]:
    clusters = Clusters(tmp_path)
    clusters.describe('{"hosts": 2}')
    yield clusters
    left = left_behind(clusters.name)
    if left:
        clusters("down", clusters.name)
    assert not left, "a test must take down its clusters"
