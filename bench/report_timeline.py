#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the timeline of a report with a million spans, in headless Chromium without a GPU.

Usage: report_timeline.py WEFT [--spans 1000000] [--runs 3] [--page FILE]
Prints the best and the median of the runs: the time from the start of navigation to the first frame
with data, and the frames per second while it zooms and moves through the whole recording. Bars for
the best run: 1.5 s and 30 frames per second.
Exit status: 0 the bars are met, 1 a bar is missed, 4 Chromium is not installed.

The recording consists of copies of the example, each later than the one before. Every copy gets new
numbers for steps, launches and collectives, so that Weft reads one long recording.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "resnet50-w4"
CHROMIUM = "/usr/bin/chromium"
MOST_SECONDS = 1.5
LEAST_FRAMES = 30.0
# Numbers that identify an event must differ between copies; the value is added per copy.
NUMBERS = {"correlation": 1_000_000, "External id": 1_000_000, "Seq": 1_000, "Sequence number": 1_000_000}
STEP = re.compile(r"ProfilerStep#(\d+)")

# First half: zooms in and out around points that are spread over the recording. Second half: moves
# along the recording at four zoom levels.
DRIVE = """
async (seconds) => {
  const t = weft.timeline, length = t.model.length;
  const intervals = [];
  let last = 0;
  const begin = performance.now();
  await new Promise((done) => {
    const frame = (now) => {
      if (last > 0) intervals.push(now - last);
      last = now;
      const share = (performance.now() - begin) / (1000 * seconds);
      if (share >= 1) return done();
      const phase = (share * 8) % 1;
      const isZoom = share < 0.5;
      const width = isZoom ? length * 10 ** (-4 * Math.abs(1 - 2 * phase))
                           : length * [0.5, 0.1, 0.01, 0.001][Math.floor((share - 0.5) * 8)];
      const at = isZoom ? share * 2 * length : phase * (length - width);
      t.zoomTo(at - (isZoom ? width / 2 : 0), at + (isZoom ? width / 2 : width));
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  return intervals;
}
"""


def shifted(event: dict[str, Any], copy: int, period: float, steps: int) -> dict[str, Any]:
    event = dict(event)
    event["ts"] = round(event["ts"] + copy * period, 3)
    event["name"] = STEP.sub(lambda m: f"ProfilerStep#{int(m[1]) + copy * steps}", event["name"])
    arguments = event.get("args")
    if arguments and not NUMBERS.keys().isdisjoint(arguments):
        event["args"] = {
            key: value + copy * NUMBERS[key] if key in NUMBERS and isinstance(value, int) else value
            for key, value in arguments.items()
        }
    return event


def make_recording(folder: Path, spans: int) -> None:
    files = sorted(EXAMPLE.glob("*-r*.json.gz"))
    traces = [json.loads(gzip.decompress(file.read_bytes())) for file in files]
    complete = [[e for e in trace["traceEvents"] if e.get("ph") == "X"] for trace in traces]
    copies = -(-spans // sum(map(len, complete)))
    # All ranks are shifted by the same time; otherwise collectives would no longer match.
    period = max(max(e["ts"] + e["dur"] for e in c) - min(e["ts"] for e in c) for c in complete)
    steps = len({e["name"] for e in complete[0] if STEP.match(e["name"])})
    for file, trace, events in zip(files, traces, complete):
        others = [e for e in trace["traceEvents"] if e.get("ph") == "M"]
        copied = [shifted(e, k, period + 1000, steps) for k in range(copies) for e in events]
        trace["traceEvents"] = others + copied
        (folder / file.name).write_bytes(gzip.compress(json.dumps(trace).encode(), 1))


def measure(page_path: Path, seconds: float) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(f"file://{page_path}")
        drawn = "performance.getEntriesByName('weft-drawn').map((mark) => mark.startTime)"
        while not (marks := page.evaluate(drawn)):
            page.wait_for_timeout(20)
        page.evaluate("document.querySelectorAll('.toolbar button').forEach((b) =>"
                      " b.textContent === 'Open all' && b.click())")
        intervals = page.evaluate(DRIVE, seconds)
        spans = page.evaluate("weft.timeline.model.spans.start.length")
        chromium.close()
    return {
        "spans": spans,
        "first": marks[0] / 1000,
        "frames": 1000 * len(intervals) / sum(intervals),
        "slow": sorted(intervals)[int(0.95 * len(intervals))],
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("weft", type=Path)
    parser.add_argument("--spans", type=int, default=1_000_000, help="default: 1000000")
    parser.add_argument("--runs", type=int, default=3, help="default: 3")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a run (default: 8)")
    parser.add_argument("--page", type=Path, help="where to keep the page; reused if it exists")
    options = parser.parse_args()
    if not os.access(CHROMIUM, os.X_OK):
        print(f"skipped: {CHROMIUM} is not installed")
        return 4
    with tempfile.TemporaryDirectory() as scratch:
        page = (options.page or Path(scratch) / "page.html").resolve()
        if not page.exists():
            make_recording(Path(scratch), options.spans)
            command = [options.weft, "report", scratch, "-o", page, "--all-spans"]
            print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
        runs = [measure(page, options.seconds) for _ in range(options.runs)]
    first = [run["first"] for run in runs]
    frames = [run["frames"] for run in runs]
    slow = [run["slow"] for run in runs]
    print(f"spans          {runs[0]['spans']:,.0f}; {options.runs} runs: best, median")
    print(f"first frame    {min(first):.2f} s, {statistics.median(first):.2f} s (bar {MOST_SECONDS})")
    print(f"zoom and move  {max(frames):.0f}, {statistics.median(frames):.0f} frames/s (bar {LEAST_FRAMES:.0f})")
    print(f"slow frames    {min(slow):.0f}, {statistics.median(slow):.0f} ms (95 % are faster)")
    return 0 if min(first) <= MOST_SECONDS and max(frames) >= LEAST_FRAMES else 1


if __name__ == "__main__":
    sys.exit(main())
