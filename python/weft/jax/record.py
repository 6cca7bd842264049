# SPDX-License-Identifier: Apache-2.0
"""Records steps of a JAX job with JAX's own profiler.

JAX has no optimizer class, so no call of an optimizer shows where a step ends. But the script calls
compiled functions. If JAX computes gradients while it traces such a function, this function trains,
and each call of the function from Python is a step. If JAX never computes gradients (the user may
compute them by hand), Rounds finds out which compiled function ends a step.

A call returns before its work is done. So the hook reports the end of a step only when the next
call begins. If the job waits for the result before that, the wait belongs to the step.
"""

from __future__ import annotations

import copy
import functools
import itertools
import threading
from typing import Any, Callable, Dict, List, Optional, Set, Tuple, Type, cast

from .._recording import files, process
from .._recording.job_profiler import JobProfiler
from .._recording.recorder import PathOf, Recorder
from .._recording.rounds import Rounds
from .._recording.settings import Settings
from .._recording.window import Window


class JaxRecorder(Recorder):
    framework = "jax"

    def __init__(self) -> None:
        self._scratch: Any = None
        self._mark: Any = None
        self.latest: Any = None
        """The result of the last step, kept until the next step begins."""
        self.ended: Optional[int] = None
        """The step whose call has returned, if its end has not been reported to the window yet."""
        self.job = JobProfiler()

    def blocked(self) -> str:
        return "jax.profiler" if self.job.runs() else ""

    def disturbed(self) -> bool:
        return self.job.ran()

    def version(self) -> str:
        import jax

        return str(jax.__version__)

    def rank(self) -> Tuple[int, int]:
        import jax

        return int(jax.process_index()), int(jax.process_count())

    def unfinished(self) -> Optional[int]:
        ended, self.ended = self.ended, None
        return ended

    def prepare(self, path_of: PathOf) -> None:
        self._path = path_of("xplane.pb")

    def start(self) -> None:
        import jax

        # Wait until the work of the last step is done; otherwise it would appear in the recording.
        jax.block_until_ready(self.latest)
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        options.host_tracer_level = 2
        self._scratch = files.scratch(self._path)
        self._folder = self._scratch.__enter__()
        with self.job.ours():
            jax.profiler.start_trace(self._folder, profiler_options=options)

    def begin_step(self, number: int) -> None:
        import jax

        self._mark = jax.profiler.StepTraceAnnotation("train", step_num=number)
        self._mark.__enter__()

    def end_step(self) -> None:
        self._mark.__exit__(None, None, None)

    def cut_step(self) -> None:
        self._mark = None  # JAX does not write an annotation that never ends

    def stop(self) -> List[str]:
        import jax

        jax.block_until_ready(self.latest)
        process.let_threads_finish()
        with self.job.ours():
            jax.profiler.stop_trace()
        try:
            files.take_xplane(self._folder, self._path)
        finally:
            self._clean()
        return [self._path]

    def facts(self) -> Dict[str, Any]:
        import jax

        devices = jax.local_devices()
        return {
            "scheme": "spmd",
            "backend": jax.default_backend(),
            "local_devices": [device.id for device in devices],
            "devices": jax.device_count(),
        }

    def abandon(self) -> None:
        import jax

        if self._scratch is not None:
            with self.job.ours():
                jax.profiler.stop_trace()
            self._clean()

    def _clean(self) -> None:
        scratch, self._scratch = self._scratch, None
        scratch.__exit__(None, None, None)


class _Calls:
    """Watches calls of compiled functions from Python, and notes which of these functions train."""

    def __init__(self, window: Window, recorder: JaxRecorder) -> None:
        self._window = window
        self._recorder = recorder
        self._rounds = Rounds()
        self._thread = threading.local()
        self._training: Set[int] = set()
        self._names = itertools.count()

    def new_name(self) -> int:
        return next(self._names)

    def run(self, name: int, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if getattr(self._thread, "outermost", None) is not None:
            return function(*args, **kwargs)
        before = self._recorder.unfinished()
        if before is not None:
            self._window.step_ended(before)
            self._recorder.latest = None
        self._thread.outermost = name
        try:
            result = function(*args, **kwargs)
        finally:
            self._thread.outermost = None
        if name in self._training or not self._training:
            self._recorder.ended = self._rounds.ended_step(name)
            if self._recorder.ended is not None:
                self._recorder.latest = result
        return result

    def gradients_taken(self) -> None:
        outermost = getattr(self._thread, "outermost", None)
        if outermost is not None and outermost not in self._training:
            if not self._training:
                # The functions that were called before this one did not train: forget them.
                self._rounds = Rounds()
            self._training.add(outermost)


class _Watched:
    """A wrapper that notices calls of a function. In all other respects, including copies and
    pickling, it behaves like the function that it wraps."""

    def __init__(self, function: Any, calls: _Calls, name: Optional[int] = None) -> None:
        functools.update_wrapper(self, function)
        self._weft_function = function
        self._weft_calls = calls
        self._weft_name = calls.new_name() if name is None else name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind to an instance as a method, because the user may compile methods too."""
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._weft_function, name)

    def __copy__(self) -> Any:
        return type(self)(copy.copy(self._weft_function), self._weft_calls, self._weft_name)

    def __deepcopy__(self, memo: Any) -> Any:
        inner = copy.deepcopy(self._weft_function, memo)
        return type(self)(inner, self._weft_calls, self._weft_name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle as the wrapped function, because the process that unpickles it may not have Weft.
        The pickle calls typing.cast(), which returns its second argument unchanged."""
        return cast, ("Any", self._weft_function)


class _Compiled(_Watched):
    """A function that jax.jit or jax.pmap returned."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._weft_calls.run(self._weft_name, self._weft_function, args, kwargs)


class _Gradient(_Watched):
    """A function that jax.grad or jax.value_and_grad returned."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._weft_calls.gradients_taken()
        return self._weft_function(*args, **kwargs)


def _watch(maker: Any, watched: Type[_Watched], calls: _Calls) -> Any:
    """Wrap a function transformation of JAX (`maker`) so that its results are watched. The user may
    use it as a function, as a decorator, or as a decorator with arguments."""

    @functools.wraps(maker)
    def make(*args: Any, **kwargs: Any) -> Any:
        made = maker(*args, **kwargs)
        if not args and not kwargs.get("fun"):
            return lambda function: watched(made(function), calls)
        return watched(made, calls)

    make.__module__ = "jax"  # pickle finds functions by module and name
    return make


def install(settings: Settings) -> Window:
    """Install the hooks. Called once, after jax is imported."""
    import jax

    recorder = JaxRecorder()
    window = Window(settings, recorder)
    # jax.profiler.trace() calls these functions by their names in the second module.
    for module in (jax.profiler, jax._src.profiler):
        recorder.job.watch_start(module, "start_trace", window.give_way)
        recorder.job.watch_stop(module, "stop_trace")
    calls = _Calls(window, recorder)
    jax.jit = _watch(jax.jit, _Compiled, calls)
    jax.pmap = _watch(jax.pmap, _Compiled, calls)
    jax.grad = _watch(jax.grad, _Gradient, calls)
    jax.value_and_grad = _watch(jax.value_and_grad, _Gradient, calls)
    return window
