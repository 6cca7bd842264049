# SPDX-License-Identifier: Apache-2.0
"""`weft calibrate`: with real ranks over loopback, and with launchers that fail."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cli.session import screen, weft_session
from tests.conftest import ROOT, Weft, weft_command

TORCHRUN = ROOT / ".venvs" / "torch" / "bin" / "torchrun"
ALL = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv"]
LOOPBACK = {
    "GLOO_SOCKET_IFNAME": "lo",
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
needs_torch = pytest.mark.skipif(
    not TORCHRUN.exists(), reason="there is no torch in .venvs/torch (tools/frameworks.sh torch installs it)"
)


def check_tables(path: Path, ranks: int, library: str) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = json.loads(path.read_text())
    for table in tables:
        assert table["library"].startswith(library)
        assert len(table["hosts"]) == ranks
        assert table["date"].endswith("Z")
        sizes = [row["bytes"] for row in table["rows"]]
        assert sizes == sorted(sizes) and len(sizes) >= 2
        for row in table["rows"]:
            assert 0 < row["min_us"] <= row["median_us"]
            assert row["back_to_back_us"] > 0 and row["calls"] >= 1
    return tables


@needs_torch
def test_torch_ranks_measure_a_table_that_replay_reads(
    weft: Weft, tmp_path: Path, job: Callable[..., Path]
) -> None:
    links = tmp_path / "links.json"
    done = weft("calibrate", "-o", links, "--sizes", "1KiB,64KiB,1MiB", "--seconds", "4", "--repeats",
                "2", "--network", "loopback", "--", TORCHRUN, "--standalone", "--nproc-per-node", "2",
                **LOOPBACK)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "loopback, 2 ranks on 1 host, gloo, torch" in " ".join(done.stdout.split())
    tables = check_tables(links, 2, "torch 2")
    assert [table["collective"] for table in tables] == ALL
    assert all(table["ranks"] == 2 and table["network"] == "loopback" for table in tables)
    assert all(row["two_at_once_us"] > 0 for row in tables[0]["rows"])
    (pair,) = tables[-1]["pairs"]
    assert (pair["from"], pair["to"], pair["same_host"]) == (0, 1, True)

    recording = job(ranks=2)
    replay = weft("replay", recording, "--links", links, "--what-if", "network.bandwidth=2x", "--json")
    assert replay.returncode == 0, replay.stderr
    assert json.loads(replay.stdout)["predicted_step_ms"] > 0


def test_mpi_ranks_measure_a_table(weft: Weft, tmp_path: Path) -> None:
    built = Path(os.path.realpath(weft_command())).parent.parent / "libexec/weft/calibrate-mpi"
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed (make setup installs Open MPI)")
    if not built.exists():
        pytest.skip(f"{built} is missing because Weft was built without MPI")
    links = tmp_path / "links.json"
    done = weft("calibrate", "-o", links, "--sizes", "1KiB..4KiB", "--seconds", "6", "--repeats", "2",
                "--ranks", "2", "--json", "--", "mpirun", "--oversubscribe", "-n", "3", **LOOPBACK)  # fmt: skip
    assert done.returncode == 0, done.stderr
    tables = check_tables(links, 3, "Open MPI")
    curves = [(table["collective"], table["ranks"]) for table in tables]
    assert curves == [(name, ranks) for name in ALL[:-1] for ranks in (3, 2)] + [
        ("send_recv", 2), ("send_recv", 3),
    ]  # fmt: skip
    assert tables[2]["rows"][0]["bytes"] == 1032, "each of the three ranks gets a third of the array"
    parsed = json.loads(done.stdout)
    assert parsed["whole"] is True and parsed["command"] == "calibrate"
    assert [(link["collective"], link["ranks"]) for link in parsed["links"]] == curves


LINES = r"""
import json, os, sys, time
def tell(event, **facts): os.write(1, f"[0]: weft-calibrate {json.dumps({'event': event, **facts})}\n".encode())
def start(): tell("start", protocol=1, ranks=3, backend="gloo", dtype="float32", library="torch 9",
                  device="cpu", hosts=["a", "a", "b"], passes=3, seconds=5)
def sample(name, size, time, ranks=3, **ends):
    tell("sample", collective=name, ranks=ranks, bytes=size, number=0, left_s=4.2, alone_us=[time, time + 2],
         back_to_back_us=time, **ends)
