# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.conftest import EXAMPLE, Weft
from tests.report.browser import Report, browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def example_page(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the example, written by `weft report`."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    done = weft("report", EXAMPLE, "-o", path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return path


@pytest.fixture
def open_report(chromium: Browser, example_page: Path) -> Iterator[Callable[..., Report]]:
    """open_report(): opens the report of the example. A message on the console fails the test."""
    reports: list[Report] = []

    def opened(path: Path = example_page, fragment: str = "", **options: Any) -> Report:
        reports.append(Report(chromium, path, fragment, **options))
        return reports[-1]

    yield opened
    for report in reports:
        report.close()
        report.check()
