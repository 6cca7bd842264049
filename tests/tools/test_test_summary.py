# SPDX-License-Identifier: Apache-2.0
"""The summary of `make test`: counts, times, and the reasons of skipped tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

CTEST = """<testsuite tests="2"><testcase name="A.Runs" status="run"/>
<testcase name="B.NeedsData" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] B.NeedsData
/src/b_test.cc:12: Skipped
the shared recordings are not here

[  SKIPPED ] B.NeedsData (0 ms)
</system-out></testcase></testsuite>"""
PYTEST = """<testsuites><testsuite><testcase name="test_gpu"><skipped type="pytest.skip"
message="no GPU">x.py:3: no GPU</skipped></testcase></testsuite></testsuites>"""


def summary(folder: Path, ctest: str, pytest: str) -> subprocess.CompletedProcess[str]:
    (folder / "ctest.xml").write_text(ctest)
    (folder / "pytest.xml").write_text(pytest)
    (folder / "times.tsv").write_text("61\tbuild\n5\tfuzzing\n60\tbuild\n")
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "test_summary.py"), str(folder)],
        capture_output=True,
        text=True,
    )


def test_counts_times_and_reasons(tmp_path: Path) -> None:
    done = summary(tmp_path, CTEST, PYTEST)
    assert done.returncode == 0, done.stderr
    page = done.stdout
    assert "C++: 1 passed, 0 failed, 1 skipped\n" in page
    assert "Python: 0 passed, 0 failed, 1 skipped\n" in page
    assert "    2:01  build\n    0:05  fuzzing\n    2:06  in all\n" in page
    assert "skipped: the shared recordings are not here\n  B.NeedsData\n" in page
    assert "skipped: no GPU\n  test_gpu\n" in page
    assert page.endswith("\ntests: 1 passed, 0 failed, 2 skipped\n")


def test_a_failed_test_is_counted_and_fails(tmp_path: Path) -> None:
    failing = '<testsuite><testcase name="t" time="0.5"><failure message="no"/></testcase></testsuite>'
    done = summary(tmp_path, CTEST, failing)
    assert done.returncode == 1
    assert "tests: 1 passed, 1 failed, 1 skipped" in done.stdout


def test_a_report_without_tests_is_no_success(tmp_path: Path) -> None:
    done = summary(tmp_path, CTEST, "<testsuite/>")
    assert done.returncode == 1
    assert "pytest.xml holds no test" in done.stderr
