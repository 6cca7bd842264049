# SPDX-License-Identifier: Apache-2.0
"""Where an array comes in the type that travels, and from there into its own: a wider tensor has room for
that at the end of its memory, from where elements are spread out, so that no second copy is needed."""

from __future__ import annotations

import torch

FEW = 1024
"""Elements that are spread out through a copy of them."""


def widens(travels: torch.dtype, wanted: torch.dtype) -> bool:
    return int(travels.itemsize) < int(wanted.itemsize)


def room_in(tensor: torch.Tensor, travels: torch.dtype) -> torch.Tensor:
    """Of the tensor's shape, in the type that travels, dense; its own memory if possible. See settle()."""
    if tensor.is_contiguous():
        if tensor.dtype == travels:
            return tensor
        if widens(travels, tensor.dtype):
            return end_of(tensor, travels).view(tensor.shape)
    return torch.empty(tensor.shape, dtype=travels, device=tensor.device)


def settle(room: torch.Tensor, tensor: torch.Tensor) -> None:
    """Puts what has come into room_in() where it belongs."""
    if room.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr():
        tensor.copy_(room)
    elif room.dtype != tensor.dtype:
        spread(tensor.view(-1), room.view(-1))


def end_of(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    bytes_of_all = tensor.view(-1).view(torch.uint8)
    return bytes_of_all[tensor.nbytes - tensor.numel() * dtype.itemsize :].view(dtype)


def spread(wide: torch.Tensor, narrow: torch.Tensor) -> None:
    """The first elements first. As many at once as end before what they are read from: what is left becomes
    half as much with every copy, or less, until it is few."""
    count, done = wide.numel(), 0
    while count - done > FEW:
        upto = count - -(-(count - done) * narrow.itemsize // wide.itemsize)
        wide[done:upto].copy_(narrow[done:upto])
        done = upto
    wide[done:].copy_(narrow[done:].clone())
