# SPDX-License-Identifier: Apache-2.0
"""Tables have the same contents in NumPy, pandas and Arrow as in csv, without copies or leaks."""

from __future__ import annotations

import csv
import gc
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "resnet50-w4"
TABLES = ["events", "collectives", "steps"]


@pytest.fixture(scope="module")
def run() -> weft.Run:
    return weft.load(EXAMPLE)


def csv_columns(run: weft.Run, name: str, folder: Path) -> dict[str, list[str]]:
    path = folder / f"{name}.csv"
    run.export(path, table=name)
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    return {column: [row[i] for row in rows] for i, column in enumerate(header)}


def as_text(value: Any) -> str:
    return "" if value is None else str(value)


@pytest.mark.parametrize("name", TABLES)
def test_numpy_has_the_same_contents_as_csv(run: weft.Run, name: str, tmp_path: Path) -> None:
    table = run.table(name)
    expected = csv_columns(run, name, tmp_path)
    assert table.columns == list(expected)
    columns = table.to_numpy()
    for column, texts in expected.items():
        values = columns[column].tolist()
        if table.may_be_missing(column):
            values = [None if value == -1 else value for value in values]
        assert [as_text(value) for value in values] == texts, column
    assert len(table) == len(texts)


@pytest.mark.parametrize("name", TABLES)
def test_arrow_has_the_same_contents_as_csv(run: weft.Run, name: str, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.table(run.table(name))
    arrow.validate(full=True)
    for column, texts in csv_columns(run, name, tmp_path).items():
        assert [as_text(value) for value in arrow[column].to_pylist()] == texts, column
    assert pyarrow.types.is_dictionary(arrow.schema.field(1).type) == (name != "steps")
    del arrow


@pytest.mark.parametrize("name", TABLES)
def test_pandas_has_the_same_contents_as_csv(run: weft.Run, name: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = run.table(name).to_pandas()
    for column, texts in csv_columns(run, name, tmp_path).items():
        values = ["" if value is pandas.NA else str(value) for value in frame[column]]
        assert values == texts, column


def test_events_are_those_of_the_run(run: weft.Run) -> None:
    columns = run.table().to_numpy()
    for rank, events in run.events.items():
        mine = columns["rank"] == rank
        assert columns["duration_ns"][mine].tolist() == events.duration.tolist()
        assert columns["name"][mine].tolist() == [events.names[i] for i in events.name]
        # Clocks are aligned, so start times differ from those of the file by at most a constant.
        shift = columns["start_ns"][mine] - events.start
        assert shift.max() - shift.min() < 1_000_000
    assert columns["start_ns"].min() == 0


def test_columns_are_views_that_outlive_the_table(run: weft.Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = run.table()
    start = table.values("start_ns")
    assert start.ctypes.data == table.to_numpy()["start_ns"].ctypes.data
    arrow = pyarrow.table(table)
    buffer = arrow["start_ns"].chunk(0).buffers()[1]
    assert buffer.address == start.ctypes.data, "Arrow sees the same memory"
    with pytest.raises(ValueError, match="read-only"):
        start[0] = 1
    total = int(start.sum())
    names = arrow["name"].chunk(0).dictionary
    del table, arrow, buffer
    gc.collect()
    assert int(start.sum()) == total
    assert "cudaLaunchKernel" in names.to_pylist(), "a column lives on its own"


def test_memory_is_freed(run: weft.Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")

    def use() -> None:
        table = run.table()
        table.__arrow_c_stream__()  # never consumed
        arrow = pyarrow.table(table)
        assert arrow.select(["name"]).num_rows == len(table)
        assert len(table.to_numpy()["name"]) == len(table)

    for _ in range(5):
        use()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(60):
        use()
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # One table takes about 12 MB, so sixty leaked tables would be noticed.
    assert grown_kb < 100_000


def test_wrong_names_are_refused(run: weft.Run, tmp_path: Path) -> None:
    with pytest.raises(weft.UsageError, match="events, collectives, steps"):
        run.table("event")
    with pytest.raises(KeyError):
        run.table().values("nothing")
    with pytest.raises(weft.UsageError, match="perfetto-json"):
        run.export(tmp_path / "x", format="json")
    with pytest.raises(weft.BadInput, match="cannot write"):
        run.export(tmp_path / "no" / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_table_has_a_repr(run: weft.Run) -> None:
    table = run.table("steps")
    assert repr(table) == "<weft.Table 'steps': 12 rows, 6 columns>"
    assert table.texts("step") is None
    assert table.values("step").dtype == np.int64


@pytest.mark.parametrize("name", ["t.json.gz", "t.pftrace"])
def test_export_writes_a_file(run: weft.Run, tmp_path: Path, name: str) -> None:
    run.export(tmp_path / name)
    first = (tmp_path / name).read_bytes()
    run.export(str(tmp_path / name))
    assert (tmp_path / name).read_bytes() == first
