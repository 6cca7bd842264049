# SPDX-License-Identifier: Apache-2.0
"""Man pages are complete and render without warnings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Weft, clean_environment

needs_man = pytest.mark.skipif(
    not shutil.which("man") or not shutil.which("groff"), reason="man is not installed"
)


def render(page: Path) -> str:
    done = subprocess.run(
        ["man", "--warnings", "-l", page], capture_output=True, text=True, timeout=60,
        env=clean_environment(MANWIDTH="90", LC_ALL="C.UTF-8", GROFF_NO_SGR="1",
                              PATH=os.environ["PATH"]),
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", f"{page.name}: {done.stderr}"
    return re.sub(".\b", "", done.stdout)


@pytest.fixture(scope="module")
def pages(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man") / "man1"
    done = weft("man", "-o", folder)
    assert done.returncode == 0 and done.stdout == done.stderr == ""
    return folder


def sub_verbs(weft: Weft, verb: str) -> list[str]:
    page = weft("help", verb).stdout.partition("\nsub-verbs ")[2].partition("\nflags\n")[0]
    return re.findall(r"^  (\w+)  ", page, re.MULTILINE)


def test_every_verb_has_its_page(weft: Weft, pages: Path) -> None:
    verbs = re.findall(r"^  (\w+)  ", weft("help").stdout, re.MULTILINE)
    expected = {"weft.1", *(f"weft-{verb}.1" for verb in verbs)}
    for verb in verbs:
        for name in sub_verbs(weft, verb):
            expected.add(f"weft-{verb}-{name}.1")
            assert weft("man", verb, name).stdout == (pages / f"weft-{verb}-{name}.1").read_text()
    assert {page.name for page in pages.iterdir()} == expected
    assert weft("man").stdout == (pages / "weft.1").read_text()
    for verb in verbs:
        assert weft("man", verb).stdout == (pages / f"weft-{verb}.1").read_text()


@needs_man
def test_pages_render_without_warnings_and_name_every_flag(weft: Weft, pages: Path) -> None:
    for page in pages.iterdir():
        text = render(page)
        verb = page.stem.partition("-")[2]
        assert re.search(rf"^NAME\n +{page.stem} +- ", text, re.MULTILINE)
        help_text = weft("help", *verb.split("-")).stdout if verb else "--version --help"
        for flag in re.findall(r"(?<!\S)--?[a-z][a-z-]*", help_text.partition("\nflags\n")[2]):
            assert re.search(rf"(?<!\S){flag}\b", text), f"{flag} in {page.name}"


@needs_man
def test_overview_page_names_verbs_and_exit_codes(weft: Weft, pages: Path) -> None:
    text = render(pages / "weft.1")
    for verb in re.findall(r"^  (\w+)  ", weft("help").stdout, re.MULTILINE):
        assert f"weft-{verb}(1)" in text
    for code in (0, 1, 2, 3, 4, 5, 70, 130, 143):
        assert re.search(rf"^ +{code} ", text, re.MULTILINE)
    for variable in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"):
        assert variable in text


@needs_man
def test_man_reads_a_pipe(weft: Weft) -> None:
    done = subprocess.run(
        ["man", "-l", "-"], input=weft("man", "replay").stdout, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert "WEFT-REPLAY(1)" in re.sub(".\b", "", done.stdout)
