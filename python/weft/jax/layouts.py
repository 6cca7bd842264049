# SPDX-License-Identifier: Apache-2.0
"""Translates JAX's shardings into the forms that Weft's planner takes: boxes, or a mesh with
axes."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from .. import _core
from ..errors import InternalError, UsageError

Shape = Tuple[int, ...]
Box = Tuple[Tuple[int, int], ...]
"""The range [low, high) of each dimension."""


Boxes = Dict[Any, Box]
"""The box that each device holds, including the devices of other processes."""


def boxes_of(sharding: Any, shape: Shape) -> Boxes:
    """The box of each device for an array of this shape.

    Raises JAX's own exception if JAX does not allow the sharding for the shape.
    """
    spec = getattr(sharding, "spec", None)
    if getattr(spec, "unreduced", None):
        raise UsageError(
            f"{sharding} is unreduced: its sums are not added up yet; reduce the array under "
            "jax.jit first"
        )
    sharding.shard_shape(shape)  # raises if a dimension cannot be split evenly
    indices = sharding.devices_indices_map(shape)
    return {device: box_at(index, shape) for device, index in indices.items()}


def check_parts(result: Any, array: Any, sharding: Any) -> None:
    """Check that the result has the parts that its sharding says, before a caller sees it."""
    places = sharding.addressable_devices_indices_map(array.shape)
    parts = {shard.device: tuple(shard.data.shape) for shard in result.addressable_shards}
    wanted = {device: shape_of(box_at(index, array.shape)) for device, index in places.items()}
    if result.sharding != sharding or result.dtype != array.dtype or parts != wanted:
        raise InternalError(f"the result has the parts {parts}, but {sharding} gives {wanted}")


def box_at(index: Tuple[slice, ...], shape: Shape) -> Box:
    return tuple(place.indices(size)[:2] for place, size in zip(index, shape))


def shape_of(box: Box) -> Shape:
    return tuple(high - low for low, high in box)


def common(a: Box, b: Box) -> Optional[Box]:
    """The intersection of two boxes; None if it is empty."""
    both = tuple((max(i[0], j[0]), min(i[1], j[1])) for i, j in zip(a, b))
    return both if all(low < high for low, high in both) else None


def numbers(devices: Sequence[Any]) -> Dict[Any, int]:
    """Number the devices without gaps, process by process. All processes get the same numbers."""
    order = sorted(set(devices), key=lambda device: (device.process_index, device.id))
    return {device: number for number, device in enumerate(order)}


def as_boxes(held: Boxes, number: Dict[Any, int]) -> Any:
    """Describe the source or the target of a redistribution to the planner by its boxes only."""
    parts = {number[device]: [[[strip] for strip in box]] for device, box in held.items()}
    return _core.ReshardEnd.parts(parts)


def as_mesh(sharding: Any, rank: int, number: Dict[Any, int]) -> Optional[Any]:
    """Describe the source or the target of a redistribution to the planner by a mesh with named
    axes. None if the sharding has no mesh. The planner finds better plans if it knows the axes."""
    mesh, spec = getattr(sharding, "mesh", None), getattr(sharding, "spec", None)
    if mesh is None or spec is None or not hasattr(mesh, "devices"):
        return None
    # Rename the axes: JAX allows characters in axis names that Weft uses to write sub-axes.
    name = {axis: f"a{i}" for i, axis in enumerate(mesh.axis_names)}
    dims: List[List[str]] = [[] for _ in range(rank)]
    for dim, axes in zip(dims, spec):
        if axes is not None:
            dim += [name[axis] for axis in (axes if isinstance(axes, tuple) else (axes,))]
    sizes = [(name[axis], int(size)) for axis, size in mesh.shape.items()]
    return _core.ReshardEnd.mesh(sizes, [number[device] for device in mesh.devices.flat], dims)
