# SPDX-License-Identifier: Apache-2.0
"""The window of processes that take no steps of their own: workers and parameter servers that a
coordinator drives.

The coordinator has TensorFlow itself write a word into a file on the host of each of them, from
where their hook takes it: no port, no shared disk, and each process records and writes for itself.
The folder of the recording must have the same path on all hosts.
"""

from __future__ import annotations

import os
import threading
import time
from typing import List

from .._recording import process
from .._recording.settings import Settings
from .._recording.window import Window
from .cluster import Task, own_task

_LOOK_S = 0.005
_PATIENCE_S = 20.0


def _word_file(folder: str, stem: str) -> str:
    return os.path.join(folder, f".{stem}.window")


def _answer_file(folder: str, stem: str) -> str:
    return os.path.join(folder, f".{stem}.answer")


class Remote:
    """A process that the coordinator tells when to record."""

    def __init__(self, folder: str, task: Task) -> None:
        self._stem = task.stem
        self._device = f"/job:{task.kind}/replica:0/task:{task.number}/device:CPU:0"
        self._word = _word_file(folder, task.stem)
        self._answer = _answer_file(folder, task.stem)

    def tell(self, word: str) -> None:
        import tensorflow as tf

        with tf.device(self._device):
            tf.io.write_file(self._word, word)

    def wait_until(self, answer: str) -> None:
        import tensorflow as tf

        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            try:
                with tf.device(self._device):
                    if tf.io.read_file(self._answer).numpy().decode() == answer:
                        return
            except tf.errors.NotFoundError:
                pass
            time.sleep(_LOOK_S)
        process.warn(f"{self._stem} has not {answer} to record; is it run under weft record?")


def servers(folder: str) -> List[Remote]:
    """All that this coordinator drives."""
    mine = own_task()
    if mine is None:
        return []
    tasks = [mine._replace(kind="worker", number=i) for i in range(mine.workers)]
    tasks += [mine._replace(kind="ps", number=i) for i in range(mine.servers)]
    return [Remote(folder, task) for task in tasks]


def serve(settings: Settings, task: Task, window: Window) -> None:
    """Has this process do as the coordinator says, on a thread that ends with it."""
    word_file = _word_file(settings.folder, task.stem)
    answer_file = _answer_file(settings.folder, task.stem)

    def answer(word: str) -> None:
        partial = answer_file + ".part"
        with open(partial, "w", encoding="utf-8") as file:
            file.write(word)
        os.replace(partial, answer_file)

    def watch() -> None:
        seen = ""
        while seen != "stop":
            time.sleep(_LOOK_S)
            try:
                with open(word_file, encoding="utf-8") as file:
                    word = file.read()
            except OSError:
                continue
            if word == seen:
                continue
            if word == "start":
                window.open_now()
                answer("started")
            elif word == "stop":
                window.close_now()
                answer("stopped")
            seen = word

    threading.Thread(target=watch, name="weft", daemon=True).start()
