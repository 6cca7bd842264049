# SPDX-License-Identifier: Apache-2.0
"""tools/skipped.py lists every skipped test with the reason."""

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


def skipped(*reports: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "skipped.py"), *map(str, reports)],
        capture_output=True,
        text=True,
    )


def test_names_tests_and_reasons(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(CTEST)
    (tmp_path / "b.xml").write_text(PYTEST)
    done = skipped(tmp_path / "a.xml", tmp_path / "b.xml")
    assert done.returncode == 0, done.stderr
    assert "1 passed, 2 skipped" in done.stdout
    assert "B.NeedsData\n      why: the shared recordings are not here" in done.stdout
    assert "test_gpu\n      why: no GPU" in done.stdout


def test_a_report_without_tests_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<testsuite/>")
    assert skipped(tmp_path / "a.xml").returncode == 1
