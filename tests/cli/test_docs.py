# SPDX-License-Identifier: Apache-2.0
"""Checks that console sessions in the documents show exactly what the command prints.

WEFT_UPDATE_DOCS=1 copies the current output into the documents instead of comparing.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, ROOT, Weft, weft_command

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SESSION = re.compile(r"^```\n\$ weft (?P<words>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)
CASES = [
    (page, match["words"], match["output"])
    for page in PAGES
    for match in SESSION.finditer(page.read_text())
]
# Commands that the documents show without output, on recordings of the repository.
PLAIN = re.compile(r"^    (?:build/)?weft (?P<words>\w+ examples/[^#\n]*)", re.MULTILINE)
PLAIN_CASES = [
    (page, match["words"]) for page in PAGES for match in PLAIN.finditer(page.read_text())
]


def test_the_readme_shows_a_session() -> None:
    assert any(page.name == "README.md" for page, _, _ in CASES)


@pytest.mark.parametrize(("page", "words", "output"), CASES)
def test_sessions_show_the_real_output(
    weft: Weft, monkeypatch: pytest.MonkeyPatch, page: Path, words: str, output: str
) -> None:
    monkeypatch.chdir(ROOT)
    done = weft(*shlex.split(words), COLUMNS="100")
    if os.environ.get("WEFT_UPDATE_DOCS") == "1":
        session = f"$ weft {words}\n"
        page.write_text(page.read_text().replace(session + output, session + done.stdout))
        return
    assert done.stdout == output, f"{page.name} shows other output; run the tests with WEFT_UPDATE_DOCS=1"


@pytest.mark.parametrize(("page", "words"), PLAIN_CASES)
def test_commands_run(
    weft: Weft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: Path, words: str
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    done = weft(*shlex.split(words))
    assert done.returncode == 0, f"{page.name}: {words}: {done.stderr}"


def test_readme_shows_the_errors_of_the_demo() -> None:
    words = [sys.executable, str(ROOT / "tools/demo.py"), weft_command(), str(EXAMPLE)]
    printed = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    row = r"^(\S+|as recorded) +([\d.]+) +([\d.]+) +([+-][\d.]+)%$"
    rows = re.findall(row, printed, re.MULTILINE)
    assert len(rows) == 6
    lines = [
        f"| {name if ' ' in name else f'`{name}`'} | {predicted} | {measured} | {error} % |\n"
        for name, predicted, measured, error in rows
    ]
    page = ROOT / "README.md"
    if os.environ.get("WEFT_UPDATE_DOCS") == "1":
        head, rule, rest = page.read_text().partition("| --- | --- | --- | --- |\n")
        rest = re.sub(r"^(\|.*\n)+", "".join(lines), rest, count=1)
        page.write_text(head + rule + rest)
    assert "".join(lines) in page.read_text()


@pytest.mark.parametrize("page", PAGES)
def test_links_have_existing_targets(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
