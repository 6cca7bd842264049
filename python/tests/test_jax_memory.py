# SPDX-License-Identifier: Apache-2.0
"""Tests the memory pool for JAX arrays. The pool itself does not need JAX."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from weft.jax import memory


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> memory.Pool:
    fresh = memory.Pool(16 << 20)
    monkeypatch.setattr(memory, "pool", fresh)
    return fresh


def address(array: Any) -> int:
    return int(array.ctypes.data)


@pytest.mark.parametrize("size", [0, 1, 100, 70_000, 3 << 20])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex64", "bool"])
def test_arrays_are_aligned_so_that_jax_adopts_them(size: int, dtype: str) -> None:
    kind = np.dtype(dtype)
    array = memory.empty((size,), kind)
    assert array.shape == (size,) and array.dtype == kind
    assert size == 0 or address(array) % 64 == 0
    array[:] = 1
    assert (array == 1).all()


def test_arrays_have_the_shape_that_was_asked_for() -> None:
    assert memory.empty((3, 5, 7), np.dtype("int16")).shape == (3, 5, 7)
    assert memory.empty((), np.dtype("int16")).shape == ()


@pytest.mark.parametrize("size", [100_000, 1 << 17, (2 << 20) + 1, 4 << 20, 7_077_888])
def test_memory_of_freed_arrays_is_reused(size: int) -> None:
    first = memory.empty((size,), np.dtype("uint8"))
    place = address(first)
    del first
    gc.collect()
    assert address(memory.empty((size,), np.dtype("uint8"))) == place


def test_memory_in_use_is_not_given_out_again() -> None:
    first = memory.empty((4 << 20,), np.dtype("uint8"))
    first[:] = 7
    view = first[10:20]
    del first
    gc.collect()
    second = memory.empty((4 << 20,), np.dtype("uint8"))
    second[:] = 9
    assert (view == 7).all()


def test_pool_keeps_at_most_its_limit(pool: memory.Pool) -> None:
    arrays = [memory.empty((6 << 20,), np.dtype("uint8")) for _ in range(5)]
    places = {address(array) for array in arrays}
    del arrays
    gc.collect()
    again = [memory.empty((6 << 20,), np.dtype("uint8")) for _ in range(2)]
    assert {address(array) for array in again} <= places
    assert pool.kept() == 0, "two of six megabytes fit into sixteen"


def test_small_arrays_do_not_get_large_blocks(pool: memory.Pool) -> None:
    large = memory.empty((8 << 20,), np.dtype("uint8"))
    del large
    gc.collect()
    small = memory.empty((2 << 20,), np.dtype("uint8"))
    assert pool.kept() == 8 << 20
    assert small.nbytes == 2 << 20
