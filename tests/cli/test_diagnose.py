# SPDX-License-Identifier: Apache-2.0
"""Results of `weft diagnose`, and inputs that it refuses."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.horovod_timeline import Job
from tests.conftest import EXAMPLE, ROOT, Weft, trace_text

SHARED = ROOT.parent / "shared" / "traces"
SEVERAL_RUNS = SHARED / "meta-pytorch_torchrec/sst_long_a2a_optimizer_2"
TORCHREC = SHARED / "meta-pytorch_torchrec/sst_long_a2a_optimizer_5"
SETS = [
    EXAMPLE,
    SHARED / "astra-sim_astra-sim/megatron-tp8",
    TORCHREC,
    SHARED / "ByteDance-Seed_StragglerAnalysis/timeline-ST.json.gz",
]
FINDING = {"kind", "title", "what", "rank", "step", "stream", "ranks", "gain_ms", "time_ms", "count",
           "advice", "show", "what_if", "ops"}  # fmt: skip


def here(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def diagnose(weft: Weft, *words: str | Path) -> Any:
    done = weft("diagnose", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_causes_of_every_rank_and_step_add_up(weft: Weft) -> None:
    report = diagnose(weft, EXAMPLE)
    assert report["schema_version"] == 2 and report["command"] == "diagnose"
    assert report["steps"] == [3, 4, 5]
    assert [rank["rank"] for rank in report["ranks"]] == [0, 1, 2, 3]
    for rank in report["ranks"]:
        assert sum(rank["causes"].values()) == pytest.approx(rank["step_ms"], abs=1e-5)
        assert rank["step_ms"] == pytest.approx(sum(rank["steps_ms"]) / 3, abs=1e-5)
        for step, causes in zip(rank["steps_ms"], rank["causes_by_step"], strict=True):
            assert sum(causes.values()) == pytest.approx(step, abs=1e-5)
        assert rank["overlap"] == pytest.approx(rank["hidden_ms"] / rank["communication_ms"])
        assert 0 <= rank["lateness"]["last"] <= rank["lateness"]["collectives"]
        assert rank["memory_peak"]["source"] == "estimated"
    assert report["step_ms"] == max(rank["step_ms"] for rank in report["ranks"])
    assert report["slowest_rank"] in range(4)
    assert report["verdict"].startswith(f"step {report['step_ms']:.1f} ms")


def test_ops_of_the_critical_path_are_adjacent_in_time(weft: Weft) -> None:
    report = diagnose(weft, EXAMPLE)
    path, summary = report["critical_path"], report["critical_path_summary"]
    for before, after in zip(path, path[1:], strict=False):
        assert before["start_ms"] + before["duration_ms"] == pytest.approx(after["start_ms"])
    assert sum(piece["duration_ms"] for piece in path) == pytest.approx(summary["length_ms"])
    assert sum(rank["ms"] for rank in summary["by_rank"]) == pytest.approx(summary["length_ms"])
    assert sum(summary["by_cause"].values()) == pytest.approx(summary["length_ms"])
    assert summary["main_rank"] in range(4)


def test_findings_have_all_fields_and_known_kinds(weft: Weft) -> None:
    report = diagnose(weft, EXAMPLE)
    listed = weft("list", "findings")
    assert listed.returncode == 0 and not listed.stderr
    kinds = {line.split()[0] for line in listed.stdout.splitlines()[1:]}
    gains = [finding["gain_ms"] for finding in report["findings"]]
    assert gains == sorted(gains, reverse=True)
    assert min(gains) >= 0.005 * report["step_ms"]
    for finding in report["findings"]:
        assert set(finding) == FINDING
        assert finding["kind"] in kinds
        assert finding["step"] in report["steps"] and finding["rank"] in finding["ranks"]
        assert finding["time_ms"] > 0 and finding["advice"] and finding["what"]
        times = [op["ms"] for op in finding["ops"]]
        assert times and min(times) > 0 and times == sorted(times, reverse=True)
        assert {op["step"] for op in finding["ops"]} <= set(report["steps"]), (
            "ops outside of the steps have no gain"
        )


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.name)
def test_page_fits_a_small_terminal_and_shows_every_finding(weft: Weft, path: Path) -> None:
    page = weft("diagnose", here(path), COLUMNS="80")
    assert page.returncode == 0, page.stderr
    lines = page.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80, page.stdout
    findings = diagnose(weft, path)["findings"]
    assert findings
    for number, finding in enumerate(findings, 1):
        command = shlex.split(finding["show"])
        assert command == ["weft", "diagnose", str(path), "--finding", str(number)]
        shown = weft(*command[1:], COLUMNS="80")
        assert shown.returncode == 0, shown.stderr
        # Commands are not wrapped, so that they can be pasted; the width check leaves them out.
        lines = [line for line in shown.stdout.splitlines() if not line.startswith("predict: ")]
        assert lines[0] == f"{number}. {finding['kind']}: {finding['title']}"
        assert len(lines) <= 24 and max(map(len, lines)) <= 80, shown.stdout
        assert "advice:" in shown.stdout
        assert " 0.000 " not in shown.stdout, "ops that cost no time are not listed"


def test_findings_are_numbered_from_one(weft: Weft) -> None:
    count = len(diagnose(weft, EXAMPLE)["findings"])
    for number in (0, count + 1):
        done = weft("diagnose", EXAMPLE, "--finding", str(number))
        assert done.returncode == 2
        assert f"findings are numbered 1 to {count}" in done.stderr


def test_weft_replay_accepts_the_what_if_of_a_finding(weft: Weft) -> None:
    asked = {f["what_if"] for f in diagnose(weft, EXAMPLE)["findings"]} - {None}
    assert "comm=off" in asked
    for question in asked:
        done = weft("replay", EXAMPLE, "--what-if", question)
        assert done.returncode == 0, done.stderr


def test_output_does_not_depend_on_threads(weft: Weft) -> None:
    one = weft("diagnose", "--json", EXAMPLE, "--threads", "1").stdout
    assert one == weft("diagnose", "--json", EXAMPLE, "--threads", "4").stdout


def test_names_with_blanks_are_quoted_in_commands(weft: Weft, tmp_path: Path) -> None:
    folder = tmp_path / "my job's traces"
    folder.mkdir()
    for file in EXAMPLE.glob("*-r*.json.gz"):
        shutil.copy(file, folder)
    shown = diagnose(weft, folder)["findings"][0]["show"]
    assert shlex.split(shown) == ["weft", "diagnose", str(folder), "--finding", "1"]


def test_one_rank_is_diagnosed(weft: Weft, job: Callable[..., Path]) -> None:
    path = job(ranks=1)
    report = diagnose(weft, path)
    assert [rank["rank"] for rank in report["ranks"]] == [0]
    assert report["stragglers"] is None
    assert not {"straggler", "imbalance"} & {f["kind"] for f in report["findings"]}
    page = weft("diagnose", path)
    assert page.returncode == 0 and "1 of 1 ranks" in page.stdout


def test_a_recording_without_steps_counts_as_one(weft: Weft, tmp_path: Path) -> None:
    trace = json.loads(trace_text(0, 1))
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e["cat"] != "user_annotation"]
    (tmp_path / "rank0.json").write_text(json.dumps(trace))
    done = weft("diagnose", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 step" in done.stdout and "no-steps" in done.stderr


def test_ranks_without_a_common_step_are_refused(weft: Weft, tmp_path: Path) -> None:
    for rank in range(2):
        text = trace_text(rank, 2)
        for step in (5, 6, 7):
            text = text.replace(f'ProfilerStep#{step}"', f'ProfilerStep#{step + 100 * rank}"')
        (tmp_path / f"rank{rank}.json.gz").write_bytes(gzip.compress(text.encode()))
    done = weft("diagnose", tmp_path)
    assert done.returncode == 2
    assert "record all ranks over the same steps" in done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout


def test_several_runs_are_listed_and_one_can_be_chosen(weft: Weft) -> None:
    done = weft("diagnose", here(SEVERAL_RUNS))
    assert done.returncode == 2
    assert "--run N: 1 (" in done.stderr and "2 (" in done.stderr
    report = diagnose(weft, SEVERAL_RUNS, "--run", "2")
    command = shlex.split(report["findings"][0]["show"])
    assert command[2:] == [str(SEVERAL_RUNS), "--run", "2", "--finding", "1"]
    assert weft(*command[1:]).returncode == 0


def test_the_late_rank_of_a_horovod_timeline_is_found(weft: Weft, tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    path.write_text(Job(late_rank=2, late_us=900).text())
    report = diagnose(weft, path)
    late = {rank["rank"]: rank["lateness"]["last"] for rank in report["ranks"]}
    assert max(late, key=lambda rank: late[rank]) == 2
    assert weft("diagnose", path).stdout.startswith("timeline: 4 of 4 ranks")


@pytest.mark.parametrize(
    "seed",
    ["chakra/ring.et", "horovod/two_ranks.json", "mxnet/store.json", "nccl/inspector.jsonl",
     "nccl/profiler.jsonl", "nsys/two_ranks.sqlite", "xplane/two_gpus.pb"],  # fmt: skip
)
def test_small_recordings_of_other_tools_are_diagnosed(weft: Weft, seed: str) -> None:
    report = diagnose(weft, ROOT / "tests" / "fuzz" / seed)
    assert report["step_ms"] > 0
    for rank in report["ranks"]:
        assert sum(rank["causes"].values()) == pytest.approx(rank["step_ms"], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "advises_buckets"),
    [("torch::autograd::AccumulateGrad", True), ("FSDP::pre_forward", False), ("aten::mm", False)],
)
def test_only_jobs_with_buckets_get_advice_about_buckets(
    weft: Weft, tmp_path: Path, name: str, advises_buckets: bool
) -> None:
    for rank in range(2):
        text = trace_text(rank, 2).replace("aten::mm", name)
        (tmp_path / f"rank{rank}.json").write_text(text)
    (found,) = (f for f in diagnose(weft, tmp_path)["findings"] if f["kind"] == "exposed_communication")
    assert ("ddp.bucket_mb" in found["advice"]) == advises_buckets
    if name.startswith("FSDP"):
        assert "prefetch earlier" in found["advice"]


def test_a_finding_explains_why_the_prediction_gains_more(weft: Weft) -> None:
    findings = diagnose(weft, EXAMPLE)["findings"]
    number = 1 + [f["kind"] for f in findings].index("exposed_communication")
    page = weft("diagnose", EXAMPLE, "--finding", str(number)).stdout
    assert "--what-if comm=off" in page and "comm=off gains more" in page
