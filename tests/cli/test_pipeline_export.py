# SPDX-License-Identifier: Apache-2.0
"""Tests what `weft pipeline export` writes and what it refuses. tests/torch runs the written
files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT, Weft

EXAMPLES = ROOT / "examples" / "pipeline"
STAGES = EXAMPLES / "stages.json"
DUMPED = ROOT.parent / "shared" / "pipelines" / "torch_2.11_schedules"


@pytest.fixture(scope="module")
def plan(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four stages on four devices."""
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    done = weft("pipeline", EXAMPLES / "gpt8l.json", "--cluster", "4 devices, 12.5GB/s",
                "--microbatches", "4", "--stages", "4", "--replicas", "1", "--schedule", "1f1b",
                "-o", path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


def test_a_plan_becomes_one_row_per_rank(weft: Weft, plan: Path) -> None:
    done = weft("pipeline", "export", plan, "--to", "torch-csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3",
        "1F0,1F1,1F2,1B0,1F3,1B1,1B2,1B3",
        "2F0,2F1,2B0,2F2,2B1,2F3,2B2,2B3",
        "3F0,3B0,3F1,3B1,3F2,3B2,3F3,3B3",
    ]


def test_messages_depend_on_the_version_of_torch(weft: Weft, plan: Path, tmp_path: Path) -> None:
    files = {}
    for version in ("2.9", "2.11", "2.13.0+cpu"):
        files[version] = tmp_path / f"{version}.csv"
        done = weft("pipeline", "export", plan, "--to", "torch-comms-csv", "--torch", version,
                    "-o", files[version])  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{files[version]}: 1f1b, 4 stages, 4 micro-batches\n"
    texts = {version: file.read_text() for version, file in files.items()}
    assert "REDUCE_GRAD" not in texts["2.9"] and "0SEND_F0" in texts["2.9"]
    assert texts["2.11"].count("REDUCE_GRAD") == 4
    assert texts["2.11"] == texts["2.13.0+cpu"]


def test_the_layout_of_megatron(weft: Weft, plan: Path) -> None:
    done = weft("pipeline", "export", plan, "--to", "megatron")
    assert done.returncode == 0, done.stderr
    layout = done.stdout.strip()
    assert layout.startswith("E") and layout.endswith("L") and layout.count("|") == 3
    assert layout.count("t") == 8 or "*" in layout
    assert "--num-layers 8" in done.stderr


def test_json_holds_the_times_of_any_plan(weft: Weft) -> None:
    done = weft("pipeline", "export", EXAMPLES / "plan.json", "--to", "json")
    assert done.returncode == 0, done.stderr
    schedule = json.loads(done.stdout)
    written = json.loads((EXAMPLES / "plan.json").read_text())
    assert schedule["step"] == written["step_ns"] and schedule["unit"] == "ns"
    assert [group["devices"] for group in schedule["groups"]] == [[0], [1, 2], [3]]
    assert [
        " ".join(f"{op['stage']}{op['kind']}{op['microbatch']}" for op in group["ops"])
        for group in schedule["groups"]
    ] == written["orders"]


def test_a_plan_that_megatron_cannot_express_is_refused_with_advice(weft: Weft, tmp_path: Path) -> None:
    """The first plan of the guide has two stages per device, in a V."""
    asked = [EXAMPLES / "gpt8l.json", "--cluster", "4 devices, 12.5GB/s", "--microbatches", "8"]
    path = tmp_path / "plan.json"
    assert weft("pipeline", *asked, "-o", path).returncode == 0
    done = weft("pipeline", "export", path, "--to", "megatron")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "this plan has stage 4 on device 3 instead of 0" in done.stderr
    for advice in (["--chunks", "1", "--replicas", "1"],
                   ["--schedule", "interleaved", "--replicas", "1"]):  # fmt: skip
        assert " ".join(advice) in done.stderr
        assert weft("pipeline", *asked, *advice, "-o", path).returncode == 0
        assert weft("pipeline", "export", path, "--to", "megatron").returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([EXAMPLES / "plan.json", "--to", "torch-csv"], 1, "weft.torch.pipeline"),
        ([EXAMPLES / "plan.json", "--to", "torch-comms-csv"], 1, "stages with 1 and 2 devices"),
        ([EXAMPLES / "plan.json", "--to", "megatron"], 1, "weft.torch.pipeline"),
        ([EXAMPLES / "plan.json"], 2, "--to is missing"),
        ([EXAMPLES / "plan.json", "--to", "json", "--schedule", "1f1b"], 2, "--schedule is for"),
        ([EXAMPLES / "gpt8l.json", "--to", "json"], 3, "this is not a plan"),
        ([EXAMPLES / "gone.json", "--to", "json"], 3, "No such file"),
        ([STAGES, "--to", "torch-csv"], 2, "--instance"),
        ([STAGES, "--to", "megatron", "--instance", "even"], 2, "lists layers"),
        ([STAGES, "--to", "torch-csv", "--instance", "even", "--torch", "2.5"], 2, "2.6"),
        ([STAGES, "--to", "torch-csv", "--instance", "even", "--torch", "new"], 2, "no version"),
        ([STAGES, "--to", "torch-csv", "--instance", "even", "--schedule", "zb-v"], 2, "V"),
        ([STAGES, "--to", "html"], 2, "html"),
        ([], 2, "PLAN is missing"),
    ],
)
def test_an_impossible_export_gives_one_sentence(
    weft: Weft, words: list[str | Path], code: int, says: str
) -> None:
    done = weft("pipeline", "export", *words)
    assert done.returncode == code, done.stderr
    assert says in done.stderr and done.stdout == ""
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not DUMPED.exists(), reason="no shared schedules beside this checkout")
@pytest.mark.parametrize(
    ("name", "dumped", "devices"),
    [
        ("gpipe", "gpipe", [0, 1, 2, 3]),
        ("1f1b", "1f1b", [0, 1, 2, 3]),
        ("zb-h1", "zbh1", [0, 1, 2, 3]),
        ("interleaved", "int1f1b", [0, 1, 2, 3, 0, 1, 2, 3]),
        ("zb-v", "zbv", [0, 1, 2, 3, 3, 2, 1, 0]),
    ],
)
def test_families_of_schedules_equal_those_of_torch(
    weft: Weft, tmp_path: Path, name: str, dumped: str, devices: list[int]
) -> None:
    case = {"P": len(devices), "M": 8, "f": 1, "b": 1, "w": 1, "c": 0, "device": devices}
    file = tmp_path / "instances.json"
    file.write_text(json.dumps({"instances": [case]}))
    done = weft("pipeline", "export", file, "--schedule", name, "--to", "torch-csv")
    assert done.returncode == 0, done.stderr

    def rows(text: str) -> list[list[str]]:
        """The ops of each row, without idle slots. For ZB-V, W is left out too: its last ops W have
        no fixed position."""
        cells = [[cell for cell in line.split(",") if cell] for line in text.splitlines()]
        return [[cell for cell in row if name != "zb-v" or "W" not in cell] for row in cells]

    assert rows(done.stdout) == rows((DUMPED / f"{dumped}_P4_M8.compute_only.csv").read_text())
