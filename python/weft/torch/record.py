# SPDX-License-Identifier: Apache-2.0
"""Records steps of a PyTorch job with PyTorch's own profiler.
A step ends with an optimizer step."""

from __future__ import annotations

import functools
import os
import re
import threading
from typing import Any, Dict, List, Set, Tuple

from .._recording import files, hooks
from .._recording.job_profiler import JobProfiler
from .._recording.recorder import PathOf, Recorder
from .._recording.rounds import Rounds
from .._recording.settings import Settings, check_steps
from .._recording.window import Window
from .facts import job_facts


class TorchRecorder(Recorder):
    framework = "torch"

    def __init__(self, settings: Settings) -> None:
        self._options = settings.options
        self._profiler: Any = None
        self._mark: Any = None
        self._step = ""
        self._cut: List[str] = []
        self.job = JobProfiler()

    def blocked(self) -> str:
        return "torch.profiler" if self.job.runs() else ""

    def disturbed(self) -> bool:
        return self.job.ran()

    def version(self) -> str:
        import torch

        return str(torch.__version__)

    def rank(self) -> Tuple[int, int]:
        from torch import distributed

        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
        return super().rank()

    def prepare(self, path_of: PathOf) -> None:
        import torch
        from torch.profiler import ProfilerActivity, profile

        self._path_of = path_of
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self._profiler = profile(
            activities=activities,
            record_shapes="shapes" in self._options,
            profile_memory="memory" in self._options,
            with_stack="stacks" in self._options,
            # Record which stream waits for which.
            experimental_config=torch._C._profiler._ExperimentalConfig(
                enable_cuda_sync_events=True
            ),
        )
        with self.job.ours():
            self._profiler.prepare_trace()

    def start(self) -> None:
        with self.job.ours():
            self._profiler.start_trace()

    def begin_step(self, number: int) -> None:
        from torch.autograd.profiler import record_function

        # torch.profiler uses this name for steps too, so every reader of its traces knows it.
        self._step = f"ProfilerStep#{number}"
        self._mark = record_function(self._step)
        self._mark.__enter__()

    def end_step(self) -> None:
        self._mark.__exit__(None, None, None)

    def cut_step(self) -> None:
        # The profiler ends an open mark when it stops, so the mark would look like a step. stop()
        # removes the name of this mark from the trace.
        self._cut.append(self._step)
        self.end_step()

    def stop(self) -> List[str]:
        profiler, self._profiler = self._profiler, None
        path = self._path_of("kineto.json.gz")
        with self.job.ours(), files.scratch(path) as folder:
            profiler.stop_trace()
            plain = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(plain)
            files.pack_json(plain, path, unnamed=self._cut)
        return [path]

    def adopt(self, source: str, path_of: PathOf) -> Tuple[List[str], List[int]]:
        steps: Set[int] = set()
        with open(source, "rb") as trace:
            for line in trace:
                steps.update(map(int, re.findall(rb'"ProfilerStep#(\d+)"', line)))
        if not steps:
            return [], []
        path = path_of("kineto.json.gz")
        files.pack_json(source, path)
        return [path], sorted(steps)

    def facts(self) -> Dict[str, Any]:
        return job_facts()

    def abandon(self) -> None:
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            with self.job.ours():
                profiler.stop_trace()


class _StepEnds:
    """A hook that PyTorch calls at the end of every optimizer step of the process.

    PyTorch calls it inside the range "Optimizer.step". A mark that ended there would overlap with
    this range instead of containing it. So the step ends when the outermost step() has returned,
    if watch_returns() has wrapped this step().
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self._rounds = Rounds()
        self._waiting: Any = None
        self._ended = 0
        self._thread = threading.local()  # depth of nested calls of step(), and the step that ended

    def __call__(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        number = self._rounds.ended_step(id(optimizer))
        if number is None:
            return
        # If an optimizer steps during the backward pass, autograd calls this hook on one of its own
        # threads (Python sees them as _DummyThread). The profiler cannot be started or stopped
        # there, so the step ends when the next forward pass begins.
        if isinstance(threading.current_thread(), threading._DummyThread):
            self._ended = number
            if self._waiting is None:
                from torch.nn.modules.module import register_module_forward_pre_hook

                self._waiting = register_module_forward_pre_hook(self._forward_begins)
        elif getattr(self._thread, "depth", 0) > 0:
            self._thread.ended = number
        else:
            self._window.step_ended(number)

    def _forward_begins(self, module: Any, args: Any) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.remove()
            self._window.step_ended(self._ended)

    def watch_returns(self) -> None:
        """Wrap step() of all optimizers of torch.optim, those that exist and those to come."""
        from torch.optim import Optimizer

        add_hooks = Optimizer.profile_hook_step  # PyTorch wraps the step() of each class with this

        def add_all(step: Any) -> Any:
            return self._watched(add_hooks(step))

        Optimizer.profile_hook_step = staticmethod(add_all)
        classes = [Optimizer]
        while classes:
            one = classes.pop()
            classes += one.__subclasses__()
            step = one.__dict__.get("step")
            if getattr(step, "hooked", False):
                one.step = self._watched(step)

    def _watched(self, hooked: Any) -> Any:
        @functools.wraps(hooked)
        def step(*args: Any, **kwargs: Any) -> Any:
            thread = self._thread
            thread.depth = getattr(thread, "depth", 0) + 1
            try:
                return hooked(*args, **kwargs)
            finally:
                thread.depth -= 1
                if thread.depth == 0:
                    ended, thread.ended = getattr(thread, "ended", None), None
                    if ended is not None:
                        self._window.step_ended(ended)

        # torch.compile() takes the hooks off again through this attribute.
        step.__wrapped__ = getattr(hooked, "__wrapped__", hooked)
        return step


def _watch_profiler(job: JobProfiler, window: Window) -> None:
    """All of PyTorch's interfaces to its profiler call these functions."""
    from torch.autograd import profiler

    for name in ("_prepare_profiler", "_enable_profiler"):
        job.watch_start(profiler, name, window.give_way)
    job.watch_stop(profiler, "_disable_profiler")

    def exported(_: Any, path: Any, *more: Any) -> None:
        window.adopt(path)

    job.wrap(profiler.profile, "export_chrome_trace", after=exported)


def install(settings: Settings) -> Window:
    """Install the hooks. Called once, after torch is imported."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    recorder = TorchRecorder(settings)
    window = Window(settings, recorder)
    _watch_profiler(recorder.job, window)
    ends = _StepEnds(window)
    ends.watch_returns()
    register_optimizer_step_post_hook(ends)
    return window


def record(
    folder: str | os.PathLike[str],
    steps: Tuple[int, int] = (10, 14),
    *,
    shapes: bool = True,
    memory: bool = False,
    stacks: bool = False,
) -> None:
    """Record training steps into `folder`, one file per rank.

    steps: the first and the last step to record. A step ends with an optimizer step; the first step
    is step 0 and cannot be recorded.
    shapes, memory, stacks: whether to record tensor shapes, allocations and Python stacks.

    Call this once, before training. Under `weft record` it does nothing, because that command
    already records the job.
    """
    if os.environ.get("WEFT_RECORD"):
        return
    first, last = check_steps(*steps)
    path = os.path.abspath(os.fspath(folder))
    os.makedirs(path, exist_ok=True)
    wanted = {"shapes": shapes, "memory": memory, "stacks": stacks}
    options = frozenset(name for name, on in wanted.items() if on)
    settings = Settings(path, first, last, options, False)
    session = hooks.Session(settings)
    session.add(install(settings))
    hooks.end_with_process(session)
