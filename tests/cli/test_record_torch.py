# SPDX-License-Identifier: Apache-2.0
"""`weft record` with real PyTorch jobs over loopback."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.frameworks import free_port, is_root, python_of, record
from tests.conftest import Weft

JOB = Path(__file__).parent / "jobs" / "torch_steps.py"


def torchrun(*words: str, ranks: int = 2) -> list[str | Path]:
    return [python_of("torch"), "-m", "torch.distributed.run", "--nproc-per-node", str(ranks),
            "--master-port", str(free_port()), JOB, *words]  # fmt: skip


def alone(*words: str) -> list[str | Path]:
    return [python_of("torch"), JOB, "--single", *words]


def steps_of(weft: Weft, folder: Path) -> dict[int, list[int]]:
    """The steps that the trace of each rank marks."""
    (run,) = json.loads(weft("info", "--json", folder).stdout)["runs"]
    return {rank["rank"]: [step["number"] for step in rank["steps"]] for rank in run["ranks"]}


def facts_of(folder: Path, rank: int = 0) -> Any:
    return json.loads((folder / f"r{rank}.job.json").read_text())


def test_an_unchanged_script_is_recorded_on_every_rank(weft: Weft, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    done = record(folder, torchrun(), "--steps", "5..7")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("loss ")
    assert "recorded torch 2." in done.stderr and "ranks 0, 1, steps 5-7: " in done.stderr
    assert f"next command: weft diagnose {folder}" in done.stderr
    assert sorted(file.name for file in folder.iterdir() if file.suffix != ".weftlog") == [
        "r0.job.json", "r0.kineto.json.gz", "r1.job.json", "r1.kineto.json.gz",
    ]  # fmt: skip

    assert steps_of(weft, folder) == {0: [5, 6, 7], 1: [5, 6, 7]}
    (run,) = json.loads(weft("info", "--json", folder).stdout)["runs"]
    assert run["world"] == 2
    for rank in run["ranks"]:
        # One bucket per step. The trace begins one step before the first marked step.
        (collective,) = rank["collectives"]
        assert collective["name"] == "allreduce"
        assert collective["with_size"] == collective["count"] == 4
        assert rank["profiler"]["shapes"] and not rank["profiler"]["memory_events"]

    facts = facts_of(folder)
    assert facts["schema_version"] == 1 and facts["framework"] == "torch"
    assert (facts["rank"], facts["world"]) == (0, 2)
    assert (facts["backend"], facts["scheme"]) == ("gloo", "ddp")
    assert facts["recorded_steps"] == [5, 6, 7] and facts["steps_seen"] == 20
    assert facts["step_ms"][0] is None and len(facts["step_ms"]) == 20
    assert all(ms > 0 for ms in facts["step_ms"][1:])
    (ddp,) = facts["ddp"]
    assert sum(parameter["elements"] for parameter in ddp["parameters"]) == 4 * (64 * 64 + 64)

    answer = json.loads(weft("replay", "--json", folder).stdout)
    assert not any(d["id"] == "collective-without-peers" for d in answer["diagnostics"])


def ranges_of(folder: Path, rank: int = 0) -> list[tuple[float, float, str]]:
    """Begin, end and name of the marks and of all ranges of optimizers in a trace."""
    with gzip.open(folder / f"r{rank}.kineto.json.gz") as file:
        events = json.load(file)["traceEvents"]
    return sorted(
        (event["ts"], event["ts"] + event["dur"], event["name"])
        for event in events
        if event.get("ph") == "X" and event["name"].startswith(("ProfilerStep#", "Optimizer."))
    )


@pytest.mark.parametrize("words", [[], ["--optimizers", "3"]])
def test_the_mark_of_a_step_contains_the_ranges_of_the_optimizer(
    tmp_path: Path, words: list[str]
) -> None:
    done = record(tmp_path / "traces", alone(*words), "--steps", "4..6")
    assert done.returncode == 0, done.stderr
    ranges = ranges_of(tmp_path / "traces")
    marks = [each for each in ranges if each[2].startswith("ProfilerStep#")]
    assert [name for _, _, name in marks] == [f"ProfilerStep#{number}" for number in (4, 5, 6)]
    for begin, end, name in ranges:
        for first, last, mark in marks:
            assert end <= first or begin >= last or first <= begin <= end <= last, (name, mark)


SPAWN = """
import sys
import torch
from torch import distributed, multiprocessing

