# SPDX-License-Identifier: Apache-2.0
"""Run.diagnose and weft.diff return the results of the commands as objects."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pytest

import weft

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "resnet50-w4"


@pytest.fixture(scope="module")
def run() -> weft.Run:
    return weft.load(EXAMPLE)


@pytest.fixture(scope="module")
def diagnosis(run: weft.Run) -> weft.Diagnosis:
    return run.diagnose()


def printed(*words: str | Path) -> str:
    command = Path(weft.__file__).parent / "_native" / "bin" / "weft"
    done = subprocess.run([command, *words], capture_output=True, check=True, text=True)
    return done.stdout


def test_same_diagnosis_as_the_command(diagnosis: weft.Diagnosis) -> None:
    assert diagnosis.to_json() == printed("diagnose", "--json", EXAMPLE)
    assert diagnosis.to_dict() == json.loads(diagnosis.to_json())
    for name in diagnosis.to_dict().keys() - {"schema_version", "command"}:
        assert hasattr(diagnosis, name)


def test_findings_are_objects(diagnosis: weft.Diagnosis) -> None:
    finding = diagnosis.findings[0]
    assert finding.kind == "exposed_communication" and finding.what_if == "comm=off"
    assert 0 < finding.gain_ms < diagnosis.step_ms
    assert finding.rank in finding.ranks and finding.step in diagnosis.steps
    assert finding.advice and finding.show.endswith("--finding 1")
    assert finding.ops[0].ms >= finding.ops[-1].ms > 0
    gains = [finding.gain_ms for finding in diagnosis.findings]
    assert gains == sorted(gains, reverse=True)


def test_causes_add_up(diagnosis: weft.Diagnosis) -> None:
    assert [rank.rank for rank in diagnosis.ranks] == [0, 1, 2, 3]
    for rank in diagnosis.ranks:
        assert sum(rank.causes.values()) == pytest.approx(rank.step_ms, abs=1e-5)
        assert rank.memory_peak is not None and rank.memory_peak.bytes > 0
        assert rank.lateness.collectives > 0
    assert diagnosis.step_ms == max(rank.step_ms for rank in diagnosis.ranks)


def test_path_and_collectives_are_objects(diagnosis: weft.Diagnosis) -> None:
    total = sum(piece.duration_ms for piece in diagnosis.critical_path)
    assert total == pytest.approx(diagnosis.critical_path_summary.length_ms)
    assert {each.name for each in diagnosis.collectives} >= {"allreduce"}
    assert all(each.skew_ms >= 0 and each.transfer_ms >= 0 for each in diagnosis.collectives)


def test_diagnosis_prints_its_verdict_and_findings(diagnosis: weft.Diagnosis) -> None:
    assert diagnosis.verdict in repr(diagnosis) and len(repr(diagnosis)) < 300
    lines = str(diagnosis).splitlines()
    assert len(lines) == 1 + len(diagnosis.findings)
    assert diagnosis.findings[0].title in lines[1]
    assert diagnosis.findings[0].title in diagnosis._repr_html_()


def test_a_run_does_not_differ_from_itself(run: weft.Run) -> None:
    comparison = run.diff(run)
    assert comparison.change == 0 and comparison.missing == comparison.new == []
    assert "within noise" in repr(comparison)
    assert "compute" in str(comparison) and "compute" in comparison._repr_html_()


def test_diff_accepts_paths(run: weft.Run) -> None:
    comparison = weft.diff(EXAMPLE, str(EXAMPLE))
    assert comparison.before.label == run.label and comparison.after.ranks == 4
    assert comparison.to_json() == printed("diff", "--json", EXAMPLE, EXAMPLE)
    with pytest.raises(weft.NotFound):
        run.diff("/does/not/exist")


def test_predictions_are_compared_with_the_later_run(run: weft.Run) -> None:
    comparison = run.diff(run, what_if="comm=off", links=EXAMPLE / "allreduce-w4.json")
    assert comparison.without_profiler and comparison.change > 0.05
    assert comparison.before.label.endswith("with comm=off")
    assert comparison.ops == []
    with pytest.raises(weft.UsageError, match="the only value is off"):
        run.diff(run, what_if="comm=of")


def test_plans_are_compared_with_the_later_run(run: weft.Run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    printed("replay", EXAMPLE, "--what-if", "comm=off", "-o", plan)
    comparison = weft.diff(plan, run)
    assert comparison.before.ranks == 0 and comparison.causes == []
    assert comparison.before.step_ms == pytest.approx(run.replay("comm=off").predicted_step_ms)
    with pytest.raises(weft.UsageError, match="a plan, which already contains changes"):
        weft.diff(plan, run, what_if="comm=off")
    plan.write_text('{"plan_version": 99}')
    with pytest.raises(weft.BadInput, match="plan_version is 99") as caught:
        weft.diff(plan, run)
    assert caught.value.file == str(plan)


def test_other_threads_run_during_a_diagnosis() -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=count)
    fresh = weft.load(EXAMPLE)
    thread.start()
    fresh.diagnose()
    done.set()
    thread.join()
    assert ticks >= 5


def test_the_example_of_the_reference_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/reference/python.md").read_text()
    examples = [part.partition("```")[0] for part in page.split("```python\n")[1:]]
    (example,) = (text for text in examples if ".diagnose()" in text)
    monkeypatch.chdir(ROOT)
    exec(example, {"weft": weft, "run": weft.load("examples/resnet50-w4")})
