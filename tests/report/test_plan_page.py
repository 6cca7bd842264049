# SPDX-License-Identifier: Apache-2.0
"""The page that `weft report plan.json` makes, and the schedule in the report of a recorded pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.conftest import ROOT, Weft
from tests.report.browser import OpenPage, Report

EXAMPLES = ROOT / "examples" / "pipeline"
RECORDED = ROOT.parent / "shared" / "traces" / "h200-nccl"
HOSTILE = "</script><b>plan"


@pytest.fixture(scope="module")
def plans(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two plans for one model: Weft's and GPipe's. The name of the model contains markup."""
    folder = tmp_path_factory.mktemp("plans")
    profile = json.loads((EXAMPLES / "gpt8l.json").read_text())
    profile["name"] = HOSTILE
    (folder / "profile.json").write_text(json.dumps(profile))
    files = [folder / "ours.json", folder / "gpipe.json"]
    for file, planner in zip(files, ("weft", "gpipe"), strict=True):
        done = weft("pipeline", folder / "profile.json", "--cluster", "4 devices, 12.5GB/s",
                    "--microbatches", "8", "--planner", planner, "-o", file)  # fmt: skip
        assert done.returncode == 0, done.stderr
    return files


@pytest.fixture
def page(weft: Weft, chromium: Browser, plans: list[Path]) -> Iterator[OpenPage]:
    path = plans[0].with_name("plan.html")
    done = weft("report", *plans, "-o", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path}: ") and "plans: 2" in done.stdout
    opened = OpenPage(chromium, path)
    opened.wait_until("document.querySelectorAll('svg.gantt').length === 2")
    yield opened
    opened.close()
    opened.check()


def widths(page: OpenPage) -> list[float]:
    """The widths of the shaded bars, which show the length of the step."""
    return [
        float(width)
        for width in page.page.locator(".gantt-idle").evaluate_all(
            "(bars) => bars.map((bar) => bar.getAttribute('width'))"
        )
    ]


def test_two_schedules_have_the_same_scale(page: OpenPage, plans: list[Path]) -> None:
    ours, gpipe = (json.loads(plan.read_text()) for plan in plans)
    shown = widths(page)
    assert len(shown) == len(ours["orders"]) + len(gpipe["orders"])
    assert shown[0] / shown[-1] == pytest.approx(ours["step_ns"] / gpipe["step_ns"], rel=1e-3)
    titles = page.page.locator(".gantt-title").all_text_contents()
    assert "ours.json" in titles[0] and "idle" in titles[0] and "gpipe" in titles[1]


def test_every_op_is_in_the_table_of_the_chart(page: OpenPage, plans: list[Path]) -> None:
    page.page.locator("#schedule summary").first.click()
    cells = page.page.locator("#schedule table").first.evaluate(
        "(t) => [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    orders = json.loads(plans[0].read_text())["orders"]
    assert [row[1] for row in cells] == " ".join(orders).split()
    ends = [float(row[3]) for row in cells]
    assert max(ends) <= json.loads(plans[0].read_text())["step_ms"] + 0.001


def test_sections_are_in_order_and_names_are_text(page: OpenPage) -> None:
    assert page.page.locator("main > section").evaluate_all("(s) => s.map((e) => e.id)") == [
        "schedule", "stages", "use",
    ]  # fmt: skip
    assert HOSTILE in page.page.locator(".facts").first.inner_text()
    assert page.page.locator("#stages tbody tr").count() >= 4
    assert page.page.locator("svg.gantt").first.get_attribute("aria-label")


def test_invalid_plans_and_flags_are_refused(weft: Weft, plans: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    done = weft("report", plans[0], "-o", out, "--what-if", "comm=off")
    assert done.returncode == 2 and "--what-if" in done.stderr
    assert weft("report", *plans, plans[0], "-o", out).returncode == 2
    broken = tmp_path / "broken.json"
    broken.write_text(plans[0].read_text()[:-20])
    done = weft("report", broken, "-o", out)
    assert done.returncode == 3 and "broken.json" in done.stderr
    assert not out.exists()


@pytest.mark.skipif(not RECORDED.exists(), reason="the shared recordings are not beside this checkout")
def test_a_recorded_pipeline_shows_its_schedule(
    weft: Weft, chromium: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    done = weft("report", *sorted(RECORDED.glob("pp-gpt8l-w4-r?.json.gz")), "-o", path)
    assert done.returncode == 0, done.stderr
    report = Report(chromium, path)
    report.wait_until("document.querySelectorAll('#pipeline svg.gantt').length >= 1")
    names = report.page.locator("#pipeline .gantt-name").all_text_contents()
    assert names[:4] == ["rank 0", "rank 1", "rank 2", "rank 3"]
    title = report.page.locator("#pipeline .gantt-title").first.inner_text()
    assert "1f1b" in title and "8 micro-batches" in title
    report.close()
    report.check()


def test_other_jobs_have_no_pipeline_section(example_page: Path) -> None:
    assert '"schedules":[]' in example_page.read_text()
