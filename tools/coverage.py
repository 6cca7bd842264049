# SPDX-License-Identifier: Apache-2.0
"""Prints the share of lines that the tests ran, for every room and for all rooms together.

Usage: coverage.py BUILD_DIR
BUILD_DIR is a build with the preset "coverage", whose programs count the lines that they run. The
lines of test files are not included.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def room_of(name: str) -> str:
    parts = Path(name).parts
    return "/".join(parts[:2]) if parts[0] == "weft" else parts[0]


def main() -> int:
    words = [
        sys.executable, "-m", "gcovr", "--root", str(ROOT), "--object-directory", sys.argv[1],
        "--exclude", r".*_test\.cc", "--exclude", r".*_fuzz\.cc", "--exclude", "bench/", "--exclude",
        "build", "--gcov-ignore-parse-errors=all", "--json", "-",
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return 1
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in json.loads(done.stdout)["files"]:
        for line in file["lines"]:
            for name in (room_of(file["file"]), "all"):
                lines[name][0] += line["count"] > 0
                lines[name][1] += 1
    everything = lines.pop("all")
    for name, (ran, total) in [*sorted(lines.items()), ("all", tuple(everything))]:
        print(f"{name:<16} {100 * ran / total:5.1f} %  of {total:6d} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
