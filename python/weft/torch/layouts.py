# SPDX-License-Identifier: Apache-2.0
"""Translates the layouts of DTensors (mesh and placements) into the form that Weft's planner
takes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.placement_types import Partial, Replicate, Shard, _StridedShard

from .._core import ReshardEnd
from ..errors import Infeasible, UsageError

Strips = tuple[tuple[int, int], ...]
"""The indices of one dimension that a rank holds: ranges (low, high), in order."""

REDUCTIONS = {"sum": "sum", "avg": "avg", "min": "min", "max": "max", "product": "prod", "prod": "prod"}

# Weft's names of the element types. Elements of other types are
# moved as bytes and cannot be added up.
DTYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16", torch.float16: "f16",
    torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    torch.uint8: "u8", torch.complex64: "c64", torch.complex128: "c128", torch.bool: "pred",
}  # fmt: skip


@dataclass(frozen=True)
class Placed:
    """The placement on one dimension of the mesh. There are three cases. The mesh dimension shards
    the array's dimension `dim`. Or its ranks hold addends, and `reduce` names the reduction. Or it
    replicates the array."""

    dim: int | None = None
    split: int = 1  # split_factor of a strided shard: `dim` is first cut into this number of pieces
    reduce: str = ""


@dataclass(frozen=True)
class Spec:
    """Describes the layout of a distributed array completely.

    A Spec can be compared and hashed. It refers to no DeviceMesh, so it can be sent to ranks that
    do not have the mesh.
    """

    shape: tuple[int, ...]
    sizes: tuple[int, ...]  # sizes of the mesh dimensions
    ranks: tuple[int, ...]  # ranks of the mesh, in row-major order
    placed: tuple[Placed, ...]  # one placement for each dimension of the mesh
    # For each array dimension, the mesh dimensions that shard it, most significant first. An empty
    # tuple means that this order is the order of the mesh dimensions.
    order: tuple[tuple[int, ...], ...] = ()

    @property
    def reduction(self) -> str:
        """Weft's name of the reduction of the addends; empty if the array has no addends."""
        return next((REDUCTIONS[each.reduce] for each in self.placed if each.reduce), "")

    @property
    def addends(self) -> int:
        """The number of addends of each element; 1 if the array is not partial."""
        return math.prod(n for n, each in zip(self.sizes, self.placed) if each.reduce)


def placed(placement: Any, dims: int) -> Placed:
    # Compare the name of the class, because the class has moved between versions of PyTorch.
    if type(placement).__name__ == "_MaskPartial":
        raise UsageError(
            f"{placement} is internal to the embedding operator and cannot be redistributed"
        )
    if isinstance(placement, Partial):
        if placement.reduce_op not in REDUCTIONS:
            known = ", ".join(REDUCTIONS)
            raise UsageError(f"{placement} has a reduction that Weft lacks: it has {known}")
        return Placed(reduce=placement.reduce_op)
    if isinstance(placement, Replicate):
        return Placed()
    if isinstance(placement, (Shard, _StridedShard)):
        dim = placement.dim + dims if placement.dim < 0 else placement.dim
        if not 0 <= dim < dims:
            raise UsageError(f"{placement} is out of range: the array has {dims} dimensions")
        return Placed(dim=dim, split=int(getattr(placement, "split_factor", 1)))
    raise UsageError(f"{placement} is a placement that Weft does not support")


def normalized(placements: Sequence[Any], dims: int) -> tuple[Any, ...]:
    """The placements with dimensions counted from the first one: Shard(-1) of a matrix becomes
    Shard(1). Torch takes the number of dimensions from a local tensor, which may be empty here."""

    def counted(placement: Any) -> Any:
        if not isinstance(placement, (Shard, _StridedShard)) or not -dims <= placement.dim < 0:
            return placement
        dim = placement.dim + dims
        if isinstance(placement, _StridedShard):
            return _StridedShard(dim, split_factor=placement.split_factor)
        return Shard(dim)

    return tuple(map(counted, placements))


@functools.lru_cache(maxsize=256)
def ranks_of(mesh: Any) -> tuple[int, ...]:
    """The ranks of a mesh in row-major order. The result is cached, because torch would compute it
    at each call."""
    return tuple(mesh.mesh.flatten().tolist())


def spec_for(shape: Sequence[int], mesh: Any, placements: Sequence[Any]) -> Spec:
    if len(placements) != mesh.ndim:
        raise UsageError(
            f"a mesh of {mesh.ndim} dimensions needs {mesh.ndim} placements, not {len(placements)}"
        )
    each = tuple(placed(placement, len(shape)) for placement in placements)
    if len({one.reduce for one in each if one.reduce}) > 1:
        raise Infeasible(
            "the placements have two different reductions, and their result depends on which comes "
            "first; use one reduction"
        )
    return Spec(tuple(shape), tuple(mesh.shape), ranks_of(mesh), each)


