# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a recording. Each file has one writer and
appears either complete or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import gzip
import json
import os
import re
import shutil
from typing import Any, Dict, Iterator, Sequence

from . import process


class Claim:
    """The exclusive right of this process to write the files whose names begin with `stem`.

    The claim is a file lock. The kernel releases it when the process ends, in whatever way. So a
    reader can distinguish files that a dead process left behind from files that are being written.
    """

    def __init__(self, folder: str, stem: str, exclusive: bool) -> None:
        self.stem = stem
        written = exclusive and os.path.exists(os.path.join(folder, f"{stem}.job.json"))
        if not written and self._lock(folder):
            return
        self.stem = process.unique_stem()
        process.warn(
            f"another process has already recorded as {stem}; this process records as {self.stem}"
        )
        self._lock(folder)

    def _lock(self, folder: str) -> bool:
        self._path = os.path.join(folder, f".{self.stem}.claim")
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            return False
        return True

    def say(self, word: str) -> None:
        """Note in the claim file what the process does next. If the process dies while it does
        this, `weft record` can name the cause. An empty `word` removes the note."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, word.encode(), 0)

    def forget(self) -> None:
        """Remove the claim file when the recording is complete."""
        with contextlib.suppress(OSError):
            os.remove(self._path)


@contextlib.contextmanager
def whole(path: str) -> Iterator[str]:
    """Yield the name of a temporary file. The file is renamed to `path` when the block succeeds and
    removed when the block raises."""
    folder, name = os.path.split(path)
    partial = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(partial)
        raise


def take_xplane(folder: str, path: str) -> None:
    """Move the one XPlane file that a profiler wrote below `folder` to `path`."""
    written = glob.glob(os.path.join(folder, "plugins/profile/*/*.xplane.pb"))
    if len(written) != 1:
        raise OSError("the profiler wrote no XPlane file; is the disk full?")
    with whole(path) as partial:
        shutil.move(written[0], partial)


@contextlib.contextmanager
def scratch(path: str) -> Iterator[str]:
    """Yield a temporary folder beside `path`, which is removed with its contents afterwards."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.scratch")
    os.makedirs(temporary, exist_ok=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: str, value: Dict[str, Any]) -> None:
    with whole(path) as partial:
        with open(partial, "w", encoding="utf-8") as file:
            lines = (f"{json.dumps(key)}: {json.dumps(value[key])}" for key in value)
            file.write("{" + ",\n ".join(lines) + "}\n")


def pack_json(plain: str, path: str, unnamed: Sequence[str] = ()) -> None:
    """Compress the JSON that a profiler wrote to `plain` into the gzip file `path`.

    unnamed: event names to replace by "cut off", so that readers do not take the events for steps.
    Raises OSError if the JSON is truncated, for example because the disk is full.
    """
    if not os.path.exists(plain):
        raise OSError("the profiler could not write its file; is the disk full?")
    with open(plain, "rb") as source:
        source.seek(0, os.SEEK_END)
        source.seek(max(0, source.tell() - 64))
        if not source.read().rstrip().endswith(b"}"):
            raise OSError("the profiler's file is truncated; is the disk full?")
        source.seek(0)
        # A low compression level: the job waits while its trace is compressed.
        with whole(path) as partial, gzip.open(partial, "wb", compresslevel=2) as packed:
            if unnamed:
                names = b"|".join(re.escape(json.dumps(name).encode()) for name in unnamed)
                packed.writelines(re.sub(names, b'"cut off"', line) for line in source)
            else:
                shutil.copyfileobj(source, packed, 1 << 20)
