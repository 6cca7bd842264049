# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import resource
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from tests.conftest import SANITIZER, SLOWDOWN, clean_environment, weft_command

PATIENCE_S = 60 * SLOWDOWN

needs_prompt_signals = pytest.mark.skipif(
    SANITIZER == "tsan",
    reason="the thread sanitizer runs no signal handler while read() or write() blocks",
)


class Session:
    """A program whose standard input, output and error are one new terminal."""

    def __init__(self, *words: str | Path, columns: int = 80, **environment: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        # A terminal echoes what is typed ("^C") at an unpredictable moment. Without echo, the
        # output contains only what the program printed.
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            list(map(str, words)),
            stdin=slave, stdout=slave, stderr=slave, env=clean_environment(**environment),
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self.slave = slave
        self.output = ""

    def read_some(self, timeout: float) -> bool:
        """Reads available output. Returns false if no output comes within the time limit."""
        if not select.select([self.master], [], [], timeout)[0]:
            return False
        self.output += os.read(self.master, 65536).decode(errors="replace")
        return True

    def wait_for(self, text: str, after: str = "") -> None:
        """Waits until the program has printed `text` after the first `after`."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.output.partition(after)[2] if after else text not in self.output:
            came = self.read_some(0.1)
            assert came or self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def finish(self) -> int:
        """Waits until the program ends, and returns its exit status. Fails if the program does not
        restore the terminal settings."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            self.read_some(0.05)
            assert time.monotonic() < deadline, self.output
        while self.read_some(0):
            pass
        assert termios.tcgetattr(self.slave) == self.before
        self.close()
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=PATIENCE_S)
        os.close(self.master)
        os.close(self.slave)


def wait_until_interruptible(pid: int) -> None:
    """Returns once the process handles SIGINT. Before that, the signal would simply kill it."""
    deadline = time.monotonic() + PATIENCE_S
    while not _handles(pid, signal.SIGINT):
        assert time.monotonic() < deadline, "the process never installed a handler for SIGINT"
        time.sleep(0.005)


def _handles(pid: int, number: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


class CpuTime:
    """The processor time that a child uses from now until it is waited for: the running child
    `pid`, or one that is started later.

    Tests of "ends at once" measure this instead of the clock: other load on the machine delays a
    process, but does not make it work longer. No other child may end in between.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._start = self._of_ended_children()
        if pid is not None:
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            self._start += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def used_since(self) -> float:
        """Returns the processor time that the child has used. Call this after waiting for the
        child."""
        return self._of_ended_children() - self._start

    @staticmethod
    def _of_ended_children() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime


def weft_session(*words: str | Path, columns: int = 80, **environment: str) -> Session:
    return Session(weft_command(), *words, columns=columns, **environment)


def screen(output: str) -> list[str]:
    """Returns the lines that a user sees at the end, without erased text and without colour
    codes."""
    lines = []
    for line in output.replace("\r\n", "\n").split("\n"):
        visible = line.rpartition("\r\033[K")[2]
        for code in ("0", "1", "2", "31", "32", "33"):
            visible = visible.replace(f"\033[{code}m", "")
        lines.append(visible)
    return lines[:-1] if lines[-1] == "" else lines
