# SPDX-License-Identifier: Apache-2.0
"""What the documents show is what the command prints.

WEFT_UPDATE_DOCS=1 copies what it prints into the documents instead.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT, Weft

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SESSION = re.compile(r"^```\n\$ build/weft (?P<words>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)
CASES = [
    (page, match["words"], match["output"])
    for page in PAGES
    for match in SESSION.finditer(page.read_text())
]


def test_the_readme_shows_a_session() -> None:
    assert any(page.name == "README.md" for page, _, _ in CASES)


@pytest.mark.parametrize(("page", "words", "output"), CASES)
def test_sessions_are_real(
    weft: Weft, monkeypatch: pytest.MonkeyPatch, page: Path, words: str, output: str
) -> None:
    monkeypatch.chdir(ROOT)
    done = weft(*shlex.split(words), COLUMNS="100")
    if os.environ.get("WEFT_UPDATE_DOCS") == "1":
        session = f"$ build/weft {words}\n"
        page.write_text(page.read_text().replace(session + output, session + done.stdout))
        return
    assert done.stdout == output, f"{page.name} shows something else; copy the new output"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
