# SPDX-License-Identifier: Apache-2.0
"""Tests the page that `weft report links.json` makes: curves of measured link tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.conftest import EXAMPLE, Weft
from tests.report.browser import OpenPage

HOSTILE = "</script><script>alert(1)</script>"


def rows(latency: float, per_kib: float, sizes: int = 6) -> list[dict[str, Any]]:
    made = []
    for power in range(10, 10 + sizes):
        time = latency + per_kib * 2 ** (power - 10)
        made.append({"bytes": 2**power, "median_us": time, "min_us": time * 0.9, "spread_us": 1,
                     "back_to_back_us": time * 0.8, "calls": 9})  # fmt: skip
    return made


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reduced = rows(100, 2)
    for row in reduced:
        row["two_at_once_us"] = row["median_us"] / 2
    hosts = ["a", "a", HOSTILE]
    messages = rows(30, 1)
    messages[-1]["median_us"] = messages[-1]["back_to_back_us"] = 200  # the buffers are full
    links = [
        {"collective": "all_reduce", "ranks": 3, "network": HOSTILE, "hosts": hosts, "rows": reduced},
        {"collective": "broadcast", "ranks": 3, "rows": rows(50, 1)},
        {"collective": "send_recv", "ranks": 2, "hosts": hosts, "rows": messages, "pairs": [
            {"from": 0, "to": 1, "same_host": True, "rows": rows(10, 0.1)},
            {"from": 0, "to": 2, "same_host": False, "rows": rows(30, 1)}]},
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("links") / "links.json"
    path.write_text(json.dumps(links))
    return path


@pytest.fixture
def page(weft: Weft, chromium: Browser, tables: Path) -> Iterator[OpenPage]:
    path = tables.with_name("links.html")
    done = weft("report", tables, "-o", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path}: ") and "link tables: 3" in done.stdout
    opened = OpenPage(chromium, path)
    opened.wait_until("document.querySelectorAll('svg').length === 2")
    yield opened
    opened.close()
    opened.check()


def curves(page: OpenPage, section: str) -> int:
    return page.page.locator(f"#{section} .curve").count()


def test_every_table_has_a_curve_per_way_of_calling(page: OpenPage) -> None:
    """Three tables have curves for single and back-to-back calls, one also for two at once."""
    for section in ("time", "bandwidth"):
        assert curves(page, section) == 7
        assert page.page.locator(f"#{section} .curve circle").count() == 7 * 6
        assert page.page.locator(f"#{section} svg").get_attribute("aria-label")
    titles = page.page.locator("#time .curve circle title").all_text_contents()
    assert "all_reduce, 3 ranks, alone: 1.0 kB, 102.0 us" in titles
    assert page.page.locator("h1").count() == 1
    assert page.page.locator("main > section").evaluate_all("(s) => s.map((e) => e.id)") == [
        "time", "bandwidth", "pairs", "use",
    ]  # fmt: skip


def test_curves_rise_to_the_right(page: OpenPage) -> None:
    points = page.page.locator("#time polyline").first.get_attribute("points")
    assert points
    places = [tuple(map(float, point.split(","))) for point in points.split()]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_curves_can_be_switched_off(page: OpenPage) -> None:
    page.page.get_by_label("broadcast, 3 ranks").uncheck()
    page.page.get_by_label("back to back").focus()
    page.page.keyboard.press("Space")
    page.wait_until("document.querySelectorAll('#time .curve').length === 3")
    assert curves(page, "bandwidth") == 3
    for box in page.page.get_by_role("checkbox").all():
        box.uncheck()
    assert page.page.get_by_text("No curve is selected.").count() == 2


def test_table_has_the_numbers_of_the_file(page: OpenPage, tables: Path) -> None:
    page.page.locator("#time summary").click()
    cells = page.page.locator("#time table").evaluate(
        "(t) => [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    stored = [(t, row) for t in json.loads(tables.read_text()) for row in t["rows"]]
    assert len(cells) == len(stored)
    for shown, (table, row) in zip(cells, stored):
        assert shown[:3] == [table["collective"], str(table["ranks"]), str(row["bytes"])]
        assert float(shown[3]) == pytest.approx(row["median_us"], abs=0.001)
        assert float(shown[6]) == pytest.approx(row["back_to_back_us"], abs=0.001)
        assert float(shown[9]) == pytest.approx(row["bytes"] / row["median_us"], abs=0.06)


def test_page_and_info_show_the_same_bandwidth(weft: Weft, page: OpenPage, tables: Path) -> None:
    """Both show the largest size, although the bandwidth of the last table is highest before it."""
    links = json.loads(weft("info", "--json", tables).stdout)["links"]

    def rate(shown: str) -> float:
        number, unit = shown.split()
        return float(number) * {"kB/s": 1e-3, "MB/s": 1, "GB/s": 1e3}[unit]

    figures = page.page.locator(".figure-value").all_text_contents()
    for shown, link in zip(figures, links, strict=True):
        assert rate(shown) == pytest.approx(link["mb_per_s"], rel=0.05)
    pairs = {(p["from"], p["to"]): p["mb_per_s"] for p in links[2]["pairs"]}
    assert pairs[0, 1] > pairs[0, 2]
    for line in page.page.locator("#pairs tbody tr").all():
        cells = line.locator("td").all_text_contents()
        ends = [int(end) for end in cells[0].split(" and ")]
        assert rate(cells[3]) == pytest.approx(pairs[ends[0], ends[1]], rel=0.05)


def test_slowest_pair_comes_first(page: OpenPage) -> None:
    lines = page.page.locator("#pairs tbody tr").all_text_contents()
    assert lines[0].startswith("0 and 2") and lines[1].startswith("0 and 1")


def test_markup_in_names_is_shown_as_text(page: OpenPage) -> None:
    assert HOSTILE in page.page.locator(".facts").first.inner_text()


def test_a_table_without_pairs_gives_a_page(weft: Weft, chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "links.html"
    done = weft("report", EXAMPLE / "allreduce-w4.json", "-o", path)
    assert done.returncode == 0, done.stderr
    assert path.stat().st_size < 100_000
    opened = OpenPage(chromium, path, color_scheme="dark")
    opened.wait_until("document.querySelectorAll('.curve').length === 4")
    assert opened.page.locator("#pairs").count() == 0, "the table has no pairs"
    opened.close()
    opened.check()


def test_what_ifs_are_refused_for_link_tables(weft: Weft, tmp_path: Path) -> None:
    table = EXAMPLE / "allreduce-w4.json"
    done = weft("report", table, "-o", tmp_path / "x.html", "--what-if", "comm=off")
    assert done.returncode == 2 and "--what-if" in done.stderr
