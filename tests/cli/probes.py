# SPDX-License-Identifier: Apache-2.0
"""Paths of the probes, and helpers that read their logs with `weft info`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import Weft, weft_command

LIBRARIES = Path(weft_command()).resolve().parent.parent / "lib"
WIRE = LIBRARIES / "libweft-wire.so"
NCCL = LIBRARIES / "libnccl-profiler-weft.so"
MPI = LIBRARIES / "libweft-mpi.so"


def info(weft: Weft, *words: str | Path) -> Any:
    done = weft("info", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ids(report: Any) -> set[str]:
    return {entry["id"] for entry in report["diagnostics"]}
