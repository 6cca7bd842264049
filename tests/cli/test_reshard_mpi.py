# SPDX-License-Identifier: Apache-2.0
"""Tests redistributions over MPI with real ranks: results are correct, and a lost rank is an
error."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import clean_environment, weft_command

LOOPBACK = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@pytest.fixture(scope="module")
def rank_program() -> Path:
    build = Path(weft_command()).resolve().parent.parent
    program = build / "weft" / "reshard" / "execute" / "mpi" / "reshard_mpi_rank"
    if not program.exists() or shutil.which("mpirun") is None:
        pytest.skip("MPI is not installed, or Weft was built without tests")
    return program


def mpirun(ranks: int, *words: str | Path, wires: str) -> subprocess.CompletedProcess[str]:
    # Without --enable-recovery, mpirun would kill the survivors when a rank dies.
    return subprocess.run(
        ["mpirun", "-q", "--oversubscribe", "--enable-recovery", "-n", str(ranks), *map(str, words)],
        capture_output=True,
        text=True,
        env=clean_environment(OMPI_MCA_btl=f"self,{wires}", **LOOPBACK),
        timeout=120,
    )


WAYS = ("shared", "messages")
SURVIVORS = ["rank 0", "rank 1", "rank 3"]


def said_by_ranks(done: subprocess.CompletedProcess[str]) -> list[str]:
    return sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))


@pytest.mark.parametrize(
    ("way", "ranks", "wires"),
    [("shared", 4, "vader"), ("shared", 3, "tcp"), ("messages", 4, "vader"), ("messages", 4, "tcp")],
)
def test_random_problems_have_correct_results(rank_program: Path, way: str, ranks: int, wires: str) -> None:
    done = mpirun(ranks, rank_program, way, "right", "60", wires=wires)
    assert (done.returncode, done.stdout.strip()) == (0, "right"), done.stderr


@pytest.mark.parametrize(("way", "wires"), [("shared", "vader"), ("messages", "vader"), ("messages", "tcp")])
def test_arrays_can_be_cast(rank_program: Path, way: str, wires: str) -> None:
    done = mpirun(4, rank_program, way, "cast", "80", wires=wires)
    assert (done.returncode, done.stdout.strip()) == (0, "right, most"), done.stderr


@pytest.mark.parametrize(
    ("way", "wires"), [("shared", "vader"), ("shared", "tcp"), ("messages", "vader"), ("messages", "tcp")]
)
def test_a_killed_rank_is_an_error_on_every_survivor(rank_program: Path, way: str, wires: str) -> None:
    begin = time.monotonic()
    done = mpirun(4, rank_program, way, "killed", "2", wires=wires)
    assert [line.split(":")[0] for line in said_by_ranks(done)] == SURVIVORS, done.stderr
    assert time.monotonic() - begin < 120


@pytest.mark.parametrize("way", WAYS)
def test_a_rank_with_another_program_is_an_error_everywhere(rank_program: Path, way: str) -> None:
    said = said_by_ranks(mpirun(4, rank_program, way, "different", "1", wires="vader"))
    assert len(said) == 4
    assert sum("another program" in line for line in said) >= 3
