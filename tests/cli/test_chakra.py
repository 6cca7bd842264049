# SPDX-License-Identifier: Apache-2.0
"""`weft export --format chakra`, and reading its files again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import EXAMPLE, Weft


def test_export_writes_one_file_per_rank_that_weft_reads(weft: Weft, tmp_path: Path) -> None:
    done = weft("export", EXAMPLE, "--format", "chakra", "-o", tmp_path / "job")
    assert done.returncode == 0, done.stderr
    assert "chakra-latencies-dropped" in done.stderr
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == [f"job.{rank}.et" for rank in range(4)]
    back = weft("info", "--json", tmp_path)
    assert back.returncode == 0, back.stderr
    (run,) = json.loads(back.stdout)["runs"]
    recorded = weft("info", "--json", EXAMPLE)
    (original,) = json.loads(recorded.stdout)["runs"]
    for rank, before in zip(run["ranks"], original["ranks"], strict=True):
        assert rank["format"] == "chakra"
        count = {c["name"]: c["count"] for c in rank["collectives"]}
        assert count == {c["name"]: c["count"] for c in before["collectives"]}
    replayed = weft("replay", "--json", tmp_path)
    assert replayed.returncode == 0, replayed.stderr


def test_the_file_extension_selects_the_format(weft: Weft, tmp_path: Path) -> None:
    done = weft("export", EXAMPLE, "-o", tmp_path / "job.et")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "job.0.et").exists()


def test_output_does_not_depend_on_threads(weft: Weft, tmp_path: Path) -> None:
    for threads in ("1", "4"):
        folder = tmp_path / threads
        folder.mkdir()
        done = weft("export", EXAMPLE, "-o", folder / "job.et", "--threads", threads)
        assert done.returncode == 0, done.stderr
    for rank in range(4):
        name = f"job.{rank}.et"
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "4" / name).read_bytes()


def test_several_files_cannot_be_written_to_stdout(weft: Weft) -> None:
    done = weft("export", EXAMPLE, "--format", "chakra", "-o", "-")
    assert done.returncode == 2
    assert "one file per rank" in done.stderr
