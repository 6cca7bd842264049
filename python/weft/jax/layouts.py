# SPDX-License-Identifier: Apache-2.0
"""Who holds what: JAX's shardings in the words of Weft's planner."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from .. import _core
from ..errors import UsageError

Shape = Tuple[int, ...]
Box = Tuple[Tuple[int, int], ...]
"""[low, high) of each dimension."""


Boxes = Dict[Any, Box]
"""By device, those of other processes too."""


def boxes_of(sharding: Any, shape: Shape) -> Boxes:
    """An exception of JAX's own where it does not allow the sharding for that shape."""
    spec = getattr(sharding, "spec", None)
    if getattr(spec, "unreduced", None):
        raise UsageError(
            f"{sharding} holds sums that are not added up yet; reduce them under jax.jit first"
        )
    sharding.shard_shape(shape)  # objects where a dimension does not divide
    indices = sharding.devices_indices_map(shape)
    return {device: box_at(index, shape) for device, index in indices.items()}


def box_at(index: Tuple[slice, ...], shape: Shape) -> Box:
    return tuple(place.indices(size)[:2] for place, size in zip(index, shape))


def shape_of(box: Box) -> Shape:
    return tuple(high - low for low, high in box)


def common(a: Box, b: Box) -> Optional[Box]:
    """What both boxes have, if anything."""
    both = tuple((max(i[0], j[0]), min(i[1], j[1])) for i, j in zip(a, b))
    return both if all(low < high for low, high in both) else None


def numbers(devices: Sequence[Any]) -> Dict[Any, int]:
    """Devices numbered without gaps, process by process: the same in all processes."""
    order = sorted(set(devices), key=lambda device: (device.process_index, device.id))
    return {device: number for number, device in enumerate(order)}


def as_boxes(held: Boxes, number: Dict[Any, int]) -> Any:
    """An end that knows boxes alone."""
    parts = {number[device]: [[[strip] for strip in box]] for device, box in held.items()}
    return _core.ReshardEnd.parts(parts)


def as_mesh(sharding: Any, rank: int, number: Dict[Any, int]) -> Optional[Any]:
    """An end over a mesh with axes, where the sharding has one; the planner finds more then."""
    mesh, spec = getattr(sharding, "mesh", None), getattr(sharding, "spec", None)
    if mesh is None or spec is None or not hasattr(mesh, "devices"):
        return None
    # Axes get names of our own: Weft spells sub-axes with signs that JAX allows in names.
    name = {axis: f"a{i}" for i, axis in enumerate(mesh.axis_names)}
    dims: List[List[str]] = [[] for _ in range(rank)]
    for dim, axes in zip(dims, spec):
        if axes is not None:
            dim += [name[axis] for axis in (axes if isinstance(axes, tuple) else (axes,))]
    sizes = [(name[axis], int(size)) for axis, size in mesh.shape.items()]
    return _core.ReshardEnd.mesh(sizes, [number[device] for device in mesh.devices.flat], dims)
