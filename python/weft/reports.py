# SPDX-License-Identifier: Apache-2.0
"""The result of Run.report: the page of `weft report`, which notebooks can show inline."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from . import _core


@dataclass(frozen=True)
class Report:
    """A self-contained HTML page: save it, mail it, or show it in a notebook."""

    label: str
    verdict: str
    """The diagnosis in one sentence, as at the top of the page."""
    html: str = field(repr=False)
    """The HTML of the whole page."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file and return its path. A browser can open it without a network."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self, height: int = 900) -> str:
        # An iframe keeps the styles and scripts of the page and those of the notebook apart.
        page = html.escape(self.html, quote=True)
        style = f"width:100%;height:{height}px;border:1px solid #8884;border-radius:6px"
        name = html.escape(f"Weft report: {self.label}", quote=True)
        rights = 'sandbox="allow-scripts" allow="clipboard-write"'
        return f'<iframe title="{name}" style="{style}" {rights} srcdoc="{page}"></iframe>'


def report(
    run: _core.Run,
    what_if: str | Iterable[str] | None = None,
    links: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
) -> Report:
    """See Run.report."""
    questions = [what_if] if isinstance(what_if, str) else list(what_if or [])
    tables = [links] if isinstance(links, (str, os.PathLike)) else list(links or [])
    page, verdict = _core.report(run, questions, [os.fspath(table) for table in tables])
    return Report(run.label, verdict, page)
