# SPDX-License-Identifier: Apache-2.0
"""What a rank must hold of an array, by torch's own operations and nothing of Weft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial
from torch.distributed.tensor.placement_types import _StridedShard


def numbers(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The same on every rank. Small whole numbers: sums and products of a few are exact in any order."""
    made = torch.Generator().manual_seed(17)
    whole = torch.randint(1, 4, tuple(shape), generator=made)
    return whole.to(dtype) if dtype != torch.bool else whole > 1


def piece(whole: torch.Tensor, placement: Any, count: int, index: int) -> torch.Tensor:
    if isinstance(placement, _StridedShard):
        first = chunks(whole, int(placement.split_factor), placement.dim)
        return torch.cat([chunks(each, count, placement.dim)[index] for each in first], placement.dim)
    return chunks(whole, count, placement.dim)[index]


def chunks(whole: torch.Tensor, count: int, dim: int) -> list[torch.Tensor]:
    some = list(torch.chunk(whole, count, dim))
    return some + [whole.narrow(dim, 0, 0)] * (count - len(some))


def summand(whole: torch.Tensor, reduction: str, count: int, index: int) -> torch.Tensor:
    """Such that all of them together make the whole, and no two are alike."""
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
    """What this rank holds; of a mesh that it is not in, nothing."""
    where = mesh.get_coordinate()
    if where is None:
        return whole.new_empty(0)
    part = whole
    for placement, count, index in zip(placements, mesh.shape, where):
        if isinstance(placement, Partial):
            part = summand(part, placement.reduce_op, count, index)
        elif placement.is_shard() or isinstance(placement, _StridedShard):
            part = piece(part, placement, count, index)
    return part.contiguous()


def distributed(whole: torch.Tensor, mesh: DeviceMesh, placements: Sequence[Any]) -> DTensor:
    return DTensor.from_local(
        local(whole, mesh, placements), mesh, list(placements), run_check=False,
        shape=whole.shape, stride=whole.stride(),
    )  # fmt: skip


def check(array: DTensor, whole: torch.Tensor, mesh: DeviceMesh, placements: Sequence[Any]) -> None:
    """An array without summands is what it should be, on this rank."""
    assert array.device_mesh == mesh and tuple(array.placements) == tuple(placements)
    assert array.shape == whole.shape and array.dtype == whole.dtype
    wanted = local(whole, mesh, placements)
    got = array.to_local()
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape, f"{tuple(got.shape)} instead of {tuple(wanted.shape)}"
    assert torch.equal(got, wanted), f"{got} instead of {wanted}"
