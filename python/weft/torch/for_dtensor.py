# SPDX-License-Identifier: Apache-2.0
"""Lets DTensor itself use Weft to redistribute arrays.

All of DTensor's redistributions end in one function of torch, which turns a local tensor of one
layout into that of another: redistribute(), full_tensor(), redistributions that an operator needs,
and those of gradients. use_for_dtensor() puts a function of Weft in front of it. Everything before
and after that function stays as it is in torch: checks and errors, layouts of gradients, casts.
"""

from __future__ import annotations

import functools
from types import TracebackType
from typing import Any

import torch
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.tensor import Partial, Replicate, Shard, _api, _dispatch, _redistribute
from torch.distributed.tensor.placement_types import _StridedShard

from ..errors import Infeasible, Unavailable, UsageError
from . import backends
from .layouts import spec_for
from .redistribution import redistribute_local

NAME = "redistribute_local_tensor"
# The modules of torch that call the function, each by a name of its own.
CALLERS = (_redistribute, _dispatch, _api)
PLAIN = (torch.Tensor, torch.nn.Parameter, AsyncCollectiveTensor)


def _is_known(placement: Any) -> bool:
    """Whether Weft knows the placement. A subclass, such as the one of a row-wise embedding, may
    mean something else."""
    return type(placement) in (Shard, _StridedShard, Replicate, Partial)


def _backend(device: torch.device) -> str:
    """The name of the job's back-end for the device; empty if there is none."""
    try:
        return str(backends.backend_of(device).name()).lower()
    except Unavailable:
        return ""


@functools.lru_cache(maxsize=4096)
def _is_ours(current: Any, target: Any, backend: str) -> bool:
    """Whether Weft does the redistribution. All ranks must come to the same answer, so it depends
    on nothing but the layouts and the kind of process group.

    Torch keeps what needs no communication, what it makes with placements or process groups that
    Weft does not know, and all that becomes partial: torch defines which addends the ranks get.
    """
    pairs = list(zip(current.placements, target.placements))
    if backend not in ("gloo", "nccl"):
        return False
    if not all(_is_known(each) for pair in pairs for each in pair):
        return False
    if all(old == new or old.is_replicate() for old, new in pairs):
        return False
    if any(new.is_partial() and old != new for old, new in pairs):
        return False
    if current.tensor_meta.dtype == torch.bool and any(old.is_partial() for old, _ in pairs):
        return False
    for spec in (current, target):
        order = getattr(spec, "shard_order", None) or ()
        if any(list(entry.mesh_dims) != sorted(entry.mesh_dims) for entry in order):
            return False
    try:
        spec_for(current.shape, current.mesh, current.placements)
        spec_for(current.shape, current.mesh, target.placements)
    except (Infeasible, UsageError):
        return False
    return True


def _is_traced(local: torch.Tensor) -> bool:
    """Whether torch only traces or compiles the call, so that there is no data to move."""
    return type(local) not in PLAIN or local.is_meta or bool(_redistribute._are_we_tracing())


class _Use:
    """DTensor uses Weft from the creation of this object until off() or the end of a `with`
    block."""

    def __init__(self) -> None:
        self._torchs = [getattr(module, NAME) for module in CALLERS]
        usual = _redistribute.redistribute_local_tensor

        @functools.wraps(usual)
        def moved(local: torch.Tensor, current: Any, target: Any, **options: Any) -> Any:
            if (
                _is_traced(local)
                or current.mesh != target.mesh
                or current.mesh.get_coordinate() is None
                or not _is_ours(current, target, _backend(local.device))
            ):
                return usual(local, current, target, **options)
            return redistribute_local(local, current, target.placements)

        self._ours = moved
        for module in CALLERS:
            setattr(module, NAME, moved)

    def off(self) -> None:
        """Let DTensor use torch again. Uses must end in the reverse order of their beginnings."""
        if not self._torchs:
            return
        if any(getattr(module, NAME) is not self._ours for module in CALLERS):
            raise UsageError("a later use_for_dtensor() is still on: end that one first")
        for module, usual in zip(CALLERS, self._torchs):
            setattr(module, NAME, usual)
        self._torchs = []

    def __enter__(self) -> _Use:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.off()


def use_for_dtensor() -> _Use:
    """From now on, DTensor uses Weft for its own redistributions.

    This covers DTensor.redistribute() and full_tensor(), redistributions that operators need, and
    those of gradients. The result has the same layout and the same values as with torch; only sums
    may be rounded in another order. Redistributions that need no communication stay with torch, and
    so do placements and process groups that Weft does not know.

    Call off() on the result to end this, or use it in a `with` statement. All ranks must do so at
    the same place of the program.
    """
    return _Use()
