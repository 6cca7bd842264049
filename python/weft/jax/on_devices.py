# SPDX-License-Identifier: Apache-2.0
"""Redistributes arrays between devices of one process that have separate memory, such as GPUs.

Only JAX operations can access that memory. So each device slices out the pieces that other devices
need, JAX copies the pieces from device to device, and each receiver writes them into its new shard
in place.
"""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Tuple

import jax

from ..errors import Unavailable
from .layouts import Box, Boxes, boxes_of, common, shape_of

Piece = Tuple[Any, Box]
"""The device that sends the piece, and the piece's box in the whole array."""


def move(
    array: Any, sharding: Any, _budget: int, _timeout: float, _may_alias: bool = True
) -> Any:
    # _budget has no effect, because JAX itself decides how many copies run at the same time.
    # _may_alias has none, because every piece is sliced out into new memory.
    shape = array.shape
    source = boxes_of(array.sharding, shape)
    target = boxes_of(sharding, shape)
    if any(device.process_index != jax.process_index() for device in {**source, **target}):
        raise Unavailable(
            "weft.jax.reshard moves arrays between processes on CPU devices only; for other "
            "devices use jax.jit(lambda x: x, out_shardings=...)"
        )
    held = {shard.device: shard.data for shard in array.addressable_shards}
    load: Dict[Any, int] = {}
    parts = []
    for device, box in target.items():
        place = jax.sharding.SingleDeviceSharding(device, memory_kind=sharding.memory_kind)
        pieces = _pieces(device, box, source, load)
        moved = [
            jax.device_put(_cut(held[sender], *_inside(piece, source[sender])), place)
            for sender, piece in pieces
        ]
        lows = [_inside(piece, box)[0] for _, piece in pieces]
        parts.append(_join(moved, lows, box, array.dtype, place))
    result = jax.make_array_from_single_device_arrays(shape, sharding, parts, dtype=array.dtype)
    return jax.block_until_ready(result)


def _pieces(device: Any, wanted: Box, source: Boxes, load: Dict[Any, int]) -> List[Piece]:
    """The pieces that together form the box `wanted` of `device`, and the sender of each piece.

    If several devices hold the same piece and `device` is one of them, it takes its own copy.
    Otherwise the sender is the device that has been asked for the fewest pieces so far (`load`).
    """
    copies: Dict[Box, List[Any]] = {}
    for holder, box in source.items():
        piece = common(box, wanted)
        if piece is not None:
            copies.setdefault(box, []).append(holder)
    pieces = []
    for box, holders in copies.items():
        sender = device if device in holders else min(holders, key=lambda one: load.get(one, 0))
        piece = common(box, wanted)
        assert piece is not None
        load[sender] = load.get(sender, 0) + 1
        pieces.append((sender, piece))
    return pieces


def _inside(piece: Box, box: Box) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """Where a piece lies within a box that contains it: in each dimension, its first index and the
    index after its last one, both counted from the beginning of the box."""
    low = tuple(a - start for (a, _), (start, _) in zip(piece, box))
    return low, tuple(a + size for a, size in zip(low, shape_of(piece)))


@functools.partial(jax.jit, static_argnums=(1, 2))
def _cut(part: Any, low: Tuple[int, ...], high: Tuple[int, ...]) -> Any:
    return jax.lax.slice(part, low, high)


@functools.partial(jax.jit, static_argnums=2, donate_argnums=0)
def _put(part: Any, piece: Any, low: Tuple[int, ...]) -> Any:
    return jax.lax.dynamic_update_slice(part, piece, low)


def _join(pieces: List[Any], lows: List[Tuple[int, ...]], box: Box, dtype: Any, place: Any) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    part = jax.numpy.zeros(shape_of(box), dtype, device=place)
    for piece, low in zip(pieces, lows):
        part = _put(part, piece, low)
    return part
