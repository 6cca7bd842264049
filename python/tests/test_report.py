# SPDX-License-Identifier: Apache-2.0
"""Run.report, and what notebooks show of runs and reports."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

import weft

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "resnet50-w4"


@pytest.fixture(scope="module")
def run() -> weft.Run:
    return weft.load(EXAMPLE)


def test_the_page_is_complete_and_can_be_saved(run: weft.Run, tmp_path: Path) -> None:
    report = run.report()
    assert report.label == "resnet50-w4"
    assert report.verdict.startswith("step ")
    assert report.html.startswith("<!doctype html>")
    assert report.verdict in report.html
    path = report.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == report.html
    assert len(repr(report)) < 300


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(run: weft.Run) -> None:
    report = run.report()
    frame = report._repr_html_()
    assert frame.startswith("<iframe ")
    content = frame.partition('srcdoc="')[2].rpartition('"></iframe>')[0]
    assert html.unescape(content) == report.html


def test_a_notebook_shows_a_summary_of_a_run(run: weft.Run) -> None:
    small = run._repr_html_()
    assert small is not None
    assert run.report().verdict in html.unescape(small)
    assert "rank 3" in small and "<script" not in small
    assert len(small) < 10_000


def test_what_ifs_and_tables_can_be_given(run: weft.Run) -> None:
    report = run.report("compute=3x", links=EXAMPLE / "allreduce-w4.json")
    assert '"what_if":"compute=3x","asked":true' in report.html
    assert '"measured_links":true' in report.html
    both = run.report(["compute=3x", "comm=off"])
    assert '"what_if":"compute=3x comm=off"' in both.html
    with pytest.raises(weft.UsageError, match="network.bandwidth"):
        run.report("network.speed=2x")


def test_commands_name_the_inputs(run: weft.Run) -> None:
    assert f"weft diagnose {EXAMPLE}" in run.report().html
