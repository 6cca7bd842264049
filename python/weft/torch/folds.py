# SPDX-License-Identifier: Apache-2.0
"""Converts between an array and the contiguous slots that collectives such as all-gather need.

A collective gathers or scatters parts that lie one after the other in one buffer. Each part has a
slot of that buffer. Here a Fold says which box of the array each part is. A View pairs the parts of
an array with their slots, so that parts can be copied into slots and back.

Arrays are divided into parts in the same way as by torch.chunk, so later parts may be shorter than
the first part, or empty. If all slots must have the same size, each part is stored at the begin of
its slot, and the rest of the slot is padding with undefined contents.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from .layouts import Spec, contiguous_stride, part_of

Box = tuple[tuple[int, int], ...]
"""The range [low, high) of each dimension. An empty range is always
NOTHING, so that equal boxes compare equal."""

NOTHING = (0, 0)


def box_of(spec: Spec, rank: int) -> Box | None:
    """The box that the rank holds; None if it holds several boxes."""
    part = part_of(spec, rank) or ()
    if any(len(strips) > 1 for strips in part):
        return None
    return tuple(strips[0] if strips else NOTHING for strips in part)


def boxes_of(spec: Spec) -> dict[int, Box] | None:
    """The box of every rank; None if some rank holds several boxes."""
    boxes = {rank: box for rank in spec.ranks if (box := box_of(spec, rank)) is not None}
    return boxes if len(boxes) == len(spec.ranks) else None


def between(low: int, high: int) -> tuple[int, int]:
    return (low, high) if low < high else NOTHING


def shape_of(box: Box) -> tuple[int, ...]:
    return tuple(high - low for low, high in box)


def size_of(box: Box) -> int:
    return math.prod(shape_of(box))


def common(box: Box, other: Box) -> Box:
    """The intersection of two boxes."""
    return tuple(between(max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, other))


def within(box: Box, whole: Box) -> tuple[slice, ...]:
    """Slices that take `box` out of an array that holds `whole`."""
    return tuple(
        slice(low - at, high - at) if low < high else slice(0, 0)
        for (low, high), (at, _) in zip(box, whole)
    )


def around(boxes: Sequence[Box]) -> Box:
    """The smallest box that contains all of the boxes."""
    whole = []
    for each in zip(*boxes):
        some = [one for one in each if one != NOTHING] or [NOTHING]
        whole.append((min(low for low, _ in some), max(high for _, high in some)))
    return tuple(whole)


def make_up(parts: list[Box], dim: int, whole: Box) -> bool:
    """Whether the parts, put together along dimension `dim`, are exactly the whole."""
    at = whole[dim][0]
    for part in sorted(parts, key=lambda part: part[dim]):
        if part != (*whole[:dim], (at, part[dim][1]), *whole[dim + 1 :]):
            return False
        at = part[dim][1]
    return at == whole[dim][1]


@dataclass(frozen=True)
class Tile:
    """Several parts of the same shape at equal distances, so that one strided copy can copy all of
    them."""

    counts: tuple[int, ...]  # number of parts along each axis of the mesh
    steps: tuple[tuple[int, int], ...]  # per axis: (dimension, distance between two parts)
    shape: tuple[int, ...]  # shape of each part
    first: tuple[int, ...]  # index, in the array, of the first element of the first part
    slot: int  # number of the first part's slot

    def cut(self, dim: int, pieces: int) -> Iterator[Tile]:
        """Divide each part into `pieces` pieces along `dim`, like torch.chunk. Yields a tile that
        consists of the full pieces, and a tile that consists of the shorter last pieces. Empty
        pieces are left out."""
        length = self.shape[dim]
        step = -(-length // pieces)
        full, rest = divmod(length, step) if step else (0, 0)
        for count, extent, at in ((full, step, 0), (1, rest, full)):
            if count and extent:
                yield Tile(
                    (*self.counts, count),
                    (*self.steps, (dim, step)),
                    (*self.shape[:dim], extent, *self.shape[dim + 1 :]),
                    (*self.first[:dim], self.first[dim] + at * step, *self.first[dim + 1 :]),
                    self.slot * pieces + at,
                )


@dataclass(frozen=True)
class View:
    """An array, seen as parts that each have a slot of a buffer."""

    shape: tuple[int, ...]  # shape of the array
    sizes: tuple[int, ...]  # sizes of the mesh axes that divide the array
    slot: int  # elements per slot
    total: int  # elements of all slots
    tiles: tuple[Tile, ...]  # the parts

    @cached_property
    def _distances(self) -> tuple[int, ...]:
        return tuple(each * self.slot for each in contiguous_stride(self.sizes))

    @cached_property
    def straight(self) -> bool:
        """Whether the memory of a contiguous array is already the buffer of slots, so that no copy
        is needed. True if every part lies exactly where its slot is."""
        if math.prod(self.shape) != self.total:
            return False
        dense = contiguous_stride(self.shape)
        for tile in self.tiles:
            extents = (*tile.counts, *tile.shape)
            here = (*(dense[dim] * step for dim, step in tile.steps), *dense)
            there = (*self._distances, *contiguous_stride(tile.shape))
            first = sum(at * stride for at, stride in zip(tile.first, dense))
            if first != tile.slot * self.slot:
                return False
            if any(n != 1 and a != b for n, a, b in zip(extents, here, there)):
                return False
        return True

    def pairs(
        self, array: torch.Tensor, buffer: torch.Tensor
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield pairs of views of the same elements: the first in the array, the second in the
        buffer of slots."""
        strides, start, slots = array.stride(), array.storage_offset(), buffer.storage_offset()
        for tile in self.tiles:
            extents = (*tile.counts, *tile.shape)
            first = sum(at * stride for at, stride in zip(tile.first, strides))
            apart = [strides[dim] * step for dim, step in tile.steps]
            dense = contiguous_stride(tile.shape)
            yield (
                array.as_strided(extents, (*apart, *strides), start + first),
                buffer.as_strided(
                    extents, (*self._distances, *dense), slots + tile.slot * self.slot
                ),
            )


