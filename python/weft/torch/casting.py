# SPDX-License-Identifier: Apache-2.0
"""Receives an array in one element type (the type on the wire) and converts it to the type of the
target tensor.

If the target's type is wider, the array is received at the end of the target's own memory, and the
elements are then widened in place from the front. So no second copy of the array is needed.
"""

from __future__ import annotations

import torch

FEW = 1024
"""When at most this many elements are left, widen_in_place() widens them through a copy."""


def widens(travels: torch.dtype, wanted: torch.dtype) -> bool:
    return int(travels.itemsize) < int(wanted.itemsize)


def receive_buffer(tensor: torch.Tensor, travels: torch.dtype) -> torch.Tensor:
    """Memory in which to receive the contents of `tensor` as elements of type `travels`:
    contiguous, with the tensor's shape, and within the tensor's own memory if possible. See
    finish_receive()."""
    if tensor.is_contiguous():
        if tensor.dtype == travels:
            return tensor
        if widens(travels, tensor.dtype):
            return end_of(tensor, travels).view(tensor.shape)
    return torch.empty(tensor.shape, dtype=travels, device=tensor.device)


def finish_receive(received: torch.Tensor, tensor: torch.Tensor) -> None:
    """Move what was received in receive_buffer(tensor, ...) into `tensor`, and convert it."""
    if received.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr():
        tensor.copy_(received)
    elif received.dtype != tensor.dtype:
        widen_in_place(tensor.view(-1), received.view(-1))


def end_of(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The end of the tensor's memory, seen as the same number of elements of a narrower type."""
    bytes_of_all = tensor.view(-1).view(torch.uint8)
    return bytes_of_all[tensor.nbytes - tensor.numel() * dtype.itemsize :].view(dtype)


def widen_in_place(wide: torch.Tensor, narrow: torch.Tensor) -> None:
    """Widen the elements of `narrow` into `wide`, where `narrow` is the end of the memory of
    `wide`.

    Elements are widened from the first to the last. Each copy handles as many elements as it can
    write without overwriting its own source: their wide form must end before their narrow form
    begins. Every copy at least halves what is left. The last few elements overlap with themselves
    and go through a copy.
    """
    count, done = wide.numel(), 0
    while count - done > FEW:
        upto = count - -(-(count - done) * narrow.itemsize // wide.itemsize)
        wide[done:upto].copy_(narrow[done:upto])
        done = upto
    wide[done:].copy_(narrow[done:].clone())
