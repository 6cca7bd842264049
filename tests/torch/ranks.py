# SPDX-License-Identifier: Apache-2.0
"""Runs jobs of several gloo ranks with the Python of .venvs/torch and the installed Weft."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from tests.cli.frameworks import free_port, python_of, ranks_environment, start, weft_alone
from tests.conftest import ROOT

JOBS = Path(__file__).parent / "jobs"
PATIENCE_S = 600


@contextmanager
def ranks_of(
    module: str,
    *words: str,
    folder: Path,
    world: int = 4,
    environment: Mapping[str, str] = MappingProxyType({}),
    last_rank: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[list[subprocess.Popen[str]]]:
    """Run a module of the project or of `folder` on every rank. All ranks are killed at the end.

    environment: environment variables of all ranks. last_rank: those of the last rank only.
    """
    python = python_of("torch")
    path = f"{weft_alone(folder / 'path')}:{ROOT}:{folder}"
    port = free_port()
    ranks = [
        start(
            [python, "-m", module, *words],
            PYTHONPATH=path,
            **ranks_environment(rank, world, port),
            **environment,
            **(last_rank if rank == world - 1 else {}),
        )
        for rank in range(world)
    ]
    try:
        yield ranks
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


def names_in(job: str) -> list[str]:
    return re.findall(r"^def (case_\w+)", (JOBS / f"{job}.py").read_text(), re.M)


class Outcomes:
    """The results of the cases of one job. All cases run in one
    set of processes, in their order."""

    def __init__(self, lines: Iterator[str], errors: Iterator[str]) -> None:
        self._lines, self._errors = lines, errors
        self._failures: dict[str, str] = {}

    def failure(self, name: str) -> str:
        while name not in self._failures:
            line = next(self._lines, None)
            if line is None:
                return "the job ended before:\n" + "".join(self._errors)
            outcome = json.loads(line)
            self._failures[outcome["case"]] = outcome["failure"]
        return self._failures[name]


@contextmanager
def outcomes_of(
    job: str, folder: Path, last_rank: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Outcomes]:
    with ranks_of(f"tests.torch.jobs.{job}", folder=folder, last_rank=last_rank) as ranks:
        assert ranks[0].stdout is not None and ranks[0].stderr is not None
        yield Outcomes(ranks[0].stdout, ranks[0].stderr)
