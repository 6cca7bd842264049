# SPDX-License-Identifier: Apache-2.0
"""Lets a coordinator start and stop the recording of its workers and parameter servers, which take
no steps themselves.

The coordinator runs a TensorFlow op on the device of the other process. This op writes a command
("start" or "stop") to a file on that host. The hook of the other process polls the file, carries
out the command, and writes an answer to a second file. The coordinator reads the answer with
another TensorFlow op. So the processes need no additional port and no shared disk. Each process
writes its own recording. The folder of the recording must have the same path on all hosts.
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

_POLL_S = 0.005
_PATIENCE_S = 20.0


def _command_file(folder: str, stem: str) -> str:
    return os.path.join(folder, f".{stem}.window")


def _answer_file(folder: str, stem: str) -> str:
    return os.path.join(folder, f".{stem}.answer")


class Remote:
    """Another process, as the coordinator sees it: the coordinator tells this process when to
    record."""

    def __init__(self, folder: str, task: Task) -> None:
        self._stem = task.stem
        self._device = f"/job:{task.kind}/replica:0/task:{task.number}/device:CPU:0"
        self._command = _command_file(folder, task.stem)
        self._answer = _answer_file(folder, task.stem)

    def tell(self, command: str) -> None:
        import tensorflow as tf

        with tf.device(self._device):
            tf.io.write_file(self._command, command)

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
            time.sleep(_POLL_S)
        process.warn(f"{self._stem} has not {answer} recording; is it run under weft record?")


def servers(folder: str) -> List[Remote]:
    """All workers and parameter servers of this coordinator."""
    mine = own_task()
    if mine is None:
        return []
    tasks = [mine._replace(kind="worker", number=i) for i in range(mine.workers)]
    tasks += [mine._replace(kind="ps", number=i) for i in range(mine.servers)]
    return [Remote(folder, task) for task in tasks]


def serve(settings: Settings, task: Task, window: Window) -> None:
    """Carry out the coordinator's commands in a worker or parameter server, on a thread that ends
    with the process."""
    command_file = _command_file(settings.folder, task.stem)
    answer_file = _answer_file(settings.folder, task.stem)

    def answer(text: str) -> None:
        # Write the answer to another file and rename this file, so that the coordinator never reads
        # an incomplete answer.
        partial = answer_file + ".part"
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, answer_file)

    def watch() -> None:
        seen = ""
        while seen != "stop":
            time.sleep(_POLL_S)
            try:
                with open(command_file, encoding="utf-8") as file:
                    command = file.read()
            except OSError:
                continue  # no command yet
            if command == seen:
                continue
            if command == "start":
                window.open_now()
                answer("started")
            elif command == "stop":
                window.close_now()
                answer("stopped")
            seen = command

    threading.Thread(target=watch, name="weft", daemon=True).start()
