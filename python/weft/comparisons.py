# SPDX-License-Identifier: Apache-2.0
"""Defines weft.diff and the classes of its result, which Run.diff returns too.

The fields have the same names as in the output of `weft diff --json`.
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

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Side:
    """One of the two runs that are compared, or the plan that a run is compared with."""

    label: str
    ranks: int
    """Number of ranks whose traces were found; 0 for a plan."""
    step_ms: float
    """Mean step time of the slowest rank."""


@dataclass(frozen=True)
class CauseChange:
    """The time per step that one cause takes. In a comparison of two recordings, this is the mean
    over all ranks. In a comparison with a prediction, it is the time on the rank for which the
    other ranks wait."""

    name: str
    before_ms: float
    after_ms: float
    change_ms: float


@dataclass(frozen=True)
class OpChange:
    """All ops that have the same name. Times and counts are means per step and rank."""

    name: str
    kind: str
    """'kernel', 'copy', 'transfer', 'host' ..."""
    before_ms: float
    after_ms: float
    change_ms: float
    count_before: float
    count_after: float


@dataclass(frozen=True)
class Comparison:
    """The differences between two runs, or between a prediction and the run that followed."""

    before: Side
    after: Side
    change: float
    """Relative change of the step time: 0.03 means 3 % longer."""
    change_ms: float
    noise_ms: float
    """A change of the step time that is smaller than this may be due to chance."""
    without_profiler: bool
    """True if the step times are predictions without the profiler's overhead; false if they are the
    recorded times."""
    causes: list[CauseChange]
    ops: list[OpChange] = field(repr=False)
    """Ops that `before` and `after` have, largest change first."""
    missing: list[OpChange] = field(repr=False)
    """Ops that only `before` has, longest first."""
    new: list[OpChange] = field(repr=False)
    """Ops that only `after` has, longest first."""
    diagnostics: list[Diagnostic]
    _json: str = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The output of `weft diff --json`, as objects."""
        result: dict[str, Any] = json.loads(self._json)
        return result

    def to_json(self) -> str:
        """The output of `weft diff --json`, as text."""
        return self._json

    def _sentence(self) -> str:
        noise = ", within noise" if abs(self.change_ms) <= self.noise_ms else ""
        return (
            f"'{self.before.label}' -> '{self.after.label}': "
            f"step {self.before.step_ms:.1f} -> {self.after.step_ms:.1f} ms, "
            f"{self.change:+.1%}{noise}"
        )

    def __repr__(self) -> str:
        return f"<weft.Comparison {self._sentence()}>"

    def __str__(self) -> str:
        lines = [self._sentence()]
        for cause in self.causes:
            lines.append(
                f"{cause.name:<18}{cause.before_ms:10.3f} -> {cause.after_ms:10.3f} ms "
                f"{cause.change_ms:+10.3f}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(cause.name)}</td><td>{cause.before_ms:.1f}</td>"
            f"<td>{cause.after_ms:.1f}</td><td>{cause.change_ms:+.1f}</td></tr>"
            for cause in self.causes
        )
        head = "<tr><th>cause</th><th>before ms</th><th>after ms</th><th>change ms</th></tr>"
        return f"<p>{html.escape(self._sentence())}</p><table>{head}{rows}</table>"


def _from_json(text: str) -> Comparison:
    data = json.loads(text)
    # fail_above and failed belong to the option --fail-above of the command. In Python, the caller
    # checks `change` instead.
    for name in ("schema_version", "command", "fail_above", "failed"):
        del data[name]
    for name in ("before", "after"):
        data[name] = Side(**data[name])
    data["causes"] = [CauseChange(**cause) for cause in data["causes"]]
    for name in ("ops", "missing", "new"):
        data[name] = [OpChange(**op) for op in data[name]]
    data["diagnostics"] = [Diagnostic(**item) for item in data["diagnostics"]]
    return Comparison(**data, _json=text)


def _run(source: _core.Run | Path) -> _core.Run:
    return source if isinstance(source, _core.Run) else _core.load([os.fspath(source)], "", False)


def diff(
    before: _core.Run | Path,
    after: _core.Run | Path,
    what_if: str | Iterable[str] | None = None,
    links: Path | Iterable[Path] | None = None,
) -> Comparison:
    """Compare two runs. `before` and `after` are each a Run or the path of a recording; `before`
    may also be the path of a plan.

    what_if: changes to predict for `before`. The prediction is then compared with `after`, which
      shows whether the prediction was right. With what-ifs or a plan, the step times of the two
      sides do not contain the profiler's overhead.
    links: paths of link tables, which hold measured transfer times for the predictions.
    """
    questions = [what_if] if isinstance(what_if, str) else list(what_if or [])
    tables = [links] if isinstance(links, (str, os.PathLike)) else list(links or [])
    paths = [os.fspath(table) for table in tables]
    if not isinstance(before, _core.Run) and _core.is_plan(os.fspath(before)):
        return _from_json(_core.diff_plan(os.fspath(before), _run(after), questions, paths))
    return _from_json(_core.diff(_run(before), _run(after), questions, paths))
