# SPDX-License-Identifier: Apache-2.0
"""Results of `weft info`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.conftest import EXAMPLE, ROOT, Weft, trace_text


def info(weft: Weft, *words: str | Path) -> Any:
    done = weft("info", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def advice_ids(report: Any) -> set[str]:
    return {item["id"] for item in report["advice"]}


def test_example_is_described_completely(weft: Weft) -> None:
    report = info(weft, EXAMPLE)
    assert report["schema_version"] == 1
    (run,) = report["runs"]
    assert run["world"] == 4
    assert run["missing_ranks"] == []
    assert [rank["rank"] for rank in run["ranks"]] == [0, 1, 2, 3]
    for rank in run["ranks"]:
        assert rank["devices"] == ["NVIDIA H200"]
        assert rank["stored_bytes"] == (Path(rank["file"])).stat().st_size
        assert [step["number"] for step in rank["steps"]] == sorted(
            step["number"] for step in rank["steps"]
        )
        assert len(rank["steps"]) == 3
        assert rank["streams"] >= 2
        assert 0 < rank["kernels"] < rank["events"] <= rank["events_in_file"]
        assert rank["profiler"]["shapes"] and not rank["profiler"]["sync_events"]
        assert sum(entry["count"] for entry in rank["collectives"]) > 0
    assert "no-sync-events" in advice_ids(report)
    assert "no-shapes" not in advice_ids(report)


def test_missing_ranks_are_named(weft: Weft, job: Callable[..., Path]) -> None:
    folder = job(ranks=4)
    (folder / "rank2.json.gz").unlink()
    report = info(weft, folder)
    assert report["runs"][0]["missing_ranks"] == [2]
    assert "missing-ranks" in advice_ids(report)
    assert "3 of 4 ranks (missing 2)" in weft("info", folder).stdout


def test_many_missing_ranks_are_counted(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "rank0.json").write_text(trace_text(0, 100_000))
    run = info(weft, tmp_path)["runs"][0]
    assert run["missing_count"] == 99_999
    assert run["missing_ranks"] == list(range(1, 9))
    assert "(missing 1-8 and 99991 more)" in weft("info", tmp_path).stdout


def test_all_problems_come_with_advice(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "rank0.json").write_text(trace_text(0, 1))
    (tmp_path / "notes.txt").write_text("hello")
    page = weft("info", "--all", tmp_path, COLUMNS="400").stdout
    assert "were skipped; name such a file itself" in page


def test_list_readers_names_every_format(weft: Weft) -> None:
    lines = weft("list", "readers").stdout.splitlines()
    assert [re.split(r"  +", line)[0] for line in lines] == [
        "reader", "kineto", "straggler", "nsys", "horovod", "mxnet", "nccl-profiler",
        "nccl-inspector", "xplane", "chakra", "weft", "execution trace", "weftlog",
    ]  # fmt: skip
    assert all(len(line) <= 100 for line in lines)


def test_advice_follows_what_was_recorded(weft: Weft, job: Callable[..., Path]) -> None:
    assert "one-step" in advice_ids(info(weft, job(ranks=1, steps=1)))


def test_advice_names_the_flags_of_the_recording_tool(weft: Weft, tmp_path: Path) -> None:
    def advice() -> str:
        return " ".join(item["text"] for item in info(weft, tmp_path)["advice"])

    (tmp_path / "r0.kineto.json").write_text(trace_text(0, 1, steps=1))
    assert "profile_memory=True" in advice() and "weft record" not in advice()
    # A .job.json file beside the trace shows that `weft record` made it.
    (tmp_path / "r0.job.json").write_text("{}")
    assert "weft record --memory" in advice() and "weft record --steps" in advice()
    assert "profile_memory" not in advice() and "enable_cuda_sync_events" not in advice()


def test_a_job_file_without_a_trace_is_not_a_recording(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "r0.job.json").write_text('{"framework": "torch", "rank": 0, "world": 1}')
    done = weft("info", tmp_path)
    assert done.returncode == 3
    assert "or record again if there is none" in done.stderr


def test_recording_without_steps(weft: Weft, tmp_path: Path) -> None:
    text = trace_text(0, 1).replace("ProfilerStep#", "something ")
    (tmp_path / "a.json").write_text(text)
    assert "no-steps" in advice_ids(info(weft, tmp_path))
    assert "no steps are marked" in weft("info", tmp_path).stdout


def test_collectives_are_counted_by_kind(weft: Weft, job: Callable[..., Path]) -> None:
    (run,) = info(weft, job(ranks=2))["runs"]
    for rank in run["ranks"]:
        assert rank["collectives"] == [
            {"name": "allreduce", "count": 3, "with_size": 3, "size_inferred": 0}
        ]


def test_steps_carry_host_durations(weft: Weft, job: Callable[..., Path]) -> None:
    (run,) = info(weft, job(ranks=1))["runs"]
    assert run["ranks"][0]["steps"] == [
        {"number": 5, "host_ms": 9.9},
        {"number": 6, "host_ms": 9.9},
        {"number": 7, "host_ms": 9.9},
    ]


def test_files_with_the_same_rank_are_separate_runs_of_which_one_can_be_chosen(
    weft: Weft, job: Callable[..., Path]
) -> None:
    folder = job(ranks=2)
    for rank in range(2):
        text = trace_text(rank, 2).replace('"ts": 1', '"ts": 9')
        (folder / f"later-rank{rank}.json").write_text(text)
    report = info(weft, folder)
    assert len(report["runs"]) == 2
    page = weft("info", folder).stdout
    assert page.startswith("2 runs")
    chosen = info(weft, "--run", "2", folder)
    assert len(chosen["runs"]) == 1
    assert all("later" in rank["file"] for rank in chosen["runs"][0]["ranks"])
    assert weft("info", "--run", "3", folder).returncode in (2, 3)


def test_output_does_not_depend_on_threads(weft: Weft) -> None:
    one = weft("info", "--json", "--threads", "1", EXAMPLE).stdout
    assert one and one == weft("info", "--json", "--threads", "4", EXAMPLE).stdout


def test_every_field_is_documented(weft: Weft) -> None:
    documented = set(re.findall(r"`([a-z_]+)`", (ROOT / "docs/reference/cli.md").read_text()))

    def keys(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from value
            for item in value.values():
                yield from keys(item)
        elif isinstance(value, list):
            for item in value:
                yield from keys(item)

    assert set(keys(info(weft, EXAMPLE))) <= documented


def test_a_job_without_device_work_is_not_said_to_run_on_a_device(weft: Weft, tmp_path: Path) -> None:
    """PyTorch lists all devices of the host, even if the job uses none."""
    trace = json.loads(trace_text(0, 1))
    host = [event for event in trace["traceEvents"] if event["cat"] in ("cpu_op", "user_annotation")]
    (tmp_path / "rank0.json").write_text(json.dumps(trace | {"traceEvents": host}))
    assert "Test Device" not in weft("info", tmp_path).stdout
    (tmp_path / "rank0.json").write_text(json.dumps(trace))
    assert "Test Device" in weft("info", tmp_path).stdout


def test_a_folder_without_traces_is_refused_as_a_whole(weft: Weft, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"part{number:02}.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "__init__").write_text("")
    done = weft("info", tmp_path)
    assert done.returncode == 3 and "none of the 21 files can be read" in done.stderr
    assert "not a trace" in done.stderr and "the file is empty" not in done.stderr
    (tmp_path / "rank0.json").write_text("")
    assert "rank0.json" in weft("info", tmp_path).stderr, "an empty trace is worth naming"
