# SPDX-License-Identifier: Apache-2.0
"""`weft pipeline schedule`: schedules, proofs and drawings, checked by an independent replay."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Weft

REFERENCE = ROOT.parent / "shared" / "pipelines" / "weft_reference"
SMALL: dict[str, Any] = {
    "P": 4, "M": 6, "f": [5, 6, 7, 9], "b": [4, 7, 8, 6], "w": [6, 4, 2, 2], "c": 2, "cap_F": 4,
    "opt": 155.0,
}  # fmt: skip
NAMED: dict[str, Any] = {
    "P": 2, "M": 3, "f": [5, 5], "b": [6, 6], "w": [4, 4], "comm": 1, "mem_f": [2, 2],
    "mem_b": [-1, -1], "mem_w": [-1, -1], "max_mem": [4, 4], "ref": {"anything": 1},
}  # fmt: skip


def write(path: Path, instances: Any) -> Path:
    path.write_text(json.dumps({"note": "made here", "instances": instances}))
    return path


def replay(case: dict[str, Any], orders: list[list[str]]) -> int:
    """Returns the time at which the last op ends. Fails if an order violates a dependency or the
    memory limit."""
    stages, count = case["P"], case["M"]
    latency: int = case["c"] if "c" in case else case["comm"]
    time = {"F": case["f"], "I": case["b"], "W": case["w"]}
    change = {"F": case.get("mem_f", [2] * stages), "I": case.get("mem_b", [-1] * stages),
              "W": case.get("mem_w", [-1] * stages)}  # fmt: skip
    limit = case.get("max_mem", [2 * case.get("cap_F", 0)] * stages)
    end: dict[tuple[int, str, int], int] = {}
    todo = [re.findall(r"(\d+)([FIW])(\d+)\b", " ".join(order)) for order in orders]
    held, free = [0] * stages, [0] * stages
    while any(todo):
        moved = False
        for d in range(stages):
            while todo[d]:
                stage, kind, micro = int(todo[d][0][0]), todo[d][0][1], int(todo[d][0][2])
                assert stage == d
                needs = [(d, "FI"[kind == "W"], 0)] if kind != "F" else []
                if kind == "F" and d > 0:
                    needs.append((d - 1, "F", latency))
                if kind == "I" and d + 1 < stages:
                    needs.append((d + 1, "I", latency))
                if any((s, k, micro) not in end for s, k, _ in needs):
                    break
                ready = max([free[d]] + [end[s, k, micro] + wait for s, k, wait in needs])
                free[d] = end[d, kind, micro] = ready + time[kind][d]
                held[d] += change[kind][d]
                assert held[d] <= limit[d]
                todo[d].pop(0)
                moved = True
        assert moved, "the orders wait for each other"
    assert len(end) == 3 * stages * count
    return max(end.values())


def test_results_come_in_the_order_of_the_file_and_are_proved(weft: Weft, tmp_path: Path) -> None:
    file = write(tmp_path / "list.json", [SMALL, NAMED, SMALL])
    done = weft("pipeline", "schedule", file, "--json", "--orders")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema_version"] == 1
    results = answer["results"]
    assert [result["makespan"] for result in results] == [155, results[1]["makespan"], 155]
    for case, result in zip([SMALL, NAMED, SMALL], results, strict=True):
        assert result["proved"] is True and result["gap_pct"] == 0
        assert result["lower_bound"] == result["makespan"] == replay(case, result["orders"])


def test_named_instances_keep_their_names(weft: Weft, tmp_path: Path) -> None:
    file = write(tmp_path / "named.json", {"zb_a": NAMED, "zb_b": {**NAMED, "M": 5}})
    done = weft("pipeline", "schedule", file, "--json")
    assert [r["name"] for r in json.loads(done.stdout)["results"]] == ["zb_a", "zb_b"]
    assert "orders" not in done.stdout and "patterns" not in done.stdout
    done = weft("pipeline", "schedule", file, "--json", "--patterns")
    for result in json.loads(done.stdout)["results"]:
        assert set(result["patterns"]) == {"1f1b", "interleaved", "zb-h1", "zb-auto"}  # not gpipe
        assert min(result["patterns"].values()) >= result["makespan"]
    text = weft("pipeline", "schedule", file).stdout
    assert "zb_b" in text and "none" in text


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"f": [5, -6, 7, 9]}, 3, "negative time, -6"),
        ({"b": None}, 3, "'b'"),
        ({"w": [6, 4, 2]}, 3, "'w' has 3 numbers, not 4"),
        ({"M": 0}, 3, "'M'"),
        ({"c": -1}, 3, "'c' has a negative time"),
        ({"f": [1, 2, 3, 1e300]}, 3, "'f'"),
    ],
)
def test_an_impossible_pipeline_gives_one_sentence(
    weft: Weft, tmp_path: Path, change: dict[str, Any], code: int, says: str
) -> None:
    file = write(tmp_path / "bad.json", [SMALL, {**SMALL, **change}])
    done = weft("pipeline", "schedule", file, "--json")
    assert done.returncode == code, done.stderr
    assert says in done.stderr and "instance 1" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_pipeline_without_a_schedule_does_not_affect_others(
    weft: Weft, tmp_path: Path
) -> None:
    # Each of the device's two stages fits into memory alone. But one micro-batch in both stages
    # does not fit.
    both = {"P": 2, "M": 2, "f": 1, "b": 1, "w": 1, "c": 0, "device": [0, 0], "mem_f": 2,
            "mem_b": 0, "mem_w": -2, "max_mem": 3}  # fmt: skip
    file = write(tmp_path / "some.json", [SMALL, {**SMALL, "cap_F": 0}, both, NAMED])
    done = weft("pipeline", "schedule", file, "--json", "--orders", "--patterns")
    assert done.returncode == 1, done.stderr
    results = json.loads(done.stdout)["results"]
    assert [result["name"] for result in results] == ["0", "1", "2", "3"]
    assert results[0]["makespan"] == 155 and results[0]["proved"] and results[3]["proved"]
    for result, why in ((results[1], "stage 0 needs a memory of 2"), (results[2], "no schedule fits")):
        assert why in result["why_not"] and result["proved"] is False
        assert result["makespan"] is None and result["lower_bound"] is None
    assert [line.split(": ")[2] for line in done.stderr.splitlines()] == ["instance 1", "instance 2"]
    done = weft("pipeline", "schedule", file)
    assert done.returncode == 1 and "155" in done.stdout
    assert done.stdout.splitlines()[2].split() == ["1", "4", "6", "none"]
    done = weft("pipeline", "schedule", file, "--instance", "1", "--gantt")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    done = weft("pipeline", "export", file, "--instance", "2", "--to", "torch-csv")
    assert done.returncode == 1 and "instance 2: no schedule fits" in done.stderr


def test_a_missing_time_a_missing_file_and_another_file_end_with_3(
    weft: Weft, tmp_path: Path
) -> None:
    broken = {key: value for key, value in SMALL.items() if key != "w"}
    assert weft("pipeline", "schedule", write(tmp_path / "a.json", [broken])).returncode == 3
    assert weft("pipeline", "schedule", tmp_path / "none.json").returncode == 3
    (tmp_path / "b.json").write_text('{"instances": ')
    assert weft("pipeline", "schedule", tmp_path / "b.json").returncode == 3
    for nothing in ("[]", "{}"):
        (tmp_path / "empty.json").write_text(f'{{"instances": {nothing}}}')
        done = weft("pipeline", "schedule", tmp_path / "empty.json", "--json")
        assert done.returncode == 3 and "there is no pipeline in it" in done.stderr
    (tmp_path / "c.json").write_text('{"cases": []}')
    assert "instances" in weft("pipeline", "schedule", tmp_path / "c.json").stderr


def test_drawings_show_two_schedules_on_one_scale(weft: Weft, tmp_path: Path) -> None:
    file = write(tmp_path / "named.json", {"a": NAMED, "b": SMALL})
    picture = tmp_path / "picture.svg"
    done = weft("pipeline", "schedule", file, "--instance", "a", "--gantt", "--beside", "gpipe",
                "--svg", picture)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "weft: " in done.stdout and "░" in done.stdout
    assert "gpipe (needs more memory than there is): " in done.stdout
    svg = picture.read_text()
    assert svg.count("<title>") == 2 * 3 * 3 + 2 * 3 * 2 and "url(#idle)" in svg
    assert weft("pipeline", "schedule", file, "--gantt").returncode == 2
    assert weft("pipeline", "schedule", file, "--beside", "1f1b").returncode == 2
    assert weft("pipeline", "schedule", file, "--instance", "z").returncode == 2
    assert weft("pipeline", "schedule").returncode == 2
    done = weft("pipeline", "schedule", file, "--instance", "b", "--gantt", "--beside", "zb-v")
    assert done.returncode == 2 and "V" in done.stderr


def test_without_time_the_result_is_a_pattern_and_a_valid_bound(weft: Weft, tmp_path: Path) -> None:
    file = write(tmp_path / "list.json", [SMALL])
    done = weft("pipeline", "schedule", file, "--json", "--orders", "--time-limit", "0")
    result = json.loads(done.stdout)["results"][0]
    assert result["lower_bound"] <= 155 <= result["makespan"]


@pytest.mark.skipif(not REFERENCE.exists(), reason="no shared instances beside this checkout")
def test_uneven_families_are_solved_and_proofs_agree_with_cp_sat(weft: Weft) -> None:
    file = REFERENCE / "uneven_families.json"
    cases = json.loads(file.read_text())["instances"]
    done = weft("pipeline", "schedule", file, "--json", "--orders", "--time-limit", "5")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert len(results) == len(cases)
    for case, result in zip(cases, results, strict=True):
        assert replay(case, result["orders"]) == result["makespan"]
        assert result["gap_pct"] <= 0.5
        if case["P"] == 4:
            assert result["proved"] and result["makespan"] == case["cp_sat"]["makespan"]
