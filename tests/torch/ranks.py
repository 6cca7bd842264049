# SPDX-License-Identifier: Apache-2.0
"""Jobs of gloo ranks in the environment of torch, with the installed Weft."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.frameworks import free_port, python_of, ranks_environment, start, weft_alone
from tests.conftest import ROOT


@contextmanager
def ranks_of(
    module: str, *words: str, folder: Path, world: int = 4
) -> Iterator[list[subprocess.Popen[str]]]:
    """Runs a module of the project, or of the folder, on every rank; none is left at the end."""
    python = python_of("torch")
    path = f"{weft_alone(folder / 'path')}:{ROOT}:{folder}"
    port = free_port()
    ranks = [
        start([python, "-m", module, *words], PYTHONPATH=path, **ranks_environment(rank, world, port))
        for rank in range(world)
    ]
    try:
        yield ranks
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