def main(rank, port):
    where = f"tcp://127.0.0.1:{port}"
    distributed.init_process_group("gloo", init_method=where, rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        model(torch.ones(1, 8)).sum().backward()
        optimizer.step()
    distributed.destroy_process_group()

if __name__ == "__main__":
    multiprocessing.spawn(main, args=(sys.argv[1],), nprocs=2)
"""


def test_facts_outlive_the_process_group(tmp_path: Path) -> None:
    """No environment variable holds the rank, and the process group is gone when the process ends."""
    script = tmp_path / "train.py"
    script.write_text(SPAWN)
    command: list[str | Path] = [python_of("torch"), script, str(free_port())]
    done = record(tmp_path / "traces", command, "--steps", "2..3", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        facts = facts_of(tmp_path / "traces", rank)
        assert (facts["rank"], facts["world"]) == (rank, 2)


def test_recording_does_not_change_the_result(tmp_path: Path) -> None:
    plain = subprocess.run(
        list(map(str, alone())), capture_output=True, text=True, timeout=120, check=True
    )
    done = record(tmp_path / "traces", alone(), "--steps", "3..4", "--memory", "--stacks")
    assert done.stdout == plain.stdout


@pytest.mark.parametrize("words", [["--accumulate", "3"], ["--optimizers", "3"]])
def test_a_step_is_one_round_of_all_optimizers(
    weft: Weft, tmp_path: Path, words: list[str]
) -> None:
    done = record(tmp_path / "traces", alone(*words), "--steps", "8..9")
    assert done.returncode == 0, done.stderr
    assert steps_of(weft, tmp_path / "traces") == {0: [8, 9]}
    assert facts_of(tmp_path / "traces")["steps_seen"] == 20


def test_memory_and_stacks_are_recorded_if_asked_for(weft: Weft, tmp_path: Path) -> None:
    done = record(tmp_path / "traces", alone(), "--memory", "--stacks", "--no-shapes")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(weft("info", "--json", tmp_path / "traces").stdout)["runs"]
    profiler = run["ranks"][0]["profiler"]
    assert profiler["memory_events"] and not profiler["shapes"]
    assert profiler["stacks"] or profiler["python_events"]


def test_a_job_that_ends_early_keeps_its_recorded_steps(weft: Weft, tmp_path: Path) -> None:
    done = record(tmp_path / "traces", alone("--steps", "12"))
    assert done.returncode == 0, done.stderr
    assert "the job ended after 12 steps, so not all of steps 10..14 were recorded" in done.stderr
    assert steps_of(weft, tmp_path / "traces") == {0: [10, 11]}


def test_a_job_without_the_requested_steps_gets_a_suggestion(tmp_path: Path) -> None:
    done = record(tmp_path / "traces", alone("--steps", "6"))
    assert done.returncode == 1
    assert done.stdout.startswith("loss ")
    assert (
        "nothing was recorded: the job took 6 steps, and recording begins at step 10; run it "
        "longer, or use --steps 1..5" in done.stderr
    )


def test_a_script_that_raises_keeps_its_status_and_its_steps(weft: Weft, tmp_path: Path) -> None:
    done = record(tmp_path / "traces", alone("--raise-at", "13"))
    assert done.returncode == 1
    assert "RuntimeError: the script has a bug" in done.stderr
    assert steps_of(weft, tmp_path / "traces") == {0: [10, 11, 12]}


CRASH = """
import atexit, os, sys
import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
atexit.register(lambda: print("written", os.path.exists(sys.argv[1])))
for number in range(20):
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    if number == 12:
        raise RuntimeError("the script has a bug")
"""


def test_a_crash_writes_the_recording_before_the_process_closes_connections(
    tmp_path: Path,
) -> None:
    """Else other ranks fail, and end, before this rank ends; torchrun would name one of them."""
    script, folder = tmp_path / "train.py", tmp_path / "traces"
    script.write_text(CRASH)
    done = record(folder, [python_of("torch"), script, folder / "r0.kineto.json.gz"])
    assert (done.returncode, done.stdout) == (1, "written True\n"), done.stderr
    assert done.stderr.count("RuntimeError: the script has a bug") == 1
    assert facts_of(folder)["recorded_steps"] == [10, 11, 12]


def test_a_rank_that_is_killed_leaves_the_others_readable(weft: Weft, tmp_path: Path) -> None:
    done = record(tmp_path / "traces", torchrun("--kill-at", "13"))
    assert done.returncode != 0
    assert steps_of(weft, tmp_path / "traces") == {0: [10, 11, 12]}
    assert "rank 1 is not in this folder; if it ran on another host, get the files with: weft gather" in done.stderr


def record_on_small_disk(
    folder: Path, size: str, command: list[str | Path]
) -> subprocess.CompletedProcess[str]:
    if not is_root():
        pytest.skip("mounting a small disk needs root")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("tmpfs cannot be mounted on this machine")
    try:
        return record(folder, command)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_ends_the_recording_but_not_the_job(tmp_path: Path) -> None:
    done = record_on_small_disk(tmp_path / "small", "64k", alone())
    assert done.returncode == 1
    assert done.stdout.startswith("loss ")
    assert done.stderr.count("weft: warning: recording ended, the job goes on: ") == 1
    assert "nothing was recorded" in done.stderr
    assert "died" not in done.stderr, "the process has survived"


def test_transfer_logs_alone_are_not_a_recording(tmp_path: Path) -> None:
    """The disk has space for two logs of 20 KiB, and for nothing after them."""
    done = record_on_small_disk(tmp_path / "small", "48k", torchrun())
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("loss ")
    assert "recorded" not in done.stderr.replace("nothing was recorded", "")
    assert "nothing was recorded: " in done.stderr


def test_a_job_that_exits_within_the_window_is_reported(tmp_path: Path) -> None:
    done = record(tmp_path / "traces", torchrun("--leave-at", "12"))
    assert done.returncode == 1, done.stderr
    assert "nothing was recorded: processes took training steps, but none wrote" in done.stderr
    assert "os._exit()" in done.stderr


def test_two_lines_in_a_script_record_it(weft: Weft, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    # Works like `import weft.torch` in an environment in which Weft is not installed.
    package = Path(__file__).parents[2] / "python" / "weft"
    script.write_text(
        "import sys, types\n"
        "weft = sys.modules['weft'] = types.ModuleType('weft')\n"
        f"weft.__path__ = [{str(package)!r}]\n"
        "import weft.torch\n"
        f"weft.torch.record({str(tmp_path / 'traces')!r}, steps=(3, 4))\n"
        f"sys.argv = [{str(JOB)!r}, '--single']\n"
        f"exec(open({str(JOB)!r}).read())\n"
    )
    subprocess.run([python_of("torch"), script], check=True, timeout=120, capture_output=True)
    assert steps_of(weft, tmp_path / "traces") == {0: [3, 4]}
    assert sorted(file.name for file in (tmp_path / "traces").iterdir()) == [
        "r0.job.json", "r0.kineto.json.gz",
    ], "no temporary file is left"  # fmt: skip


OWN_PROFILER = """
import sys
import torch
from torch.profiler import profile, schedule

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def step():
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()

def save(done):
    done.export_chrome_trace(sys.argv[2])

kind = sys.argv[1]
cycle = schedule(wait=8, warmup=2, active=6) if kind == "schedule" else None
with profile(schedule=cycle, on_trace_ready=save) if kind in ("all", "schedule") else open("/dev/null") as own:
    for number in range(20):
        if kind == "one" and number == 12:
            with profile() as inner:
                step()
            save(inner)
        elif kind == "early" and number == 8:
            early = profile()
            early.start()
            step()
        elif kind == "early" and number == 11:
            step()
            early.stop()
            save(early)
        else:
            step()
        if cycle:
            own.step()
print("done")
"""


@pytest.mark.parametrize(
    ("kind", "steps", "words"),
    [
        ("one", [10, 11], "the job started its own profiler in step 12, so recording ended there"),
        ("schedule", list(range(10, 16)), "the job ran its own profiler, so its trace was copied"),
        ("early", [14], "until shortly before step 14, so recording began there"),
        ("all", [], "the job itself used torch.profiler in the steps 10..14"),
    ],
)
def test_a_job_that_profiles_itself_goes_on(
    weft: Weft, tmp_path: Path, kind: str, steps: list[int], words: str
) -> None:
    """PyTorch has one profiler per process, and the job's own profile goes first."""
    script, own, folder = tmp_path / "train.py", tmp_path / "own.json", tmp_path / "traces"
    script.write_text(OWN_PROFILER)
    done = record(folder, [python_of("torch"), script, kind, own])
    assert (done.returncode, done.stdout) == (0 if steps else 1, "done\n"), done.stderr
    assert words in done.stderr and "use --steps with steps in which" in done.stderr
    events = [event.get("name") for event in json.loads(own.read_text())["traceEvents"]]
    assert "aten::addmm" in events, "the job's own trace is complete"
    facts = facts_of(folder)
    assert facts["recorded_steps"] == steps
    profiled = {"one": [12], "schedule": range(8, 16), "early": range(8, 12), "all": range(20)}
    assert set(profiled[kind]) <= {*facts["disturbed_steps"], *facts["recorded_steps"]}
    if steps:
        assert steps_of(weft, folder) == {0: steps}
