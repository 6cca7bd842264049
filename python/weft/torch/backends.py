# SPDX-License-Identifier: Apache-2.0
"""What the default process group is made of."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

from ..errors import Unavailable


def world() -> Any:
    """The default process group."""
    group = dist.group.WORLD
    if group is None:
        raise Unavailable("no process group: call torch.distributed.init_process_group() first")
    return group


def backend_of(device: torch.device) -> Any:
    """The back-end of the default process group for tensors on that device."""
    try:
        return world()._get_backend(device)
    except RuntimeError as error:
        raise Unavailable(
            f"the process group has no back-end for tensors on {device.type}: initialise it with "
            '"cpu:gloo,cuda:nccl"'
        ) from error


def in_groups(device: torch.device) -> bool:
    """gloo takes sends and receives one by one; others, and NCCL first of all, want them together."""
    return bool(backend_of(device).name().lower() != "gloo")


def seconds_of(backend: Any) -> float:
    """How long the process group itself would wait."""
    timeout = getattr(getattr(backend, "options", None), "_timeout", None)
    return float((timeout or dist.default_pg_timeout).total_seconds())


_ways: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def both_ways() -> tuple[Any, Any]:
    """Two groups of all ranks: with back-ends that queue the messages of a pair, those of one direction
    pass beside those of the other. They are made once, as each has connections of its own."""
    world = dist.group.WORLD
    if world not in _ways:
        _ways[world] = (dist.new_group(), dist.new_group())
    return _ways[world]
