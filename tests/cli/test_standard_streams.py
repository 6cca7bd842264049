# SPDX-License-Identifier: Apache-2.0
"""`-` as the name of a file: every verb reads standard input, and writes its files to stdout."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, ROOT, Weft, clean_environment, trace_text, weft_command

LINKS = EXAMPLE / "allreduce-w4.json"
PLAN = ROOT / "examples" / "pipeline" / "plan.json"
RESHARD = ["reshard", "--mesh", "x=2", "--shape", "8", "--from", "x", "--to", "-"]


def piped(folder: Path, text: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command in an empty folder, so that a file named - would be seen."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [weft_command(), *map(str, words)],
        input=text, capture_output=True, text=True, env=clean_environment(), timeout=120, cwd=folder,
    )  # fmt: skip
    assert not (folder / "-").exists()
    return done


@pytest.mark.parametrize(
    "words",
    [["info", "-"], ["diagnose", "-"], ["replay", "-"], ["report", "-", "-o", "page.html"],
     ["export", "-", "-o", "trace.json"], ["diff", "-", "other.json"], ["diff", "other.json", "-"]],
)  # fmt: skip
def test_verbs_read_a_trace_from_standard_input(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "other.json").write_text(trace_text(0, 1))
    done = piped(tmp_path, trace_text(0, 1), *words)
    assert done.returncode == 0, done.stderr


def test_a_plan_can_be_checked_from_standard_input(tmp_path: Path) -> None:
    assert "none can take less" in piped(tmp_path, PLAN.read_text(), "verify", "-").stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [(["info", "-"], LINKS), (["report", "-", "-o", "page.html"], LINKS),
     (["report", "-", "-o", "page.html"], PLAN), (["diff", "-", "trace.json"], None)],
)  # fmt: skip
def test_tables_and_plans_on_standard_input_are_refused_with_advice(
    weft: Weft, tmp_path: Path, words: list[str], text: Path | None
) -> None:
    (tmp_path / "trace.json").write_text(trace_text(0, 1))
    if text is None:
        text = tmp_path / "plan.json"
        done = weft("replay", tmp_path / "trace.json", "--what-if", "compute=2x", "-o", text)
        assert done.returncode == 0, done.stderr
    done = piped(tmp_path, text.read_text(), *words)
    assert done.returncode == 3 and "name its file" in done.stderr


def test_standard_input_can_be_read_once(tmp_path: Path) -> None:
    done = piped(tmp_path, trace_text(0, 1), "diff", "-", "-")
    assert done.returncode == 2 and "standard input" in done.stderr


def is_page(text: str) -> bool:
    return text.startswith("<!doctype html>") or text.startswith("<!DOCTYPE html>")


def is_json_lines(text: str) -> bool:
    return all(isinstance(json.loads(line), dict) for line in text.splitlines())


def is_json(text: str) -> bool:
    return isinstance(json.loads(text), dict)


@pytest.mark.parametrize(
    ("words", "right", "says"),
    [
        (["report", LINKS, "-o", "-"], is_page, "link tables: 1"),
        (["report", PLAN, "-o", "-"], is_page, "plans: 1"),
        (["replay", EXAMPLE, "--what-if", "compute=2x", "-o", "-"], is_json, "predicted"),
        ([*RESHARD, "--plans", "-"], is_json_lines, "receive"),
        ([*RESHARD, "-o", "-"], is_json, "receive"),
        ([*RESHARD, "--svg", "-"], lambda text: text.startswith("<svg"), "receive"),
        (["pipeline", "gantt", PLAN, "--svg", "-"], lambda text: text.startswith("<svg"), "F"),
        (["pipeline", "export", PLAN, "--to", "json", "-o", "-"], is_json, "stages"),
        (["completions", "bash", "-o", "-"], lambda text: text.startswith("# Completion"), ""),
    ],
)
def test_a_file_named_minus_goes_to_stdout_and_the_page_to_stderr(
    tmp_path: Path, words: list[str], right: Callable[[str], bool], says: str
) -> None:
    done = piped(tmp_path, "", *words)
    assert done.returncode == 0, done.stderr
    assert right(done.stdout), done.stdout[:200]
    assert says in done.stderr
    assert piped(tmp_path, "", *words, "--quiet").stdout == done.stdout


def test_only_one_file_goes_to_stdout(tmp_path: Path) -> None:
    done = piped(tmp_path, "", *RESHARD, "-o", "-", "--plans", "-")
    assert done.returncode == 2 and "only one file can go to stdout" in done.stderr
