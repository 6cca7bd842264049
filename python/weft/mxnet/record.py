# SPDX-License-Identifier: Apache-2.0
"""Records steps of an MXNet job with its own profiler.

A step ends with Trainer.step(), Trainer.update() or Module.update(). These return before their work
is done, so the end counts from where the next forward pass begins: what waits in between belongs to
the step. Worker 0 has the servers record meanwhile.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import re
import shutil
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .._recording import files
from .._recording.probes import Probes
from .._recording.recorder import PathOf, Recorder
from .._recording.rounds import Rounds
from .._recording.settings import Settings
from .._recording.window import Window

_SERVER_FILE = "weft.json"
"""Relative: a server puts its number in front, and an absolute name would lead nowhere."""


class MxnetRecorder(Recorder):
    framework = "mxnet"

    def __init__(self, settings: Settings) -> None:
        self._memory = "memory" in settings.options
        self._scratch: Any = None
        self._task: Any = None
        self._drives_servers = False
        self.ended: Optional[int] = None
        """The step that was updated, and is still to be told."""

    def version(self) -> str:
        import mxnet

        return str(mxnet.__version__)

    def _ask_store(self, question: str) -> Optional[int]:
        """A number that the job's store knows; None if the job has no store."""
        from mxnet import profiler
        from mxnet.base import _LIB

        store = profiler.profiler_kvstore_handle
        answer = ctypes.c_int()
        if not store or getattr(_LIB, question)(store, ctypes.byref(answer)) != 0:
            return None
        return answer.value

    def rank(self) -> Tuple[int, int]:
        rank, world = self._ask_store("MXKVStoreGetRank"), self._ask_store("MXKVStoreGetGroupSize")
        if rank is None or world is None:
            return super().rank()
        return rank, world

    def _is_distributed(self) -> bool:
        return os.environ.get("DMLC_ROLE") == "worker" and self.rank()[1] > 0

    def prepare(self, path_of: PathOf) -> None:
        from mxnet import profiler

        self._path = path_of("mxnet.json")
        self._scratch = files.scratch(self._path)
        self._plain = os.path.join(self._scratch.__enter__(), "profile.json")
        wanted = {
            "profile_symbolic": True,
            "profile_imperative": True,
            "profile_memory": self._memory,
            "profile_api": True,
            "aggregate_stats": False,
        }
        profiler.set_config(filename=self._plain, **wanted)
        self._drives_servers = self._is_distributed() and self.rank()[0] == 0
        if self._drives_servers:
            profiler.set_config(filename=_SERVER_FILE, profile_process="server", **wanted)

    def start(self) -> None:
        import mxnet
        from mxnet import profiler

        mxnet.nd.waitall()
        if self._drives_servers:
            profiler.set_state("run", profile_process="server")
        profiler.set_state("run")
        self._domain = profiler.Domain("weft")

    def begin_step(self, number: int) -> None:
        from mxnet import profiler

        self._task = profiler.Task(self._domain, f"step {number}")
        self._task.start()

    def end_step(self) -> None:
        self._task.stop()

    def cut_step(self) -> None:
        self._task = None

    def unfinished(self) -> Optional[int]:
        ended, self.ended = self.ended, None
        return ended

    def stop(self) -> List[str]:
        import mxnet
        from mxnet import profiler

        mxnet.nd.waitall()
        profiler.set_state("stop")
        profiler.dump()
        if self._drives_servers:
            profiler.set_state("stop", profile_process="server")
            profiler.dump(profile_process="server")
        if not os.path.exists(self._plain):
            raise OSError("the profiler wrote no file; is the disk full?")
        with files.whole(self._path) as partial:
            shutil.move(self._plain, partial)
        self._clean()
        return [self._path]

    def facts(self) -> Dict[str, Any]:
        if not self._is_distributed():
            return {"scheme": "single"}
        return {
            "scheme": "parameter-server",
            "role": "worker",
            "servers": int(os.environ.get("DMLC_NUM_SERVER", "0")),
        }

    def abandon(self) -> None:
        from mxnet import profiler

        profiler.set_state("stop")
        if self._drives_servers:
            profiler.set_state("stop", profile_process="server")
        self._clean()

    def _clean(self) -> None:
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            scratch.__exit__(None, None, None)


def _before(function: Callable[..., Any], action: Callable[[], None]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        action()
        return function(*args, **kwargs)

    return called


def install(settings: Settings) -> Window:
    """Called once mxnet is imported, in workers."""
    import mxnet
    from mxnet.gluon import Trainer
    from mxnet.module import Module

    recorder = MxnetRecorder(settings)
    window = Window(settings, recorder)
    rounds = Rounds()

    def tell() -> None:
        ended = recorder.unfinished()
        if ended is not None:
            window.step_ended(ended)

    def after(update: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(update)
        def updated(self: Any, *args: Any, **kwargs: Any) -> Any:
            tell()
            result = update(self, *args, **kwargs)
            recorder.ended = rounds.ended_step(id(self))
            return result

        return updated

    Trainer.step = after(Trainer.step)
    Trainer.update = after(Trainer.update)
    Module.update = after(Module.update)
    mxnet.autograd.record = _before(mxnet.autograd.record, tell)
    Module.forward = _before(Module.forward, tell)
    return window


def _record_transfers(told_by_worker: str) -> None:
    """Of a server, which nobody tells when the steps begin: from its start until worker 0 has
    written its facts. They tie the clocks of the workers, which only talk to servers."""
    probes = Probes()
    probes.record(True)

    def wait() -> None:
        while not os.path.exists(told_by_worker):
            time.sleep(0.5)
        probes.record(False)

    threading.Thread(target=wait, daemon=True).start()


def before_import(settings: Settings) -> Optional[Callable[[], None]]:
    """A server never comes back from `import mxnet`. It writes its profile where it stands, so it
    is put into a folder of its own; returned is what to do when the process ends."""
    if os.environ.get("DMLC_ROLE") != "server":
        return None
    scratch = files.scratch(os.path.join(settings.folder, f"server-{os.getpid()}"))
    folder = scratch.__enter__()
    home = os.getcwd()
    os.chdir(folder)
    _record_transfers(os.path.join(settings.folder, "r0.job.json"))

    def finish() -> None:
        os.chdir(home)
        for path in glob.glob(os.path.join(folder, f"rank*_{_SERVER_FILE}")):
            found = re.match(r"rank(\d+)_", os.path.basename(path))
            if found is None:
                continue
            with files.whole(
                os.path.join(settings.folder, f"server{found.group(1)}.mxnet.json")
            ) as partial:
                shutil.move(path, partial)
        scratch.__exit__(None, None, None)

    return finish
