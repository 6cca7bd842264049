# SPDX-License-Identifier: Apache-2.0
"""Opens pages of `weft report` in a real browser and collects console messages and requests."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"


@contextmanager
def browser() -> Iterator[Browser]:
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"{CHROMIUM} is not installed; run make setup")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class OpenPage:
    """An open page. Requests to anything but the page itself are blocked."""

    def __init__(self, chromium: Browser, path: Path, fragment: str = "", **options: Any) -> None:
        self.path = path
        self.complaints: list[str] = []
        self.requests: list[str] = []
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        own = f"file://{path}"
        context.route(
            "**/*",
            lambda route: route.continue_() if route.request.url.startswith(own) else route.abort(),
        )
        self.page.goto(own + fragment)

    def wait_until(self, condition: str) -> None:
        """Polls a JavaScript condition. The page's security policy forbids wait_for_function()."""
        deadline = time.monotonic() + 20
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, condition
            time.sleep(0.02)

    def close(self) -> None:
        self.page.context.close()

    def check(self) -> None:
        """Fails if the page printed to the console or requested anything except itself."""
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith("file://")] == []
        assert len(self.requests) == 1, "the page requests only itself"


class Report(OpenPage):
    """The open report of a job, with access to its timeline."""

    def __init__(self, chromium: Browser, path: Path, fragment: str = "", **options: Any) -> None:
        super().__init__(chromium, path, fragment, **options)
        self.wait_until("window.weft !== undefined")
        self.settle()

    def settle(self) -> None:
        """Waits until the canvas shows the current view."""
        self.page.evaluate(
            "weft.timeline.drawn.then(() => new Promise((done) =>"
            " requestAnimationFrame(() => requestAnimationFrame(done))))"
        )

    def timeline(self, expression: str) -> Any:
        """The value of a JavaScript expression in which `t` is the timeline and `m` its model."""
        names = "const t = weft.timeline, m = t.model"
        found = self.page.evaluate(f"(() => {{ {names}; return {expression}; }})()")
        self.settle()
        return found

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.settle()

    def canvas(self) -> Any:
        """The canvas of the timeline, scrolled to where the pointer can reach it."""
        self.page.locator(".timeline").evaluate("(e) => e.scrollIntoView({ behavior: 'instant' })")
        return self.page.locator("canvas.overlay")

    def view_size(self) -> float:
        view = self.timeline("t.view()")
        return float(view["end"] - view["start"])

    def details(self) -> str:
        return self.page.locator(".timeline .details").inner_text()
