# SPDX-License-Identifier: Apache-2.0
"""Tests weft.torch.refit, chains of redistributions and the guide with gloo ranks over loopback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.torch.ranks import PATIENCE_S, Outcomes, names_in, outcomes_of, ranks_of


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


@pytest.mark.parametrize("name", names_in("refit_cases"))
def test_refit(refits: Outcomes, name: str) -> None:
    assert refits.failure(name) == ""


@pytest.mark.parametrize("name", names_in("chain_cases"))
def test_chains(of_chains: Outcomes, name: str) -> None:
    assert of_chains.failure(name) == ""


def test_the_examples_of_the_guide_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guide" / "redistribution-torch.md").read_text()
    (tmp_path / "guide.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)))
    with ranks_of("guide", folder=tmp_path) as ranks:
        for rank in ranks:
            _, error = rank.communicate(timeout=PATIENCE_S)
            assert rank.returncode == 0, error
