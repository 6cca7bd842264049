# SPDX-License-Identifier: Apache-2.0
"""Tests the output of the command in a pseudo-terminal: progress, colours and width."""

from __future__ import annotations

import re
import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.session import screen, weft_session
from tests.conftest import EXAMPLE, ROOT, Weft

LINKS = EXAMPLE / "allreduce-w4.json"
REPLAY = ["replay", str(EXAMPLE), "--links", str(LINKS)]


def verbs(weft: Weft) -> list[str]:
    names = re.findall(r"^  (\w+)  ", weft("help").stdout, re.MULTILINE)
    assert {"info", "replay", "list", "help"} <= set(names)
    return names


def test_progress_is_drawn_on_a_terminal_and_erased() -> None:
    session = weft_session("info", EXAMPLE)
    assert session.finish() == 0
    assert re.search(r"\r\033\[Kreading \S+ \wB of 2.4 MB, \S+ \wB/s", session.output)
    page = screen(session.output)
    assert not any("reading" in line for line in page), "progress is erased before the result is printed"
    assert "4 of 4 ranks" in page[0]


def test_progress_shows_the_remaining_time(large_trace: Path) -> None:
    session = weft_session("info", large_trace)
    session.wait_for("reading")
    # The command estimates the time left once it has read for a quarter of a second. A fast machine
    # might be done by then, so stop the command for longer than that.
    session.process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    session.process.send_signal(signal.SIGCONT)
    assert session.finish() == 0
    assert re.search(r"reading \S+ MB of 200 MB, \S+ MB/s, \d+ s left", session.output)


@pytest.mark.parametrize("columns", [20, 40])
def test_progress_never_fills_the_line(columns: int) -> None:
    session = weft_session("info", EXAMPLE, columns=columns)
    assert session.finish() == 0
    drawn = re.findall(r"\r\033\[K(reading[^\r]*)", session.output)
    assert drawn and all(len(line) < columns for line in drawn)


def test_no_progress_and_no_escape_codes_in_a_pipe(weft: Weft) -> None:
    done = weft("info", EXAMPLE)
    assert done.stderr == ""
    assert "\033" not in done.stdout


@pytest.mark.parametrize(
    ("words", "environment"), [(["--quiet"], {}), (["-q"], {}), ([], {"TERM": "dumb"})]
)
def test_progress_can_be_switched_off(words: list[str], environment: dict[str, str]) -> None:
    session = weft_session(*words, "info", EXAMPLE, columns=80, **environment)
    assert session.finish() == 0
    assert "reading" not in session.output


def test_quiet_hides_notes_but_not_errors(weft: Weft) -> None:
    assert weft("replay", EXAMPLE).stderr.startswith("notes\n")
    quiet = weft("replay", "--quiet", EXAMPLE)
    assert quiet.stderr == "" and quiet.stdout
    assert "error" in weft("replay", "--quiet", "/does/not/exist").stderr


@pytest.mark.parametrize(
    ("words", "environment", "coloured"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
        ([], {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False),
        ([], {"TERM": "dumb"}, False),
        (["--no-color"], {}, False),
        (["--no-color"], {"CLICOLOR_FORCE": "1"}, False),
    ],
)
def test_colours_on_a_terminal(
    words: list[str], environment: dict[str, str], coloured: bool
) -> None:
    session = weft_session("info", EXAMPLE, *words, columns=80, **environment)
    assert session.finish() == 0
    assert ("\033[1m" in session.output) == coloured


def test_all_errors_have_the_same_colour() -> None:
    for words, coloured in ((["inof"], True), (["--no-color", "inof"], False)):
        session = weft_session(*words)
        assert session.finish() == 2
        assert ("\033[31m" in session.output) == coloured
        assert "there is no verb 'inof'" in session.output


def test_colours_can_be_forced_into_a_pipe(weft: Weft) -> None:
    assert "\033[1m" in weft("info", EXAMPLE, CLICOLOR_FORCE="1").stdout
    assert "\033" not in weft("info", EXAMPLE, CLICOLOR_FORCE="0").stdout


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize(
    "words",
    [["info", str(EXAMPLE)], REPLAY, ["list", "readers"], ["list", "what-ifs"], ["help"],
     ["help", "replay"]],
    ids=lambda words: "-".join(words[:2]).replace(str(EXAMPLE), "example"),
)  # fmt: skip
def test_lines_fit_the_terminal(words: list[str], columns: int) -> None:
    session = weft_session(*words, columns=columns)
    assert session.finish() == 0
    for line in screen(session.output):
        longest_word = max((len(word) for word in line.split()), default=0)
        unbreakable = len(line.split()) == 1 or longest_word + 6 > columns
        copied = words[0] == "help" and line.startswith("  weft ")
        assert len(line) <= columns or unbreakable or copied, line


def test_default_page_of_every_verb_fits_the_screen(
    weft: Weft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Runs the first example of each verb's help. Left out: verbs that print scripts for other
    programs, and verbs that need a training job or other hosts."""
    monkeypatch.chdir(ROOT)
    for verb in set(verbs(weft)) - {
        "completions", "man", "record", "gather", "calibrate", "testbed",
    }:  # fmt: skip
        example = re.search(rf"^  (weft {verb}.*)$", weft("help", verb).stdout, re.MULTILINE)
        assert example, verb
        # The help names a folder of the user, such as traces/; the test uses the example instead.
        words = [str(EXAMPLE) if w.endswith("/") else w for w in shlex.split(example[1])[1:]]
        if "-o" in words:
            out = words.index("-o") + 1
            words[out] = str(tmp_path / words[out])
        session = weft_session(*words, "--quiet")
        assert session.finish() == 0, session.output
        rows = sum(max(1, -(-len(line) // 80)) for line in screen(session.output))
        assert rows <= 24, session.output


def test_page_of_eight_ranks_fits_the_terminal(job: Callable[..., Path]) -> None:
    session = weft_session("info", job(ranks=8))
    assert session.finish() == 0
    page = screen(session.output)
    assert sum(max(1, -(-len(line) // 80)) for line in page) <= 24, page
    table = [line for line in page if line.lstrip().startswith(tuple("01234567"))]
    assert len([line for line in table if ".json.gz" in line]) == 8
    assert all(len(line) <= 80 for line in table)


def test_columns_narrows_the_table(weft: Weft, job: Callable[..., Path]) -> None:
    done = weft("info", job(ranks=2), COLUMNS="70")
    rows = [line for line in done.stdout.splitlines() if line.startswith(("   0  ", "   1  "))]
    assert len(rows) == 2
    assert all(len(row) <= 70 for row in rows)
