# SPDX-License-Identifier: Apache-2.0
"""The layer check must be able to fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_layers.py"), str(root)],
        capture_output=True,
        text=True,
    )


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.mark.parametrize(
    ("file", "line", "problem"),
    [
        ("weft/base/a.h", '#include "weft/trace/events.h"', "base must not know trace"),
        ("weft/trace/a.cc", '#include "weft/sim/replay.h"', "trace must not know sim"),
        ("weft/reshard/a.cc", '#include "weft/share/x.h"', "reshard must not know share"),
        ("weft/plan/a.cc", '#include "weft/report/x.h"', "plan must not know report"),
        ("weft/report/a.cc", '#include "cli/shell/terminal.h"', "report must not know cli"),
        ("testbed/a.cc", '#include "weft/trace/events.h"', "testbed must not know trace"),
        ("weft/graph/a.cc", '#include "testbed/cluster.h"', "graph must not know testbed"),
        ("weft/graph/a.h", "#include <fmt/format.h>", "third-party headers"),
        ("cli/a.h", "#include <CLI/CLI.hpp>", "third-party headers"),
        ("weft/graph/a.cc", '#include "graph.h"', "from the repository root"),
        ("weft/cellar/a.cc", "", "no known room"),
    ],
)
def test_finds(tmp_path: Path, file: str, line: str, problem: str) -> None:
    write(tmp_path, file, f"// a comment\n{line}\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert problem in done.stderr
    assert file in done.stderr


def test_lets_the_right_direction_pass(tmp_path: Path) -> None:
    write(tmp_path, "weft/base/result.h", "#include <tl/expected.hpp>\n#include <string>\n")
    write(tmp_path, "weft/sim/a.cc", '#include "weft/graph/graph.h"\n#include <fmt/format.h>\n')
    write(tmp_path, "cli/a.cc", '#include "cli/b.h"\n#include "weft/sim/a.h"\n')
    done = check(tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_tree_without_sources_is_no_success(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 1
