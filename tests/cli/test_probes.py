# SPDX-License-Identifier: Apache-2.0
"""Tests the socket probe inside real processes, and reads its logs."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.probes import WIRE, ids, info
from tests.conftest import Weft, clean_environment, trace_text

# A server that echoes every message of a client over loopback. Arguments: sizes in bytes.
ECHO = """
import ctypes, os, socket, sys

def window(on):
    ctypes.CDLL(None).weft_wire_record(on)

def take(connection, size):
    while size > 0:
        piece = connection.recv(min(size, 65536))
        if not piece:
            sys.exit(1)
        size -= len(piece)

role, port, sizes = sys.argv[1], int(sys.argv[2]), [int(s) for s in sys.argv[3:]]
if role == "server":
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        connection, _ = listener.accept()
else:
    connection = socket.create_connection(("127.0.0.1", port))
inside = os.environ.get("INSIDE", "")
for number, size in enumerate(sizes):
    if inside:
        window(int(str(number) == inside))
    if role == "client":
        connection.sendall(bytes(size))
        take(connection, size)
    else:
        take(connection, size)
        connection.sendall(bytes(size))
if inside:
    window(0)
if "LINGER" in os.environ:
    print("done", flush=True)
    sys.stdin.readline()
"""


def start(folder: Path, role: str, port: int, sizes: list[int], **more: str) -> subprocess.Popen[str]:
    environment = clean_environment(LD_PRELOAD=str(WIRE), WEFT_RECORD=str(folder), **more)
    return subprocess.Popen(
        [sys.executable, "-c", ECHO, role, str(port), *map(str, sizes)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def echo(folder: Path, sizes: list[int], **more: str) -> list[int]:
    """Runs server and client; returns their process ids, that of the server first."""
    server = start(folder, "server", 0, sizes, RANK="0", WORLD_SIZE="2", **more)
    client = start(folder, "client", int(line(server)), sizes, RANK="1", WORLD_SIZE="2", **more)
    for process in (client, server):
        process.communicate(timeout=60)
        assert process.returncode == 0
    return [server.pid, client.pid]


def test_every_byte_of_both_ends_is_recorded(weft: Weft, tmp_path: Path) -> None:
    sizes = [1, 70_000, 3_000_000]
    pids = echo(tmp_path, sizes)
    report = info(weft, tmp_path)
    (run,) = report["runs"]
    assert run["world"] == 2
    for rank, pid in zip(run["ranks"], pids, strict=True):
        assert rank["process"] == pid
        wire = rank["transfers"]
        assert wire["sent_bytes"] == wire["received_bytes"] == sum(sizes)
        assert wire["connections"] == 1
        assert wire["peers"] == [
            {"peer": "127.0.0.1", "count": wire["count"], "sent_bytes": sum(sizes),
             "received_bytes": sum(sizes)}
        ]  # fmt: skip
    assert "log-not-closed" not in ids(report)
    assert "6.1 MB sent, 6.1 MB received, 1 peer" in weft("info", tmp_path).stdout


def test_a_log_is_truncated_to_its_used_size(tmp_path: Path) -> None:
    echo(tmp_path, [10])
    for log in tmp_path.iterdir():
        assert log.stat().st_size == 4096 + 16384


def test_killed_process_leaves_its_records(weft: Weft, tmp_path: Path) -> None:
    sizes = [1000] * 50
    server = start(tmp_path, "server", 0, sizes, RANK="0", LINGER="1")
    client = start(tmp_path, "client", int(line(server)), sizes, RANK="1")
    assert line(server) == "done"
    server.send_signal(signal.SIGKILL)
    for process in (server, client):
        process.communicate(timeout=60)
    report = info(weft, tmp_path)
    for rank in report["runs"][0]["ranks"]:
        assert rank["transfers"]["sent_bytes"] == 50_000
        assert rank["transfers"]["received_bytes"] == 50_000
    assert "log-not-closed" in ids(report)


def test_the_size_limit_ends_the_recording_but_not_the_job(weft: Weft, tmp_path: Path) -> None:
    echo(tmp_path, [100] * 2000, WEFT_RECORD_LIMIT="40000")
    for log in tmp_path.iterdir():
        assert log.stat().st_size <= 40000
    report = info(weft, tmp_path)
    assert {"log-limit", "log-lost"} <= ids(report)
    assert 0 < report["runs"][0]["ranks"][0]["transfers"]["sent_bytes"] < 200_000


def test_rlimit_fsize_does_not_kill_the_process(weft: Weft, tmp_path: Path) -> None:
    """Without care, a write beyond RLIMIT_FSIZE would kill the process with SIGXFSZ."""
    sizes = [100] * 20_000
    shell = ["bash", "-c", 'ulimit -f 300; exec "$@"', "bash", sys.executable, "-c", ECHO]
    environment = clean_environment(LD_PRELOAD=str(WIRE), WEFT_RECORD=str(tmp_path), RANK="0")
    server = subprocess.Popen(
        [*shell, "server", "0", *map(str, sizes)], env=environment,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    client = start(tmp_path, "client", int(line(server)), sizes, RANK="1")
    for process in (client, server):
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert "log-disk-full" in ids(info(weft, tmp_path))


def test_a_full_disk_ends_the_recording_but_not_the_job(weft: Weft, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    try:
        (disk / "ballast").write_bytes(bytes(350_000))
        echo(disk, [100] * 20_000)
        (disk / "ballast").unlink()
        report = info(weft, disk)
        assert "log-disk-full" in ids(report)
        assert report["runs"][0]["ranks"][0]["transfers"]["count"] > 1000
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_unwritable_folder_gives_one_line_of_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", "import socket as s; a = s.create_server(('127.0.0.1', 0));"
         "b = s.create_connection(a.getsockname()); b.sendall(b'x'); b.sendall(b'x')"],
        env=clean_environment(LD_PRELOAD=str(WIRE), WEFT_RECORD=str(tmp_path / "file")),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.startswith("weft: no wire recording of process ")
    assert done.stderr.count("\n") == 1


def test_window_records_its_part_and_offsets_still_agree(weft: Weft, tmp_path: Path) -> None:
    sizes = [5000, 300, 7000]
    echo(tmp_path, sizes, WEFT_RECORD_WAIT="1", INSIDE="1")
    report = info(weft, tmp_path)
    for rank in report["runs"][0]["ranks"]:
        assert rank["transfers"]["sent_bytes"] == 300
        assert rank["transfers"]["received_bytes"] == 300
    for log in tmp_path.iterdir():
        assert {offset for _, offset, _ in transfers(log)} == {5000}


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def transfers(log: Path) -> list[tuple[int, int, int]]:
    """An independent reader written from docs/formats/log.md: type, offset and bytes of transfers."""
    data = log.read_bytes()
    found = []
    for chunk in range(4096, len(data), 16384):
        at = chunk + 16
        end = at + int.from_bytes(data[chunk + 4 : chunk + 8], "little")
        while at < end:
            size, at = varint(data, at)
            if data[at] in (17, 18):
                fields, place = [], at + 1
                while place < at + size:
                    number, place = varint(data, place)
                    fields.append(number)
                found.append((data[at], fields[3], fields[4]))
            at += size
    return found


def test_process_without_window_leaves_no_file(tmp_path: Path) -> None:
    echo(tmp_path / "never", [100], WEFT_RECORD_WAIT="1")
    assert not (tmp_path / "never").exists()


def test_records_use_the_clock_that_the_process_sees(weft: Weft, tmp_path: Path) -> None:
    """Profilers use the same clock. So if the clock of a host is wrong, the times of profile and
    log are wrong by the same amount."""
    (library, *_) = [*Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None]
    if library is None:
        pytest.skip("libfaketime is not installed")
    server = start(tmp_path, "server", 0, [10], RANK="0")
    client = subprocess.Popen(
        [sys.executable, "-c", ECHO, "client", line(server), "10"],
        env=clean_environment(
            LD_PRELOAD=f"{library} {WIRE}", WEFT_RECORD=str(tmp_path), RANK="1",
            FAKETIME="+100", FAKETIME_DONT_FAKE_MONOTONIC="1",
        ),
    )  # fmt: skip
    assert client.wait(timeout=60) == 0
    server.communicate(timeout=60)
    first, second = (rank["start_unix_ns"] for rank in info(weft, tmp_path)["runs"][0]["ranks"])
    assert abs(second - first - 100_000_000_000) < 10_000_000_000


def test_forked_child_writes_its_own_file(weft: Weft, tmp_path: Path) -> None:
    script = """
