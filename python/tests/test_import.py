# SPDX-License-Identifier: Apache-2.0
"""Importing weft without its compiled part raises an error that says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "weft"


@pytest.mark.parametrize("module", ["weft", "weft.torch", "weft.jax"])
@pytest.mark.parametrize(
    ("file", "says"),
    [
        (None, "is not built: its compiled part, _core, is missing; run 'python -m pip install .'"),
        ("_core.cpython-27-any.so", "is built for another Python (_core.cpython-27-any.so; this is "),
        ("_core.abi3.so", "_core.abi3.so: "),
    ],
)
def test_a_source_tree_that_is_not_built_says_so(
    tmp_path: Path, module: str, file: str | None, says: str
) -> None:
    compiled = shutil.ignore_patterns("_core*", "__pycache__")
    shutil.copytree(SOURCES, tmp_path / "weft", ignore=compiled)
    if file:
        (tmp_path / "weft" / file).write_bytes(b"this is no library")
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ") and says in last
    assert "circular" not in done.stderr
