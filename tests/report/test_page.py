# SPDX-License-Identifier: Apache-2.0
"""The page of `weft report` without its timeline: it shows what the other verbs compute."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.cli.session import CpuTime
from tests.conftest import EXAMPLE, ROOT, Weft
from tests.report.browser import Report

Open = Callable[..., Report]
Made = Callable[..., Path]
TRACES = ROOT.parent / "shared" / "traces"
LINKS = EXAMPLE / "allreduce-w4.json"
SECTIONS = ["findings", "steps", "breakdown", "timeline", "stragglers", "memory", "what-if",
            "quality", "reproduce"]  # fmt: skip
JOBS = {
    "example": EXAMPLE,
    "one rank": EXAMPLE / "resnet50-w4-r0.json.gz",
    "tensor parallel": TRACES / "astra-sim_astra-sim/megatron-tp8",
    "pipelined embedding": TRACES / "meta-pytorch_torchrec/sst_long_a2a_optimizer_4",
    "op timeline": TRACES / "ByteDance-Seed_StragglerAnalysis/timeline-ST.json.gz",
    "allocator events": TRACES / "sarchlab_triosim/profiler_vgg13-iter41.json.gz",
}


@pytest.fixture(scope="session")
def made(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """made(input, flag...): the page of a job. Equal requests share one page."""
    pages: dict[tuple[str, ...], Path] = {}

    def make(*words: str | Path) -> Path:
        key = tuple(map(str, words))
        if key not in pages:
            path = tmp_path_factory.mktemp("page") / "report.html"
            done = weft("report", *words, "-o", path)
            assert done.returncode == 0, done.stderr
            pages[key] = path
        return pages[key]

    return make


def job_of(name: str) -> Path:
    if not JOBS[name].exists():
        pytest.skip(f"needs {JOBS[name].name} from the public traces")
    return JOBS[name]


def answer(weft: Weft, verb: str, *words: str | Path) -> Any:
    done = weft(verb, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def table_rows(report: Report, caption: str) -> list[list[str]]:
    """The rows of the table of a picture. The page makes the table when it is opened."""
    report.page.evaluate(
        "document.querySelectorAll('details.data-table').forEach((d) => { d.open = true; })"
    )
    table = report.page.locator("table", has=report.page.locator("caption", has_text=caption))
    table.first.wait_for()
    rows: list[list[str]] = table.first.evaluate(
        "(t) => [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    return rows


def ms(text: str) -> float:
    return float(text)


def near(value: float) -> Any:
    return pytest.approx(value, abs=0.00051)


@pytest.mark.parametrize("name", JOBS)
def test_every_job_gives_a_page_with_all_sections(open_report: Open, made: Made, name: str) -> None:
    path = made(job_of(name))
    assert path.stat().st_size <= 15_000_000
    report = open_report(path)
    ids = report.page.evaluate("[...document.querySelectorAll('main > section')].map((s) => s.id)")
    # The op timeline was recorded from a pipeline, so its report has one more section.
    timeline = SECTIONS.index("timeline") + 1
    extra = ["pipeline"] if name == "op timeline" else []
    assert ids == SECTIONS[:timeline] + extra + SECTIONS[timeline:]
    assert report.page.locator("h1").count() == 1
    levels = report.page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3')].map((h) => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:])), "no level of headings is skipped"
    assert report.page.locator(".verdict .sentence").inner_text().startswith("Step ")
    unnamed = report.page.evaluate(
        "[...document.querySelectorAll('[role=img],[role=application]')]"
        ".filter((e) => !e.getAttribute('aria-label')).length"
    )
    assert unnamed == 0


@pytest.mark.parametrize("name", JOBS)
def test_tables_agree_with_weft_diagnose(weft: Weft, open_report: Open, made: Made, name: str) -> None:
    job = job_of(name)
    expected = answer(weft, "diagnose", job)
    report = open_report(made(job))
    assert report.page.locator(".verdict .sentence").text_content() == expected["verdict"]
    steps = table_rows(report, "step time, ms")
    causes = table_rows(report, "time by cause")
    assert len(steps) == len(causes) == len(expected["ranks"])
    for row, parts, rank in zip(steps, causes, expected["ranks"]):
        assert int(row[0]) == int(parts[0]) == rank["rank"]
        assert list(map(ms, row[1:])) == near_all([*rank["steps_ms"], rank["step_ms"]])
        waiting = sum(t for cause, t in rank["causes"].items() if cause.startswith("waiting"))
        names = ["compute", "memory_copy", "exposed_transfer", "waiting", "data_loading",
                 "host_launch", "idle"]  # fmt: skip
        shares = [waiting if c == "waiting" else rank["causes"].get(c, 0) for c in names]
        assert list(map(ms, parts[1:9])) == near_all([*shares, rank["step_ms"]])
    path = {row[0]: ms(row[1]) for row in table_rows(report, "critical path")}
    summary = expected["critical_path_summary"]
    for entry in summary["by_rank"]:
        assert path["no rank" if entry["rank"] is None else f"rank {entry['rank']}"] == near(
            entry["ms"]
        )
    if any(rank["communication_ms"] for rank in expected["ranks"]):
        for row, rank in zip(table_rows(report, "communication, ms"), expected["ranks"]):
            assert ms(row[1]) == near(rank["communication_ms"])
            assert ms(row[2]) == near(rank["hidden_ms"])
    for row, finding in zip(table_rows(report, "findings"), expected["findings"]) if expected["findings"] else []:
        assert ms(row[4]) == near(finding["gain_ms"])
        assert ms(row[5]) == near(finding["time_ms"])


def near_all(values: list[float]) -> Any:
    return pytest.approx(values, abs=0.00051)


@pytest.mark.parametrize("name", ["example", "tensor parallel", "pipelined embedding"])
def test_lateness_agrees_with_weft_diagnose(weft: Weft, open_report: Open, made: Made, name: str) -> None:
    job = job_of(name)
    expected = answer(weft, "diagnose", job)
    report = open_report(made(job))
    for row, rank in zip(table_rows(report, "lateness by rank"), expected["ranks"]):
        late = rank["lateness"]
        assert row[:3] == [str(rank["rank"]), str(late["collectives"]), str(late["last"])]
        assert ms(row[3]) == near(late["made_wait_ms"])
    shown = table_rows(report, "collectives, largest skew first")
    by_skew = sorted(expected["collectives"], key=lambda c: -float(c["skew_ms"]))
    assert len(shown) == min(200, len(by_skew))
    for row, collective in zip(shown, by_skew):
        assert ms(row[4]) == near(collective["skew_ms"])


@pytest.mark.parametrize("name", ["example", "allocator events"])
def test_memory_peaks_agree_with_weft_diagnose(weft: Weft, open_report: Open, made: Made, name: str) -> None:
    job = job_of(name)
    expected = answer(weft, "diagnose", job)
    report = open_report(made(job))
    rows = table_rows(report, "peaks of each rank")
    known = [rank for rank in expected["ranks"] if rank["memory_peak"]]
    assert [int(row[2]) for row in rows] == [rank["memory_peak"]["bytes"] for rank in known]
    assert "GB" in report.page.locator("#memory svg").get_attribute("aria-label")  # type: ignore[operator]


def test_steps_before_and_after_agree_with_weft_replay(weft: Weft, open_report: Open, made: Made) -> None:
    expected = answer(weft, "replay", EXAMPLE, "--links", LINKS)
    report = open_report(made(EXAMPLE, "--links", LINKS))
    rows = {row[0]: row for row in table_rows(report, "steps before and after")}
    assert ms(rows["baseline"][1]) == near(expected["baseline_step_ms"])
    assert ms(rows["as recorded"][1]) == near(expected["recorded_step_ms"])
    parts = expected["breakdown"]["baseline"]
    assert list(map(ms, rows["baseline"][5:])) == near_all(
        [parts[f"{part}_ms"] for part in ("compute", "communication", "waiting", "host")]
    )
    for each in expected["worth_knowing"]:
        row = rows[each["what_if"]]
        assert list(map(ms, row[1:4])) == near_all(
            [each["predicted_step_ms"], each["low_ms"], each["high_ms"]]
        )
    assert report.page.locator(".choice b").count() == 1, "exactly one what-if is marked as best"


def test_choosing_a_what_if_changes_the_bars(open_report: Open, made: Made) -> None:
    report = open_report(made(EXAMPLE, "--links", LINKS))
    shown = report.page.locator(".comparison")
    report.page.get_by_text("comm=off", exact=True).click()
    before = shown.inner_text()
    assert before.startswith("comm=off")
    report.page.get_by_text("compute=1.5x", exact=True).click()
    assert shown.inner_text() != before
    assert shown.inner_text().startswith("compute=1.5x")
    report.page.keyboard.press("ArrowUp")
    assert shown.inner_text().startswith("stragglers=off"), "arrow keys also choose a what-if"


def test_requested_what_ifs_come_first_alone_and_together(weft: Weft, open_report: Open, made: Made) -> None:
    asked = ["--what-if", "compute=2x", "--what-if", "comm=off"]
    report = open_report(made(EXAMPLE, *asked))
    lines = table_rows(report, "steps before and after")
    rows = {row[0]: row for row in lines}
    assert len(rows) == len(lines), "comm=off is also a standard what-if, but it is listed once"
    together = answer(weft, "replay", EXAMPLE, *asked)["predicted_step_ms"]
    assert ms(rows["compute=2x comm=off"][1]) == near(together)
    assert report.page.locator(".comparison h3").inner_text() == "compute=2x"
    assert list(rows)[2:5] == ["compute=2x", "comm=off", "compute=2x comm=off"]


def test_a_click_on_a_finding_shows_it_in_the_timeline(open_report: Open) -> None:
    report = open_report()
    whole = report.view_size()
    report.page.locator(".finding .jump").first.click()
    report.settle()
    assert report.view_size() < whole / 4
    view, span = report.timeline("t.view()"), report.timeline("t.selected()")
    assert span >= 0, "the op that costs most is selected"
    assert view["start"] <= report.timeline(f"m.spans.start[{span}]")
    assert report.timeline(f"m.spans.end[{span}]") <= view["end"]
    report.page.wait_for_timeout(1000)  # the page scrolls smoothly
    box = report.page.locator(".timeline canvas.overlay").bounding_box()
    assert box and 0 <= box["y"] < 600


def test_the_heat_map_describes_cells_and_opens_them_in_the_timeline(open_report: Open) -> None:
    report = open_report()
    canvas = report.page.locator(".heat-map canvas")
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        report.press(key)
    assert re.match(r"rank 1: .*allreduce|rank 1: .*broadcast", report.page.locator(".readout").inner_text())
    whole = report.view_size()
    report.press("Enter")
    assert report.view_size() < whole
    report.timeline("t.fit()")
    canvas.scroll_into_view_if_needed()
    canvas.click(position={"x": 90, "y": 30})
    report.settle()
    assert report.view_size() < whole


def test_colours_follow_the_system_until_a_theme_is_chosen(open_report: Open) -> None:
    report = open_report(color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert report.page.evaluate(theme) == "dark"
    dark = report.page.evaluate("getComputedStyle(document.body).backgroundColor")
    report.page.locator("#theme").click()
    assert report.page.evaluate(theme) == "light"
    assert report.page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    stored = report.page.evaluate("localStorage.getItem('weft-theme')")
    assert stored == "light", "the choice is remembered"


def test_the_keyboard_reaches_everything(open_report: Open) -> None:
    report = open_report()
    report.page.keyboard.press("Tab")
    assert report.page.evaluate("document.activeElement.textContent") == "skip to the findings"
    unreachable = report.page.evaluate(
        "[...document.querySelectorAll('section:not(#timeline) :is(a, button, summary, input, canvas)')]"
        ".filter((e) => e.tabIndex < 0).length"
    )
    assert unreachable == 0


@pytest.mark.parametrize("name", ["example", "tensor parallel", "op timeline"])
def test_a_narrow_window_needs_no_scrolling_sideways(
    open_report: Open, made: Made, name: str
) -> None:
    report = open_report(made(job_of(name)))
    report.page.set_viewport_size({"width": 800, "height": 900})
    report.settle()
    assert report.page.evaluate("document.documentElement.scrollWidth") <= 800


def test_many_ranks_are_folded(open_report: Open, weft: Weft, job: Callable[..., Path]) -> None:
    folder = job(ranks=64)
    path = folder.parent / "report.html"
    assert weft("report", folder, "-o", path).returncode == 0
    report = open_report(path)
    labels = report.page.locator("#breakdown .stacks").first.locator(".stack-label").all_inner_texts()
    assert len(labels) <= 33
    assert re.fullmatch(r"\d+ others, mean", labels[-1])
    assert len(table_rows(report, "time by cause")) == 64, "the table has a row per rank"


def test_copied_commands_run(weft: Weft, open_report: Open) -> None:
    report = open_report()
    commands = report.page.locator("#reproduce code").all_inner_texts()
    assert any(command.startswith("weft report ") for command in commands)
    for command in commands:
        if not command.startswith("weft report "):
            assert weft(*command.split()[1:]).returncode == 0
    show = report.page.locator(".finding code").first.inner_text()
    assert weft(*show.split()[1:]).returncode == 0


def test_a_notebook_can_hold_the_page(chromium: Browser, example_page: Path, tmp_path: Path) -> None:
    """Notebooks show the page in the frame that Report._repr_html_ of the Python package makes."""
    content = html.escape(example_page.read_text(), quote=True)
    notebook = tmp_path / "notebook.html"
    notebook.write_text(
        f'<!doctype html><iframe sandbox="allow-scripts" allow="clipboard-write" style="width:1000px;height:800px" '
        f'srcdoc="{content}"></iframe>'
    )
    page = chromium.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(notebook.as_uri())
    frame = page.frames[1]
    frame.wait_for_function("window.weft !== undefined")
    frame.locator(".finding .jump").first.click()
    frame.locator("#theme").click()
    frame.locator(".copy").first.click()
    page.wait_for_timeout(400)
    assert frame.evaluate("weft.timeline.selected()") >= 0
    assert complaints == []
    page.close()


def test_impossible_requests_are_refused(weft: Weft, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    done = weft("report", EXAMPLE, "-o", path, "--what-if", "network.speed=2x")
    assert done.returncode == 2 and "network.bandwidth" in done.stderr
    assert not path.exists()


def test_a_report_of_eight_ranks_takes_at_most_four_seconds(weft: Weft, tmp_path: Path) -> None:
    """The limit is for processor time, because other load on the machine does not change it."""
    job = job_of("tensor parallel")
    cpu = CpuTime()
    assert weft("report", job, "-o", tmp_path / "report.html").returncode == 0
    assert cpu.used_since() <= 4
