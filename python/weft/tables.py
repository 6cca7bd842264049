# SPDX-License-Identifier: Apache-2.0
"""Tables as other packages want them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import Table


def to_numpy(table: Table) -> dict[str, NDArray[Any]]:
    """Numbers are views; texts are arrays of objects, each text there once."""
    columns: dict[str, NDArray[Any]] = {}
    for name in table.columns:
        texts = table.texts(name)
        values = table.values(name)
        columns[name] = values if texts is None else np.array(texts, dtype=object)[values]
    return columns


def to_pandas(table: Table) -> Any:
    """Texts are categories; numbers that may be missing have pandas' nullable type."""
    pandas = import_module("pandas")
    columns: dict[str, Any] = {}
    for name in table.columns:
        texts = table.texts(name)
        values = table.values(name)
        if texts is not None:
            columns[name] = pandas.Categorical.from_codes(values, categories=texts)
        elif table.may_be_missing(name):
            columns[name] = pandas.arrays.IntegerArray(values, values == -1)
        else:
            columns[name] = values
    return pandas.DataFrame(columns, copy=False)
