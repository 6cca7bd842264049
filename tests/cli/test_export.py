# SPDX-License-Identifier: Apache-2.0
"""Tests `weft export`: reads the written files again, with JSON, Perfetto's own schema and csv."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import EXAMPLE, ROOT, Weft, clean_environment, weft_command

MEGATRON = ROOT.parent / "shared/traces/astra-sim_astra-sim/megatron-tp8"
Span = tuple[str, str, str, int, int]
"""Process, track, name, start and duration in nanoseconds."""


@dataclass
class Timeline:
    spans: list[Span]
    arrows: Counter[str]
    """The ends of arrows: 'first', 'middle' or 'last'."""
    points: Counter[str]
    """The points of curves, by process."""


def nanos(microseconds: float) -> int:
    return round(microseconds * 1000)


def read_json(path: Path) -> Timeline:
    data = path.read_bytes()
    content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    processes: dict[int, str] = {}
    tracks: dict[tuple[int, int], str] = {}
    for event in content["traceEvents"]:
        if event["name"] == "process_name":
            processes[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            tracks[event["pid"], event["tid"]] = event["args"]["name"]
    out = Timeline([], Counter(), Counter())
    roles = {"s": "first", "t": "middle", "f": "last"}
    starts = set()
    for event in content["traceEvents"]:
        kind = event["ph"]
        if kind == "X":
            place = event["pid"], event["tid"]
            start = nanos(event["ts"])
            starts.add((place, start))
            out.spans.append((processes[place[0]], tracks[place], event["name"], start,
                              nanos(event["dur"])))  # fmt: skip
        elif kind in roles:
            assert ((event["pid"], event["tid"]), nanos(event["ts"])) in starts
            out.arrows[roles[kind]] += 1
        elif kind == "C":
            out.points[processes[event["pid"]]] += 1
        else:
            assert kind == "M"
    return out


def read_perfetto(path: Path) -> Timeline:
    pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    unknown_fields = pytest.importorskip("google.protobuf.unknown_fields")
    data = path.read_bytes()
    trace = pb.Trace()
    trace.ParseFromString(gzip.decompress(data) if path.suffix == ".gz" else data)
    names: dict[int, str] = {}
    tracks: dict[int, tuple[str, str]] = {}
    open_spans: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    last_time: defaultdict[int, int] = defaultdict(int)
    out = Timeline([], Counter(), Counter())
    flows: set[int] = set()
    for number, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == 1
        cleared = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        needs = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        assert packet.sequence_flags == (cleared if number == 0 else needs)
        assert len(unknown_fields.UnknownFieldSet(packet)) == 0
        names.update({entry.iid: entry.name for entry in packet.interned_data.event_names})
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.HasField("process"):
                assert not track.parent_uuid
                tracks[track.uuid] = track.process.process_name, ""
            else:
                tracks[track.uuid] = tracks[track.parent_uuid][0], track.name
            if track.HasField("thread"):
                assert track.thread.thread_name == track.name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        uuid = event.track_uuid
        assert packet.timestamp >= last_time[uuid], "events of a track are in order of time"
        last_time[uuid] = packet.timestamp
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            assert event.category_iids
            open_spans[uuid].append((names[event.name_iid], packet.timestamp))
            for flow in event.flow_ids:
                out.arrows["middle" if flow in flows else "first"] += 1
                flows.add(flow)
            out.arrows["last"] += len(event.terminating_flow_ids)
        elif event.type == pb.TrackEvent.TYPE_SLICE_END:
            name, start = open_spans[uuid].pop()
            out.spans.append((*tracks[uuid], name, start, packet.timestamp - start))
        else:
            assert event.type == pb.TrackEvent.TYPE_COUNTER
            out.points[tracks[uuid][0]] += 1
    assert not any(open_spans.values()), "every span ends"
    return out


def assert_nested(spans: list[Span]) -> None:
    tracks: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for process, track, _, start, duration in spans:
        tracks[process, track].append((start, -duration))
    for place, entries in tracks.items():
        open_ends: list[int] = []
        for start, negative in sorted(entries):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            end = start - negative
            assert not open_ends or end <= open_ends[-1], place
            open_ends.append(end)


def export(weft: Weft, source: Path, out: Path, *flags: str) -> Path:
    done = weft("export", source, "-o", out, *flags)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return out


@pytest.mark.parametrize("source", [EXAMPLE, MEGATRON], ids=["example", "megatron"])
def test_spans_nest_and_both_formats_agree(weft: Weft, tmp_path: Path, source: Path) -> None:
    if not source.exists():
        pytest.skip(f"{source} is not here")
    from_json = read_json(export(weft, source, tmp_path / "t.json.gz"))
    from_proto = read_perfetto(export(weft, source, tmp_path / "t.pftrace"))
    assert_nested(from_json.spans)
    assert sorted(from_json.spans) == sorted(from_proto.spans)
    assert from_json.arrows["first"] == from_json.arrows["last"] > 1000
    assert from_json.arrows["first"] == from_proto.arrows["first"]
    assert from_json.arrows["last"] == from_proto.arrows["last"]
    assert from_json.points == from_proto.points
    assert min(start for _, _, _, start, _ in from_json.spans) == 0


def test_timeline_has_every_event_once(weft: Weft, tmp_path: Path) -> None:
    spans = read_json(export(weft, EXAMPLE, tmp_path / "t.json")).spans
    info = json.loads(weft("info", "--json", EXAMPLE).stdout)
    by_rank = Counter(process for process, track, *_ in spans if track != "steps")
    for rank in info["runs"][0]["ranks"]:
        assert by_rank[f"rank {rank['rank']}"] == rank["events"]
    path = sorted((start, start + length) for process, *_, start, length in spans
                  if process == "critical path")  # fmt: skip
    assert len(path) > 100
    assert all(before[1] == after[0] for before, after in zip(path, path[1:]))
    steps = [(process, name) for process, track, name, *_ in spans if track == "steps"]
    assert sorted(steps) == [(f"rank {r}", f"step {s}") for r in range(4) for s in (3, 4, 5)]
    with (export(weft, EXAMPLE, tmp_path / "t.csv")).open(newline="") as file:
        rows = [row for row in csv.DictReader(file)]
    table = Counter(
        (f"rank {row['rank']}", row["name"], int(row["start_ns"]), int(row["duration_ns"]))
        for row in rows
    )
    drawn = Counter(
        (process, name, start, duration)
        for process, track, name, start, duration in spans
        if track not in ("steps", "critical path")
    )
    assert drawn == table


def test_collectives_end_together_on_the_common_clock(weft: Weft, tmp_path: Path) -> None:
    path = export(weft, EXAMPLE, tmp_path / "c.csv", "--table", "collectives")
    members: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            members[row["collective"]].append(row)
    assert len(members) == 22
    for rows in members.values():
        assert [row["rank"] for row in rows] == ["0", "1", "2", "3"]
        arrivals = [int(row["arrival_ns"]) for row in rows]
        ends = [int(row["end_ns"]) for row in rows]
        assert {int(row["skew_ns"]) for row in rows} == {max(arrivals) - min(arrivals)}
        assert [int(row["late_by_ns"]) for row in rows] == [a - min(arrivals) for a in arrivals]
        if rows[0]["kind"] == "allreduce":
            assert {int(row["transfer_ns"]) for row in rows} == {min(ends) - max(arrivals)}


def test_steps_agree_with_weft_replay(weft: Weft, tmp_path: Path) -> None:
    path = export(weft, EXAMPLE, tmp_path / "s.csv", "--table", "steps")
    replay = json.loads(weft("replay", "--json", EXAMPLE).stdout)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    lengths = {(int(row["rank"]), int(row["step"])): int(row["duration_ns"]) for row in rows}
    for rank in replay["ranks"]:
        for step, length in zip(replay["steps"], rank["recorded_step_ms"], strict=True):
            assert lengths[rank["rank"], step] == pytest.approx(length * 1e6, abs=1)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.pftrace", "a.pftrace.gz", "a.csv"])
def test_output_is_the_same_every_time(weft: Weft, job: Callable[..., Path], tmp_path: Path,
                               name: str) -> None:  # fmt: skip
    folder = job(3)
    first = export(weft, folder, tmp_path / name).read_bytes()
    again = export(weft, folder, tmp_path / f"b{name}", "--threads", "1").read_bytes()
    assert first == again
    assert (first[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_stdout_gets_the_same_output_as_a_file(weft: Weft, job: Callable[..., Path], tmp_path: Path) -> None:
    folder = job(2)
    done = weft("export", folder, "--format", "perfetto-json", "-o", "-")
    assert done.stdout == export(weft, folder, tmp_path / "t.json").read_text()


def test_old_file_is_kept_if_writing_fails(weft: Weft, job: Callable[..., Path],
                                            tmp_path: Path) -> None:  # fmt: skip
    folder = job(2)
    out = tmp_path / "out"
    out.mkdir()
    (out / "t.json").write_text("old")
    # A limit on the size of files has the same effect as a full disk.
    shell = f"ulimit -f 1; trap '' XFSZ; exec '{weft_command()}' export '{folder}' -o '{out}/t.json'"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, env=clean_environment(), timeout=120
    )
    assert done.returncode == 3
    assert "t.json: cannot write: " in done.stderr
    assert [path.name for path in out.iterdir()] == ["t.json"]
    assert (out / "t.json").read_text() == "old"


def test_unwritable_places_are_named(weft: Weft, job: Callable[..., Path], tmp_path: Path) -> None:
    folder = job(2)
    for out in (tmp_path / "no" / "t.json", Path("/dev/full"), tmp_path):
        done = weft("export", folder, "--format", "csv", "-o", out)
        assert done.returncode == 3, out
        assert str(out) in done.stderr and done.stderr.count("\n") == 1
    with open("/dev/full", "w") as full:
        words = [weft_command(), "export", str(folder), "--format", "csv", "-o", "-"]
        to_full = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert to_full.returncode == 3
    assert "cannot write" in to_full.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "-o OUT is missing"),
        (["-o", "x"], "does not end with the extension of a format"),
        (["-o", "x.json", "--format", "jsn"], "'jsn' is not one of perfetto-json, perfetto, csv"),
        (["-o", "x.csv", "--table", "event"], "there is no table 'event'"),
        (["-o", "x.json", "--table", "steps"], "csv only"),
    ],
)
def test_invalid_request_fails_before_loading(weft: Weft, words: list[str], message: str) -> None:
    done = weft("export", "/does/not/exist", *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_closed_pipe_is_not_an_error() -> None:
    shell = (
        f"'{weft_command()}' export --format csv '{EXAMPLE}' -o - | head -n 1;"
        " echo ${PIPESTATUS[0]}"
    )
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, env=clean_environment(), timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.startswith("rank,lane,kind,name,start_ns,") and done.stdout.endswith("0\n")


def test_strict_writes_nothing(weft: Weft, job: Callable[..., Path], tmp_path: Path) -> None:
    folder = job(2, world=4)
    done = weft("export", folder, "--strict", "-o", tmp_path / "t.json")
    assert done.returncode == 3
    assert not os.path.exists(tmp_path / "t.json")
