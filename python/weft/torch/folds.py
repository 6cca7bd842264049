# SPDX-License-Identifier: Apache-2.0
"""How parts make up a whole: which box of it each is, and copies between the whole and parts one behind the
other, as collectives have them. Parts are cut as torch.chunk cuts, so that later ones may be shorter, or
empty. Where all get slots of one size, each begins its slot, and what is behind it there means nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from .layouts import Spec, contiguous_stride, part_of

Box = tuple[tuple[int, int], ...]
"""From and to, of each dimension; nothing of a dimension is NOTHING, wherever it would be."""

NOTHING = (0, 0)


def box_of(spec: Spec, rank: int) -> Box | None:
    """What the rank holds, if it is one box."""
    part = part_of(spec, rank) or ()
    if any(len(strips) > 1 for strips in part):
        return None
    return tuple(strips[0] if strips else NOTHING for strips in part)


def boxes_of(spec: Spec) -> dict[int, Box] | None:
    """Of all ranks."""
    boxes = {rank: box for rank in spec.ranks if (box := box_of(spec, rank)) is not None}
    return boxes if len(boxes) == len(spec.ranks) else None


def between(low: int, high: int) -> tuple[int, int]:
    return (low, high) if low < high else NOTHING


def shape_of(box: Box) -> tuple[int, ...]:
    return tuple(high - low for low, high in box)


def size_of(box: Box) -> int:
    return math.prod(shape_of(box))


def common(box: Box, other: Box) -> Box:
    return tuple(between(max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, other))


def within(box: Box, whole: Box) -> tuple[slice, ...]:
    return tuple(
        slice(low - at, high - at) if low < high else slice(0, 0)
        for (low, high), (at, _) in zip(box, whole)
    )


def around(boxes: Sequence[Box]) -> Box:
    whole = []
    for each in zip(*boxes):
        some = [one for one in each if one != NOTHING] or [NOTHING]
        whole.append((min(low for low, _ in some), max(high for _, high in some)))
    return tuple(whole)


def make_up(parts: list[Box], dim: int, whole: Box) -> bool:
    """Whether the parts are the whole, cut along one dimension."""
    at = whole[dim][0]
    for part in sorted(parts, key=lambda part: part[dim]):
        if part != (*whole[:dim], (at, part[dim][1]), *whole[dim + 1 :]):
            return False
        at = part[dim][1]
    return at == whole[dim][1]


@dataclass(frozen=True)
class Tile:
    """Parts of one shape at equal distances: all of them are one copy."""

    counts: tuple[int, ...]  # of places along each axis
    steps: tuple[tuple[int, int], ...]  # from place to place: a dimension, and indices of it
    shape: tuple[int, ...]  # of each part
    first: tuple[int, ...]  # index of the first part's first element
    slot: int  # number of the first part's slot

    def cut(self, dim: int, pieces: int) -> Iterator[Tile]:
        """Each part into that many: those that are full, and what is left."""
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
    """An array as the slots of its parts."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...]  # numbers of places, along each axis
    slot: int  # elements of one
    room: int  # of all of them
    tiles: tuple[Tile, ...]

    @cached_property
    def _distances(self) -> tuple[int, ...]:
        return tuple(each * self.slot for each in contiguous_stride(self.sizes))

    @cached_property
    def straight(self) -> bool:
        """Whether a dense array is its slots."""
        if math.prod(self.shape) != self.room:
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
        self, array: torch.Tensor, room: torch.Tensor
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """The same elements, of the array and in the slots."""
        strides, start, slots = array.stride(), array.storage_offset(), room.storage_offset()
        for tile in self.tiles:
            extents = (*tile.counts, *tile.shape)
            first = sum(at * stride for at, stride in zip(tile.first, strides))
            apart = [strides[dim] * step for dim, step in tile.steps]
            dense = contiguous_stride(tile.shape)
            yield (
                array.as_strided(extents, (*apart, *strides), start + first),
                room.as_strided(extents, (*self._distances, *dense), slots + tile.slot * self.slot),
            )


@dataclass(frozen=True)
class Fold:
    """How parts make up a whole: which dimension each axis cuts, the most significant axis first."""

    axes: tuple[int, ...]  # of the mesh
    sizes: tuple[int, ...]  # of the axes
    cuts: tuple[int | None, ...]  # dimensions

    def parts(self, whole: Box) -> list[Box]:
        """In the order of places."""
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
        """slot: elements of each; without it parts lie side by side, those of one axis."""
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
