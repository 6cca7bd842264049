# SPDX-License-Identifier: Apache-2.0
"""Results of `weft replay`, requests that it refuses, and the plans that it writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLE, ROOT, Weft, trace_text, weft_command

LINKS = EXAMPLE / "allreduce-w4.json"
TRUTH = json.loads((EXAMPLE / "resnet50-w4.truth.json").read_text())["variants"]
SEVERAL_RUNS = ROOT.parent / "shared/traces/meta-pytorch_torchrec/sst_long_a2a_optimizer_2"
OP_TIMELINE = ROOT.parent / "shared/traces/ByteDance-Seed_StragglerAnalysis/timeline-ST.json.gz"
VGG13 = ROOT.parent / "shared/traces/sarchlab_triosim/profiler_vgg13-iter41.json.gz"
MANY_STEPS = ROOT.parent / "shared/traces/facebookresearch_HolisticTraceAnalysis/df_index_resolver"
TIMES = ["recorded_step_ms", "replayed_step_ms", "baseline_step_ms", "predicted_step_ms"]


def replay(weft: Weft, *words: str | Path) -> Any:
    done = weft("replay", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parts(breakdown: Any) -> float:
    names = ["compute_ms", "communication_ms", "waiting_ms", "host_ms"]
    assert all(breakdown[name] >= 0 for name in names)
    return sum(float(breakdown[name]) for name in names)


def test_example_is_described_completely(weft: Weft) -> None:
    report = replay(weft, EXAMPLE, "--links", LINKS)
    assert report["schema_version"] == 1
    assert report["what_if"] == []
    assert report["steps"] == [3, 4, 5]
    assert [rank["rank"] for rank in report["ranks"]] == [0, 1, 2, 3]
    for name in TIMES:
        assert 50 < report[name] < 150
    assert report["predicted_step_ms"] == report["baseline_step_ms"]
    assert report["low_ms"] < report["predicted_step_ms"] < report["high_ms"]
    for rank in report["ranks"]:
        assert len(rank["recorded_step_ms"]) == len(rank["replayed_step_ms"]) == 3
        assert rank["recorded_step_ms"] == pytest.approx(rank["replayed_step_ms"], rel=0.01)
        mean = sum(rank["baseline_steps_ms"]) / 3
        assert rank["baseline_step_ms"] == pytest.approx(mean, abs=1e-5)
        assert rank["clock"]["uncertainty_us"] >= 0
        assert rank["memory_peak_bytes"] > 0
    assert report["replay_error"] <= 0.01
    slowest = max(rank["baseline_step_ms"] for rank in report["ranks"])
    assert report["baseline_step_ms"] == slowest
    assert report["interference"] > 1
    assert report["stragglers"]["slowdown"] >= 0.9
    assert report["graph"]["inferred_edges"] < report["graph"]["edges"]


def test_estimated_memory_peak_has_step_and_op(weft: Weft) -> None:
    for rank in replay(weft, EXAMPLE)["ranks"]:
        peak = rank["memory_peak"]
        assert list(peak) == ["bytes", "at_ms", "step", "op", "device", "source"]
        assert peak["bytes"] == rank["memory_peak_bytes"]
        assert rank["memory_source"] == "shapes" and peak["source"] == "estimated"
        assert peak["device"] == 0
        assert peak["step"] == 3 and 0 < peak["at_ms"] < rank["recorded_step_ms"][0]
        assert peak["op"] == "aten::_log_softmax", "memory peaks at the last op that keeps its inputs"


def cpu_trace(rank: int, memory: bool) -> str:
    """A rank that computes on its processors, with one allocation and one free per step."""
    trace = json.loads(trace_text(rank, 2))
    del trace["deviceProperties"]
    events = [e for e in trace["traceEvents"] if e["cat"] in ("cpu_op", "user_annotation")]
    for step in range(3 if memory else 0):
        for at, change in ((30, 4096), (60, -4096)):
            args = {"Device Type": 0, "Device Id": -1, "Addr": 1, "Bytes": change}
            events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
                           "pid": 1000 + rank, "tid": 1000 + rank,
                           "ts": 1_000_000 + 10_000 * step + at, "args": args})  # fmt: skip
    return json.dumps(trace | {"traceEvents": events})


def test_memory_peak_of_a_job_without_devices_is_that_of_the_host(weft: Weft, tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"rank{rank}.json").write_text(cpu_trace(rank, True))
    info = weft("info", tmp_path).stdout
    assert re.search("recorded: [^;]*memory", info), info
    for rank in replay(weft, tmp_path)["ranks"]:
        peak = rank["memory_peak"]
        assert (peak["bytes"], peak["device"], peak["op"]) == (4096, -1, "aten::mm")
        assert rank["memory_source"] == "allocations"
    assert re.search(r"memory +peak 4.1 kB per rank of host memory", weft("replay", tmp_path).stdout)
    assert "memory peak:   4.1 kB of host memory on rank 0" in weft("diagnose", tmp_path).stdout


def test_memory_line_adapts_to_the_width(weft: Weft) -> None:
    def memory_line(columns: str) -> str:
        printed = weft("replay", EXAMPLE, COLUMNS=columns).stdout.splitlines()
        (found,) = (i for i, line in enumerate(printed) if line.startswith("memory "))
        assert printed[found + 1].startswith("stragglers "), "the memory line is not wrapped"
        return printed[found]

    assert memory_line("100").endswith(", in aten::_log_softmax of step 3")
    assert memory_line("80").endswith("(estimated from shapes), in step 3")
    assert memory_line("65").endswith("(estimated from shapes)")


def test_memory_peak_is_null_without_data(weft: Weft, job: Callable[..., Path]) -> None:
    folder = job(ranks=2)
    for rank in replay(weft, folder)["ranks"]:
        assert rank["memory_peak"] is rank["memory_peak_bytes"] is rank["memory_source"] is None
    assert "memory" not in weft("replay", folder).stdout


@pytest.mark.skipif(not VGG13.exists(), reason="needs the public TrioSim traces")
def test_memory_peak_from_the_allocator(weft: Weft) -> None:
    (rank,) = replay(weft, VGG13)["ranks"]
    assert rank["memory_source"] == "allocator"
    assert rank["memory_peak"] == {
        "bytes": 39_343_881_216,
        "at_ms": 22.107,
        "step": None,
        "op": "aten::convolution_backward",
        "device": 0,
        "source": "allocator",
    }


@pytest.mark.skipif(not MANY_STEPS.exists(), reason="needs the public traces of HTA")
def test_memory_peak_among_several_steps(weft: Weft) -> None:
    (rank,) = replay(weft, MANY_STEPS)["ranks"]
    peak = rank["memory_peak"]
    assert (peak["bytes"], peak["step"], peak["op"]) == (6_629_508_096, 2, "aten::empty")
    assert (peak["device"], peak["source"]) == (1, "allocator")
    assert "peak 6.6 GB per rank, in aten::empty of step 2\n" in weft("replay", MANY_STEPS).stdout


def test_breakdown_adds_up_to_the_step_of_its_rank(weft: Weft) -> None:
    report = replay(weft, EXAMPLE, "--links", LINKS, "--what-if", "network.bandwidth=4x")
    for name in ("baseline", "predicted"):
        breakdown = report["breakdown"][name]
        (rank,) = (r for r in report["ranks"] if r["rank"] == breakdown["rank"])
        assert parts(breakdown) == pytest.approx(rank[f"{name}_step_ms"], abs=1e-5)
        assert rank[f"{name}_step_ms"] == pytest.approx(report[f"{name}_step_ms"], rel=1e-3)
    before, after = report["breakdown"]["baseline"], report["breakdown"]["predicted"]
    assert after["communication_ms"] < before["communication_ms"]


@pytest.mark.parametrize(
    ("what_if", "variant"),
    [("ddp.bucket_mb=1", "bucket1"), ("ddp.bucket_mb=5", "bucket5"), ("", "bucket25"),
     ("ddp.bucket_mb=100", "bucket100"), ("ddp.bucket_mb=2000", "bucket2000"),
     ("comm=off", "no_sync")],
)  # fmt: skip
def test_predictions_agree_with_measurements(weft: Weft, what_if: str, variant: str) -> None:
    question = ["--what-if", what_if] if what_if else []
    report = replay(weft, EXAMPLE, "--links", LINKS, *question)
    measured = TRUTH[variant]["pipelined_ms"]
    assert report["predicted_step_ms"] == pytest.approx(measured, rel=0.06)
    assert report["low_ms"] < measured < report["high_ms"]


def test_what_ifs_apply_together(weft: Weft) -> None:
    one = replay(weft, EXAMPLE, "--what-if", "compute=2x")
    two = replay(weft, EXAMPLE, "--what-if", "compute=2x", "--what-if", "comm=off")
    assert two["what_if"] == ["compute=2x", "comm=off"]
    assert two["predicted_step_ms"] < one["predicted_step_ms"] < one["baseline_step_ms"]
    assert two["baseline_step_ms"] == one["baseline_step_ms"]
    other_order = replay(
        weft, EXAMPLE, "--what-if", "comm=off", "--what-if", "ddp.bucket_mb=5"
    )  # Weft forms the buckets before it removes communication
    alone = replay(weft, EXAMPLE, "--what-if", "comm=off")
    assert other_order["predicted_step_ms"] == pytest.approx(alone["predicted_step_ms"], rel=0.02)


def test_error_bars_are_wider_without_a_table(weft: Weft) -> None:
    def width(*words: str | Path) -> float:
        report = replay(weft, EXAMPLE, *words)
        return float((report["high_ms"] - report["low_ms"]) / report["predicted_step_ms"])

    assert width() > width("--links", LINKS)
    question = ["--what-if", "network.bandwidth=2x"]
    assert width(*question) > width(*question, "--links", LINKS)


def test_unknown_latency_is_refused_with_what_to_measure(weft: Weft) -> None:
    question = ["--what-if", "ddp.bucket_mb=1"]
    done = weft("replay", EXAMPLE, *question)
    assert done.returncode == 2
    assert "transfers of less than 17.3 MB" in done.stderr
    assert "'weft calibrate --collectives all_reduce --sizes 512KiB..32MiB'" in done.stderr
    assert weft("replay", EXAMPLE, "--links", LINKS, *question).returncode == 0


def test_steps_can_be_chosen(weft: Weft) -> None:
    report = replay(weft, EXAMPLE, "--steps", "5,4")
    assert report["steps"] == [4, 5]
    assert all(len(rank["recorded_step_ms"]) == 2 for rank in report["ranks"])


def test_without_a_what_if_common_ones_are_predicted(weft: Weft) -> None:
    report = replay(weft, EXAMPLE, "--links", LINKS)
    answers = {answer["what_if"]: answer for answer in report["worth_knowing"]}
    assert {"network.bandwidth=2x", "comm=off", "stragglers=off", "compute=1.5x"} <= set(answers)
    sizes = [name for name in answers if name.startswith("ddp.bucket_mb=")]
    assert len(sizes) == 4
    (best,) = (name for name, answer in answers.items() if answer["best"])
    assert best == min(sizes, key=lambda name: answers[name]["predicted_step_ms"])
    asked = replay(weft, EXAMPLE, "--links", LINKS, "--what-if", best)
    assert asked["predicted_step_ms"] == answers[best]["predicted_step_ms"]
    assert asked["worth_knowing"] == []
    vague = replay(weft, EXAMPLE)["worth_knowing"]
    assert not any(answer["best"] for answer in vague), "best needs measured transfers"


REFUSED = [
    (["--what-if", "network.speed=2x"], "network.bandwidth"),
    (["--what-if", "compute"], "is not KEY=VALUE"),
    (["--what-if", "compute=fast"], "a factor such as"),
    (["--what-if", "rank:9.compute=2x"], "it has ranks 0, 1, 2, 3"),
    (["--steps", "9"], "step 9 is not in this recording"),
    (["--steps", "4,,5"], "is not a list of step numbers"),
    (["--steps", ""], "is not a list of step numbers"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_invalid_requests_are_refused(weft: Weft, words: list[str], message: str) -> None:
    done = weft("replay", EXAMPLE, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not done.stdout
    assert done.stderr.startswith("weft: error: ") and done.stderr.count("\n") == 1


def test_refusal_lists_the_what_ifs_of_this_recording(weft: Weft) -> None:
    one_rank = EXAMPLE / "resnet50-w4-r0.json.gz"
    for question in ("network.bandwidth=2x", "stragglers=off", "nonsense=1"):
        done = weft("replay", one_rank, "--what-if", question)
        assert done.returncode == 2
        listed = done.stderr.partition("this recording can answer: ")[2].strip().split(", ")
        assert "compute" in listed and "comm" in listed
        assert "network.bandwidth" not in listed and "stragglers" not in listed
    assert weft("replay", one_rank, "--what-if", "comm=off").returncode == 0


def test_buckets_need_recorded_gradients(weft: Weft, job: Callable[..., Path]) -> None:
    done = weft("replay", job(ranks=2), "--what-if", "ddp.bucket_mb=25")
    assert done.returncode == 2
    assert "AccumulateGrad" in done.stderr
    assert "ddp.bucket_mb" not in done.stderr.partition("can answer: ")[2]


def test_recording_without_steps_is_one_step(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(trace_text(0, 1).replace("ProfilerStep#", "something "))
    done = weft("replay", tmp_path)
    assert done.returncode == 0
    assert "no-steps (1x)" in done.stderr and "prof.step()" in done.stderr
    assert weft("replay", "--strict", tmp_path).returncode == 3


def test_bad_tables_are_bad_input(weft: Weft, tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text('{"collective": "all_reduce", "ranks": 4, "rows": []}')
    done = weft("replay", EXAMPLE, "--links", table)
    assert done.returncode == 3
    assert "table.json" in done.stderr
    assert weft("replay", EXAMPLE, "--links", tmp_path / "none.json").returncode == 3


def two_runs(folder: Path) -> Path:
    for rank in range(2):
        text = trace_text(rank, 2).replace('"ts": 1', '"ts": 9')
        (folder / f"later-rank{rank}.json").write_text(text)
    return folder


def test_several_runs_need_a_choice(weft: Weft, job: Callable[..., Path]) -> None:
    folder = two_runs(job(ranks=2))
    done = weft("replay", folder)
    assert done.returncode == 2
    assert "2 runs" in done.stderr and "--run" in done.stderr
    assert weft("replay", folder, "--run", "2").returncode == 0


@pytest.mark.skipif(not SEVERAL_RUNS.exists(), reason="needs the public torchrec traces")
def test_real_folder_of_several_runs(weft: Weft) -> None:
    assert weft("replay", SEVERAL_RUNS).returncode == 2
    assert replay(weft, SEVERAL_RUNS, "--run", "2")["replay_error"] <= 0.01


@pytest.mark.skipif(not OP_TIMELINE.exists(), reason="needs the timelines of the straggler study")
def test_op_timeline_names_the_culprit(weft: Weft) -> None:
    report = replay(weft, OP_TIMELINE)
    assert report["recorded_step_ms"] == pytest.approx(2214.4, rel=0.001)
    assert report["stragglers"]["slowdown"] == pytest.approx(1.1787, rel=0.01)
    assert report["stragglers"]["culprit"] == "stage"
    assert report["stragglers"]["culprit_stage"] == 3
    assert "culprit: pipeline stage 3" in weft("replay", OP_TIMELINE).stdout


def test_strict_prints_warnings_and_fails(weft: Weft, tmp_path: Path) -> None:
    assert weft("replay", "--strict", *sorted(EXAMPLE.glob("*-r*.json.gz"))).returncode == 0
    content = (EXAMPLE / "resnet50-w4-r0.json.gz").read_bytes()
    (tmp_path / "rank0.json.gz").write_bytes(content[: len(content) * 9 // 10])
    assert weft("replay", tmp_path).returncode == 0
    done = weft("replay", "--strict", tmp_path)
    assert done.returncode == 3
    assert "recorded" in done.stdout
    assert "cut-file" in done.stderr


def test_notes_go_to_stderr(weft: Weft) -> None:
    done = weft("replay", EXAMPLE)
    assert done.stderr.startswith("notes\n")
    assert re.search(r"^- inferred-edges \(\d+x of \d+\): ", done.stderr, re.MULTILINE)
    assert "notes" not in done.stdout


def test_plan_is_written_and_read_back(weft: Weft, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    questions = ["--links", str(LINKS), "--what-if", "ddp.bucket_mb=5", "--what-if", "compute=2x"]
    asked = replay(weft, EXAMPLE, *questions, "-o", path)
    plan = json.loads(path.read_text())
    assert plan == {
        "plan_version": 1,
        "changes": [{"key": "ddp.bucket_mb", "value": "5"}, {"key": "compute", "value": "2x"}],
        "predicted_step_ms": asked["predicted_step_ms"],
        "baseline_step_ms": asked["baseline_step_ms"],
        "inputs": [str(EXAMPLE)],
    }
    again = replay(weft, EXAMPLE, "--links", LINKS, "--plan", path)
    assert again["what_if"] == asked["what_if"]
    assert again["predicted_step_ms"] == asked["predicted_step_ms"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [('"plan_version": 1', '"plan_version": 2', "reads only version 1"),
     ('"comm"', '"comms"', "comms"),
     ('"inputs"', '"input"', "has the field 'input', which version 1 does not have"),
     ('"off"', '"on"', "the only value is off")],
)  # fmt: skip
def test_plans_are_refused_as_a_whole(
    weft: Weft, tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "plan.json"
    assert weft("replay", EXAMPLE, "--what-if", "comm=off", "-o", path).returncode == 0
    path.write_text(path.read_text().replace(old, new))
    done = weft("replay", EXAMPLE, "--plan", path)
    assert done.returncode == 3
    assert message in done.stderr and "plan.json" in done.stderr


def test_page_of_eight_ranks_fits_24_lines(weft: Weft, job: Callable[..., Path]) -> None:
    done = weft("replay", job(ranks=8), COLUMNS="80")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert all(len(line) <= 80 for line in lines)
    assert len([line for line in lines if re.match(r"^ +[0-7]  ", line)]) == 8


def test_example_fits_24_lines_with_everything(weft: Weft) -> None:
    """The example has four ranks. With four more ranks, the output would still fit."""
    lines = weft("replay", EXAMPLE, "--links", LINKS, COLUMNS="80").stdout.splitlines()
    assert len(lines) <= 20
    assert all(len(line) <= 80 for line in lines)


def test_output_does_not_depend_on_threads(weft: Weft) -> None:
    one = weft("replay", "--json", "--threads", "1", EXAMPLE).stdout
    assert one and one == weft("replay", "--json", "--threads", "4", EXAMPLE).stdout


def test_every_field_is_documented(weft: Weft) -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    documented = set(re.findall(r"`([a-z_]+)`", page.partition("## weft replay")[2]))
    shared = {"id", "severity", "count", "what", "advice", "places"}  # fields of diagnostics (weft info)

    def keys(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from value
            for item in value.values():
                yield from keys(item)
        elif isinstance(value, list):
            for item in value:
                yield from keys(item)

    assert set(keys(replay(weft, EXAMPLE, "--links", LINKS))) <= documented | shared


def test_what_ifs_are_listed(weft: Weft) -> None:
    listed = weft("list", "what-ifs").stdout
    for key in ("network.bandwidth=", "network.latency=", "compute=", "rank:2.compute=", "comm=off",
                "stragglers=off", "ddp.bucket_mb="):  # fmt: skip
        assert key in listed


def test_demo_compares_predictions_with_measured_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/demo.py"), weft_command(), str(EXAMPLE)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "made of" in done.stdout and "what-ifs worth knowing" in done.stdout
    row = r"^(ddp\.bucket_mb=\d+) +([\d.]+) +([\d.]+) +[+-]([\d.]+)%$"
    rows = re.findall(row, done.stdout, re.MULTILINE)
    assert len(rows) == 4
    assert all(float(row[3]) <= 6 for row in rows)


def test_steps_are_a_list_or_a_range(weft: Weft) -> None:
    for words in ("3..5", "3,4..5", "5,3,4"):
        assert replay(weft, EXAMPLE, "--steps", words)["steps"] == [3, 4, 5]
    assert replay(weft, EXAMPLE, "--steps", "4..4")["steps"] == [4]
    for words in ("5..3", "3..", "..4", "3...5", "0..999999999999"):
        done = weft("replay", EXAMPLE, "--steps", words)
        assert done.returncode == 2 and "such as 4,5 or 10..14" in done.stderr


def test_an_extrapolation_is_noted(weft: Weft) -> None:
    done = weft("replay", EXAMPLE, "--what-if", "workers=8")
    assert "extrapolated: transfers were measured with 4 ranks" in done.stderr
    assert replay(weft, EXAMPLE, "--what-if", "workers=8")["extrapolated_from_ranks"] == 4
    assert replay(weft, EXAMPLE, "--what-if", "workers=4")["extrapolated_from_ranks"] is None
    refused = weft("replay", EXAMPLE, "--what-if", "workers=65")
    assert refused.returncode == 2 and "with at least 5 ranks" in refused.stderr
