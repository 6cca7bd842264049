# SPDX-License-Identifier: Apache-2.0
"""Tests weft.torch.redistribute with gloo ranks over loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.torch.ranks import Outcomes, names_in, outcomes_of


@pytest.fixture(scope="module")
def redistributions(
    tmp_path_factory: pytest.TempPathFactory, transport: dict[str, str]
) -> Iterator[Outcomes]:
    folder = tmp_path_factory.mktemp("torch")
    with outcomes_of("cases", folder, last_rank=transport) as outcomes:
        yield outcomes


@pytest.mark.parametrize("name", names_in("cases"))
def test_redistribute(redistributions: Outcomes, name: str) -> None:
    assert redistributions.failure(name) == ""
