# SPDX-License-Identifier: Apache-2.0
"""`make build` builds the command and all files that it needs at run time."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, weft_command

BUILD = Path(weft_command()).resolve().parent.parent
PARTS = ("libweft-wire.so", "libweft-mpi.so", "libnccl-profiler-weft.so", "calibrate-mpi")


def commands(*targets: str) -> str:
    return subprocess.run(
        ["ninja", "-C", str(BUILD), "-t", "commands", *targets],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_make_build_builds_every_part_that_this_machine_can_build() -> None:
    if not (BUILD / "build.ninja").exists():
        pytest.skip("WEFT_COMMAND is not in a build folder")
    plan = subprocess.run(
        ["make", "-n", "build"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"--target (.*)", plan)
    assert found is not None
    made, all_there_is = commands(*found.group(1).split()), commands("all")
    for part in PARTS:
        assert (f"/{part} " in made) == (f"/{part} " in all_there_is), part
    assert "/libweft-wire.so " in made
