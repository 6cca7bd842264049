# SPDX-License-Identifier: Apache-2.0
"""The result of Run.replay.

The fields have the same names as in the output of `weft replay --json`, which docs/reference/cli.md
explains.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import _core
from .types import Diagnostic


@dataclass(frozen=True)
class Clock:
    """A rank's clock, compared with the clock of the first rank."""

    offset_us: float
    uncertainty_us: float
    """Half the width of the 95 % confidence interval of offset_us."""
    rate_ppm: float
    """How much faster the rank's clock runs, in parts per million."""
    tied: bool
    """Whether the recording has an event that relates the two clocks, such as a collective."""


@dataclass(frozen=True)
class Breakdown:
    """The step time of one rank, divided into four parts. The parts add up to the step time."""

    rank: int
    compute_ms: float
    communication_ms: float
    """Exposed communication: the rank transfers data and computes nothing at the same time."""
    waiting_ms: float
    """The rank waits for other ranks to arrive at a collective or message."""
    host_ms: float
    """The device is idle because the host has not launched anything yet."""


@dataclass(frozen=True)
class RankMemoryPeak:
    """The moment at which one of a rank's devices uses most memory. If the rank uses no device, the
    moment at which it uses most host memory."""

    bytes: int
    at_ms: float
    """Time since the start of the rank's first event."""
    step: int | None
    op: str | None
    """The host op that ran at that moment."""
    device: int
    """Ordinal; -1 for host memory."""
    source: str
    """Where the figure comes from: 'allocator', 'allocations' or 'estimated' (a lower bound)."""


@dataclass(frozen=True)
class RankReplay:
    """Step times of one rank. Lists have one entry per step."""

    rank: int
    recorded_step_ms: list[float | None]
    replayed_step_ms: list[float | None]
    baseline_step_ms: float
    predicted_step_ms: float
    baseline_steps_ms: list[float]
    predicted_steps_ms: list[float]
    clock: Clock
    memory_peak_bytes: int | None
    memory_source: str | None
    """'allocator', 'allocations' or 'shapes' (a lower bound)."""
    memory_peak: RankMemoryPeak | None


@dataclass(frozen=True)
class Answer:
    """The predicted effect of one what-if that Weft tried on its own."""

    what_if: str
    predicted_step_ms: float
    low_ms: float
    high_ms: float
    speedup: float
    best: bool
    """True if this what-if is a change that a user can really make, such as another bucket size,
    and gives the shortest step of all such what-ifs. Always false without measured link times."""


@dataclass(frozen=True)
class Stragglers:
    """The cost of ranks that take longer than others for the same work."""

    slowdown: float
    """simulated_step_ms / ideal_step_ms."""
    simulated_step_ms: float
    ideal_step_ms: float
    """Step time if all ranks took equally long."""
    culprit: str
    """What causes the slowdown: 'none', 'worker', 'stage' or 'links'."""
    culprit_rank: int
    culprit_replica: int
    culprit_stage: int


@dataclass(frozen=True)
class Unprofiled:
    """The steps that the job took without profiler, as `weft record` timed them."""

    steps: int
    median_ms: float
    low_ms: float
    """A tenth of the steps is shorter."""
    high_ms: float
    """A tenth of the steps is longer."""
    typical: bool
    """False if the baseline is far from the median: then the recorded steps are not typical."""


@dataclass(frozen=True)
class Replay:
    """Recorded, replayed and predicted step times of the slowest rank of a run, in milliseconds."""

    label: str
    world: int
    what_if: list[str]
    steps: list[int]
    recorded_step_ms: float
    replayed_step_ms: float
    replay_error: float
    """Largest relative difference between recorded and replayed step, over all ranks and steps."""
    baseline_step_ms: float
    """Predicted step without the profiler's overhead and without any change."""
    baseline_low_ms: float
    baseline_high_ms: float
    unprofiled: Unprofiled | None
    predicted_step_ms: float
    """Predicted step without the profiler's overhead and with all what-ifs together."""
    low_ms: float
    high_ms: float
    speedup: float
    extrapolated_from_ranks: int | None
    """With workers=N: the measured number of ranks from which transfers are extrapolated to N."""
    breakdown: dict[str, Breakdown]
    """Keys: 'baseline' and 'predicted'."""
    interference: float
    """Factor by which compute is slower while communication runs beside it."""
    profiler_us_per_event: float
    """Estimated overhead of the profiler for each recorded event."""
    ranks: list[RankReplay]
    worth_knowing: list[Answer]
    """Answers to what-ifs that Weft chose; empty if the caller asked what-ifs."""
    stragglers: Stragglers | None
    graph: dict[str, int]
    diagnostics: list[Diagnostic]
    _json: str = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The output of `weft replay --json`, as objects."""
        result: dict[str, Any] = json.loads(self._json)
        return result

    def __repr__(self) -> str:
        what = f" with {' '.join(self.what_if)}" if self.what_if else ""
        return (
            f"<weft.Replay '{self.label}': recorded {self.recorded_step_ms:.1f} ms, "
            f"baseline {self.baseline_step_ms:.1f} ms, "
            f"predicted {self.predicted_step_ms:.1f} ms{what}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("recorded", self.recorded_step_ms, ""),
            ("baseline", self.baseline_step_ms, "without profiler"),
        ]
        if self.what_if:
            note = f"{' '.join(self.what_if)}: {self.speedup:.2f}x"
            rows.append(("predicted", self.predicted_step_ms, note))
        for answer in self.worth_knowing:
            best = ", best" if answer.best else ""
            rows.append((answer.what_if, answer.predicted_step_ms, f"{answer.speedup:.2f}x{best}"))
        body = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{step:.1f}</td><td>{html.escape(note)}</td></tr>"
            for name, step, note in rows
        )
        title = html.escape(self.label)
        return f"<table><tr><th>{title}</th><th>step ms</th><th></th></tr>{body}</table>"


def _from_json(text: str) -> Replay:
    data = json.loads(text)
    for name in ("schema_version", "command"):
        del data[name]
    data["breakdown"] = {name: Breakdown(**parts) for name, parts in data["breakdown"].items()}
    for rank in data["ranks"]:
        rank["clock"] = Clock(**rank["clock"])
        if rank["memory_peak"] is not None:
            rank["memory_peak"] = RankMemoryPeak(**rank["memory_peak"])
    data["ranks"] = [RankReplay(**rank) for rank in data["ranks"]]
    data["worth_knowing"] = [Answer(**answer) for answer in data["worth_knowing"]]
    if data["stragglers"] is not None:
        data["stragglers"] = Stragglers(**data["stragglers"])
    if data["unprofiled"] is not None:
        data["unprofiled"] = Unprofiled(**data["unprofiled"])
    data["diagnostics"] = [Diagnostic(**item) for item in data["diagnostics"]]
    return Replay(**data, _json=text)


Path = str | os.PathLike[str]


def replay(
    run: _core.Run,
    what_if: str | Iterable[str] | None = None,
    links: Path | Iterable[Path] | None = None,
    steps: int | Iterable[int] | None = None,
) -> Replay:
    """See Run.replay."""
    questions = [what_if] if isinstance(what_if, str) else list(what_if or [])
    tables = [links] if isinstance(links, (str, os.PathLike)) else list(links or [])
    numbers = [steps] if isinstance(steps, int) else sorted(set(steps or []))
    paths = [os.fspath(table) for table in tables]
    return _from_json(_core.replay(run, questions, paths, numbers))