import os, socket
listener = socket.create_server(("127.0.0.1", 0))
def talk(size):
    out = socket.create_connection(listener.getsockname())
    got, _ = listener.accept()
    out.sendall(bytes(size))
    got.recv(size, socket.MSG_WAITALL)
    return out, got
kept = talk(1000)
if os.fork() == 0:
    talk(20)
    kept[0].sendall(bytes(5))
    raise SystemExit
os.wait()
talk(3000)
"""
    subprocess.run(
        [sys.executable, "-c", script], check=True, timeout=60,
        env=clean_environment(LD_PRELOAD=str(WIRE), WEFT_RECORD=str(tmp_path)),
    )  # fmt: skip
    sent = sorted(
        rank["transfers"]["sent_bytes"] for run in info(weft, tmp_path)["runs"]
        for rank in run["ranks"]
    )  # fmt: skip
    assert sent == [25, 4000]


def test_reused_and_duplicated_descriptors_keep_their_connections(
    weft: Weft, tmp_path: Path
) -> None:
    script = """
import os, socket, subprocess
listener = socket.create_server(("127.0.0.1", 0))
for size in (10, 200, 3000):
    out = socket.create_connection(listener.getsockname())
    got, _ = listener.accept()
    copy = os.dup(out.fileno())
    out.sendall(bytes(size))
    os.write(copy, bytes(size))
    subprocess.run(["true"])
    out.sendall(bytes(size))
    assert len(got.recv(3 * size, socket.MSG_WAITALL)) == 3 * size
    got.close(); out.close(); os.close(copy)
    with open(os.devnull, "wb", buffering=0) as file:
        file.write(bytes(size))
