# SPDX-License-Identifier: Apache-2.0
"""`weft pack`, and packed files as input of the other verbs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLE, ROOT, Weft, clean_environment, weft_command

EVEN = ROOT / "examples" / "ddp-cpu" / "even"


@pytest.fixture(scope="module")
def packed(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # The folder has the same name as the example because the name becomes the label of the run.
    out = tmp_path_factory.mktemp("packed") / "resnet50-w4"
    done = weft("pack", EXAMPLE, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "4 ranks, 2.4 MB packed to" in done.stdout
    return out


def answer(weft: Weft, *words: str | Path) -> Any:
    done = weft(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("verb", ["replay", "diagnose"])
def test_verbs_give_the_same_results_for_packed_files(weft: Weft, packed: Path, verb: str) -> None:
    original, small = (answer(weft, verb, folder, "--json") for folder in (EXAMPLE, packed))
    # Expected differences: the folder of the example also holds files that are not recordings, and
    # the commands in findings name the folder.
    for page in (original, small):
        page["diagnostics"] = [d for d in page["diagnostics"] if d["id"] != "skipped-file"]
        for finding in page.get("findings", []):
            del finding["show"]
    assert small == original


def test_info_shows_the_format_and_the_origin(weft: Weft, packed: Path) -> None:
    (run,) = answer(weft, "info", packed, "--json")["runs"]
    assert run["world"] == 4
    for rank in run["ranks"]:
        assert rank["format"] == "kineto"
        assert rank["file"] == str(packed / f"r{rank['rank']}.weft")
        assert rank["origin"].endswith(f"resnet50-w4-r{rank['rank']}.json.gz")
        assert rank["stored_bytes"] == os.path.getsize(rank["file"])


def test_diff_export_and_report_take_packed_files(
    weft: Weft, packed: Path, tmp_path: Path
) -> None:
    assert answer(weft, "diff", EXAMPLE, packed, "--json")["change"] == 0
    tables = []
    for folder in (EXAMPLE, packed):
        done = weft("export", folder, "--format", "csv", "-o", "-")
        assert done.returncode == 0, done.stderr
        tables.append(done.stdout)
    assert tables[0] == tables[1]
    done = weft("report", packed, "-o", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr


def test_one_rank_can_be_packed_into_one_file(weft: Weft, tmp_path: Path) -> None:
    out = tmp_path / "one.weft"
    files = answer(weft, "pack", EVEN / "rank1.json.gz", "-o", out, "--json")["files"]
    assert files == [
        {
            "rank": 1,
            "file": str(out),
            "bytes": out.stat().st_size,
            "origin": str(EVEN / "rank1.json.gz"),
            "origin_bytes": (EVEN / "rank1.json.gz").stat().st_size,
        }
    ]
    assert weft("pack", EVEN / "rank1.json.gz", "-o", out).stdout.startswith(f"{out}: rank 1, ")
    done = weft("pack", EVEN, "-o", tmp_path / "two.weft")
    assert done.returncode == 2 and "pass a folder" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "-o OUT is missing"),
        (["-o", "out", "--share", "2/2"], "as 0/8"),
        (["-o", "out", "--share", "x"], "as 0/8"),
    ],
)
def test_invalid_requests_are_refused(weft: Weft, words: list[str], message: str) -> None:
    done = weft("pack", EVEN, *words)
    assert done.returncode == 2 and message in done.stderr


def test_damage_is_reported_with_its_section(weft: Weft, packed: Path, tmp_path: Path) -> None:
    whole = (packed / "r0.weft").read_bytes()
    file = tmp_path / "r0.weft"
    file.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    done = weft("info", file)
    assert done.returncode == 3
    assert f"{file}: byte " in done.stderr and 'section "' in done.stderr
    assert "copy the file again, or pack the recording again" in done.stderr
    file.write_bytes(whole[: len(whole) // 2])
    done = weft("info", file)
    assert done.returncode == 3
    assert f"cut off: {len(whole) // 2} bytes instead of {len(whole)}" in done.stderr
    # A damaged file of a folder does not prevent reading the others.
    shutil.copy(packed / "r1.weft", tmp_path)
    done = weft("info", tmp_path)
    assert done.returncode == 0 and "unreadable-file" in done.stdout


def test_packing_twice_gives_the_same_bytes(weft: Weft, packed: Path, tmp_path: Path) -> None:
    for threads in ("1", "2"):
        done = weft("pack", packed, "-o", tmp_path / threads, "--threads", threads)
        assert done.returncode == 0, done.stderr
        for rank in range(4):
            again = tmp_path / threads / f"r{rank}.weft"
            assert again.read_bytes() == (packed / again.name).read_bytes()


@pytest.mark.parametrize(
    "launcher",
    [
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
        {"PMI_RANK": "1", "PMI_SIZE": "2"},
        {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"},
    ],
)
def test_a_process_under_a_launcher_packs_its_share(
    weft: Weft, tmp_path: Path, launcher: dict[str, str]
) -> None:
    done = weft("pack", EXAMPLE, "-o", tmp_path / "out", **launcher)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path / "out")) == ["r1.weft", "r3.weft"]
    # A process packs everything if the output is one file or --share 0/1 asks for everything.
    for words in (["-o", tmp_path / "own.weft"], ["-o", tmp_path / "all", "--share", "0/1"]):
        done = weft("pack", EVEN / "rank0.json.gz", *words, **launcher)
        assert done.returncode == 0 and "rank 0, " in done.stdout, done.stderr


def test_a_batch_script_of_slurm_packs_everything(weft: Weft, tmp_path: Path) -> None:
    done = weft("pack", EVEN, "-o", tmp_path, SLURM_PROCID="0", SLURM_NTASKS="8")
    assert done.returncode == 0 and "2 ranks" in done.stdout, done.stderr


def test_mpirun_divides_the_ranks(job: Callable[..., Path], weft: Weft, tmp_path: Path) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed (Debian: openmpi-bin)")
    folder = job(ranks=5)
    out = tmp_path / "packed"
    done = subprocess.run(
        ["mpirun", "--oversubscribe", "-n", "2", weft_command(), "pack", folder, "-o", out],
        capture_output=True,
        text=True,
        timeout=120,
        # Open MPI refuses to run as root unless two variables allow it.
        env=clean_environment(
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1",
        ),
    )
    assert done.returncode == 0, done.stderr
    assert "3 ranks" in done.stdout and "2 ranks" in done.stdout
    (run,) = answer(weft, "info", out, "--json")["runs"]
    assert [rank["rank"] for rank in run["ranks"]] == [0, 1, 2, 3, 4]
    assert run["missing_count"] == 0


@pytest.mark.parametrize("verb", ["info", "replay", "diagnose"])
def test_output_folds_similar_ranks(
    job: Callable[..., Path], weft: Weft, tmp_path: Path, verb: str
) -> None:
    folder = job(ranks=24)
    done = weft("pack", folder, "-o", tmp_path / "packed")
    assert done.returncode == 0, done.stderr
    page = weft(verb, tmp_path / "packed").stdout
    assert "0 +23 " in page and "N more ranks behave alike" in page
    everything = weft(verb, tmp_path / "packed", "--all").stdout
    assert " +23" not in everything
    assert all(re.search(rf"^ *{rank} ", everything, re.MULTILINE) for rank in range(24))
