# SPDX-License-Identifier: Apache-2.0
"""Tests that weft.torch.redistribute reports a lost rank on all others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.torch.ranks import PATIENCE_S, ranks_of


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
            # A busy machine may need more than the timeout; the default of gloo is 30 minutes.
            assert outcome["seconds"] < 10 * timeout
