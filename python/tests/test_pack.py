# SPDX-License-Identifier: Apache-2.0
"""weft.pack writes packed files, which weft.load reads like the recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import weft

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ddp-cpu" / "even"


def test_packed_files_read_like_the_recording(tmp_path: Path) -> None:
    paths = weft.pack(EXAMPLE, tmp_path / "out")
    assert paths == [str(tmp_path / "out" / f"r{rank}.weft") for rank in range(2)]
    original, packed = weft.load(EXAMPLE), weft.load(tmp_path / "out")
    for before, after in zip(original.ranks, packed.ranks, strict=True):
        assert after.origin == before.file and before.origin == ""
        assert after.format == before.format == "kineto"
        assert np.array_equal(after.events.start, before.events.start)
        assert after.events.names == before.events.names
        assert after.steps == before.steps
    assert packed.replay().predicted_step_ms == original.replay().predicted_step_ms


def test_one_rank_can_be_packed_into_a_named_file(tmp_path: Path) -> None:
    (path,) = weft.pack([EXAMPLE / "rank1.json.gz"], tmp_path / "one.weft")
    assert weft.load(path).ranks[0].rank == 1
    with pytest.raises(weft.UsageError, match="pass a folder"):
        weft.pack(EXAMPLE, tmp_path / "two.weft")


def test_processes_can_divide_a_job(tmp_path: Path) -> None:
    shares = [weft.pack(EXAMPLE, tmp_path, share=(i, 3)) for i in range(3)]
    assert [len(share) for share in shares] == [1, 1, 0]
    with pytest.raises(weft.UsageError):
        weft.pack(EXAMPLE, tmp_path, share=(3, 3))


def test_damage_is_bad_input(tmp_path: Path) -> None:
    (path,) = weft.pack(EXAMPLE / "rank0.json.gz", tmp_path / "r0.weft")
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:-3] + bytes([whole[-3] ^ 4]) + whole[-2:])
    with pytest.raises(weft.BadInput, match="copy the file again") as caught:
        weft.load(path)
    assert caught.value.file == path
