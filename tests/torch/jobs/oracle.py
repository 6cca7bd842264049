# SPDX-License-Identifier: Apache-2.0
"""Computes what a rank must hold of a distributed array, with
torch's operations and without Weft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial
from torch.distributed.tensor.placement_types import _StridedShard


def numbers(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """An array of small whole numbers, the same on every rank. Sums and products of a few of them
    are exact in any order."""
    made = torch.Generator().manual_seed(17)
    whole = torch.randint(1, 4, tuple(shape), generator=made)
    return whole.to(dtype) if dtype != torch.bool else whole > 1


def piece(whole: torch.Tensor, placement: Any, count: int, index: int) -> torch.Tensor:
    """The shard number `index` of `count` shards."""
    if isinstance(placement, _StridedShard):
        first = chunks(whole, int(placement.split_factor), placement.dim)
        return torch.cat([chunks(each, count, placement.dim)[index] for each in first], placement.dim)
    return chunks(whole, count, placement.dim)[index]


def chunks(whole: torch.Tensor, count: int, dim: int) -> list[torch.Tensor]:
    """Like torch.chunk, but always `count` chunks, of which the last may be empty."""
    some = list(torch.chunk(whole, count, dim))
    return some + [whole.narrow(dim, 0, 0)] * (count - len(some))


def addend(whole: torch.Tensor, reduction: str, count: int, index: int) -> torch.Tensor:
    """The addend number `index` of `count` addends, whose reduction gives the whole."""
    if reduction == "sum":
        return whole + (count - 1) * 8 if index == 0 else torch.full_like(whole, -8)
    if reduction == "avg":
        return whole + (4 * (count - 1) if index == 0 else -4)
    if reduction == "min":
        return whole + (index + 1) % count
    if reduction == "max":
        return whole - (index + 1) % count
    return whole if index == 0 else torch.ones_like(whole)


def local(whole: torch.Tensor, mesh: DeviceMesh, placements: Sequence[Any]) -> torch.Tensor:
    """This rank's part of a distributed array; empty if the rank is not in the mesh."""
    where = mesh.get_coordinate()
    if where is None:
        return whole.new_empty(0)
    part = whole
    for placement, count, index in zip(placements, mesh.shape, where):
        if isinstance(placement, Partial):
            part = addend(part, placement.reduce_op, count, index)
        elif placement.is_shard() or isinstance(placement, _StridedShard):
            part = piece(part, placement, count, index)
    return part.contiguous()


def distributed(whole: torch.Tensor, mesh: DeviceMesh, placements: Sequence[Any]) -> DTensor:
    return DTensor.from_local(
        local(whole, mesh, placements), mesh, list(placements), run_check=False,
        shape=whole.shape, stride=whole.stride(),
    )  # fmt: skip


def check(array: DTensor, whole: torch.Tensor, mesh: DeviceMesh, placements: Sequence[Any]) -> None:
    """Assert that this rank has the right part of an array. No placement may be Partial."""
    assert array.device_mesh == mesh and tuple(array.placements) == tuple(placements)
    assert array.shape == whole.shape and array.dtype == whole.dtype
    wanted = local(whole, mesh, placements)
    got = array.to_local()
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape, f"{tuple(got.shape)} instead of {tuple(wanted.shape)}"
    assert torch.equal(got, wanted), f"{got} instead of {wanted}"
