# SPDX-License-Identifier: Apache-2.0
"""Host memory that becomes a jax.Array without being copied.

JAX on CPU takes over memory that begins at a multiple of 64 bytes, for any device, and keeps what owns
it until the array dies. Fresh memory is cleared by the kernel a page at a time, which costs more than
what is then written to it: with 4 KiB pages, as XLA has them, several times as much. So large arrays
have huge pages, and the memory of those that died is kept for the next ones, within limits; the
kernel may take it back whenever it needs some.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
from typing import Any, List, Optional, Tuple

import numpy as np

ALIGN = 64
SMALL_BLOCK = 64 << 10
HUGE_PAGE = 2 << 20
SHARE_KEPT = 8  # one part in so many of the machine's memory


def whole_pages(size: int) -> int:
    """Bytes of the pages that so many need."""
    block = HUGE_PAGE if size >= HUGE_PAGE else SMALL_BLOCK
    return -(-size // block) * block


class _Pages:
    """Whole pages; huge ones, where the kernel has them, if that is no waste."""

    def __init__(self, size: int) -> None:
        self._huge = size >= HUGE_PAGE
        self.size = whole_pages(size)
        spare = HUGE_PAGE if self._huge else 0  # where they begin is up to the kernel
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._memory = mmap.mmap(-1, self.size + spare, flags=flags)
        address = int(np.frombuffer(self._memory, np.uint8).ctypes.data)
        self._start = -address % HUGE_PAGE if self._huge else 0
        self.address = address + self._start
        if self._huge:
            self._advise("MADV_HUGEPAGE")

    def may_be_taken_back(self) -> None:
        """By the kernel, should it be short of memory, until something is written to them."""
        if self._huge:
            self._advise("MADV_FREE")

    def _advise(self, name: str) -> None:
        if hasattr(mmap, name):
            try:
                self._memory.madvise(getattr(mmap, name), self._start, self.size)
            except OSError:
                pass  # an old kernel: the memory is only slower, or stays in use


class Pool:
    """Pages that nobody uses, for who needs as many; those kept longest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free: List[_Pages] = []
        self._lock = threading.Lock()

    def take(self, size: int) -> _Pages:
        fresh = whole_pages(size)
        with self._lock:
            for i, pages in enumerate(self._free):
                if size <= pages.size <= fresh + fresh // 8:
                    return self._free.pop(i)
        return _Pages(size)

    def keep(self, pages: _Pages) -> None:
        # Arrays die anywhere, also while this thread is in take(): then the pages just go.
        if not self._lock.acquire(blocking=False):
            return
        try:
            pages.may_be_taken_back()
            self._free.append(pages)
            while self.kept() > self._most:
                del self._free[0]
        finally:
            self._lock.release()

    def kept(self) -> int:
        """Bytes that nobody uses."""
        return sum(pages.size for pages in self._free)


class _Loan:
    """What an array of NumPy refers to while it, or an array of JAX, uses pages."""

    def __init__(self, pool: Pool, size: int) -> None:
        self._pool = pool
        self._pages: Optional[_Pages] = pool.take(size)
        self.__array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (self._pages.address, False), "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        pages, self._pages = self._pages, None
        if pages is not None:
            self._pool.keep(pages)


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


pool = Pool(_machine_bytes() // SHARE_KEPT)


def empty(shape: Tuple[int, ...], dtype: Any) -> Any:
    """An array of NumPy with undefined contents."""
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    if size < SMALL_BLOCK:
        raw = np.empty(size + ALIGN, np.uint8)
        start = -raw.ctypes.data % ALIGN
    else:
        raw, start = np.asarray(_Loan(pool, size)), 0
    return raw[start : start + size].view(dtype).reshape(shape)
