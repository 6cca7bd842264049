# SPDX-License-Identifier: Apache-2.0
"""`weft pipeline predict`: recorded pipelines under other schedules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, ROOT, Weft

RECORDED = ROOT.parent / "shared/traces/h200-nccl"


def ranks(name: str, world: int) -> list[Path]:
    files = [RECORDED / f"{name}-r{r}.json.gz" for r in range(world)]
    if not files[0].exists():
        pytest.skip(f"{files[0]} is not there")
    return files


def test_json_holds_the_step_and_its_parts(weft: Weft) -> None:
    files = ranks("pp-gpt8l-w2", 2)
    done = weft("pipeline", "predict", *files, "--schedule", "interleaved", "--microbatches", "8",
                "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["low_ms"] < answer["step_ms"] < answer["high_ms"]
    assert answer["recorded"]["schedule"] == "1f1b"
    assert answer["recorded"]["microbatches"] == 8
    assert [stage["rank"] for stage in answer["stages"]] == [0, 1, 0, 1]
    assert [stage["layers"] for stage in answer["stages"]] == [2, 2, 2, 2]
    assert answer["message"]["bytes"] == 4 << 20
    parts = answer["made_of"]
    total = parts["compute_ms"] + parts["messages_ms"] + parts["host_ms"]
    assert total == pytest.approx(answer["step_ms"], rel=1e-3)


def test_without_flags_the_recorded_micro_batches_run_as_1f1b(weft: Weft) -> None:
    done = weft("pipeline", "predict", *ranks("pp-gpt8l-w2", 2))
    assert done.returncode == 0, done.stderr
    assert "1f1b, 8 micro-batches" in done.stdout


def test_a_table_of_other_ranks_is_named_as_unused(weft: Weft) -> None:
    table = RECORDED / "send_recv-w4.json"
    done = weft("pipeline", "predict", *ranks("pp-gpt8l-w2", 2), "--links", table)
    assert done.returncode == 0
    assert "no table of --links" in done.stderr
    done = weft("pipeline", "predict", *ranks("pp-gpt8l-w2", 2), "--links", table, "--json")
    assert json.loads(done.stdout)["diagnostics"][-1]["id"] == "predict-links-unused"


def test_a_number_of_micro_batches_that_torch_refuses_gets_a_note(weft: Weft) -> None:
    files = ranks("pp-gpt8l-w2", 2)
    for words, has_note in ((["1f1b", "1"], True), (["1f1b", "2"], False), (["gpipe", "1"], False)):
        done = weft("pipeline", "predict", *files, "--schedule", words[0], "--microbatches",
                    words[1], "--json")  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = [one["id"] for one in json.loads(done.stdout)["diagnostics"]]
        assert ("predict-torch-refuses" in found) == has_note


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["predict"], "RECORDING... is missing"),
        (["predict", EXAMPLE, "--microbatches", "0"], "is not between 1"),
        (["predict", EXAMPLE, "--schedule", "zigzag"], "zigzag"),
        (["predict", EXAMPLE], "shows no pipeline"),
        (["one.txt", "two.txt"], "one argument too many"),
    ],
)
def test_an_impossible_prediction_gives_one_sentence(
    weft: Weft, words: list[str | Path], says: str
) -> None:
    done = weft("pipeline", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("question", ["predict", "profile"])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([1], "ranks 0, 2, 3 of the job are not recorded"),
        ([0, 1], "ranks 2, 3 of the job are not recorded"),
        ([0, 1, 2], "rank 3 of the job is not recorded"),
        ([0, 1, 3], "rank 2 of the job is not recorded"),
    ],
)
def test_missing_ranks_of_a_pipeline_are_refused(
    weft: Weft, question: str, given: list[int], says: str
) -> None:
    files = ranks("pp-gpt8l-w4", 4)
    done = weft("pipeline", question, *[files[rank] for rank in given])
    assert done.returncode == 2
    assert says in done.stderr and "exchange messages with" in done.stderr
    assert done.stdout == ""


TIMELINES = ROOT.parent / "shared/pipelines/ByteDance-Seed_StragglerAnalysis"


def timeline(name: str) -> Path:
    path = TIMELINES / f"timeline-{name}.json.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


@pytest.mark.parametrize("name", ["ST", "AR"])
def test_steps_of_production_jobs_are_predicted_within_two_percent(weft: Weft, name: str) -> None:
    done = weft("pipeline", "predict", timeline(name), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["step_ms"] == pytest.approx(answer["recorded"]["step_ms"], rel=0.02)


def test_stages_of_a_timeline_cannot_be_cut(weft: Weft) -> None:
    done = weft("pipeline", "predict", timeline("ST"), "--schedule", "interleaved")
    assert done.returncode == 2 and "does not show layers" in done.stderr and done.stdout == ""


def test_replan_goes_around_the_slow_worker(weft: Weft) -> None:
    done = weft("pipeline", "replan", timeline("AR"), "--layers", "64", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["slow_worker"]["rank"] == 0
    assert answer["slow_worker"]["step_as_the_others_ms"] == pytest.approx(23485, rel=0.03)
    best = answer["ways"][0]
    assert best["gain_pct"] > 40
    assert sum(best["microbatches"]) == 4 * 32
    assert sum(best["layers"]) == 64
    assert "the timeline does not show layers" not in done.stderr


def test_replan_lists_its_assumptions(weft: Weft) -> None:
    done = weft("pipeline", "replan", timeline("ST"))
    assert done.returncode == 0, done.stderr
    assert "stage 3" in done.stdout
    assert "--layers N" in done.stderr
    done = weft("pipeline", "replan", timeline("ST"), "--json")
    (assumed,) = json.loads(done.stdout)["diagnostics"]
    assert assumed["id"] == "replan-layers-assumed"
    done = weft("pipeline", "replan", timeline("ST"), "--strict")
    assert done.returncode == 3 and "the timeline does not show layers" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["replan"], "TIMELINE... is missing"),
        (["replan", EXAMPLE], "not an op timeline"),
        (["replan", EXAMPLE, "--layers", "0"], "is not between 1"),
    ],
)
def test_an_impossible_replan_gives_one_sentence(
    weft: Weft, words: list[str | Path], says: str
) -> None:
    done = weft("pipeline", *words)
    assert done.returncode == 2
    assert says in done.stderr


MODULES = ROOT.parent / "shared/traces/sarchlab_triosim/profiler_vgg13-iter41.json.gz"


def test_a_recorded_model_can_be_planned(weft: Weft, tmp_path: Path) -> None:
    if not MODULES.exists():
        pytest.skip(f"{MODULES} is not there")
    path = tmp_path / "profile.json"
    done = weft("pipeline", "profile", MODULES, "-o", path)
    assert done.returncode == 0, done.stderr
    assert "34 layers" in done.stdout
    layers = json.loads(path.read_text())["layers"]
    convolutions = [layer for layer in layers if layer["name"].startswith("Conv2d")]
    assert all(0.5 < layer["weight_ms"] / layer["backward_ms"] <= 1 for layer in convolutions)
    planned = weft("pipeline", path, "--cluster", "4 devices, 100GB/s", "--microbatches", "4",
                   "--json")  # fmt: skip
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["step_ms"] > 0


def test_a_recording_without_modules_says_how_to_get_them(weft: Weft) -> None:
    done = weft("pipeline", "profile", EXAMPLE)
    assert done.returncode == 2
    assert "with_stack=True" in done.stderr
