# SPDX-License-Identifier: Apache-2.0
"""Results of `weft diff`, and when --fail-above makes a CI job fail."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLE, ROOT, Weft, trace_text

LINKS = EXAMPLE / "allreduce-w4.json"
SHARED = ROOT.parent / "shared" / "traces"
TORCHREC = SHARED / "meta-pytorch_torchrec"


def diff(weft: Weft, *words: str | Path) -> Any:
    done = weft("diff", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def slower(tmp_path: Path) -> Callable[..., Path]:
    """slower("b", 1.5): a job of two ranks whose compute takes 1.5 times as long as usual."""

    def make(name: str, factor: float, ranks: int = 2, kernel: str = "gemm") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for rank in range(ranks):
            trace = json.loads(trace_text(rank, ranks))
            for event in trace["traceEvents"]:
                if event["name"] != "gemm":
                    continue
                event["name"] = kernel
                event["dur"] *= factor
            (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))
        return folder

    return make


def test_a_run_does_not_differ_from_itself(weft: Weft) -> None:
    report = diff(weft, EXAMPLE, EXAMPLE)
    assert report["schema_version"] == 1 and report["command"] == "diff"
    assert report["before"] == report["after"]
    assert report["change"] == report["change_ms"] == 0
    assert report["missing"] == report["new"] == []
    assert all(op["change_ms"] == 0 for op in report["ops"])
    assert report["fail_above"] is None and report["failed"] is False
    assert "within noise" in weft("diff", EXAMPLE, EXAMPLE).stdout


def test_slower_causes_are_named(weft: Weft, slower: Callable[..., Path]) -> None:
    report = diff(weft, slower("a", 1), slower("b", 1.5))
    assert report["ops"][0]["name"] == "gemm" and report["ops"][0]["kind"] == "kernel"
    assert report["ops"][0]["change_ms"] == pytest.approx(1.5)
    assert report["ops"][0]["count_before"] == report["ops"][0]["count_after"] == 1
    for side in ("before", "after"):
        total = sum(cause[f"{side}_ms"] for cause in report["causes"])
        # Causes are means over ranks. Both ranks are equal, so the means add up to the step.
        assert total == pytest.approx(report[side]["step_ms"], rel=1e-3)


def test_vanished_and_new_ops_are_named(weft: Weft, slower: Callable[..., Path]) -> None:
    a, b = slower("a", 1), slower("b", 1, kernel="fused_gemm")
    report = diff(weft, a, b)
    assert [op["name"] for op in report["missing"]] == ["gemm"]
    assert [op["name"] for op in report["new"]] == ["fused_gemm"]
    page = weft("diff", a, b).stdout
    assert "missing" in page and "new" in page


def uneven(folder: Path, factors: list[float]) -> Path:
    """A job of one rank whose steps take 10 ms each, times these factors."""
    folder.mkdir()
    trace = json.loads(trace_text(0, 1, steps=len(factors)))
    starts = [1_000_000 + 10_000 * sum(factors[:i]) for i in range(len(factors))]
    for event in trace["traceEvents"]:
        step = int((event["ts"] - 1_000_000) // 10_000)
        event["ts"] += starts[step] - (1_000_000 + 10_000 * step)
        if event["name"] == "gemm" or event["name"].startswith("ProfilerStep"):
            event["dur"] *= factors[step]
    (folder / "rank0.json").write_text(json.dumps(trace))
    return folder


def test_fail_above_fails_only_above_its_limit(weft: Weft, tmp_path: Path) -> None:
    a, b = uneven(tmp_path / "a", [1, 1, 1, 1]), uneven(tmp_path / "b", [2, 2, 2, 2])
    change = diff(weft, a, b)["change"]
    assert change > 0.1
    for limit, code in ((f"{100 * change + 1}%", 0), (f"{100 * change - 1}", 1)):
        done = weft("diff", a, b, "--fail-above", limit)
        assert done.returncode == code, done.stderr
        assert ("FAILED" if code else "passed") in done.stdout.splitlines()[-1]
    assert weft("diff", b, a, "--fail-above", "0%").returncode == 0, "a faster run passes the limit"
    failed = weft("diff", a, b, "--fail-above", "5%", "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["failed"] is True
    assert json.loads(failed.stdout)["fail_above"] == pytest.approx(0.05)


def test_a_change_within_the_noise_does_not_fail(weft: Weft, tmp_path: Path) -> None:
    a, b = uneven(tmp_path / "a", [1, 1, 1, 1]), uneven(tmp_path / "b", [1, 1.1, 1, 4])
    done = weft("diff", a, b, "--fail-above", "3%")
    assert done.returncode == 0, done.stdout
    assert ", within noise (" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("within noise; record more steps to be sure")
    assert diff(weft, a, b, "--fail-above", "3%")["failed"] is False
    c = uneven(tmp_path / "c", [2, 2.1, 2, 2.1])
    done = weft("diff", a, c, "--fail-above", "3%")
    assert done.returncode == 1 and ", beyond noise (" in done.stdout
    assert "beyond noise" not in done.stdout.splitlines()[-1] and "FAILED" in done.stdout


@pytest.mark.parametrize("share", ["-3%", "much", "%", "inf", "nan%", "3%%"])
def test_a_limit_that_is_not_a_percentage_is_refused(weft: Weft, share: str) -> None:
    done = weft("diff", EXAMPLE, EXAMPLE, "--fail-above", share)
    assert done.returncode == 2
    assert "is not a percentage such as 3%" in done.stderr


def test_missing_files_and_arguments(weft: Weft) -> None:
    for words in ((EXAMPLE, "/does/not/exist"), ("/does/not/exist", EXAMPLE)):
        done = weft("diff", *words)
        assert done.returncode == 3 and "/does/not/exist" in done.stderr
    assert weft("diff", EXAMPLE).returncode == 2
    assert weft("diff", EXAMPLE, EXAMPLE, EXAMPLE).returncode == 2


def test_jobs_of_different_size_are_compared(weft: Weft, slower: Callable[..., Path]) -> None:
    two, three = slower("a", 1), slower("b", 1, ranks=3)
    assert "a run of 2 ranks is compared with a run of 3" in weft("diff", two, three).stderr
    report = diff(weft, two, three)
    assert (report["before"]["ranks"], report["after"]["ranks"]) == (2, 3)
    (gemm,) = (op for op in report["ops"] if op["name"] == "gemm")
    assert gemm["change_ms"] == 0, "one step of one rank of each job"


def test_a_prediction_is_compared_with_the_measured_run(weft: Weft) -> None:
    report = diff(weft, EXAMPLE, EXAMPLE, "--what-if", "comm=off", "--links", LINKS)
    assert report["without_profiler"] is True
    assert report["before"]["label"] == "resnet50-w4 with comm=off"
    assert report["change"] > 0.05, "the measured job still communicates"
    assert report["noise_ms"] > 0
    names = [cause["name"] for cause in report["causes"]]
    assert names == ["compute", "communication", "waiting", "host"]
    done = weft("diff", EXAMPLE, EXAMPLE, "--what-if", "comm=of")
    assert done.returncode == 2


def test_a_plan_is_compared_with_the_measured_run(weft: Weft, tmp_path: Path) -> None:
    plan = tmp_path / "plan"
    done = weft("replay", EXAMPLE, "--what-if", "comm=off", "--json", "-o", plan)
    assert done.returncode == 0, done.stderr
    promised = json.loads(done.stdout)["predicted_step_ms"]
    report = diff(weft, plan, EXAMPLE)
    assert report["before"]["step_ms"] == pytest.approx(promised, abs=1e-5)
    assert report["before"]["label"] == f"the plan {plan}"
    assert report["change"] > 0.05
    assert weft("diff", plan, EXAMPLE, "--fail-above", "5%").returncode == 1
    both = weft("diff", plan, EXAMPLE, "--what-if", "comm=off")
    assert both.returncode == 2 and "which already contains changes" in both.stderr


def test_a_plan_of_another_version_is_named(weft: Weft, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"plan_version": 99}')
    done = weft("diff", plan, EXAMPLE)
    assert done.returncode == 3
    assert "plan_version is 99" in done.stderr


def test_page_fits_a_small_terminal(weft: Weft, slower: Callable[..., Path]) -> None:
    for before, after in ((EXAMPLE, EXAMPLE), (slower("a", 1), slower("b", 2))):
        lines = weft("diff", before, after, COLUMNS="80").stdout.splitlines()
        assert len(lines) <= 24 and max(map(len, lines)) <= 80


def test_output_does_not_depend_on_threads(weft: Weft) -> None:
    one = weft("diff", "--json", EXAMPLE, EXAMPLE, "--threads", "1").stdout
    assert one == weft("diff", "--json", EXAMPLE, EXAMPLE, "--threads", "4").stdout


def test_a_run_can_be_chosen_on_both_sides(weft: Weft) -> None:
    several, one = TORCHREC / "sst_long_a2a_optimizer_2", TORCHREC / "sst_long_a2a_optimizer_5"
    if not several.exists():
        pytest.skip(f"{several} is not here")
    assert weft("diff", several, one).returncode == 2
    report = diff(weft, several, several, "--run-a", "1", "--run-b", "2")
    assert report["before"]["label"].endswith("#1") and report["after"]["label"].endswith("#2")
    report = diff(weft, one, several, "--run-b", "2")
    assert report["after"]["label"].endswith("#2")
