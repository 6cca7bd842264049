#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test files of PyTorch twice: as they are, and with weft.torch.use_for_dtensor().

    python tools/dtensor_tests.py pytorch/test/distributed/tensor/test_redistribute.py

Use the Python in which PyTorch and Weft are installed, and test files of the same version of
PyTorch. Prints the tests that pass without Weft but not with it; the exit code is 1 if there are
any. Tests that count collectives (CommDebugMode) or look at the operators that ran are listed
apart, because they must differ: Weft moves data without torch's collectives.

docs/guide/redistribution-torch.md says what else differs.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Every process of a test runs this first, also those that the test spawns.
HOOK = """
import os
if os.environ.get("WEFT_FOR_DTENSOR"):
    import weft.torch
    weft.torch.use_for_dtensor()
"""
LINE = re.compile(r"^(test\w*) \(([\w.]+)\)(?:.*?\.\.\. |\n)?", re.MULTILINE)
WATCHES = ("CommDebugMode", "DebugMode", "LoggingTensorMode", "run_and_get_code", "assert_called")


def outcomes(file: Path, words: list[str], weft: bool) -> dict[str, str]:
    """The outcome of each test ("ok", "FAIL", "ERROR", "skipped") by its name."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text(HOOK)
        path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "WEFT_FOR_DTENSOR": "1" if weft else ""}
        done = subprocess.run(
            [sys.executable, file, "-v", *words], capture_output=True, text=True, env=environment
        )
    found: dict[str, str] = {}
    # The outcome of a test may come after lines that the test has printed.
    begins = list(LINE.finditer(done.stderr))
    for begin, after in zip(begins, [*begins[1:], None]):
        text = done.stderr[begin.end() : after.start() if after else len(done.stderr)]
        outcome = re.search(r"(?:^|\.\.\. |\s)(ok|FAIL|ERROR|skipped|expected failure)\b", text)
        name = f"{begin[2].split('.')[1] if '.' in begin[2] else begin[2]}.{begin[1]}"
        found.setdefault(name, outcome[1] if outcome else "unfinished")
    if not found:
        sys.exit(f"{file}: no test ran:\n{done.stderr[-2000:]}")
    return found


def watching(file: Path) -> set[str]:
    """Names of the test functions that count collectives or look at operators."""
    text = file.read_text()
    functions = (
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
    )
    return {
        each.name
        for each in functions
        if any(word in (ast.get_source_segment(text, each) or "") for word in WATCHES)
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help="test files of PyTorch")
    parser.add_argument("-k", metavar="PATTERN", help="only tests whose name matches")
    arguments = parser.parse_args()
    words = ["-k", arguments.k] if arguments.k else []
    worse = 0
    for file in arguments.files:
        before, after = (outcomes(file, words, weft) for weft in (False, True))
        passed = [name for name, outcome in before.items() if outcome == "ok"]
        lost = [name for name in passed if after.get(name) != "ok"]
        watch = watching(file)
        counts = [name for name in lost if name.split(".")[1] in watch]
        rest = [name for name in lost if name not in counts]
        print(
            f"{file.name}: {len(before)} tests, {len(passed)} pass without Weft, "
            f"{len(passed) - len(lost)} of these with Weft"
        )
        for name in counts:
            print(f"  counts collectives or looks at operators: {name}")
        for name in rest:
            print(f"  {after.get(name, 'did not run')}: {name}")
        worse += len(rest)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
