# SPDX-License-Identifier: Apache-2.0
"""Tells, at the end of a test run, what was skipped and why.

Usage: skipped.py JUNIT_XML...
Reads the reports of ctest and pytest. Fails if a report is missing or holds no test, because a run
that tested nothing must not look like one that passed.
"""

import re
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict


def reason(case: ET.Element, skipped: ET.Element) -> str:
    """pytest puts the reason into the message; GoogleTest prints it before its [  SKIPPED ] line."""
    output = case.findtext("system-out") or ""
    lines = [line.strip() for line in output.splitlines()]
    for i, line in enumerate(lines):
        if re.match(r"^\S+:\d+: Skipped$", line) and i + 1 < len(lines) and lines[i + 1]:
            return lines[i + 1]
    message = skipped.get("message") or (skipped.text or "").strip()
    return message or "no reason given"


def main() -> int:
    passed = 0
    skips: dict[str, list[str]] = defaultdict(list)
    for path in sys.argv[1:]:
        cases = list(ET.parse(path).getroot().iter("testcase"))
        if not cases:
            print(f"skipped.py: {path} holds no test", file=sys.stderr)
            return 1
        for case in cases:
            skipped = case.find("skipped")
            if skipped is None:
                passed += 1
            else:
                skips[reason(case, skipped)].append(case.get("name", "?"))
    total = sum(len(names) for names in skips.values())
    print(f"tests: {passed} passed, {total} skipped")
    for why, names in sorted(skips.items()):
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        print(f"  skipped: {shown}\n      why: {why}")
    print(
        "  left to make check-deep and make bench: sanitizer builds, long fuzzing, files of many"
        " gigabytes, speed figures"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
