# SPDX-License-Identifier: Apache-2.0
"""Finds facts about the default process group and its back-ends."""

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
        raise Unavailable(
            "there is no process group: call torch.distributed.init_process_group() first"
        )
    return group


def backend_of(device: torch.device) -> Any:
    """The back-end of the default process group for tensors on this device."""
    try:
        return world()._get_backend(device)
    except RuntimeError as error:
        raise Unavailable(
            f"the process group has no back-end for tensors on {device.type}: call "
            'init_process_group("cpu:gloo,cuda:nccl")'
        ) from error


def in_groups(device: torch.device) -> bool:
    """Whether sends and receives must be started together in groups. NCCL requires groups, and
    other back-ends are faster with groups. gloo starts sends and receives one by one."""
    return bool(backend_of(device).name().lower() != "gloo")


def seconds_of(backend: Any) -> float:
    """The timeout of the process group itself, in seconds."""
    timeout = getattr(getattr(backend, "options", None), "_timeout", None)
    return float((timeout or dist.default_pg_timeout).total_seconds())


_two_groups: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def two_groups() -> tuple[Any, Any]:
    """Two process groups of all ranks, one for messages in each direction.

    NCCL runs all messages between two ranks of a group in the order in which they were queued. With
    a group for each direction, messages in one direction do not delay those in the other. The
    groups are made only once, because each group opens separate connections.
    """
    world = dist.group.WORLD
    if world not in _two_groups:
        _two_groups[world] = (dist.new_group(), dist.new_group())
    return _two_groups[world]