def spec_of(array: DTensor) -> Spec:
    spec = spec_for(array.shape, array.device_mesh, array.placements)
    # Newer versions of torch can store an order of mesh dimensions beside the placements.
    stored = getattr(array._spec, "shard_order", None)
    if not stored or all(list(entry.mesh_dims) == sorted(entry.mesh_dims) for entry in stored):
        return spec
    order: list[tuple[int, ...]] = [() for _ in spec.shape]
    for entry in stored:
        order[entry.tensor_dim] = tuple(entry.mesh_dims)
    return Spec(spec.shape, spec.sizes, spec.ranks, spec.placed, tuple(order))


def order_of(spec: Spec, dim: int) -> tuple[int, ...] | None:
    """The mesh dimensions that shard array dimension `dim`, most significant first.

    None if no order of mesh dimensions describes which rank holds which part. A strided shard
    divides pieces of `dim` into which later mesh dimensions have already divided `dim`; the number
    of these pieces is `split_factor`. So in the order, the mesh dimension of the strided shard
    comes after these later mesh dimensions. The product of their sizes is split_factor.
    """
    if spec.order:
        return spec.order[dim]
    order: list[int] = []
    for axis in reversed(range(len(spec.sizes))):
        each = spec.placed[axis]
        if each.dim != dim:
            continue
        for at in range(len(order) + 1):
            if math.prod(spec.sizes[i] for i in order[:at]) == each.split:
                order.insert(at, axis)
                break
        else:
            return None
    # If a dimension is not evenly divisible, a strided shard gives pieces that no order produces.
    strided = any(each.dim == dim and each.split > 1 for each in spec.placed)
    divides = spec.shape[dim] % math.prod(spec.sizes[i] for i in order) == 0
    return None if strided and not divides else tuple(order)


def chunk(strips: Strips, pieces: int, index: int) -> Strips:
    """Join the strips, cut the result into `pieces` pieces like torch.chunk, and return the piece
    with number `index`."""
    length = sum(high - low for low, high in strips)
    size = -(-length // pieces)
    begin, end = min(index * size, length), min((index + 1) * size, length)
    part, at = [], 0
    for low, high in strips:
        first, last = max(low, low + begin - at), min(high, low + end - at)
        if first < last:
            part.append((first, last))
        at += high - low
    return tuple(part)


def joined(strips: Sequence[tuple[int, int]]) -> Strips:
    """Merge ranges that touch each other, so that equal sets of indices compare equal."""
    whole: list[tuple[int, int]] = []
    for low, high in strips:
        if whole and whole[-1][1] == low:
            whole[-1] = (whole[-1][0], high)
        else:
            whole.append((low, high))
    return tuple(whole)


def coordinates(spec: Spec, rank: int) -> list[int] | None:
    """The coordinates of a rank in the mesh; None if it is not in the mesh."""
    if rank not in spec.ranks:
        return None
    at, where = spec.ranks.index(rank), []
    for size in reversed(spec.sizes):
        where.append(at % size)
        at //= size
    return where[::-1]


@functools.lru_cache(maxsize=4096)
def part_of(spec: Spec, rank: int) -> tuple[Strips, ...] | None:
    """The indices of each dimension that the rank holds; None if it is not in the mesh."""
    where = coordinates(spec, rank)
    if where is None:
        return None
    part: list[Strips] = [((0, n),) if n else () for n in spec.shape]
    axes = [axis for axis, each in enumerate(spec.placed) if each.dim is not None]
    if spec.order:
        axes = [axis for order in spec.order for axis in order]
    for axis in axes:
        each = spec.placed[axis]
        assert each.dim is not None
        mine: list[tuple[int, int]] = []
        for i in range(each.split):
            piece = chunk(part[each.dim], each.split, i)
            mine += chunk(piece, spec.sizes[axis], where[axis])
        part[each.dim] = joined(mine)
    return tuple(part)


def local_shape(spec: Spec, rank: int) -> tuple[int, ...] | None:
    part = part_of(spec, rank)
    if part is None:
        return None
    return tuple(sum(high - low for low, high in strips) for strips in part)


def fits(found: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether a local tensor has the expected shape. Empty parts may have any shape without
    elements, because users and versions of torch disagree about it."""
    if tuple(found) == tuple(expected):
        return True
    return math.prod(found) == math.prod(expected) == 0


def contiguous_stride(shape: Sequence[int]) -> tuple[int, ...]:
    stride, at = [], 1
    for size in reversed(shape):
        stride.append(at)
        at *= max(1, size)
    return tuple(reversed(stride))


@functools.lru_cache(maxsize=256)
def end_of(spec: Spec) -> ReshardEnd:
    """The layout in the form that Weft's planner takes. If possible, this is a mesh with named
    axes, because the planner then finds better plans. Otherwise it is a list of parts."""
    orders = [order_of(spec, dim) for dim in range(len(spec.shape))]
    if all(order is not None for order in orders):
        return ReshardEnd.mesh(
            [(str(i), size) for i, size in enumerate(spec.sizes)],
            list(spec.ranks),
            [[str(axis) for axis in order or ()] for order in orders],
            [str(i) for i, each in enumerate(spec.placed) if each.reduce],
        )
    if spec.reduction:
        raise Infeasible(
            "partial values together with strided shards are supported only if an order of the "
            "mesh dimensions gives the same shards"
        )
    parts = {rank: [list(part_of(spec, rank) or ())] for rank in spec.ranks}
    return ReshardEnd.parts(parts)
