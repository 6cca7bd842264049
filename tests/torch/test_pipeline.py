# SPDX-License-Identifier: Apache-2.0
"""Tests weft.torch.pipeline with gloo ranks over loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.torch.ranks import PATIENCE_S, Outcomes, names_in, outcomes_of, ranks_of


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    with outcomes_of("pipeline_cases", tmp_path_factory.mktemp("torch")) as outcomes:
        yield outcomes


@pytest.mark.parametrize("name", names_in("pipeline_cases"))
def test_pipeline(pipelines: Outcomes, name: str) -> None:
    assert pipelines.failure(name) == ""


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_lost_rank_is_an_error_on_all_others(tmp_path: Path, how: str) -> None:
    timeout = 6.0
    with ranks_of("tests.torch.jobs.lost_stage", how, str(timeout), folder=tmp_path) as ranks:
        for rank in (0, 1, 3):
            out, error = ranks[rank].communicate(timeout=PATIENCE_S)
            assert out, error
            outcome = json.loads(out)
            assert outcome["ended"].startswith("PeerFailed: rank "), outcome
            assert outcome["seconds"] < timeout + 3


def test_the_examples_of_the_guide_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guide" / "pipeline-torch.md").read_text()
    (tmp_path / "guide.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)))
    with ranks_of("guide", folder=tmp_path) as ranks:
        for rank in ranks:
            _, error = rank.communicate(timeout=PATIENCE_S)
            assert rank.returncode == 0, error
