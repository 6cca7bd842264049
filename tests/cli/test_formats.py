# SPDX-License-Identifier: Apache-2.0
"""Every file is either read, or refused with one sentence that says what to do."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.conftest import ROOT, Weft

SHARED = ROOT.parent / "shared" / "traces"


def refusal(weft: Weft, path: Path) -> str:
    done = weft("info", path)
    assert done.returncode == 3, f"{path}: {done.stdout}{done.stderr}"
    assert not done.stdout, path
    assert done.stderr.startswith(f"weft: error: {path}"), done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), done.stderr
    return done.stderr


def test_every_shared_file_is_read_or_refused(weft: Weft) -> None:
    if not SHARED.exists():
        pytest.skip(f"{SHARED} is not here")
    files = sorted(path for path in SHARED.rglob("*") if path.is_file())
    read: dict[str, int] = {}
    for path in files:
        done = weft("info", "--json", path)
        if done.returncode != 0:
            assert "; " in refusal(weft, path), f"{path}: no advice"
            continue
        assert not done.stderr, f"{path}: {done.stderr}"
        parsed = json.loads(done.stdout)
        if "links" in parsed:
            read["links"] = read.get("links", 0) + 1
            continue
        (run, *_) = parsed["runs"]
        for rank in run["ranks"]:
            assert rank["events"] > 0, path
            read[rank["format"]] = read.get(rank["format"], 0) + 1
    assert read["nsys"] == 2
    assert read["nccl-profiler"] == 4
    assert read["kineto"] >= 60
    assert read["links"] == 8
    # Two published timelines, and two that the straggler study derived from them.
    assert read["straggler"] == 48


@pytest.mark.parametrize(
    ("seed", "reader", "advice"),
    [
        ("nsys/two_ranks.sqlite", "nsys", "nsys export"),
        ("nccl/profiler.jsonl", "nccl-profiler", "torch.profiler"),
        ("nccl/inspector.jsonl", "nccl-inspector", "torch.profiler"),
    ],
)
def test_small_recordings_are_described_and_replayed(
    weft: Weft, seed: str, reader: str, advice: str
) -> None:
    path = ROOT / "tests" / "fuzz" / seed
    page = weft("info", path)
    assert page.returncode == 0, page.stderr
    assert f" ranks, {reader}, 1 file" in page.stdout or f"), {reader}, 1 file" in page.stdout
    assert advice in page.stdout
    done = weft("replay", "--json", path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recorded_step_ms"] > 0


def tar() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("rank0.json"))
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("traces.tar.gz", tar(), "tar archive; unpack it"),
        ("traces.zip", b"PK\x03\x04" + bytes(40), "zip archive; unpack it"),
        ("rank0.json.zst", b"\x28\xb5\x2f\xfd" + bytes(40), "unpack it, or compress it with gzip"),
        ("rank0.json.xz", b"\xfd7zXZ\x00" + bytes(40), "unpack it, or compress it with gzip"),
        ("trace.parquet", b"PAR1" + bytes(40), "a Parquet table"),
        ("job.nsys-rep", b"whatever it holds", "nsys export --type sqlite"),
        ("links.json", b'{"collective": "x", "rows": [{"median_us": 1}]}', "link table"),
        ("songs.sqlite", b"SQLite format 3\0" + bytes(200), "nsys export --type sqlite"),
        ("cut.sqlite", b"SQLite format 3\0", "ends too early; copy the file again"),
    ],
)
def test_unsupported_files_are_refused_with_advice(
    weft: Weft, tmp_path: Path, name: str, content: bytes, advice: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert advice in refusal(weft, path)
