# SPDX-License-Identifier: Apache-2.0
"""Redistributes an array between two ranks. Before, it is split by rows; afterwards, by columns."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

import weft.torch

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
whole = torch.arange(48.0).reshape(6, 8)
by_rows = distribute_tensor(whole, mesh, [Shard(0)])
by_columns = weft.torch.redistribute(by_rows, mesh, [Shard(1)])
expected = whole.chunk(2, dim=1)[dist.get_rank()]
assert torch.equal(by_columns.to_local(), expected), by_columns.to_local()
dist.barrier()
if dist.get_rank() == 0:
    print("redistributed: every element is where it belongs")
dist.destroy_process_group()
