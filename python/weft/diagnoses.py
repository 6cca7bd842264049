# SPDX-License-Identifier: Apache-2.0
"""What Run.diagnose returns. The words are those of `weft diagnose --json` (docs/reference/cli.md)."""

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
    """How a rank comes to collectives and messages."""

    collectives: int
    """It took part in."""
    last: int
    """Times it came last."""
    made_wait_ms: float
    """How long others waited for it then, all together."""


@dataclass(frozen=True)
class RankDiagnosis:
    """Where the time of a rank goes."""

    rank: int
    step_ms: float
    """Mean of steps_ms."""
    steps_ms: list[float]
    """One entry a step."""
    causes: dict[str, float]
    """Milliseconds by cause, mean a step; they add up to step_ms."""
    causes_by_step: list[dict[str, float]]
    communication_ms: float
    """Data moved, hidden or not."""
    hidden_ms: float
    """The part of it behind compute and copies."""
    overlap: float | None
    """hidden_ms / communication_ms; None without communication."""
    lateness: Lateness
    memory_peak: RankMemoryPeak | None


@dataclass(frozen=True)
class FindingOp:
    """An op that a finding takes time from."""

    name: str
    rank: int | None
    step: int | None
    lane: str
    at_ms: float | None
    """On the clock of the first rank."""
    ms: float
    """Taken from the op and from the pause before it."""


@dataclass(frozen=True)
class Finding:
    """Something that could be taken away, and what that would give."""

    kind: str
    """'straggler', 'exposed_communication' ...; `weft list findings` has them all."""
    title: str
    """What would be gone."""
    what: str
    rank: int | None
    """Where it costs most, as are step and stream."""
    step: int | None
    stream: str | None
    ranks: list[int]
    """All that it concerns."""
    gain_ms: float
    """Off the mean step of the slowest rank, by replay without it. Gains do not add up."""
    time_ms: float
    """How long it takes on `rank`, mean a step."""
    count: int
    advice: str
    """What to do."""
    show: str
    """The command that shows it."""
    what_if: str | None
    """The nearest question for Run.replay."""
    ops: list[FindingOp]
    """The largest."""


@dataclass(frozen=True)
class PathPiece:
    """A piece of the critical path: an op, or the pause before it."""

    rank: int | None
    step: int | None
    lane: str
    name: str
    gap: bool
    """The pause before the op of this name."""
    cause: str
    start_ms: float
    duration_ms: float


@dataclass(frozen=True)
class PathRank:
    """What a rank has of the critical path."""

    rank: int | None
    ms: float


@dataclass(frozen=True)
class PathSummary:
    """The critical path by rank and by cause."""

    length_ms: float
    by_rank: list[PathRank]
    by_cause: dict[str, float]
    main_rank: int | None


@dataclass(frozen=True)
class Collective:
    """A collective or message taken apart."""

    name: str
    group: str
    sequence: int
    step: int | None
    bytes: int | None
    skew_ms: float
    """From the first arrival to the last."""
    transfer_ms: float
    """From the last arrival to the end."""
    last_rank: int | None


@dataclass(frozen=True)
class Diagnosis:
    """Where the step goes, who is late, and what removing it would give. As recorded."""

    label: str
    world: int
    verdict: str
    """One sentence."""
    steps: list[int]
    step_ms: float
    """Mean step of the slowest rank."""
    slowest_rank: int
    late_rank: int
    ranks: list[RankDiagnosis]
    findings: list[Finding]
    """Largest gain first."""
    critical_path: list[PathPiece] = field(repr=False)
    """End to end, in order of time."""
    critical_path_summary: PathSummary
    collectives: list[Collective] = field(repr=False)
    """In order of their first arrival."""
    stragglers: dict[str, float] | None
    diagnostics: list[Diagnostic]
    _json: str = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """What `weft diagnose --json` prints."""
        result: dict[str, Any] = json.loads(self._json)
        return result

    def to_json(self) -> str:
        """The same as text."""
        return self._json

    def __repr__(self) -> str:
        return f"<weft.Diagnosis '{self.label}': {self.verdict}>"

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.verdict}"]
        for number, finding in enumerate(self.findings, 1):
            share = finding.gain_ms / self.step_ms
            lines.append(f"{number:3} {finding.gain_ms:9.3f} ms {share:6.1%}  {finding.title}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{finding.gain_ms:.1f}</td><td>{finding.gain_ms / self.step_ms:.1%}</td>"
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
