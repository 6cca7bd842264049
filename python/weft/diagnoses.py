# SPDX-License-Identifier: Apache-2.0
"""The result of Run.diagnose.

The fields have the same names as in the output of `weft diagnose --json`, which
docs/reference/cli.md explains.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import Any

from . import _core
from .replays import RankMemoryPeak
from .types import Diagnostic


@dataclass(frozen=True)
class Lateness:
    """How often a rank is the last one to arrive at a collective or message."""

    collectives: int
    """Number of collectives and messages that the rank took part in."""
    last: int
    """How often the rank arrived last."""
    made_wait_ms: float
    """Total time that other ranks waited for this rank when it arrived last."""


@dataclass(frozen=True)
class RankDiagnosis:
    """How one rank spends its time."""

    rank: int
    step_ms: float
    """Mean of steps_ms."""
    steps_ms: list[float]
    """One entry per step."""
    causes: dict[str, float]
    """Milliseconds per cause, averaged over the steps. They add up to step_ms."""
    causes_by_step: list[dict[str, float]]
    """For each step, the milliseconds per cause."""
    communication_ms: float
    """Time in which data is transferred, whether or not the rank computes at the same time."""
    hidden_ms: float
    """The part of communication_ms in which the rank also computes or copies."""
    overlap: float | None
    """hidden_ms / communication_ms; None if there is no communication."""
    lateness: Lateness
    memory_peak: RankMemoryPeak | None


@dataclass(frozen=True)
class FindingOp:
    """An op that becomes shorter when the cause of a finding is removed."""

    name: str
    rank: int | None
    step: int | None
    lane: str
    at_ms: float | None
    """When the op starts, on the clock of the first rank."""
    ms: float
    """Time saved on the op and on the pause before it."""
    pause_ms: float
    """The part of `ms` that is saved on the pause."""


@dataclass(frozen=True)
class Finding:
    """One cause of lost time, and how much shorter the step would be without it."""

    kind: str
    """'straggler', 'exposed_communication' ...; `weft list findings` lists all kinds."""
    title: str
    """Short name of the cause."""
    what: str
    """The cause in one sentence."""
    rank: int | None
    """The rank on which the cause costs most time. `step` and `stream` say in which step and on
    which stream of this rank."""
    step: int | None
    stream: str | None
    ranks: list[int]
    """All ranks that the cause affects."""
    gain_ms: float
    """How much shorter the mean step of the slowest rank is when it is replayed without the cause.
    Gains of several findings overlap, so they do not add up."""
    time_ms: float
    """Time that the cause takes on `rank`, averaged over the steps."""
    count: int
    """Number of ops that the cause affects."""
    advice: str
    """What to do about the finding."""
    show: str
    """The command that shows the finding in detail."""
    what_if: str | None
    """The what-if for Run.replay that comes closest to removing the cause."""
    ops: list[FindingOp]
    """The ops that lose most time."""


@dataclass(frozen=True)
class PathPiece:
    """A piece of the critical path: an op, or the pause before an op."""

    rank: int | None
    step: int | None
    lane: str
    name: str
    gap: bool
    """True if the piece is the pause before the op called `name`, false if it is the op itself."""
    cause: str
    start_ms: float
    duration_ms: float


@dataclass(frozen=True)
class PathRank:
    """Time of the critical path that is spent on one rank."""

    rank: int | None
    ms: float


@dataclass(frozen=True)
class PathSummary:
    """The length of the critical path, divided by rank and by cause."""

    length_ms: float
    by_rank: list[PathRank]
    by_cause: dict[str, float]
    main_rank: int | None


@dataclass(frozen=True)
class Collective:
    """One collective or message, divided into waiting for ranks and transferring data."""

    name: str
    group: str
    sequence: int
    step: int | None
    bytes: int | None
    skew_ms: float
    """Time from the arrival of the first rank to the arrival of the last rank."""
    transfer_ms: float
    """Time from the arrival of the last rank to the end of the collective."""
    last_rank: int | None


@dataclass(frozen=True)
class Diagnosis:
    """The causes that take the time of the recorded steps, the ranks that are late, and the gain of
    each possible fix."""

    label: str
    world: int
    verdict: str
    """The diagnosis in one sentence."""
    steps: list[int]
    step_ms: float
    """Mean step time of the slowest rank."""
    baseline_step_ms: float
    """The predicted step without profiler. The gains of findings are subtracted from it."""
    slowest_rank: int
    late_rank: int
    """The rank for which the other ranks wait: the rank on which most of the critical path lies."""
    ranks: list[RankDiagnosis]
    findings: list[Finding]
    """Sorted by gain, largest first."""
    critical_path: list[PathPiece] = field(repr=False)
    """The pieces of the critical path, from the start of the recorded steps to their end, in order
    of time. There is no gap between two pieces."""
    critical_path_summary: PathSummary
    collectives: list[Collective] = field(repr=False)
    """Sorted by the time at which the first rank arrives."""
    stragglers: dict[str, float] | None
    diagnostics: list[Diagnostic]
    _json: str = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The output of `weft diagnose --json`, as objects."""
        result: dict[str, Any] = json.loads(self._json)
        return result

    def to_json(self) -> str:
        """The output of `weft diagnose --json`, as text."""
        return self._json

    def __repr__(self) -> str:
        return f"<weft.Diagnosis '{self.label}': {self.verdict}>"

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.verdict}"]
        for number, finding in enumerate(self.findings, 1):
            share = finding.gain_ms / self.baseline_step_ms
            lines.append(f"{number:3} {finding.gain_ms:9.3f} ms {share:6.1%}  {finding.title}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{finding.gain_ms:.1f}</td><td>{finding.gain_ms / self.baseline_step_ms:.1%}</td>"
            f"<td>{html.escape(finding.title)}</td><td>{html.escape(finding.advice)}</td></tr>"
            for finding in self.findings
        )
        head = "<tr><th>gain ms</th><th>of step</th><th>without</th><th>what to do</th></tr>"
        title = html.escape(f"{self.label}: {self.verdict}")
        return f"<p>{title}</p><table>{head}{rows}</table>"


def _finding(data: dict[str, Any]) -> Finding:
    return Finding(**{**data, "ops": [FindingOp(**op) for op in data["ops"]]})


def _rank(data: dict[str, Any]) -> RankDiagnosis:
    peak = data["memory_peak"]
    objects = {
        "lateness": Lateness(**data["lateness"]),
        "memory_peak": None if peak is None else RankMemoryPeak(**peak),
    }
    return RankDiagnosis(**{**data, **objects})


def diagnose(run: _core.Run) -> Diagnosis:
    """See Run.diagnose."""
    text = _core.diagnose(run)
    data = json.loads(text)
    for name in ("schema_version", "command"):
        del data[name]
    data["ranks"] = [_rank(rank) for rank in data["ranks"]]
    data["findings"] = [_finding(finding) for finding in data["findings"]]
    data["critical_path"] = [PathPiece(**piece) for piece in data["critical_path"]]
    summary = data["critical_path_summary"]
    summary["by_rank"] = [PathRank(**rank) for rank in summary["by_rank"]]
    data["critical_path_summary"] = PathSummary(**summary)
    data["collectives"] = [Collective(**each) for each in data["collectives"]]
    data["diagnostics"] = [Diagnostic(**item) for item in data["diagnostics"]]
    return Diagnosis(**data, _json=text)