"""
    subprocess.run(
        [sys.executable, "-c", script], check=True, timeout=60,
        env=clean_environment(LD_PRELOAD=str(WIRE), WEFT_RECORD=str(tmp_path)),
    )  # fmt: skip
    (run,) = info(weft, tmp_path)["runs"]
    wire = run["ranks"][0]["transfers"]
    assert wire["connections"] == 6
    assert wire["sent_bytes"] == wire["received_bytes"] == 3 * 3210
    (log,) = tmp_path.iterdir()
    assert sorted(offset for kind, offset, _ in transfers(log) if kind == 17) == sorted(
        [0, 10, 20, 0, 200, 400, 0, 3000, 6000]
    )


def test_log_joins_the_profile_of_its_process(weft: Weft, tmp_path: Path) -> None:
    pids = echo(tmp_path, [1234])
    for rank, pid in enumerate(pids):
        text = trace_text(rank, 2).replace(f": {1000 + rank},", f": {pid},")
        (tmp_path / f"r{rank}.kineto.json").write_text(text)
    report = info(weft, tmp_path)
    (run,) = report["runs"]
    assert [rank["format"] for rank in run["ranks"]] == ["kineto", "kineto"]
    assert [rank["transfers"]["sent_bytes"] for rank in run["ranks"]] == [1234, 1234]
    assert run["bystanders"] == []
    assert "transfers-attached" in ids(report)
    page = weft("info", tmp_path).stdout
    assert "good to know\n- transfers-attached" in page, "the note is not listed as a problem"
    assert "problems" not in page


def test_a_process_that_is_not_a_rank_is_a_bystander(weft: Weft, tmp_path: Path) -> None:
    server = start(tmp_path, "server", 0, [77], DMLC_ROLE="server", RANK="")
    client = start(tmp_path, "client", int(line(server)), [77], DMLC_ROLE="worker", DMLC_WORKER_ID="0")
    for process in (client, server):
        process.communicate(timeout=60)
    (run,) = info(weft, tmp_path)["runs"]
    assert [rank["process"] for rank in run["ranks"]] == [client.pid]
    (bystander,) = run["bystanders"]
    assert bystander["role"] == "server" and bystander["process"] == server.pid
    assert bystander["transfers"]["received_bytes"] == 77
    assert "also of server" in weft("info", tmp_path).stdout


LOOP = """
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
int main(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int listener = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (void*)&at, size) || listen(listener, 1)) return 1;
  if (getsockname(listener, (void*)&at, &size) || connect(out, (void*)&at, size)) return 1;
  int in = accept(listener, 0, 0), pipes[2];
  char byte[64] = {0};
  double best = 1e18, other = 1e18;
  if (pipe(pipes)) return 1;
  for (int round = 0; round < 20; ++round) {
    double start = now();
    for (int i = 0; i < 1000; ++i)
      if (send(out, byte, 64, 0) != 64 || recv(in, byte, 64, 0) != 64) return 1;
    double middle = now();
    for (int i = 0; i < 1000; ++i)
      if (write(pipes[1], byte, 64) != 64 || read(pipes[0], byte, 64) != 64) return 1;
    double end = now();
    if (middle - start < best) best = middle - start;
    if (end - middle < other) other = end - middle;
  }
  printf("%.0f %.0f\\n", best / 2000, other / 2000);
  return 0;
}
"""


def test_cost_of_a_record_is_printed(tmp_path: Path) -> None:
    """Prints the cost of a record. Only an extreme cost fails, because the machine may be busy."""
    (tmp_path / "loop.c").write_text(LOOP)
    loop = tmp_path / "loop"
    subprocess.run(["cc", "-O2", "-o", loop, tmp_path / "loop.c"], check=True)

    def per_call(**more: str) -> tuple[int, int]:
        done = subprocess.run(
            [loop], env=clean_environment(**more), check=True, capture_output=True, text=True
        )
        socket_ns, pipe_ns = map(int, done.stdout.split())
        return socket_ns, pipe_ns

    plain = per_call()
    recorded = per_call(LD_PRELOAD=str(WIRE), WEFT_RECORD=str(tmp_path / "log"))
    waiting = per_call(LD_PRELOAD=str(WIRE), WEFT_RECORD=str(tmp_path), WEFT_RECORD_WAIT="1")
    print(f"ns a call, socket and pipe: {plain}, recorded {recorded}, waiting {waiting}")
    assert recorded[0] - plain[0] < 100_000


THREADS = """
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
static struct sockaddr_in at = {.sin_family = AF_INET};
static int listener;
static void* talk(void* unused) {
  char bytes[100] = {0};
  int out = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(out, (void*)&at, sizeof at)) return &listener;
  int in = accept(listener, 0, 0);
  for (int i = 0; i < 500; ++i)
    if (send(out, bytes, 1 + i % 100, 0) < 1) return &listener;
  shutdown(out, SHUT_WR);
  while (recv(in, bytes, 100, 0) > 0) {}
  close(in);
  close(out);
  return unused;
}
int main(void) {
  pthread_t threads[8];
  socklen_t size = sizeof at;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (void*)&at, size) || listen(listener, 64)) return 1;
  if (getsockname(listener, (void*)&at, &size)) return 1;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 8; ++i) if (pthread_create(&threads[i], 0, talk, 0)) return 1;
    for (int i = 0; i < 8; ++i) {
      void* failed = 0;
      pthread_join(threads[i], &failed);
      if (failed) return 1;
    }
  }
  return 0;
}
"""


def test_no_records_of_short_lived_threads_are_lost(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "threads.c").write_text(THREADS)
    program = tmp_path / "threads"
    subprocess.run(["cc", "-O2", "-o", program, tmp_path / "threads.c", "-lpthread"], check=True)
    logs = tmp_path / "logs"
    subprocess.run(
        [program], check=True, timeout=60,
        env=clean_environment(LD_PRELOAD=str(WIRE), WEFT_RECORD=str(logs)),
    )  # fmt: skip
    report = info(weft, logs)
    (rank,) = report["runs"][0]["ranks"]
    wire = rank["transfers"]
    assert wire["connections"] == 2 * 160
    assert wire["sent_bytes"] == wire["received_bytes"] == 160 * 5 * sum(range(1, 101))
    assert report["diagnostics"] == [] or ids(report) <= {"rank-assumed"}
    (log,) = logs.iterdir()
    # A new thread continues the chunk of a thread that has ended; 160 chunks would need 2.6 MB.
    assert log.stat().st_size < 2_600_000


def test_probe_prints_nothing_without_a_recording(tmp_path: Path) -> None:
    assert ctypes.CDLL(str(WIRE)).weft_wire_record
    done = subprocess.run(
        ["ls", str(tmp_path)], env=clean_environment(LD_PRELOAD=str(WIRE)), capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_log_of_a_newer_weft_is_refused(weft: Weft, tmp_path: Path) -> None:
    echo(tmp_path, [10])
    log = next(tmp_path.iterdir())
    data = bytearray(log.read_bytes())
    data[8] = 9
    log.write_bytes(data)
    done = weft("info", log)
    assert done.returncode != 0
    assert "version 9" in done.stderr


def test_a_damaged_log_is_used_up_to_the_damage(weft: Weft, tmp_path: Path) -> None:
    echo(tmp_path, [10] * 500)
    log = next(tmp_path.iterdir())
    log.write_bytes(log.read_bytes()[:8000])
    report = info(weft, log)
    assert 0 < report["runs"][0]["ranks"][0]["transfers"]["sent_bytes"] < 5000
    assert "cut-file" in ids(report)
