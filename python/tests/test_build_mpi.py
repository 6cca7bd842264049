# SPDX-License-Identifier: Apache-2.0
"""`python -m weft.build_mpi` compiles the parts that depend on one MPI, or says what is missing."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

import pytest

from weft import build_mpi


def test_builds_with_the_mpi_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("mpicc") is None:
        pytest.skip("no MPI with its compiler wrapper is installed")
    monkeypatch.setattr(build_mpi, "NATIVE", tmp_path)
    (tmp_path / "lib").mkdir()
    assert build_mpi.main([]) == 0
    library, program = tmp_path / "lib/libweft-mpi.so", tmp_path / "libexec/weft/calibrate-mpi"
    assert capsys.readouterr().out == f"built {library}\nbuilt {program}\n"
    assert os.access(program, os.X_OK)
    assert hasattr(ctypes.CDLL(str(library)), "weft_mpi_record")


def test_without_an_mpi_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert build_mpi.main(["mpicc-of-nobody"]) == 4
    assert "there is no 'mpicc-of-nobody' on the PATH; load the module" in capsys.readouterr().err


def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert build_mpi.main(["--help"]) == 2
    assert capsys.readouterr().err == "usage: python -m weft.build_mpi [MPICC]\n"
