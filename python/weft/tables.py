# SPDX-License-Identifier: Apache-2.0
"""Converts a weft.Table into NumPy arrays or a pandas.DataFrame."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import Table


def to_numpy(table: Table) -> dict[str, NDArray[Any]]:
    """Return the columns as NumPy arrays. An array of numbers is a view of the table's memory. A
    column of texts becomes an array of objects, in which rows with the same text refer to the same
    str object."""
    columns: dict[str, NDArray[Any]] = {}
    for name in table.columns:
        texts = table.texts(name)
        values = table.values(name)
        columns[name] = values if texts is None else np.array(texts, dtype=object)[values]
    return columns


def to_pandas(table: Table) -> Any:
    """Return the table as a pandas.DataFrame. A column of texts becomes a categorical. A column of
    numbers that may have missing values gets pandas' nullable integer type. In the table, -1 marks
    a missing number."""
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
