# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

from tests.conftest import clean_environment, weft_command

PATIENCE_S = 20


class Session:
    """A program whose standard input, output and error are one new terminal."""

    def __init__(self, *words: str | Path, columns: int = 80, **environment: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            list(map(str, words)),
            stdin=slave, stdout=slave, stderr=slave, env=clean_environment(**environment),
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self.slave = slave
        self.output = ""

    def read_some(self, timeout: float) -> bool:
        """Reads available output; false if there is none in time."""
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
        """Waits for the end; the exit status. Fails if the terminal settings are not restored."""
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


def weft_session(*words: str | Path, columns: int = 80, **environment: str) -> Session:
    return Session(weft_command(), *words, columns=columns, **environment)


def screen(output: str) -> list[str]:
    """The lines that a user sees in the end: without erased text and without colour codes."""
    lines = []
    for line in output.replace("\r\n", "\n").split("\n"):
        visible = line.rpartition("\r\033[K")[2]
        for code in ("0", "1", "2", "31", "32", "33"):
            visible = visible.replace(f"\033[{code}m", "")
        lines.append(visible)
    return lines[:-1] if lines[-1] == "" else lines
