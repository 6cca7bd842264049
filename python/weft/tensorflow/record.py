# SPDX-License-Identifier: Apache-2.0
"""Records steps of a TensorFlow job with TensorFlow's own profiler.

The way in which the job trains decides when a step ends:

- If TensorFlow computes gradients while it traces a tf.function, this function trains. Each call of
  the function from Python is a step. Each batch of Keras' fit() is one such call.
- Without such a function, a step ends when an optimizer has applied gradients eagerly.
- With a ClusterCoordinator (parameter servers) and n workers, a step ends whenever n more functions
  have finished; it does not matter which workers ran them. The coordinator tells workers and
  parameter servers to record at the same time as itself.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, Dict, List, Optional, Set, Tuple

from .._recording import process
from .._recording.job_profiler import JobProfiler
from .._recording.recorder import PathOf, Recorder
from .._recording.rounds import Rounds
from .._recording.settings import Settings
from .._recording.window import Window
from . import remote
from .cluster import Task, own_task
from .profile import XplaneProfile


class TensorflowRecorder(Recorder):
    framework = "tensorflow"

    def __init__(self, settings: Settings, task: Optional[Task]) -> None:
        self._settings = settings
        self._task = task
        self._profile: Optional[XplaneProfile] = None
        self._remote: List[remote.Remote] = []
        self.job = JobProfiler()

    def blocked(self) -> str:
        return "tf.profiler" if self.job.runs() else ""

    def disturbed(self) -> bool:
        return self.job.ran()

    def version(self) -> str:
        import tensorflow

        return str(tensorflow.__version__)

    def rank(self) -> Tuple[int, int]:
        if self._task is not None:
            return self._task.rank, self._task.world
        return process.launched_rank() or (0, 1)

    def stem(self) -> str:
        return self._task.stem if self._task is not None else super().stem()

    def prepare(self, path_of: PathOf) -> None:
        self._profile = XplaneProfile(path_of("xplane.pb"), self.job)
        if self._task is not None and self._task.coordinates:
            self._remote = remote.servers(self._settings.folder)

    def start(self) -> None:
        assert self._profile is not None
        for server in self._remote:
            server.tell("start")
        self._profile.start()
        for server in self._remote:
            server.wait_until("started")

    def begin_step(self, number: int) -> None:
        assert self._profile is not None
        self._profile.begin_step(number)

    def end_step(self) -> None:
        assert self._profile is not None
        self._profile.end_step()

    def cut_step(self) -> None:
        assert self._profile is not None
        self._profile.drop_step()

    def stop(self) -> List[str]:
        assert self._profile is not None
        for server in self._remote:
            server.tell("stop")
        written = self._profile.stop()
        for server in self._remote:
            server.wait_until("stopped")
        return written

    def facts(self) -> Dict[str, Any]:
        from tensorflow import distribute

        facts: Dict[str, Any] = {"scheme": "single"}
        if self._task is not None and self._task.servers:
            facts["scheme"] = "parameter-server"
            facts["role"] = self._task.kind
            facts["servers"] = self._task.servers
        elif self._task is not None:
            facts["scheme"] = "multi-worker"
        elif distribute.has_strategy():
            facts["scheme"] = type(distribute.get_strategy()).__name__
        return facts

    def abandon(self) -> None:
        for server in self._remote:
            server.tell("stop")
        if self._profile is not None:
            self._profile.abandon()


class _Functions:
    """Notes which tf.functions are running, and which of them train."""

    def __init__(self) -> None:
        self._open: Dict[int, int] = {}  # maps a thread to its outermost open function
        self._training: Set[int] = set()

    def call(self, function: Any, run: Any, args: Any, kwargs: Any) -> Tuple[Any, bool]:
        """Call the function. Returns its result, and whether this was the outermost call of a
        function that trains."""
        thread = threading.get_ident()
        if thread in self._open:
            return run(function, *args, **kwargs), False
        self._open[thread] = id(function)
        try:
            result = run(function, *args, **kwargs)
        finally:
            del self._open[thread]
        return result, id(function) in self._training

    def inside(self) -> bool:
        return threading.get_ident() in self._open

    def gradients_taken(self) -> None:
        mine = self._open.get(threading.get_ident())
        if mine is not None:
            self._training.add(mine)
        elif not self._executing_eagerly():
            # A distribution strategy traces each replica on a separate thread while the calling
            # thread waits. The separate thread has no open function. So treat the open functions of
            # all threads as functions that train.
            self._training.update(self._open.values())

    @staticmethod
    def _executing_eagerly() -> bool:
        import tensorflow

        return bool(tensorflow.executing_eagerly())


def _hook_functions(window: Window, rounds: Rounds) -> None:
    from tensorflow import GradientTape
    from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function

    functions = _Functions()
    run = Function.__call__
    gradient = GradientTape.gradient

    @functools.wraps(run)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        result, trains = functions.call(self, run, args, kwargs)
        if trains:
            number = rounds.ended_step(id(self))
            if number is not None:
                window.step_ended(number)
        return result

    @functools.wraps(gradient)
    def taken(self: Any, *args: Any, **kwargs: Any) -> Any:
        functions.gradients_taken()
        return gradient(self, *args, **kwargs)

    Function.__call__ = call
    GradientTape.gradient = taken
    _hook_eager_optimizers(window, rounds, functions)


def _hook_eager_optimizers(window: Window, rounds: Rounds, functions: _Functions) -> None:
    try:
        from keras.src.optimizers.base_optimizer import BaseOptimizer
    except ImportError:
        return  # without Keras there are no optimizers
    import tensorflow

    apply = BaseOptimizer.apply

    @functools.wraps(apply)
    def applied(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = apply(self, *args, **kwargs)
        if tensorflow.executing_eagerly() and not functions.inside():
            number = rounds.ended_step(id(self))
            if number is not None:
                window.step_ended(number)
        return result

    BaseOptimizer.apply = applied


def _hook_coordinator(window: Window, workers: int) -> None:
    from tensorflow.python.distribute.coordinator import cluster_coordinator

    queue = cluster_coordinator._CoordinatedClosureQueue
    mark_finished = queue.mark_finished
    lock = threading.Lock()
    done = [0]

    @functools.wraps(mark_finished)
    def finished(self: Any) -> None:
        with lock:
            done[0] += 1
            if done[0] % workers == 0:
                window.step_ended(done[0] // workers - 1)
        mark_finished(self)

    queue.mark_finished = finished


def _watch_profiler(job: JobProfiler, window: Window) -> None:
    from tensorflow import profiler
    from tensorflow.python.profiler import profiler_v2

    # tf.profiler.experimental.Profile calls these functions by their names in the second module.
    for module in (profiler.experimental, profiler_v2):
        job.watch_start(module, "start", window.give_way)
        job.watch_stop(module, "stop")


def install(settings: Settings) -> Window:
    """Install the hooks. Called once, after tensorflow is imported."""
    task = own_task()
    recorder = TensorflowRecorder(settings, task)
    window = Window(settings, recorder)
    _watch_profiler(recorder.job, window)
    if task is not None and task.is_server:
        remote.serve(settings, task, window)
    elif task is not None and task.coordinates:
        _hook_coordinator(window, task.workers)
    else:
        _hook_functions(window, Rounds())
    return window
