# SPDX-License-Identifier: Apache-2.0
"""Runs cases on all ranks, one after the other. Rank 0 prints a line of JSON per case.

WEFT_TEST_DEVICE: the device on which tensors are made; default: cpu.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh


def mesh_of(ranks: Any) -> DeviceMesh:
    """A mesh of these ranks. All ranks must make it, even those that are not in it."""
    return DeviceMesh("cpu", torch.tensor(ranks))


def refused(kind: type[Exception], work: Callable[[], object]) -> str:
    try:
        work()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def main(functions: dict[str, Any]) -> None:
    """Run the functions that the command line names, or all functions case_*."""
    device = torch.device(os.environ.get("WEFT_TEST_DEVICE", "cpu"))
    torch.set_default_device(device)
    backend = "gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend, timeout=timedelta(seconds=60))
    torch.set_num_threads(1)
    for name in sys.argv[1:] or [name for name in functions if name.startswith("case_")]:
        failure = ""
        try:
            functions[name]()
        except Exception:
            failure = f"rank {dist.get_rank()}: {traceback.format_exc()}"
        failures: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(failures, failure)
        if dist.get_rank() == 0:
            text = "\n".join(each for each in failures if each)
            print(json.dumps({"case": name, "failure": text}), flush=True)
    dist.destroy_process_group()
