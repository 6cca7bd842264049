# SPDX-License-Identifier: Apache-2.0
"""Real hosts of `weft testbed`: names, rates of links, slow hosts, clocks, and cleaning up."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import weft_command
from tests.testbed.conftest import Clusters, left_behind

TRANSFER = Path(__file__).with_name("transfer.py")


def lines(text: str, label: str) -> list[str]:
    return [line.removeprefix(f"{label}| ") for line in text.splitlines() if line.startswith(label)]


def test_hosts_have_names_and_reach_each_other(testbed: Clusters) -> None:
    testbed.describe('{"hosts": [{"name": "ann"}, {"name": "bob"}]}')
    done = testbed("run", testbed.file, "--", "sh", "-c", "hostname; getent hosts ann bob $(hostname)")
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout, "r0")[0] == "ann" and lines(done.stdout, "r1")[0] == "bob"
    assert [line.split() for line in lines(done.stdout, "r1")[1:]] == [
        ["10.77.0.1", "ann"], ["10.77.0.2", "bob"], ["10.77.0.2", "bob"],
    ]  # fmt: skip
    assert left_behind(testbed.name) == []


def measured_mbit(testbed: Clusters, rate: str, megabytes: int, *flags: str) -> float:
    testbed.describe(f'{{"hosts": 2, "rate": "{rate}"}}')
    done = testbed("run", testbed.file, *flags, "--", sys.executable, TRANSFER, str(megabytes))
    assert done.returncode == 0, done.stderr
    return float(lines(done.stdout, "r0")[0])


def expect_rate(testbed: Clusters, mbit: float, rate: str, megabytes: int, *flags: str) -> None:
    """A link is never faster than its rate, and reaches it unless other load slows a transfer."""
    fastest = 0.0
    for _ in range(5):
        fastest = max(fastest, measured_mbit(testbed, rate, megabytes, *flags))
        if fastest > 0.85 * mbit:
            break
    assert fastest == pytest.approx(mbit, rel=0.15)


@pytest.mark.parametrize(("rate", "mbit"), [("100mbit", 100), ("1gbit", 1000)])
def test_links_have_the_requested_rate(testbed: Clusters, rate: str, mbit: int) -> None:
    expect_rate(testbed, mbit, rate, mbit // 20)


@pytest.mark.parametrize("host", ["host0", "host1"])
def test_the_slower_end_of_a_link_limits_its_rate(testbed: Clusters, host: str) -> None:
    expect_rate(testbed, 200, "1gbit", 10, "--rate", f"{host}=200mbit")


CPU_SECONDS = """
import time
begin, x = time.monotonic(), 0
while time.process_time() < 0.4: x += 1
print(time.monotonic() - begin)
print(open("/proc/self/cgroup").read())
"""


def test_slow_host_takes_longer(testbed: Clusters) -> None:
    """The test measures only the time of the slow host, because the speed of the other host depends
    on other load."""
    words = ["--", sys.executable, "-c", CPU_SECONDS]
    done = testbed("run", testbed.file, "--slow", "host1=0.25", *words)
    assert done.returncode == 0, done.stderr
    assert float(lines(done.stdout, "r1")[0]) > 0.4 / 0.25 * 0.8, "the host gets a quarter of a core"
    limited = [any(line.endswith("/host1") for line in lines(done.stdout, label)) for label in ("r0", "r1")]
    assert limited == [False, True]


def test_host_is_pinned_to_its_cores(testbed: Clusters) -> None:
    testbed.describe('{"hosts": [{"cores": [0]}, {}]}')
    done = testbed("run", testbed.file, "--", "sh", "-c", "taskset -cp $$ || nproc")
    assert lines(done.stdout, "r0")[0].endswith(": 0"), done.stdout
    missing = testbed.describe('{"hosts": [{"cores": [1000]}]}')
    done = testbed("run", missing, "--", "true")
    assert done.returncode == 4 and "core 1000" in done.stderr


FAKETIME = any(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


@pytest.mark.skipif(not FAKETIME, reason="libfaketime is not installed")
def test_clocks_are_skewed_but_durations_are_correct(testbed: Clusters) -> None:
    program = "import time; time.sleep(0.2); print(time.time(), time.monotonic())"
    words = [sys.executable, "-c", program]
    done = testbed("run", testbed.file, "--skew", "host1=-90s,50ppm", "--", *words)
    assert done.returncode == 0, done.stderr
    (usual, monotonic), (skewed, other) = (
        map(float, lines(done.stdout, label)[0].split()) for label in ("r0", "r1")
    )
    assert (skewed - other) - (usual - monotonic) == pytest.approx(-90, abs=0.5)


@pytest.mark.skipif(not FAKETIME, reason="libfaketime is not installed")
def test_preloaded_libraries_stay_preloaded(testbed: Clusters) -> None:
    """`weft record` preloads its probes, so the testbed must add its own library to LD_PRELOAD."""
    other = next(Path("/usr/lib").glob("*/libz.so.1"))
    done = testbed(
        "run", testbed.file, "--skew", "+1s", "--", "sh", "-c", "echo $LD_PRELOAD",
        LD_PRELOAD=str(other),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"{other}:\S*/libweft-sleep.so:\S*/libfaketimeMT.so.1", lines(done.stdout, "r0")[0])


def test_each_host_has_its_own_shared_memory(testbed: Clusters) -> None:
    script = "touch /dev/shm/of-$(hostname); sleep 0.3; ls /dev/shm"
    done = testbed("run", testbed.file, "--per-host", "2", "--", "sh", "-c", script)
    assert lines(done.stdout, "r1") == ["of-host0"]
    assert lines(done.stdout, "r3") == ["of-host1"]
    assert not Path("/dev/shm/of-host0").exists()


def test_a_cluster_that_is_up_can_be_used_by_many_runs(testbed: Clusters) -> None:
    testbed.describe('{"hosts": 2, "rate": "1gbit"}')
    try:
        assert testbed("up", testbed.file).returncode == 0
        assert testbed("up", testbed.file).returncode == 2
        row = next(line for line in testbed("list").stdout.splitlines() if testbed.name in line)
        assert row.split() == [testbed.name, "2", "1gbit", "until", "taken", "down"]
        for _ in range(2):
            done = testbed("run", testbed.name, "--", "sh", "-c", "exit $RANK")
            assert done.returncode == 1 and "r1 failed with status 1" in done.stderr
        changed = testbed("run", testbed.file, "--rate", "100mbit", "--", "tc", "qdisc", "show")
        assert "rate 100Mbit" in lines(changed.stdout, "r0")[-1]
        after = testbed("enter", testbed.name, "host1", "--", "tc", "qdisc", "show", "dev", "eth0")
        assert "rate 1Gbit" in after.stdout, "the rate of the link is restored after the run"
        testbed.describe('{"hosts": 3}')
        done = testbed("run", testbed.file, "--", "true")
        assert done.returncode == 2 and "a different description" in done.stderr
    finally:
        assert testbed("down", testbed.name).returncode == 0
    assert testbed("down", testbed.name).returncode == 3


def test_root_without_the_right_to_make_networks_gets_a_clear_error(testbed: Clusters) -> None:
    words = ["setpriv", "--bounding-set=-net_admin", weft_command(), "testbed", "up"]
    done = subprocess.run([*words, str(testbed.file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 4
    assert "cannot make hosts here" in done.stderr and done.stderr.count("\n") == 1
    assert left_behind(testbed.name) == []


def test_two_runs_at_once_are_isolated(testbed: Clusters) -> None:
    script = "ping -c 1 -W 2 host1 >/dev/null; sleep 0.5; ip -br addr show dev eth0"
    started = [testbed.start("run", testbed.file, "--", "sh", "-c", script) for _ in range(2)]
    for process in started:
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "10.77.0.1/16" in lines(out, "r0")[0]


def test_run_on_a_cluster_in_use_is_refused(testbed: Clusters) -> None:
    assert testbed("up", testbed.file).returncode == 0
    holder = testbed.start("run", testbed.file, "--", "sh", "-c", "echo on; sleep 60")
    try:
        assert holder.stdout and holder.stdout.readline()
        done = testbed("run", testbed.file, "--", "true")
        assert done.returncode == 2 and "in use" in done.stderr
    finally:
        # `weft testbed down` kills the processes of the cluster.
        assert testbed("down", testbed.file).returncode == 0
        holder.communicate(timeout=60)
    assert holder.returncode == 128 + 9


@pytest.mark.skipif(not shutil.which("mpirun"), reason="Open MPI is not installed")
def test_mpi_ranks_run_on_their_hosts(testbed: Clusters) -> None:
    script = 'echo $OMPI_COMM_WORLD_RANK on $(hostname); [ -z "$FAIL" ] || exit 3'
    words = ["run", str(testbed.file), "--style", "mpi", "--per-host", "2", "--", "sh", "-c", script]
    done = testbed(*words)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "r0| 0 on host0", "r1| 1 on host0", "r2| 2 on host1", "r3| 3 on host1",
    ]  # fmt: skip
    assert testbed(*words, FAIL="1").returncode == 3


def test_services_are_stopped_when_the_workers_are_done(testbed: Clusters) -> None:
    script = 'echo $DMLC_ROLE; [ $DMLC_ROLE = worker ] || sleep 600'
    done = testbed(
        "run", testbed.file, "--style", "ps", "--servers", "1", "--grace", "1", "--", "sh", "-c", script
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "r0| worker", "r1| worker", "scheduler| scheduler", "server0| server",
    ]  # fmt: skip


Stop = Callable[["subprocess.Popen[str]"], None]


@pytest.mark.parametrize(
    ("stop", "status"),
    [(lambda run: run.send_signal(2), 130), (lambda run: run.terminate(), 143),
     (lambda run: run.kill(), -9)],
    ids=["ctrl-c", "sigterm", "sigkill"],
)  # fmt: skip
def test_nothing_is_left_behind(testbed: Clusters, stop: Stop, status: int) -> None:
    mark = f"86{time.monotonic_ns() % 10**9}"
    run = testbed.start("run", testbed.file, "--", "sh", "-c", f"setsid sleep {mark} & echo on; wait")
    assert run.stdout and run.stdout.readline() and run.stdout.readline()
    stop(run)
    run.communicate(timeout=20)
    assert run.returncode == status
    running = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, text=True)
    assert running.stdout == "", "the processes of a run end with it, however it ends"
    if status < 0:
        assert left_behind(testbed.name), "a killed run cannot clean up"
        assert testbed("list").returncode == 0  # removes the remains of killed runs
    assert left_behind(testbed.name) == []
