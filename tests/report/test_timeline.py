# SPDX-License-Identifier: Apache-2.0
"""Tests the timeline of `weft report`, with mouse and keyboard."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, Weft, trace_text
from tests.report.browser import Report

Open = Callable[..., Report]
# JavaScript that finds a kernel in the middle of the recording, long enough to be clicked on.
KERNEL = (
    "m.launches.work.find((s) => m.spans.start[s] > 1.5e8"
    " && m.spans.end[s] - m.spans.start[s] > 2e5)"
)
ODD_FRAGMENTS = ["#t=5_2", "#t=x&span=y", "#t=0_1e9", "#findings", "#t=0_10&span=99999999"]


def test_page_opens_without_console_messages_and_without_network(open_report: Open) -> None:
    report = open_report()
    assert report.page.title() == "Weft report: resnet50-w4"
    assert report.timeline("m.ranks.length") == 4


def test_page_is_small(example_page: Path) -> None:
    assert example_page.stat().st_size < 2_000_000


def test_spans_are_those_of_the_recording(open_report: Open, weft: Weft) -> None:
    report = open_report()
    info = json.loads(weft("info", "--json", EXAMPLE).stdout)
    kernels = sum(rank["kernels"] for rank in info["runs"][0]["ranks"])
    classes = "m.classes[m.labelClass[label]]"
    drawn = report.timeline(
        f"m.spans.label.reduce((n, label) => n + (/compute|communication/.test({classes})), 0)"
    )
    assert drawn == kernels
    assert report.timeline("m.recordedSpans === m.spans.start.length")
    assert report.timeline(
        "m.rows.every((r) => { for (let i = r.first + 1; i < r.last; ++i)"
        " if (m.spans.start[i] < m.spans.end[i - 1]) return false; return true; })"
    )


def test_click_selects_the_span_under_the_pointer(open_report: Open) -> None:
    report = open_report()
    span = report.timeline(KERNEL)
    start, end = report.timeline(f"[m.spans.start[{span}], m.spans.end[{span}]]")
    report.timeline(f"t.zoomTo({start} - 1e6, {end} + 1e6)")
    box = report.timeline(f"t.boxOf({span})")
    report.canvas().click(
        position={"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    )
    assert report.timeline("t.selected()") == span
    assert report.timeline(f"m.names[m.spans.label[{span}]]") in report.details()
    assert "Rank\n0" in report.details() and "Launched by" in report.details()


def test_click_beside_all_spans_selects_nothing(open_report: Open) -> None:
    report = open_report()
    report.timeline(f"t.select({KERNEL})")
    report.canvas().click(position={"x": 2, "y": 2})
    assert report.timeline("t.selected()") == -1


def test_what_is_drawn_is_where_it_can_be_clicked(open_report: Open) -> None:
    """Drawing and hit testing are separate code, so the test compares pixels with boxOf()."""
    report = open_report(device_scale_factor=1)
    span = report.timeline(KERNEL)
    report.timeline(f"t.zoomTo(m.spans.start[{span}] - 1e6, m.spans.end[{span}] + 1e6)")
    box = report.timeline(f"t.boxOf({span})")
    column = report.page.evaluate(
        "([x, y, height]) => [...document.querySelector('canvas.spans').getContext('2d')"
        ".getImageData(x, y, 1, height).data]",
        [round(box["x"] + box["width"]) - 4, round(box["y"]) - 1, round(box["height"]) + 2],
    )
    colours = [tuple(column[at : at + 3]) for at in range(0, len(column), 4)]
    assert colours[0] != colours[1] and colours[-1] != colours[-2]
    assert len(set(colours[1:3] + colours[-3:-1])) == 1, "one colour beside the text"


def test_keys_zoom_and_move(open_report: Open) -> None:
    report = open_report()
    report.canvas().focus()
    whole = report.view_size()
    report.press("w")
    assert 0.4 < report.view_size() / whole < 0.7
    before = report.timeline("t.view()")
    report.press("d")
    after = report.timeline("t.view()")
    assert after["start"] > before["start"]
    assert after["end"] - after["start"] == pytest.approx(before["end"] - before["start"])
    report.press("a")
    assert report.timeline("t.view().start") == pytest.approx(before["start"])
    report.press("s")
    assert report.view_size() == pytest.approx(whole, rel=0.03)
    report.press("w")
    report.press("0")
    assert report.view_size() == pytest.approx(whole)


def test_keys_fit_measure_and_deselect(open_report: Open) -> None:
    report = open_report()
    span = report.timeline(KERNEL)
    report.timeline(f"t.select({span})")
    report.canvas().focus()
    report.press("f")
    duration = report.timeline(f"m.spans.end[{span}] - m.spans.start[{span}]")
    assert report.view_size() == pytest.approx(1.5 * duration)
    report.press("m")
    report.press("Escape")
    assert report.timeline("t.selected()") == -1


def test_arrow_keys_walk_from_span_to_span(open_report: Open) -> None:
    report = open_report()
    span = report.timeline(KERNEL)
    report.timeline(f"t.select({span})")
    report.canvas().focus()
    report.press("ArrowRight")
    assert report.timeline("t.selected()") == span + 1
    report.press("ArrowLeft")
    assert report.timeline("t.selected()") == span
    report.press("ArrowDown")
    row = f"m.spans.row[{span}]"
    assert report.timeline(f"m.spans.row[t.selected()] !== {row}")
    report.press("Escape")
    report.press("Enter")
    assert report.timeline("t.selected()") >= 0


def test_wheel_with_control_zooms_about_the_pointer(open_report: Open) -> None:
    report = open_report()
    box = report.canvas().bounding_box()
    report.page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 40)
    before = report.timeline("t.view()")
    report.page.keyboard.down("Control")
    report.page.mouse.wheel(0, -300)
    report.page.keyboard.up("Control")
    report.wait_until(f"weft.timeline.view().end !== {before['end']}")
    after = report.timeline("t.view()")
    at = before["start"] + (before["end"] - before["start"]) / 4
    assert after["end"] - after["start"] < 0.7 * (before["end"] - before["start"])
    assert after["start"] + (after["end"] - after["start"]) / 4 == pytest.approx(at, rel=0.01)


def test_drag_moves_and_does_not_select(open_report: Open) -> None:
    report = open_report()
    report.timeline("t.zoomTo(1e8, 1.5e8)")
    box = report.canvas().bounding_box()
    report.page.mouse.move(box["x"] + 500, box["y"] + 40)
    report.page.mouse.down()
    report.page.mouse.move(box["x"] + 400, box["y"] + 40, steps=4)
    report.page.mouse.up()
    assert report.timeline("t.view().start") == pytest.approx(1e8 + 5e7 * 100 / box["width"])
    assert report.timeline("t.selected()") == -1


def test_search_counts_and_walks_through_hits(open_report: Open) -> None:
    report = open_report()
    report.canvas().focus()
    report.press("/")
    report.page.keyboard.type("allreduce")
    report.settle()
    hits = report.timeline(
        "m.spans.label.filter((l) => m.names[l].toLowerCase().includes('allreduce')).length"
    )
    assert report.page.locator(".timeline .hits").inner_text() == f"{hits} hits"
    report.press("Enter")
    first = report.timeline("t.selected()")
    assert "allreduce" in report.timeline(f"m.names[m.spans.label[{first}]].toLowerCase()")
    report.canvas().focus()
    report.press("n")
    second = report.timeline("t.selected()")
    assert report.timeline(f"m.spans.start[{second}] >= m.spans.start[{first}]")
    report.press("N")
    assert report.timeline("t.selected()") == first


def test_panel_of_a_collective_shows_when_every_member_arrived(open_report: Open) -> None:
    report = open_report()
    members = report.timeline("m.collectives[10].members")
    assert len(members) == 4
    report.timeline(f"t.select({members[2]})")
    table = report.page.locator(".timeline .details table")
    assert table.locator("tr").count() == 5
    assert "0 ns" in table.inner_text()
    table.locator("button").first.click()
    report.settle()
    assert report.timeline("t.selected()") == members[0]


def test_ranks_can_be_folded_and_similar_ones_start_folded(open_report: Open) -> None:
    report = open_report()
    similar = report.timeline("m.ranks.findIndex((rank, i) => rank.like !== i)")
    assert similar > 0
    lane = f"m.lanes.findIndex((lane) => lane.rank === {similar} && lane.group === 'host')"
    hidden = report.timeline(f"m.rows.find((row) => row.lane === {lane}).first")
    assert report.timeline(f"t.boxOf({hidden})") is None
    button = report.page.locator(".timeline .gutter button.rank").nth(similar)
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    report.settle()
    assert report.timeline(f"t.boxOf({hidden})") is not None
    assert report.page.evaluate("document.activeElement.textContent").startswith("▾")
    report.page.get_by_role("button", name="Fold all").click()
    report.settle()
    assert report.timeline(f"t.boxOf({hidden})") is None
    report.timeline(f"t.select({hidden})")
    assert report.timeline(f"t.boxOf({hidden})") is not None, "the rank of the selected span is unfolded"


def test_address_bar_keeps_the_view(open_report: Open) -> None:
    report = open_report()
    report.timeline(f"t.select({KERNEL})")
    report.timeline("t.search('gemm')")
    report.timeline("t.zoomTo(1e8, 2e8)")
    report.wait_until("location.hash.includes('t=100000000_200000000')")
    fragment = report.page.evaluate("location.hash")
    again = open_report(fragment=fragment)
    assert again.timeline("t.view()") == {"start": 1e8, "end": 2e8}
    assert again.timeline("t.selected()") == report.timeline("t.selected()")
    assert again.page.locator(".timeline input").input_value() == "gemm"


@pytest.mark.parametrize("fragment", ODD_FRAGMENTS)
def test_invalid_fragments_of_the_address_are_ignored(open_report: Open, fragment: str) -> None:
    report = open_report(fragment=fragment)
    assert report.view_size() > 0
    assert report.timeline("t.selected()") == -1


def test_tab_key_reaches_tools_canvas_and_table(open_report: Open) -> None:
    report = open_report()
    order = []
    report.page.locator("#breakdown summary").last.focus()
    for _ in range(16):
        report.page.keyboard.press("Tab")
        order.append(
            report.page.evaluate(
                "(() => { const e = document.activeElement;"
                " return e.className || e.textContent || e.type; })()"
            )
        )
    assert order[0] == "search"
    places = [order.index(name) for name in ("Fit", "Keys", "overlay", "fold rank")]
    assert places == sorted(places)
    assert "The visible window as a table" in order


def test_canvas_has_a_label_and_a_table_with_the_same_content(open_report: Open) -> None:
    report = open_report()
    assert report.canvas().get_attribute("role") == "application"
    assert "table" in (report.canvas().get_attribute("aria-label") or "")
    report.timeline("t.zoomTo(1e8, 1.2e8)")
    report.page.get_by_text("The visible window as a table").click()
    rows = report.page.locator("table.data-table tbody tr")
    rows.first.wait_for()
    cells = rows.first.locator("td").all_inner_texts()
    assert len(cells) == 6
    # Spans are sorted by length; in every window of 20 ms some span fills the whole window.
    assert cells[5] == "100.0 %"
    assert "100.0 ms" in report.page.locator("table.data-table caption").inner_text()


def test_help_lists_the_keys(open_report: Open) -> None:
    report = open_report()
    report.canvas().focus()
    report.press("?")
    assert "zoom in" in report.page.locator("dialog.help").inner_text()
    report.page.keyboard.press("Escape")
    assert not report.page.locator("dialog.help").is_visible()


def test_theme_follows_the_system_and_the_switch(open_report: Open) -> None:
    report = open_report(color_scheme="dark")
    surface = "getComputedStyle(document.body).backgroundColor"
    dark = report.page.evaluate(surface)
    report.page.locator("#theme").click()
    report.settle()
    assert report.page.evaluate(surface) != dark
    assert open_report(color_scheme="light").page.evaluate(surface) == report.page.evaluate(surface)


def test_small_recordings_are_shown_completely(
    open_report: Open, weft: Weft, job: Callable[..., Path], tmp_path: Path
) -> None:
    page = tmp_path / "small.html"
    assert weft("report", job(ranks=2), "-o", page).returncode == 0
    report = open_report(page)
    assert report.timeline("m.recordedSpans") == 2 * 3 * 6
    assert report.timeline("m.steps.map((step) => step.number)") == [5, 6, 7]


def test_names_from_traces_stay_text(open_report: Open, weft: Weft, job: Callable[..., Path]) -> None:
    folder = job(ranks=1)
    file = folder / "rank0.json.gz"
    text = gzip.decompress(file.read_bytes()).decode()
    hostile = "</script><img src=http://127.0.0.1:9/x onerror=alert(1)>"
    file.write_bytes(gzip.compress(text.replace("aten::mm", hostile).encode()))
    page = folder / "page.html"
    assert weft("report", file, "-o", page).returncode == 0
    report = open_report(page)
    span = report.timeline(f"m.spans.label.findIndex((l) => m.names[l] === {json.dumps(hostile)})")
    report.timeline(f"t.select({span})")
    assert hostile in report.details()
    assert report.page.locator("img").count() == 0


def test_missing_output_file_is_refused(weft: Weft) -> None:
    done = weft("report", EXAMPLE)
    assert done.returncode == 2
    assert "-o FILE is missing" in done.stderr


def long_trace(spans: int) -> str:
    """One rank whose host makes many short calls between two kernels."""
    head = trace_text(0, 1, steps=2)
    call = '{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1000,"tid":7000,"ts":%d,"dur":1},'
    calls = "".join([call % (1_000_000 + 2 * i) for i in range(spans)])
    return head.replace('"traceEvents": [', '"traceEvents": [' + calls)


def test_beyond_300000_spans_short_neighbours_are_merged(
    open_report: Open, weft: Weft, tmp_path: Path
) -> None:
    file, page = tmp_path / "long.json", tmp_path / "long.html"
    file.write_text(long_trace(310_000))
    done = weft("report", file, "-o", page)
    assert done.returncode == 0, done.stderr
    report = open_report(page)
    drawn = report.timeline("m.spans.start.length")
    assert drawn < 300_000
    assert report.timeline("m.recordedSpans") == 310_012
    assert "of 310,012 spans" in report.page.locator(".timeline .thinned").inner_text()
    many = report.timeline("m.spans.count.findIndex((count) => count > 1)")
    report.timeline(f"t.select({many})")
    assert "Merged" in report.details()
    assert report.timeline("m.spans.count.reduce((a, b) => a + b)") == 310_012
    whole = weft("report", file, "-o", page, "--all-spans")
    assert whole.returncode == 0, whole.stderr
    assert open_report(page).timeline("m.spans.start.length") == 310_012


def test_critical_path_is_shown_across_ranks(open_report: Open) -> None:
    report = open_report()
    assert report.timeline("m.path.start.length") > 100
    button = report.page.get_by_role("button", name="Critical path")
    plain = report.canvas().screenshot()
    button.click()
    report.settle()
    assert report.timeline("t.isPathShown()")
    assert button.get_attribute("aria-pressed") == "true"
    assert report.canvas().screenshot() != plain
    on_path = report.timeline("m.path.spans[10]")
    report.timeline(f"t.select({on_path})")
    assert "Critical path\non the path, as" in report.details()
    report.page.wait_for_timeout(300)
    again = open_report(fragment=report.page.evaluate("location.hash"))
    assert again.timeline("t.isPathShown()")
    again.canvas().focus()
    again.press("p")
    assert not again.timeline("t.isPathShown()")


def test_critical_path_goes_forward_on_existing_lanes(open_report: Open) -> None:
    report = open_report()
    assert report.timeline(
        "m.path.start.every((start, i) => start <= m.path.end[i]"
        " && (i === 0 || start >= m.path.end[i - 1]))"
    )
    assert report.timeline("m.path.lane.every((lane) => lane >= -1 && lane < m.lanes.length)")
    assert report.timeline("m.path.spans.length") > 50


def test_overview_strip_moves_the_view(open_report: Open) -> None:
    report = open_report()
    length = report.timeline("m.length")
    report.timeline("t.zoomTo(0, 1e7)")
    strip = report.page.locator("canvas.minimap")
    box = strip.bounding_box()
    assert box
    strip.click(position={"x": box["width"] / 2, "y": 10})
    report.settle()
    view = report.timeline("t.view()")
    assert (view["start"] + view["end"]) / 2 == pytest.approx(length / 2, rel=0.02)
    assert view["end"] - view["start"] == pytest.approx(1e7)


def cpu_trace() -> str:
    """A job on a CPU. Each optimizer range begins in a step and ends in the next one."""
    events = []
    for step in range(4):
        at = 1_000_000 + 10_000 * step
        for cat, name, ts, dur in (
            ("user_annotation", f"ProfilerStep#{step + 5}", at, 9_900),
            ("cpu_op", "aten::linear", at + 1_000, 6_000),
            ("cpu_op", "aten::addmm", at + 1_500, 5_000),
            ("user_annotation", "Optimizer.step#SGD.step", at + 9_000, 2_000),
        ):
            events.append({"ph": "X", "cat": cat, "name": name, "pid": 1000, "tid": 1000,
                           "ts": ts, "dur": dur, "args": {}})  # fmt: skip
    return json.dumps(
        {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}
    )


def test_steps_of_a_cpu_job_share_a_row_and_fill_the_overview(
    open_report: Open, weft: Weft, tmp_path: Path
) -> None:
    file, page = tmp_path / "cpu.json", tmp_path / "cpu.html"
    file.write_text(cpu_trace())
    done = weft("report", file, "-o", page)
    assert done.returncode == 0, done.stderr
    report = open_report(page)
    # The marks; below them the ranges and the outer ops; below these the inner ops.
    assert report.timeline("m.rows.map((row) => row.last - row.first)") == [4, 8, 4]
    columns = report.page.evaluate(
        "(() => { const strip = document.querySelector('canvas.minimap');"
        " const { width, height } = strip;"
        " const data = strip.getContext('2d').getImageData(0, 0, width, height).data;"
        " const bottom = (height - 3) * width;"
        " return new Set(Array.from({ length: width },"
        " (_, x) => [...data.slice(4 * (bottom + x), 4 * (bottom + x) + 4)].join())).size; })()"
    )
    assert columns > 2, "the strip has bars, and gaps between them"
