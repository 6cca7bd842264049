# SPDX-License-Identifier: Apache-2.0
"""Allocates host memory that can become a jax.Array without a copy.

On a CPU, JAX can use existing memory as an array, if the memory begins at a multiple of 64 bytes.
This works for any CPU device. JAX keeps the owner of the memory alive until the array is freed.

The kernel clears new memory page by page. With pages of 4 KiB, which XLA uses, clearing the pages
takes several times as long as writing the data. So large arrays get huge pages, and the memory of
freed arrays is kept in a pool for later arrays. The pool has a size limit, and the kernel may take
pages back from the pool whenever it needs memory.
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
SHARE_KEPT = 8  # the pool keeps at most 1/8 of the machine's memory


def whole_pages(size: int) -> int:
    """Round `size` up to whole pages."""
    block = HUGE_PAGE if size >= HUGE_PAGE else SMALL_BLOCK
    return -(-size // block) * block


class _Pages:
    """A block of whole pages: huge pages if the block is large enough and the kernel has them."""

    def __init__(self, size: int) -> None:
        self._huge = size >= HUGE_PAGE
        self.size = whole_pages(size)
        spare = HUGE_PAGE if self._huge else 0  # the kernel may return an unaligned address
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._memory = mmap.mmap(-1, self.size + spare, flags=flags)
        address = int(np.frombuffer(self._memory, np.uint8).ctypes.data)
        self._start = -address % HUGE_PAGE if self._huge else 0
        self.address = address + self._start
        if self._huge:
            self._advise("MADV_HUGEPAGE")

    def may_be_taken_back(self) -> None:
        """Allow the kernel to take the pages back if it is short of memory. When something is
        written to a page, the kernel may no longer take that page."""
        if self._huge:
            self._advise("MADV_FREE")

    def _advise(self, name: str) -> None:
        if hasattr(mmap, name):
            try:
                self._memory.madvise(getattr(mmap, name), self._start, self.size)
            except OSError:
                pass  # an old kernel cannot do this; Weft works without it


class Pool:
    """Unused blocks of pages, kept for arrays of about the same size. If the blocks together exceed
    the limit, the oldest blocks are released first."""

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
        # The garbage collector may free an array at any point, even while this thread is in take()
        # and holds the lock. Waiting would then be a deadlock, so the pages are released instead.
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
        """Bytes of the unused blocks."""
        return sum(pages.size for pages in self._free)


class _Loan:
    """Owner of a block of pages that NumPy and JAX arrays use. The arrays keep a reference to this
    object. When the last reference disappears, the block returns to the pool."""

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
    """A NumPy array with undefined contents. JAX can use the memory of this array without a
    copy."""
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    if size < SMALL_BLOCK:
        raw = np.empty(size + ALIGN, np.uint8)
        start = -raw.ctypes.data % ALIGN
    else:
        raw, start = np.asarray(_Loan(pool, size)), 0
    return raw[start : start + size].view(dtype).reshape(shape)
