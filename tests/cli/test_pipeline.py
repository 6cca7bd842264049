# SPDX-License-Identifier: Apache-2.0
"""`weft pipeline`: profiles, PipeDream's model, plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Weft

LAYER = (
    "{id} -- Layer -- forward_compute_time={f}, backward_compute_time={b}, "
    "activation_size={a}, parameter_size={p}\n"
)


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """Four equal layers of 3 ms."""
    path = tmp_path / "chain.txt"
    text = "".join(LAYER.format(id=f"n{i}", f=1.0, b=2.0, a=1000.0, p=0.0) for i in range(4))
    path.write_text(text + "".join(f"\tn{i} -- n{i + 1}\n" for i in range(3)))
    return path


def test_pipedream_mode_gives_the_slowest_stage(weft: Weft, chain: Path) -> None:
    done = weft("pipeline", chain, "--model", "pipedream", "--devices", "2x2", "--bandwidth",
                "8e9,1GB/s", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["bottleneck_s"] == pytest.approx(0.003)
    assert sum(stage["replicas"] for stage in answer["stages"]) == 4
    assert [layer for stage in answer["stages"] for layer in stage["layers"]] == [
        "n0", "n1", "n2", "n3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (LAYER.format(id="a", f=-1, b=1, a=1, p=1), 3, "negative time"),
        (LAYER.format(id="a", f="", b=1, a=1, p=1), 3, "no forward_compute_time"),
        ("nothing of the kind\n", 3, "line 1: this is no profile"),
        (
            LAYER.format(id="a", f=1, b=1, a=1, p=1)
            + LAYER.format(id="b", f=1, b=1, a=1, p=1)
            + "a -- b\nb -- a\n",
            3,
            "cycle",
        ),
    ],
)
def test_a_profile_that_cannot_be_used_is_one_sentence(
    weft: Weft, tmp_path: Path, text: str, code: int, says: str
) -> None:
    path = tmp_path / "odd.txt"
    path.write_text(text)
    done = weft("pipeline", path, "--model", "pipedream", "--devices", "4", "--bandwidth", "1e9")
    assert done.returncode == code
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_levels_and_bandwidths_must_match(weft: Weft, chain: Path) -> None:
    done = weft("pipeline", chain, "--model", "pipedream", "--devices", "4x4", "--bandwidth", "1e9")
    assert done.returncode == 2
    assert "2 levels and --bandwidth 1" in done.stderr
