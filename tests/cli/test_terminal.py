# SPDX-License-Identifier: Apache-2.0
"""The command in a real pseudo-terminal: progress, colours, width, Ctrl-C."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, Weft, clean_environment, trace_events, weft_command


class Session:
    """The command with stdout and stderr on one terminal of 80 columns."""

    def __init__(self, *words: str | Path, **environment: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [weft_command(), *map(str, words)],
            stdin=slave, stdout=slave, stderr=slave, env=clean_environment(**environment),
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.output = ""

    def read_some(self) -> bool:
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # the terminal has no other end any more
            return False
        self.output += piece.decode()
        return bool(piece)

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in self.output and self.read_some():
            assert time.monotonic() < deadline, self.output
        assert text in self.output

    def finish(self) -> int:
        while self.read_some():
            pass
        os.close(self.master)
        return self.process.wait(timeout=60)


@pytest.fixture(scope="session")
def large_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 MB: long enough to be interrupted."""
    path = tmp_path_factory.mktemp("large") / "large.json"
    piece = ",".join(json.dumps(event) for event in trace_events(0, 400))
    with open(path, "w") as file:
        file.write('{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[')
        file.write(piece)
        while file.tell() < 200_000_000:
            file.write("," + piece)
        file.write("]}")
    return path


def test_progress_is_drawn_on_a_terminal_and_taken_away() -> None:
    session = Session("info", EXAMPLE)
    assert session.finish() == 0
    assert "\r\033[Kreading " in session.output
    after = session.output[session.output.rindex("\r\033[K") :]
    assert "reading" not in after, "the line is erased before the result is printed"
    assert "4 of 4 ranks" in after


def test_no_progress_and_no_escape_codes_in_a_pipe(weft: Weft) -> None:
    done = weft("info", EXAMPLE)
    assert done.stderr == ""
    assert "\033" not in done.stdout


def test_no_progress_on_a_dumb_terminal() -> None:
    session = Session("info", EXAMPLE, TERM="dumb")
    assert session.finish() == 0
    assert "\033" not in session.output


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True),
     ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False)],
)  # fmt: skip
def test_colours_on_a_terminal(environment: dict[str, str], coloured: bool) -> None:
    session = Session("info", EXAMPLE, **environment)
    assert session.finish() == 0
    assert ("\033[1m" in session.output) == coloured


def test_colours_can_be_forced_into_a_pipe(weft: Weft) -> None:
    assert "\033[1m" in weft("info", EXAMPLE, CLICOLOR_FORCE="1").stdout
    assert "\033" not in weft("info", EXAMPLE, CLICOLOR_FORCE="0").stdout


def test_page_of_eight_ranks_fits_the_terminal(job: Callable[..., Path]) -> None:
    session = Session("info", job(ranks=8), NO_COLOR="1")
    assert session.finish() == 0
    page = session.output.rpartition("\033[K")[2].replace("\r\n", "\n")
    rows = sum(max(1, -(-len(line) // 80)) for line in page.splitlines())
    assert rows <= 24, page
    table = [line for line in page.splitlines() if line.lstrip().startswith(tuple("01234567"))]
    assert len([line for line in table if ".json.gz" in line]) == 8
    assert all(len(line) <= 80 for line in table)


def test_columns_narrows_the_table(weft: Weft, job: Callable[..., Path]) -> None:
    done = weft("info", job(ranks=2), COLUMNS="70")
    rows = [line for line in done.stdout.splitlines() if line.startswith(("   0  ", "   1  "))]
    assert len(rows) == 2
    assert all(len(row) <= 70 for row in rows)


def test_ctrl_c_while_reading(large_trace: Path) -> None:
    session = Session("info", large_trace)
    session.wait_for("reading")
    session.process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert session.finish() == 130
    assert time.monotonic() - begin < 10
    assert "interrupted" in session.output
    assert "internal" not in session.output
