# SPDX-License-Identifier: Apache-2.0
"""Records steps of an MXNet job with MXNet's own profiler.

A step ends with Trainer.step(), Trainer.update() or Module.update(). These calls return before
their work is done. So the hook reports the end of the step only when the next forward pass begins.
If the job waits for the result before that, the wait belongs to the step. Worker 0 starts and stops
the profilers of the servers.
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
"""Must be a relative path: a server writes its profile to "rank<number>_" + this name."""


class MxnetRecorder(Recorder):
    framework = "mxnet"

    def __init__(self, settings: Settings) -> None:
        self._memory = "memory" in settings.options
        self._scratch: Any = None
        self._task: Any = None
        self._drives_servers = False
        self.ended: Optional[int] = None
        """The step whose update has returned but whose end has not been reported to the window yet;
        else None."""

    def version(self) -> str:
        import mxnet

        return str(mxnet.__version__)

    def _ask_store(self, question: str) -> Optional[int]:
        """Ask the job's key-value store for a number. None if the job has no store."""
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
    """Install the hooks. Called in workers, once, after mxnet is imported."""
    import mxnet
    from mxnet.gluon import Trainer
    from mxnet.module import Module

    recorder = MxnetRecorder(settings)
    window = Window(settings, recorder)
    rounds = Rounds()

    def report_end() -> None:
        ended = recorder.unfinished()
        if ended is not None:
            window.step_ended(ended)

    def after(update: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(update)
        def updated(self: Any, *args: Any, **kwargs: Any) -> Any:
            # If there was no forward pass since the last update, the end of that update's step has
            # not been reported yet. Report it now.
            report_end()
            result = update(self, *args, **kwargs)
            recorder.ended = rounds.ended_step(id(self))
            return result

        return updated

    Trainer.step = after(Trainer.step)
    Trainer.update = after(Trainer.update)
    Module.update = after(Module.update)
    mxnet.autograd.record = _before(mxnet.autograd.record, report_end)
    Module.forward = _before(Module.forward, report_end)
    return window


def _record_transfers(facts_of_worker: str) -> None:
    """Record the transfers of this server with the probes.

    Nothing tells a server when the workers start to record. So a server records from its start
    until worker 0 has written its job facts to the file `facts_of_worker`. Workers exchange data
    only with servers, so Weft needs these transfers to relate the clocks of the workers.
    """
    probes = Probes()
    probes.record(True)

    def wait() -> None:
        while not os.path.exists(facts_of_worker):
            time.sleep(0.5)
        probes.record(False)

    threading.Thread(target=wait, daemon=True).start()


def before_import(settings: Settings) -> Optional[Callable[[], None]]:
    """Prepare a server before it imports mxnet. Returns None in a worker.

    A server process never returns from `import mxnet`, and MXNet writes its profile into the
    current directory. So the server changes into a temporary folder before the import. The returned
    function moves the profile into the recording when the process ends.
    """
    if os.environ.get("DMLC_ROLE") != "server":
        return None
    scratch = files.scratch(os.path.join(settings.folder, f"server-{os.getpid()}"))
    folder = scratch.__enter__()
    directory_before = os.getcwd()
    os.chdir(folder)
    _record_transfers(os.path.join(settings.folder, "r0.job.json"))

    def finish() -> None:
        os.chdir(directory_before)
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
