# SPDX-License-Identifier: Apache-2.0
"""Receives an array whose elements are sent in one type (the wire type), and converts them to the
type of the target tensor.

If the target's type is wider, the array is received at the end of the target's own memory, and the
elements are then widened in place from the front. So no second copy of the array is needed.
"""

from __future__ import annotations

import torch

FEW = 1024
"""If at most this number of elements is left, widen_in_place() widens them with the help of a
copy."""


def widens(travels: torch.dtype, wanted: torch.dtype) -> bool:
    return int(travels.itemsize) < int(wanted.itemsize)


def receive_buffer(tensor: torch.Tensor, travels: torch.dtype) -> torch.Tensor:
    """The memory in which to receive the contents of `tensor` as elements of type `travels`. It is
    contiguous and has the tensor's shape. If possible, it is part of the tensor's own memory.
    finish_receive() must be called afterwards."""
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

    Elements are widened from the first to the last, several with each copy_(). A copy_() must not
    overwrite its own source, so the wide form of its elements must end before their narrow form
    begins. Every copy_() at least halves the number of elements that are left. For the last few
    elements, the wide and the narrow form overlap, so they are first copied to other memory.
    """
    count, done = wide.numel(), 0
    while count - done > FEW:
        upto = count - -(-(count - done) * narrow.itemsize // wide.itemsize)
        wide[done:upto].copy_(narrow[done:upto])
        done = upto
    wide[done:].copy_(narrow[done:].clone())
