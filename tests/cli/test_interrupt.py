# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and signals stop a command at once, with the right status and without partial files."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.session import (
    PATIENCE_S,
    CpuTime,
    Session,
    needs_prompt_signals,
    screen,
    wait_until_interruptible,
    weft_session,
)
from tests.conftest import SLOWDOWN, clean_environment, trace_text, weft_command

# An interrupted command ends within half a second of the clock on a quiet machine. Two threads may
# work during that time.
MOST_CPU_S = 1.0 * SLOWDOWN
CTRL_C = "\x03"


def stop(session: Session, how: Callable[[], None]) -> int:
    cpu = CpuTime(session.process.pid)
    how()
    status = session.finish()
    assert cpu.used_since() < MOST_CPU_S
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


@needs_prompt_signals
def test_ctrl_c_while_waiting_for_standard_input() -> None:
    session = weft_session("info", "-")
    wait_until_interruptible(session.process.pid)
    assert stop(session, lambda: session.type(CTRL_C)) == 130


def test_sigterm(large_trace: Path) -> None:
    session = weft_session("info", large_trace)
    session.wait_for("reading")
    assert stop(session, session.process.terminate) == 143


def test_second_signal_ends_at_once() -> None:
    """The command waits for standard input, which never ends: only the signals can end it."""
    process = subprocess.Popen(
        [weft_command(), "info", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=clean_environment(),
    )  # fmt: skip
    wait_until_interruptible(process.pid)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert errors == b"weft: interrupted\n"


@needs_prompt_signals
def test_a_blocked_output_pipe_does_not_prevent_an_interrupt(large_output: list[str]) -> None:
    """Ctrl-C ends a command whose output pipe is full, as with an open pager."""
    process = subprocess.Popen(
        [weft_command(), *large_output], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=clean_environment(),
    )  # fmt: skip
    assert process.stdout and process.stdout.read(1) == b"{"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == 130
    process.communicate()


@pytest.fixture
def large_output(tmp_path: Path) -> list[str]:
    """A command that prints more than fits into a pipe."""
    (tmp_path / "rank0.json").write_text(trace_text(0, 1, steps=5000))
    return ["info", "--json", str(tmp_path)]
