# SPDX-License-Identifier: Apache-2.0
"""Scripts rely on exit statuses, so these tests fix the status of every kind of failure."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, ROOT, Weft, clean_environment, trace_text, weft_command

PROFILE = ROOT / "examples" / "pipeline" / "gpt8l.json"
CASES = [
    (["--version"], 0, ""),
    (["help"], 0, ""),
    (["help", "info"], 0, ""),
    (["info", "--help"], 0, ""),
    (["list", "readers"], 0, ""),
    (["--quiet", "list", "readers"], 0, ""),
    (["--help", "list"], 0, ""),
    (["info", str(EXAMPLE)], 0, ""),
    ([], 0, ""),
    (["list"], 0, ""),
    (["inof"], 2, "did you mean 'info'?"),
    (["help", "inof"], 2, "did you mean 'info'?"),
    (["info"], 2, "INPUT... is missing"),
    (["info", "--jsno", str(EXAMPLE)], 2, "did you mean '--json'?"),
    (["info", "--threads", "few", str(EXAMPLE)], 2, "is not a whole number"),
    (["info", "--threads", "99999999999", str(EXAMPLE)], 2, "99999999999 is more than 4096"),
    (["reshard", "--mesh", "x=2", "--shape", "8", "--from", "x", "--to", "-", "--budget", "1KB"], 2,
     "write kB or KiB"),
    (["calibrate", "-o", "/tmp/x", "--sizes", "1KB..1MB", "--", "true"], 2, "write kB or KiB"),
    (["calibrate", "-o", "/tmp/x", "--sizes", "1mib", "--", "true"], 2, "write MiB"),
    (["pipeline", str(PROFILE), "--cluster", "4 devices, 1GB/s", "--microbatches", "8",
      "--schedule", "interleaved", "--chunks", "1"], 2, "needs several stages per device"),
    (["list", "reader"], 2, "did you mean 'readers'?"),
    (["--verison"], 2, "did you mean '--version'?"),
    (["list", "what-if"], 2, "did you mean 'what-ifs'?"),
    (["completions", "zhs"], 2, "did you mean 'zsh'?"),
    (["export", str(EXAMPLE), "--format", "cvs"], 2, "did you mean 'csv'?"),
    (["man", "reply"], 2, "did you mean 'replay'?"),
    (["replay", str(EXAMPLE), "--what-if", "network.bandwith=2x"], 2, "'network.bandwidth'?"),
    (["replay", str(EXAMPLE), "--what-if", "rank:1.comptue=2x"], 2, "'rank:N.compute'?"),
    (["list", "readers", "again"], 2, "one argument too many"),
    (["info", "/does/not/exist"], 3, "/does/not/exist"),
    (["info", "/does/not/*.json"], 3, "/does/not/*.json"),
]


@pytest.mark.parametrize(("words", "code", "message"), CASES)
def test_status_and_message(weft: Weft, words: list[str], code: int, message: str) -> None:
    done = weft(*words)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    if code == 0:
        assert done.stdout and not done.stderr
    else:
        assert not done.stdout and done.stderr.startswith("weft: error: ")
        assert done.stderr.count("\n") == 1, "an error is one line"


def test_empty_folder_is_bad_input(weft: Weft, tmp_path: Path) -> None:
    done = weft("info", tmp_path)
    assert done.returncode == 3
    assert str(tmp_path) in done.stderr


def test_empty_file_is_bad_input(weft: Weft, tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.touch()
    done = weft("info", empty)
    assert done.returncode == 3
    assert "empty.json" in done.stderr


@pytest.mark.parametrize("content", [b'{"a": 1}', b"[1, 2", b"hello", b"\x1f\x8b\x08", b"\0" * 99])
def test_file_that_is_not_a_trace_is_bad_input(weft: Weft, tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(content)
    done = weft("info", other)
    assert done.returncode == 3
    assert "other.json" in done.stderr


def test_damaged_gzip_is_reported(weft: Weft, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.json.gz"
    damaged.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 2000)
    done = weft("info", damaged)
    assert done.returncode == 3
    assert "damaged.json.gz" in done.stderr and "gzip data is cut or damaged" in done.stderr


@pytest.mark.parametrize("packed", [False, True])
def test_truncated_file_is_used_and_reported_and_fatal_if_strict(
    weft: Weft, tmp_path: Path, packed: bool
) -> None:
    content = trace_text(0, 1).encode()
    content = gzip.compress(content)[:-30] if packed else content[: len(content) * 2 // 3]
    cut = tmp_path / "cut.json"
    cut.write_bytes(content)
    done = weft("info", cut)
    assert done.returncode == 0, done.stderr
    assert "problems" in done.stdout
    strict = weft("info", "--strict", cut)
    assert strict.returncode == 3
    assert "problems" in strict.stdout, "the report names the problems"
    assert strict.stderr.startswith("weft: error: ")


def test_standard_input_is_read_like_a_file(weft: Weft) -> None:
    file = EXAMPLE / "resnet50-w4-r0.json.gz"
    named = json.loads(weft("info", "--json", file).stdout)["runs"][0]["ranks"][0]
    packed = file.read_bytes()
    for content in (packed, gzip.decompress(packed)):
        done = subprocess.run(
            [weft_command(), "info", "--json", "-"],
            input=content, capture_output=True, env=clean_environment(), timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        rank = json.loads(done.stdout)["runs"][0]["ranks"][0]
        assert (rank.pop("file"), rank.pop("stored_bytes")) == ("standard input", -1)
        assert rank == {key: named[key] for key in rank}


def test_empty_standard_input_is_bad_input() -> None:
    done = subprocess.run(
        [weft_command(), "info", "-"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith("weft: error: standard input: ")


def test_pipe_is_read_once(weft: Weft) -> None:
    shell = f"'{weft_command()}' info <(cat '{EXAMPLE / 'resnet50-w4-r0.json.gz'}')"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, env=clean_environment(), timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 4 ranks" in done.stdout


def test_closed_output_is_a_failure() -> None:
    for shell in ("help >&-", f"info '{EXAMPLE}' >&-"):
        done = subprocess.run(
            ["bash", "-c", f"'{weft_command()}' {shell}"], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 3
        assert "cannot write the result" in done.stderr


def test_devices_are_written_not_replaced(weft: Weft, tmp_path: Path) -> None:
    done = weft("completions", "bash", "-o", "/dev/full")
    assert done.returncode == 3
    assert done.stderr.startswith("weft: error: /dev/full: cannot write: ")
    assert Path("/dev/full").is_char_device()
    assert weft("completions", "bash", "-o", "/dev/stdout").stdout.startswith("# Completion")


def test_cli_md_lists_the_exit_codes_of_the_man_page(weft: Weft) -> None:
    section = weft("man").stdout.partition(".SH EXIT STATUS\n")[2].partition(".SH")[0]
    meanings = re.findall(r"\.TP\n\.B (\d+)\n(.*)\n", section.replace("\\-", "-"))
    assert len(meanings) >= 9
    document = (ROOT / "docs/reference/cli.md").read_text().replace("`", "")
    for code, meaning in meanings:
        assert f"| {code} | {meaning}" in document


def test_full_disk_is_a_failure() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [weft_command(), "help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 3
    assert "cannot write" in done.stderr


def test_closed_pipe_prints_no_error() -> None:
    shell = f"'{weft_command()}' info --json '{EXAMPLE}' | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, env=clean_environment(), timeout=120
    )
    assert done.stderr == ""
    assert done.stdout == "{0\n"