"""


def launcher(tmp_path: Path, body: str) -> list[str]:
    """A launcher that runs no ranks and prints the given lines of the protocol."""
    script = tmp_path / "launcher.py"
    script.write_text(LINES + body)
    return ["--", sys.executable, str(script)]


TWO_ROWS = "start(); sample('all_reduce', 1000, 100); sample('all_reduce', 2000, 110)\n"


def test_lines_of_ranks_become_tables(weft: Weft, tmp_path: Path) -> None:
    links = tmp_path / "links.json"
    body = TWO_ROWS + (
        "sample('send_recv', 1000, 20, ranks=2, **{'from': 0, 'to': 1})\n"
        "sample('send_recv', 1000, 90, ranks=2, **{'from': 0, 'to': 2})\n"
        "tell('lacking', collective='all_to_all'); tell('end', cut=['all_reduce'])\n"
        "os.write(1, b'weft-calibrate {broken\\n')\n"
    )
    done = weft("calibrate", "-o", links, *launcher(tmp_path, body))
    assert done.returncode == 0, done.stderr
    for words in ("increase --seconds", "does not support them: all_to_all", "1 lines of rank 0 could not be understood"):
        assert words in done.stderr
    reduce, messages = json.loads(links.read_text())
    assert [row["median_us"] for row in reduce["rows"]] == [102, 112]
    assert messages["rows"][0]["median_us"] == 92, "the table holds the pair of different hosts"
    assert [pair["same_host"] for pair in messages["pairs"]] == [True, False]

    info = weft("info", links)
    assert info.returncode == 0 and "3 ranks on 2 hosts" in info.stdout
    assert info.stdout.splitlines()[2].split()[:2] == ["all_reduce", "3"]
    assert "unequal" not in info.stdout and "" not in info.stdout.splitlines()
    parsed = json.loads(weft("info", "--json", links).stdout)
    assert parsed["links"][0]["latency_us"] == 102
    assert parsed["links"][0]["mb_per_s"] == pytest.approx(2000 / 112)


def test_a_large_spread_is_a_reason_to_measure_again(weft: Weft, tmp_path: Path) -> None:
    body = "start()\n" + "".join(
        f"tell('sample', collective='broadcast', ranks=3, bytes={size}, number={number}, left_s=1, "
        f"alone_us=[{100 * (1 + number)}], back_to_back_us=100)\n"
        for number in range(4)
        for size in (1000, 2000)
    )
    done = weft("calibrate", "-o", tmp_path / "links.json", *launcher(tmp_path, body))
    assert done.returncode == 0, done.stderr
    assert "single calls of broadcast differ by" in done.stderr and "measure again" in done.stderr
    done = weft("calibrate", "-o", tmp_path / "links.json", *launcher(tmp_path, TWO_ROWS))
    assert "measure again" not in done.stderr


def test_slow_links_are_named(weft: Weft, tmp_path: Path) -> None:
    body = "start()\n" + "".join(
        f"sample('send_recv', 1000, {time}, ranks=2, **{{'from': {a}, 'to': {b}}})\n"
        for a, b, time in [(0, 1, 20), (0, 2, 98), (1, 2, 498)]
    )
    done = weft("calibrate", "-o", tmp_path / "links.json", *launcher(tmp_path, body))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("unequal links: best 10 MB/s; ranks 1 and 2 at 2.0 MB/s\n")


def test_table_is_written_where_rank_0_is(weft: Weft, tmp_path: Path) -> None:
    links = tmp_path / "links.json"
    done = weft("calibrate", "-o", links, *launcher(tmp_path, "tell('elsewhere')\n"))
    assert done.returncode == 0 and "rank 0 runs on another host" in done.stdout
    assert not links.exists()


def test_ctrl_c_ends_the_ranks_and_keeps_what_was_measured(tmp_path: Path) -> None:
    links, pid = tmp_path / "links.json", tmp_path / "pid"
    body = TWO_ROWS + f"open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(100)\n"
    session = weft_session("calibrate", "-o", links, *launcher(tmp_path, body))
    session.wait_for("pass 1 of at most 3")
    deadline = time.monotonic() + 20
    while not pid.exists() or not pid.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    session.type("\x03")
    assert session.finish() == 130
    assert screen(session.output)[-1] == "weft: interrupted" or "interrupted" in session.output
    assert [row["bytes"] for row in json.loads(links.read_text())[0]["rows"]] == [1000, 2000]
    assert not Path(f"/proc/{pid.read_text()}").exists()


def test_interrupt_before_any_result_leaves_no_file(tmp_path: Path) -> None:
    links = tmp_path / "links.json"
    session = weft_session("calibrate", "-o", links, *launcher(tmp_path, "time.sleep(100)\n"))
    session.wait_for("waiting for the ranks")
    session.type("\x03")
    assert session.finish() == 130
    assert not links.exists()


def failure(weft: Weft, tmp_path: Path, *words: str | Path) -> tuple[int, str]:
    links = tmp_path / "links.json"
    done = weft("calibrate", "-o", links, *words)
    assert not links.exists() and done.stdout == ""
    assert done.stderr.startswith("weft: error: ")
    return done.returncode, done.stderr


def test_failures_of_the_launcher_are_reported(weft: Weft, tmp_path: Path) -> None:
    status, text = failure(weft, tmp_path, "--", "weft-no-such-launcher")
    assert status == 4 and "cannot start 'weft-no-such-launcher'" in text
    status, text = failure(weft, tmp_path, "--", "sh", "-c", "echo no such host >&2; exit 3", "x")
    assert status == 5 and "failed with status 3" in text and "no such host" in text
    status, text = failure(weft, tmp_path, "--", "true")
    assert status == 5 and "without a result" in text
    broken = launcher(tmp_path, TWO_ROWS + "sys.exit('rank 1 is gone')\n")
    status, text = failure(weft, tmp_path, *broken)
    assert status == 5 and "rank 1 is gone" in text
    disagree = "tell('error', kind='disagree', what='rank 2 has torch 8'); sys.exit(1)\n"
    status, text = failure(weft, tmp_path, *launcher(tmp_path, disagree))
    assert status == 5 and "rank 2 has torch 8" in text


def test_python_without_torch_is_named(weft: Weft, tmp_path: Path) -> None:
    alone = ["--", "env", "RANK=0", "WORLD_SIZE=2", sys.executable, "-I", "-S"]
    status, text = failure(weft, tmp_path, *alone)
    assert status == 4 and sys.executable in text and "has no torch" in text


@needs_torch
def test_launchers_without_ranks_are_refused(weft: Weft, tmp_path: Path) -> None:
    python = str(TORCHRUN.parent / "python")
    status, text = failure(weft, tmp_path, "--", python)
    assert status == 2 and "RANK" in text
    status, text = failure(weft, tmp_path, "--", "env", "RANK=0", "WORLD_SIZE=1", python)
    assert status == 2 and "only one rank" in text
    nccl = ["--backend", "nccl", "--", "env", "RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
            python]  # fmt: skip
    status, text = failure(weft, tmp_path, *nccl)
    assert status == 4 and "GPU" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sizes", "4KiB..1KiB", "--", "true"], "the last size is below the first"),
        (["--sizes", "huge", "--", "true"], "'huge' is not a size"),
        (["--collectives", "all_redcue", "--", "true"], "did you mean 'all_reduce'?"),
        (["--ranks", "1", "--", "true"], "'1' is not a number of ranks"),
        (["--seconds", "0", "--", "true"], "at least 1"),
        (["--with", "gloo", "--", "true"], "not one of torch, mpi"),
        ([], "LAUNCHER... is missing"),
    ],
)
def test_bad_requests_start_nothing(
    weft: Weft, tmp_path: Path, words: list[str], says: str
) -> None:
    status, text = failure(weft, tmp_path, *words)
    assert status == 2 and says in text


def test_missing_output_file_is_refused(weft: Weft) -> None:
    done = weft("calibrate", "--", "true")
    assert done.returncode == 2 and "-o FILE" in done.stderr


@pytest.fixture(scope="module")
def ranks() -> ModuleType:
    """The module that torch ranks run. It imports torch only when it measures."""
    path = ROOT / "python/weft/torch/calibrate.py"
    spec = importlib.util.spec_from_file_location("weft_calibrate_ranks", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_pairs_cover_every_link(ranks: ModuleType) -> None:
    assert ranks.choose_pairs(["a", "a"]) == [(0, 1)]
    assert ranks.choose_pairs(["a", "b", "c"]) == [(0, 1), (0, 2), (1, 2)]
    assert ranks.choose_pairs(["a", "a", "b", "b"]) == [(0, 1), (2, 3), (0, 2)]
    many = ranks.choose_pairs([f"h{i // 2}" for i in range(128)])
    assert many[0] == (0, 1)
    assert {rank for pair in many[1:] for rank in pair} == set(range(0, 128, 2))


def test_time_limit_is_kept(ranks: ModuleType) -> None:
    """A schedule ends near its time limit for fast and slow calls, and always measures the smallest
    sizes."""
    for per_byte in (1e-9, 1e-7, 1e-5):
        now = 0.0
        schedule = ranks.Schedule(10, clock=lambda: now)
        table = ranks.Table("all_reduce", [0, 1], sizes=[1 << k for k in range(10, 27)])
        for number in range(10):
            for _, place in ranks.next_visits([table], len(table.sizes), number):
                visit = schedule.allows(table, place, number)
                if not visit:
                    continue
                size = table.sizes[place]
                table.took[size] = 1e-4 + size * per_byte
                now += table.took[size] * (1 + visit.alone + 2 * visit.queued)
        assert table.sizes[1] in table.took
        assert now < 10.5
        assert len(table.took) == len(table.sizes) or table.stopped


def test_passes_alternate_between_rising_and_falling_sizes(ranks: ModuleType) -> None:
    tables = [object(), object()]
    up = ranks.next_visits(tables, 2, 0)
    assert up == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert ranks.next_visits(tables, 2, 1) == up[::-1]


def test_times_of_ranks_are_combined_by_kind_of_collective(ranks: ModuleType) -> None:
    visit = ranks.Visit(alone=2, queued=3)
    times = [[9.0, 4.0, 7.0, 0.0], [5.0, 8.0, 6.0, 0.0]]
    reduced = ranks.sum_up(ranks.Table("all_reduce", [0, 1]), visit, times)
    assert reduced == {"alone_us": [5.0, 4.0], "back_to_back_us": 7.0}
    sent = ranks.sum_up(ranks.Table("broadcast", [0, 1]), visit, times)
    assert sent["alone_us"] == [9.0, 8.0], "the root returns early, so the slowest rank counts"
    pair = ranks.sum_up(ranks.Table("send_recv", [0, 1], pair=True), visit, times)
    assert pair["alone_us"] == [9.0, 4.0], "the first rank measures the round trip"