@dataclass(frozen=True)
class Fold:
    """How certain axes of a mesh divide an array into parts, the most significant axis first."""

    axes: tuple[int, ...]  # dimensions of the mesh
    sizes: tuple[int, ...]  # number of ranks along each axis
    cuts: tuple[int | None, ...]  # the array dimension that each axis divides; None: no dimension

    def parts(self, whole: Box) -> list[Box]:
        """The box of each part, in row-major order of the axes."""
        return [self._part(whole, place) for place in itertools.product(*map(range, self.sizes))]

    def _part(self, whole: Box, place: tuple[int, ...]) -> Box:
        part = list(whole)
        for dim, size, at in zip(self.cuts, self.sizes, place):
            if dim is not None:
                low, high = part[dim]
                step = -(-(high - low) // size)
                part[dim] = between(low + at * step, min(low + (at + 1) * step, high))
        return tuple(part)

    def view(self, shape: tuple[int, ...], slot: int | None = None) -> View:
        """The View that describes the slots of an array of this shape.

        slot: elements per slot. If it is not given, the parts lie one after the other without
        padding. This is possible only if the fold has a single axis.
        """
        tiles = [Tile((), (), shape, (0,) * len(shape), 0)]
        for dim, size in zip(self.cuts, self.sizes):
            assert dim is not None
            tiles = [one for tile in tiles for one in tile.cut(dim, size)]
        some = tuple(tile for tile in tiles if math.prod(tile.shape))
        if slot is None:
            full = math.prod(some[0].shape) if some else 0
            return View(shape, self.sizes, full, math.prod(shape), some)
        return View(shape, self.sizes, slot, math.prod(self.sizes) * slot, some)


def fold_of(spec: Spec, axes: tuple[int, ...]) -> Fold:
    return Fold(
        axes,
        tuple(spec.sizes[axis] for axis in axes),
        tuple(spec.placed[axis].dim for axis in axes),
    )
