# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers.py finds every kind of wrong include, and accepts correct ones."""

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
        ("weft/base/a.h", '#include "weft/trace/events.h"', "base must not include trace"),
        ("weft/trace/a.cc", '#include "weft/sim/replay.h"', "trace must not include sim"),
        ("weft/reshard/a.cc", '#include "weft/share/x.h"', "reshard must not include share"),
        ("weft/plan/a.cc", '#include "weft/report/x.h"', "plan must not include report"),
        ("weft/report/a.cc", '#include "cli/shell/terminal.h"', "report must not include cli"),
        ("testbed/a.cc", '#include "weft/trace/events.h"', "testbed must not include trace"),
        ("weft/graph/a.cc", '#include "testbed/cluster.h"', "graph must not include testbed"),
        ("weft/graph/a.h", "#include <fmt/format.h>", "third-party headers"),
        ("cli/a.h", "#include <CLI/CLI.hpp>", "third-party headers"),
        ("weft/graph/a.cc", '#include "graph.h"', "from the repository root"),
        ("weft/cellar/a.cc", "", "unknown room"),
    ],
)
def test_finds(tmp_path: Path, file: str, line: str, problem: str) -> None:
    write(tmp_path, file, f"// a comment\n{line}\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert problem in done.stderr
    assert file in done.stderr


def test_accepts_includes_in_the_right_direction(tmp_path: Path) -> None:
    write(tmp_path, "weft/base/result.h", "#include <tl/expected.hpp>\n#include <string>\n")
    write(tmp_path, "weft/sim/a.cc", '#include "weft/graph/graph.h"\n#include <fmt/format.h>\n')
    write(tmp_path, "cli/a.cc", '#include "cli/b.h"\n#include "weft/sim/a.h"\n')
    done = check(tmp_path)
    assert done.returncode == 0, done.stderr


def test_fails_without_sources(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 1
