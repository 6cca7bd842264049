# SPDX-License-Identifier: Apache-2.0
"""Completion scripts, run in real shells."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.session import Session
from tests.conftest import Weft, clean_environment

QUESTIONS = [
    "network.bandwidth=2x", "network.latency=0.5x", "compute=1.5x", "rank:2.compute=0.5x",
    "comm=off", "stragglers=off", "ddp.bucket_mb=100", "ddp.buckets=2,8,40",
    "allreduce.pack_mb=32", "workers=4",
]  # fmt: skip
needs_zsh = pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
needs_fish = pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")


@pytest.fixture(scope="module", params=["bash", pytest.param("zsh", marks=needs_zsh)])
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def scripts(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completions")
    for name in ("bash", "zsh", "fish"):
        done = weft("completions", name)
        assert done.returncode == 0 and done.stderr == ""
        (folder / name).write_text(done.stdout)
    return folder


def test_script_is_well_formed(shell: str, scripts: Path) -> None:
    done = subprocess.run([shell, "-n", scripts / shell], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


def in_bash(scripts: Path, line: str, breaks: str = " \t\n\"'@><=;|&(:") -> list[str]:
    """Returns the completions of the last word of a line. Calls the completion function as bash
    does."""
    program = f"""
      source {shlex.quote(str(scripts / "bash"))}
      COMP_WORDBREAKS={shlex.quote(breaks)} COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
      _weft
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", program], capture_output=True, text=True, timeout=60,
        env=clean_environment(),
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


def after(text: str, words: list[str]) -> list[str]:
    return [word.removeprefix(text) for word in words if word.startswith(text)]


def questions(weft: Weft) -> list[list[str]]:
    """All verbs, and all sub-verbs with their verbs."""
    found = []
    for verb in re.findall(r"^  (\w+)  ", weft("help").stdout, re.MULTILINE):
        page = weft("help", verb).stdout.partition("\nsub-verbs ")[2].partition("\nflags\n")[0]
        found += [[verb], *([verb, name] for name in re.findall(r"^  (\w+)  ", page, re.MULTILINE))]
    return found


def test_bash_offers_verbs(weft: Weft, scripts: Path) -> None:
    verbs = re.findall(r"^  (\w+)  ", weft("help").stdout, re.MULTILINE)
    assert in_bash(scripts, "weft ") == verbs
    assert in_bash(scripts, "weft re") == [verb for verb in verbs if verb.startswith("re")]
    assert in_bash(scripts, "weft --quiet re") == in_bash(scripts, "weft re")
    assert in_bash(scripts, "weft help re") == in_bash(scripts, "weft re")
    assert in_bash(scripts, "weft man li") == ["list"]
    assert in_bash(scripts, "weft --ver") == ["--version"]


def test_bash_offers_every_flag_of_every_verb(weft: Weft, scripts: Path) -> None:
    for words in questions(weft):
        flags = weft("help", *words).stdout.partition("\nflags\n")[2]
        named = re.findall(r"^  (?:(-\w), )?(-\S+)", flags, re.MULTILINE)
        expected = {name for names in named for name in names if name}
        assert set(in_bash(scripts, f"weft {' '.join(words)} -")) == expected


def test_bash_offers_sub_verbs_and_files(weft: Weft, scripts: Path) -> None:
    sub_verbs = [words[1] for words in questions(weft) if words[0] == "pipeline" and words[1:]]
    assert sub_verbs
    assert set(sub_verbs) <= set(in_bash(scripts, "weft pipeline "))
    assert "compare" in in_bash(scripts, "weft pipeline --json comp")
    file = str(scripts / "bash")
    assert in_bash(scripts, f"weft pipeline {file[:-1]}") == [file]
    assert "compare" not in in_bash(scripts, "weft pipeline gantt comp")


def test_bash_offers_values(scripts: Path) -> None:
    assert in_bash(scripts, "weft list ") == ["readers", "what-ifs", "findings"]
    assert in_bash(scripts, "weft completions z") == ["zsh"]
    assert in_bash(scripts, "weft testbed u") == ["up"]
    assert in_bash(scripts, "weft testbed up u") == [], "bash completes the file name itself"
    assert in_bash(scripts, "weft replay traces --what-if ") == QUESTIONS
    assert in_bash(scripts, "weft replay --what-if=") == QUESTIONS
    assert in_bash(scripts, "weft replay --threads ") == []
    assert in_bash(scripts, "weft info tra") == [], "readline completes file names"


def test_bash_respects_word_break_characters(scripts: Path) -> None:
    """In KEY=VALUE bash replaces only the text after the last word-break character."""
    line = "weft replay --what-if "
    assert in_bash(scripts, line + "net") == after("", QUESTIONS)[:2]
    assert in_bash(scripts, line + "network.bandwidth=") == ["2x"]
    assert in_bash(scripts, line + "rank:") == ["2.compute=0.5x"]
    assert in_bash(scripts, line + "rank:2.compute=") == ["0.5x"]
    assert in_bash(scripts, line + "rank:", breaks=" \t\n") == ["rank:2.compute=0.5x"]
    assert in_bash(scripts, "weft replay --what-if=co") == ["compute=1.5x", "comm=off"]


