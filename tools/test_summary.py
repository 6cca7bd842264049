# SPDX-License-Identifier: Apache-2.0
"""Prints a summary of a run of `make test`: counts, times, and the skipped tests with reasons.

Usage: test_summary.py REPORTS
Reads ctest.xml, pytest.xml and times.tsv in the folder REPORTS. Fails if a report is missing or
contains no test, because a run that tested nothing must not look like a run that passed.
"""

import re
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

SUITES = {"ctest.xml": "C++", "pytest.xml": "Python"}
SLOWEST = 5


@dataclass
class Case:
    name: str
    seconds: float
    failed: bool
    skipped: str | None
    """The reason; None if the test ran."""


def reason(case: ET.Element, skipped: ET.Element) -> str:
    """Returns why a test was skipped. pytest writes the reason into the attribute `message`.
    GoogleTest prints it in the line after "FILE:LINE: Skipped"."""
    output = case.findtext("system-out") or ""
    lines = [line.strip() for line in output.splitlines()]
    for i, line in enumerate(lines):
        if re.match(r"^\S+:\d+: Skipped$", line) and i + 1 < len(lines) and lines[i + 1]:
            return lines[i + 1]
    message = skipped.get("message") or (skipped.text or "").strip()
    return message or "no reason given"


def read_cases(path: Path) -> list[Case]:
    cases = []
    for case in ET.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        cases.append(
            Case(
                name=case.get("name", "?"),
                seconds=float(case.get("time", 0)),
                failed=case.find("failure") is not None or case.find("error") is not None,
                skipped=None if skipped is None else reason(case, skipped),
            )
        )
    return cases


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def print_times(path: Path) -> None:
    """Prints the time of each step of the run. If a step ran more than once, adds up its times."""
    times: dict[str, float] = defaultdict(float)
    for line in path.read_text().splitlines():
        seconds, _, name = line.partition("\t")
        times[name] += float(seconds)
    print("time")
    for name, seconds in times.items():
        print(f"  {clock(seconds):>6}  {name}")
    print(f"  {clock(sum(times.values())):>6}  in all")


def print_slowest(cases: list[Case]) -> None:
    print("slowest")
    for case in sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]:
        print(f"  {case.seconds:5.1f} s  {case.name}")


def print_skipped(cases: list[Case]) -> None:
    skips: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        if case.skipped is not None:
            skips[case.skipped].append(case.name)
    for why, names in sorted(skips.items()):
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        print(f"skipped: {why}\n  {shown}")


def main() -> int:
    folder = Path(sys.argv[1])
    every: list[Case] = []
    for name, language in SUITES.items():
        path = folder / name
        cases = read_cases(path) if path.exists() else []
        if not cases:
            print(f"test_summary.py: {path} holds no test", file=sys.stderr)
            return 1
        every += cases
        print_counts(language, cases)
    print_times(folder / "times.tsv")
    print_slowest(every)
    print_skipped(every)
    print("not run: make check-deep (sanitizers, long fuzzing), make bench (speed figures)")
    print_counts("tests", every)
    return 1 if any(case.failed for case in every) else 0


def print_counts(title: str, cases: list[Case]) -> None:
    failed = sum(case.failed for case in cases)
    skipped = sum(case.skipped is not None for case in cases)
    passed = len(cases) - failed - skipped
    print(f"{title}: {passed} passed, {failed} failed, {skipped} skipped")


if __name__ == "__main__":
    sys.exit(main())
