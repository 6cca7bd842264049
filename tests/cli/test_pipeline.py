# SPDX-License-Identifier: Apache-2.0
"""`weft pipeline`: layer profiles, PipeDream's model, plans, and comparison with rivals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.conftest import ROOT, Weft

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
        (LAYER.format(id="a", f="", b=1, a=1, p=1), 3, "needs a forward_compute_time"),
        ("nothing of the kind\n", 3, "line 1: this is not a profile"),
        (
            LAYER.format(id="a", f=1, b=1, a=1, p=1)
            + LAYER.format(id="b", f=1, b=1, a=1, p=1)
            + "a -- b\nb -- a\n",
            3,
            "cycle",
        ),
    ],
)
def test_an_invalid_profile_gives_one_sentence(
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


def plan(weft: Weft, *words: str | Path) -> dict[str, Any]:
    done = weft("pipeline", *words, "--json")
    assert done.returncode == 0, done.stderr
    return cast("dict[str, Any]", json.loads(done.stdout))


def test_a_plan_has_step_bound_and_stages_and_passes_verify(
    weft: Weft, chain: Path, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    answer = plan(weft, chain, "--cluster", "4 devices, 10GB/s", "--microbatches", "8", "-o", file)
    assert answer["step_ms"] == pytest.approx(24.0, abs=0.1)
    assert answer["lower_bound_ms"] <= answer["step_ms"]
    assert answer["gap_pct"] == pytest.approx(
        100 * (1 - answer["lower_bound_ms"] / answer["step_ms"]), abs=1e-6
    )
    assert answer["solve_ms"] >= 0
    assert [x for stage in answer["stages"] for x in stage["layers"]] == ["n0", "n1", "n2", "n3"]
    done = weft("verify", file)
    assert done.returncode == 0, done.stdout
    assert "WRONG" not in done.stdout


def test_a_bound_says_for_which_plans_it_holds(weft: Weft, tmp_path: Path) -> None:
    """With one stage per device, no plan takes less than 66.9 ms. With more, a plan takes 64."""
    example = ROOT / "examples" / "pipeline"
    says = weft("verify", example / "plan.json").stdout
    assert "of all plans with 8 micro-batches, at most 1 stage per device, none can take less" in says
    file = tmp_path / "plan.json"
    words: list[str | Path] = [example / "gpt8l.json", "--cluster", "4 devices, 12.5GB/s", "--microbatches", "8"]
    free = plan(weft, *words, "-o", file)
    assert free["step_ms"] < 65 < 66.8 < plan(weft, *words, "--chunks", "1")["lower_bound_ms"]
    assert "at most 4 stages per device, none can take less" in weft("verify", file).stdout
    printed = weft("pipeline", *words, "--chunks", "1", "--replicas", "2").stdout
    assert "no plan with one stage per device, at most 2 devices per stage takes less" in printed
    assert "no plan takes less than that" in weft("pipeline", *words).stdout


def test_stages_and_schedule_can_be_chosen(weft: Weft, chain: Path) -> None:
    words: list[str | Path] = [chain, "--cluster", "4 devices, 1000GB/s", "--microbatches", "8", "--stages", "4",
             "--replicas", "1", "--schedule", "1f1b", "--compare"]  # fmt: skip
    answer = plan(weft, *words)
    assert [len(stage["devices"]) for stage in answer["stages"]] == [1, 1, 1, 1]
    assert answer["schedule"] == "1f1b"
    # The step takes eleven times 3 ms, plus transfers.
    assert answer["step_ms"] == pytest.approx(33.0, abs=0.01)
    assert answer["rivals"]["1f1b"] == pytest.approx(33.0, abs=0.01)


def test_a_damaged_plan_fails_verify(weft: Weft, chain: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plan(weft, chain, "--cluster", "2 devices, 1GB/s", "--microbatches", "4", "-o", file)
    content = json.loads(file.read_text())
    content["step_ns"] -= 1
    file.write_text(json.dumps(content))
    done = weft("verify", file, "--json")
    assert done.returncode == 1
    findings = {item["about"]: item["right"] for item in json.loads(done.stdout)["findings"]}
    assert findings["time"] is False
    assert weft("verify", chain).returncode == 3


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--cluster", "4 devices, 1GB/s", "--stages", "5"], 1, "5 stages are more than the 4"),
        (["--cluster", "4 devices, 1GB/s, 0.0000001GB", "--memory"], 1, "no plan fits"),
        (["--cluster", "two cans and a string"], 2, "does not describe a cluster"),
        (["--cluster", "apart.json"], 1, "not connected"),
        (["--cluster", "gone.json"], 3, "no such file"),
        ([], 2, "--cluster is missing"),
    ],
)
def test_an_impossible_plan_gives_one_sentence(
    weft: Weft, chain: Path, tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    (tmp_path / "apart.json").write_text('{"devices": 2, "bandwidth": 0}')
    words = [str(tmp_path / word) if word == "apart.json" else word for word in words]
    done = weft("pipeline", chain, "--microbatches", "4", *words)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_same_input_gives_the_same_plan(weft: Weft, chain: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        plan(weft, chain, "--cluster", "3x V100, 4 hosts, 25Gb", "--microbatches", "6", "-o", file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_compare_shows_plans_of_all_planners(weft: Weft, chain: Path) -> None:
    words = ["--cluster", "2 devices, 1000GB/s", "--microbatches", "8"]
    done = weft("pipeline", "compare", chain, *words, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    plans = {plan["name"]: plan for plan in answer["plans"]}
    assert list(plans) == ["weft", "spp", "pipedream", "dapple", "gpipe", "1f1b", "zb-h1", "zb-auto",
                           "interleaved", "zb-v", "dualpipe-v"]  # fmt: skip
    # With two stages, the step takes nine times 6 ms. Four interleaved stages of 3 ms halve the
    # bubble.
    assert plans["1f1b"]["step_ms"] == pytest.approx(54.0, abs=0.01)
    assert plans["interleaved"]["step_ms"] == pytest.approx(51.0, abs=0.01)
    assert plans["1f1b"]["idle_pct"] == pytest.approx(100 / 9, abs=0.1)
    for one in plans.values():
        assert one["step_ms"] >= plans["weft"]["step_ms"]
        assert one["gap_pct"] == pytest.approx(
            100 * (1 - answer["lower_bound_ms"] / one["step_ms"]), abs=1e-6
        )
    text = weft("pipeline", "compare", chain, *words).stdout
    assert "dualpipe-v" in text and "to weft" in text


def test_the_plan_of_a_rival_can_be_chosen_and_passes_verify(
    weft: Weft, chain: Path, tmp_path: Path
) -> None:
    words: list[str | Path] = [chain, "--cluster", "2 devices, 1000GB/s", "--microbatches", "8"]
    for name in ("spp", "gpipe", "interleaved", "zb-v"):
        file = tmp_path / f"{name}.json"
        answer = plan(weft, *words, "--planner", name, "-o", file)
        assert answer["schedule"] == ("pe" if name == "spp" else name)
        assert len(answer["stages"]) == (4 if name in ("interleaved", "zb-v") else len(answer["stages"]))
        done = weft("verify", file)
        assert done.returncode == 0, done.stdout
    done = weft("pipeline", *words[:-1], "3", "--planner", "dualpipe-v")
    assert done.returncode == 1 and "as many micro-batches as stages" in done.stderr
    assert weft("pipeline", *words, "--planner", "oracle").returncode == 2
    for asked in (["--stages", "2"], ["--replicas", "1"], ["--schedule", "1f1b"]):
        done = weft("pipeline", *words, "--planner", "spp", *asked)
        assert done.returncode == 2
        assert f"{asked[0]} does not go with --planner: spp makes this choice itself" in done.stderr


def test_gantt_draws_one_plan_or_two_on_one_scale(weft: Weft, chain: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, name in zip(files, ("weft", "gpipe"), strict=True):
        plan(weft, chain, "--cluster", "2 devices, 1GB/s", "--microbatches", "4", "--planner", name,
             "-o", file)  # fmt: skip
    picture = tmp_path / "picture.svg"
    done = weft("pipeline", "gantt", *files, "--svg", picture, COLUMNS="60")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("chain.txt, ") and " ms, idle " in lines[0]
    assert any(line.startswith("chain.txt, gpipe") for line in lines)
    assert "░" in done.stdout and max(map(len, lines[1:3])) <= 60
    assert picture.read_text().count("<text") > 4 and "url(#idle)" in picture.read_text()
    assert weft("pipeline", "gantt", files[0]).returncode == 0
    assert weft("pipeline", "gantt").returncode == 2
    assert weft("pipeline", "gantt", *files, files[0]).returncode == 2
    assert weft("pipeline", "gantt", chain).returncode == 3


def test_time_of_loading_data_is_noted_and_can_be_dropped(weft: Weft, tmp_path: Path) -> None:
    folder = tmp_path / "vgg"
    folder.mkdir()
    graph = folder / "graph.txt"
    facts = "activation_size=8.0, parameter_size=0.0"
    graph.write_text(
        f"a -- Input -- forward_compute_time=5.0, backward_compute_time=0.0, {facts}\n"
        f"b -- Conv2d -- forward_compute_time=1.0, backward_compute_time=2.0, {facts}\n"
        "\ta -- b\n"
    )
    words: list[str | Path] = [graph, "--cluster", "1 devices, 1GB/s", "--microbatches", "2"]
    done = weft("pipeline", *words)
    assert done.stdout.startswith("vgg: 2 layers") and "pipeline-input-time" in done.stderr
    answer = plan(weft, *words)
    assert answer["step_ms"] == 16 and answer["profile"] == "vgg"
    assert [note["id"] for note in answer["diagnostics"]] == ["pipeline-input-time"]
    answer = plan(weft, *words, "--drop-input-time")
    assert answer["step_ms"] == 6 and answer["diagnostics"] == []
    done = weft("pipeline", "compare", *words, "--json", "--drop-input-time")
    assert json.loads(done.stdout)["plans"][0]["step_ms"] == 6


def test_every_order_in_the_reference_can_be_planned_with(
    weft: Weft, chain: Path, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    words: list[str | Path] = [chain, "--cluster", "2 devices, 1GB/s", "--microbatches", "8"]
    refused = weft("pipeline", *words, "--schedule", "none").stderr
    names = refused.split("is not one of ")[1].split(" (see")[0].split(", ")
    assert {"1f1b", "interleaved", "zb-v", "dualpipe-v", "zb-auto"} < set(names)
    text = (ROOT / "docs/reference/cli.md").read_text()
    row = next(line for line in text.splitlines() if "use only this order of micro-batches" in line)
    for name in names:
        assert f"`{name}`" in row
        assert plan(weft, *words, "--schedule", name, "-o", file)["schedule"] == name
        assert weft("verify", file).returncode == 0


def test_a_count_of_one_uses_the_singular(weft: Weft, chain: Path) -> None:
    done = weft("pipeline", chain, "--cluster", "1 device", "--microbatches", "1")
    assert " layers on 1 device, 1 micro-batch per step\n" in done.stdout, done.stderr
