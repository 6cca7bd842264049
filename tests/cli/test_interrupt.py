# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and signals stop a command at once, with the right status and without partial files."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.session import Session, screen, weft_session
from tests.conftest import clean_environment, trace_text, weft_command

# Weft promises half a second. The limit is larger because the machine may be busy.
AT_ONCE_S = 1.5
CTRL_C = "\x03"


def stop(session: Session, how: Callable[[], None]) -> int:
    begin = time.monotonic()
    how()
    status = session.finish()
    assert time.monotonic() - begin < AT_ONCE_S
    page = screen(session.output)
    assert page[-1] == "weft: interrupted", session.output
    assert len(page) == 1, "neither progress nor partial output is left on the screen"
    assert session.output.endswith("\n")
    return status


def test_ctrl_c_while_reading(large_trace: Path) -> None:
    session = weft_session("info", large_trace)
    session.wait_for("reading")
    assert stop(session, lambda: session.type(CTRL_C)) == 130


@pytest.mark.parametrize("moment", ["building the graph", "replaying"])
def test_ctrl_c_while_working(tmp_path: Path, moment: str) -> None:
    """Work that does not check for interrupts is stopped, too."""
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in range(4):
        (folder / f"rank{rank}.json").write_text(trace_text(rank, 4, steps=3000))
    plan = tmp_path / "plan.json"
    session = weft_session("replay", folder, "-o", plan)
    session.wait_for(moment)
    assert stop(session, lambda: session.type(CTRL_C)) == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job"]


def test_ctrl_c_while_waiting_for_standard_input() -> None:
    session = weft_session("info", "-")
    time.sleep(0.3)
    assert stop(session, lambda: session.type(CTRL_C)) == 130


def test_sigterm(large_trace: Path) -> None:
    session = weft_session("info", large_trace)
    session.wait_for("reading")
    assert stop(session, session.process.terminate) == 143


def test_second_signal_ends_at_once() -> None:
    """After the first signal Weft has 300 ms to stop; the second one stops it at once."""
    process = subprocess.Popen(
        [weft_command(), "info", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=clean_environment(),
    )  # fmt: skip
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - begin < AT_ONCE_S
    assert process.returncode == 130
    assert errors == b"weft: interrupted\n"


def test_a_blocked_output_pipe_does_not_prevent_an_interrupt(large_output: list[str]) -> None:
    """Ctrl-C ends a command whose output pipe is full, as with an open pager."""
    process = subprocess.Popen(
        [weft_command(), *large_output], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=clean_environment(),
    )  # fmt: skip
    assert process.stdout and process.stdout.read(1) == b"{"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=AT_ONCE_S) == 130
    process.communicate()


@pytest.fixture
def large_output(tmp_path: Path) -> list[str]:
    """A command that prints more than fits into a pipe."""
    (tmp_path / "rank0.json").write_text(trace_text(0, 1, steps=5000))
    return ["info", "--json", str(tmp_path)]
