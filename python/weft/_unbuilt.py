# SPDX-License-Identifier: Apache-2.0
"""Turns a failed import of the compiled module _core into an error that says what to do."""

from __future__ import annotations

import platform
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


def explained(error: ImportError) -> ImportError:
    """Return the error to raise instead of `error`.

    If _core was built for this Python but fails to load, the result is `error` itself, because it
    says why.
    """
    folder = Path(__file__).parent
    if any((folder / f"_core{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
        return error
    others = ", ".join(sorted(file.name for file in folder.glob("_core.*.so")))
    lacks = (
        f"built for another Python ({others}; this is {platform.python_version()})"
        if others
        else "not built: its compiled part, _core, is missing"
    )
    return ImportError(
        f"weft in {folder} is {lacks}; run 'python -m pip install .' in its checkout, and leave "
        "this folder out of PYTHONPATH",
        name="weft._core",
        path=str(folder),
    )