@pytest.fixture
def typed(shell: str, scripts: Path, tmp_path: Path) -> Iterator[Session]:
    """A shell at its prompt. In it, `weft` is a function that prints its arguments."""
    (tmp_path / "recording.json").touch()
    (tmp_path / "results").mkdir()
    words = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    session = Session(*words, columns=200, HOME=str(tmp_path), PS1="ready> ", INPUTRC="/dev/null")
    start = "autoload -U compinit; compinit -u -D; " if shell == "zsh" else ""
    session.wait_for("ready> ")
    session.type(
        f"cd {shlex.quote(str(tmp_path))}; {start}"
        f"weft() {{ printf '<%s>' \"$@\"; echo; }}; source {scripts / shell}; echo se''t\n"
    )
    session.wait_for("set\r\n")
    session.output = ""
    yield session
    session.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("weft repl\tx", "<replay><x>"),
        ("weft li\tre\t", "<list><readers>"),
        ("weft replay reco\t--js\t", "<replay><recording.json><--json>"),
        ("weft replay --links rec\t", "<replay><--links><recording.json>"),
        ("weft replay --links=rec\t", "<replay><--links=recording.json>"),
        ("weft replay --what-if str\t", "<replay><--what-if><stragglers=off>"),
        ("weft replay --what-if rank\t", "<replay><--what-if><rank:2.compute=0.5x>"),
        ("weft replay --what-if=ddp.bucket_\t", "<replay><--what-if=ddp.bucket_mb=100>"),
        ("weft man -o re\t", "<man><-o><results>"),
        ("weft testbed u\treco\t", "<testbed><up><recording.json>"),
        ("weft -q inf\t--al\t", "<-q><info><--all>"),
    ],
)
def test_tab_key(typed: Session, line: str, words: str) -> None:
    typed.type(line + "\n")
    typed.wait_for("\r\n", after="<")
    # zsh removes the slash after a folder when the line is entered.
    shown = re.findall("<.*>", typed.output.replace("/>", ">"))
    assert shown == [words], typed.output


@needs_zsh
def test_zsh_lists_verbs_with_their_meaning(scripts: Path, tmp_path: Path) -> None:
    session = Session("zsh", "-f", "-i", columns=200, HOME=str(tmp_path), PS1="ready> ")
    session.wait_for("ready> ")
    session.type(f"autoload -U compinit; compinit -u -D; source {scripts / 'zsh'}; echo se''t\n")
    session.wait_for("set\r\n")
    session.type("weft \t")
    session.wait_for("which profiler setting to change")
    session.close()


@needs_zsh
def test_zsh_autoloads_the_script(scripts: Path, tmp_path: Path) -> None:
    """An installed Weft has a file _weft in a folder of fpath."""
    functions = tmp_path / "site-functions"
    functions.mkdir()
    shutil.copy(scripts / "zsh", functions / "_weft")
    session = Session("zsh", "-f", "-i", columns=200, HOME=str(tmp_path), PS1="ready> ")
    session.wait_for("ready> ")
    session.type(
        f"fpath=({functions} $fpath); autoload -U compinit; compinit -u -D; "
        "weft() { printf '<%s>' \"$@\"; echo; }; echo se''t\n"
    )
    session.wait_for("set\r\n")
    session.type("weft repl\tx\n")
    session.wait_for("<replay><x>")
    session.close()


def in_fish(scripts: Path, line: str) -> list[str]:
    """Returns the completions of the last word of a line, without their descriptions."""
    program = f"source {shlex.quote(str(scripts / 'fish'))}; complete -C {shlex.quote(line)}"
    done = subprocess.run(
        ["fish", "--no-config", "-c", program], capture_output=True, text=True, timeout=60,
        env=clean_environment(), cwd=scripts,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [found.split("\t")[0] for found in done.stdout.splitlines()]


@needs_fish
def test_the_script_for_fish_is_well_formed(scripts: Path) -> None:
    done = subprocess.run(["fish", "-n", scripts / "fish"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


@needs_fish
def test_fish_offers_verbs_sub_verbs_flags_values_and_files(weft: Weft, scripts: Path) -> None:
    assert in_fish(scripts, "weft di") == ["diagnose", "diff"]
    assert in_fish(scripts, "weft pipeline comp") == ["compare"]
    assert in_fish(scripts, "weft export --format c") == ["chakra", "csv"]
    assert in_fish(scripts, "weft replay --what-if comm") == ["comm=off"]
    assert in_fish(scripts, "weft info ba") == ["bash"], "files are offered"
    assert in_fish(scripts, "weft list ") == ["findings", "readers", "what-ifs"]
    for words in questions(weft):
        page = weft("help", *words).stdout.partition("\nflags\n")[2]
        offered = in_fish(scripts, f"weft {' '.join(words)} --")
        assert set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", page, re.MULTILINE)) <= set(offered)
