#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the screenshots for docs/guide with Chromium, and writes them into docs/guide/pictures.
They show the report of the example, and the page of the example's link table.

Usage: tools/pictures.py build/weft
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "resnet50-w4"
PICTURES = ROOT / "docs" / "guide" / "pictures"
LARGEST = 200_000  # bytes per picture, to keep the repository small


def take(page: Page, selector: str, name: str) -> None:
    target = PICTURES / f"{name}.png"
    page.locator(selector).first.screenshot(path=target)
    size = target.stat().st_size
    print(f"{target.relative_to(ROOT)}: {size // 1000} kB")
    if size > LARGEST:
        sys.exit(f"{name} is larger than {LARGEST // 1000} kB: choose a smaller part of the page")


def main(weft: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder) / "report.html"
        links = EXAMPLE / "allreduce-w4.json"
        words = [weft, "report", str(EXAMPLE.relative_to(ROOT)), "--links", str(links)]
        subprocess.run([*words, "-o", str(report)], check=True, cwd=ROOT, stdout=subprocess.PIPE)
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        for theme in ("light", "dark"):
            page = chromium.new_page(viewport={"width": 1120, "height": 760}, color_scheme=theme)
            page.goto(report.as_uri())
            page.wait_for_function("window.weft !== undefined")
            page.wait_for_timeout(500)  # wait for fonts and for the first frame of the canvas
            # Smooth scrolling would blur screenshots of elements further down.
            page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
            if theme == "light":
                page.screenshot(path=PICTURES / "verdict.png")
                take(page, "#breakdown", "breakdown")
                take(page, "#stragglers", "late-ranks")
                page.locator(".finding .jump").first.click()
                page.wait_for_timeout(500)
                take(page, "#timeline", "timeline")
            else:
                take(page, "#what-if", "what-if-dark")
            page.close()
        curves = Path(folder) / "links.html"
        table = str(links.relative_to(ROOT))
        subprocess.run(
            [weft, "report", table, "-o", str(curves)], check=True, cwd=ROOT, stdout=subprocess.PIPE
        )
        page = chromium.new_page(viewport={"width": 1120, "height": 760}, color_scheme="light")
        page.goto(curves.as_uri())
        page.wait_for_timeout(500)
        take(page, "#time", "link-curves")
        chromium.close()


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
