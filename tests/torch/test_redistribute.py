# SPDX-License-Identifier: Apache-2.0
"""Tests weft.torch.redistribute and refit with gloo ranks over loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.torch.ranks import PATIENCE_S, Outcomes, names_in, outcomes_of, ranks_of


# Over shared memory, and over messages of gloo. For the latter it is
# enough that one rank disables shared memory.
TRANSPORTS = {"shared": {}, "messages": {"WEFT_SHARED_MEMORY": "0"}}


@pytest.fixture(scope="module", params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> dict[str, str]:
    return TRANSPORTS[request.param]


@pytest.fixture(scope="module")
def redistributions(
    tmp_path_factory: pytest.TempPathFactory, transport: dict[str, str]
) -> Iterator[Outcomes]:
    folder = tmp_path_factory.mktemp("torch")
    with outcomes_of("cases", folder, last_rank=transport) as outcomes:
        yield outcomes


@pytest.fixture(scope="module")
def refits(
    tmp_path_factory: pytest.TempPathFactory, transport: dict[str, str]
) -> Iterator[Outcomes]:
    folder = tmp_path_factory.mktemp("torch")
    with outcomes_of("refit_cases", folder, last_rank=transport) as outcomes:
        yield outcomes


@pytest.fixture(scope="module")
def of_chains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    with outcomes_of("chain_cases", tmp_path_factory.mktemp("torch")) as outcomes:
        yield outcomes


@pytest.mark.parametrize("name", names_in("cases"))
def test_redistribute(redistributions: Outcomes, name: str) -> None:
    assert redistributions.failure(name) == ""


@pytest.mark.parametrize("name", names_in("refit_cases"))
def test_refit(refits: Outcomes, name: str) -> None:
    assert refits.failure(name) == ""


@pytest.mark.parametrize("name", names_in("chain_cases"))
def test_chains(of_chains: Outcomes, name: str) -> None:
    assert of_chains.failure(name) == ""


@pytest.mark.parametrize("how", ["killed", "stopped", "other", "sum-killed", "sum-stopped"])
def test_a_lost_rank_is_an_error_on_all_others(
    tmp_path: Path, how: str, transport: dict[str, str]
) -> None:
    """One rank is killed, stopped, or moves another array. The others
    must neither hang nor get wrong numbers."""
    timeout = 6.0
    with ranks_of(
        "tests.torch.jobs.lost_peer", how, str(timeout), folder=tmp_path, environment=transport
    ) as ranks:
        survivors = [rank for rank in range(4) if rank != 2 or how == "other"]
        for rank in survivors:
            out, error = ranks[rank].communicate(timeout=PATIENCE_S)
            assert out, error
            outcome = json.loads(out)
            assert re.match(r"PeerFailed: .*\brank \d", outcome["ended"]), outcome
            assert outcome["seconds"] < timeout + 3


def test_the_examples_of_the_guide_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guide" / "redistribution-torch.md").read_text()
    (tmp_path / "guide.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)))
    with ranks_of("guide", folder=tmp_path) as ranks:
        for rank in ranks:
            _, error = rank.communicate(timeout=PATIENCE_S)
            assert rank.returncode == 0, error
