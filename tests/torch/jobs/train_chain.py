# SPDX-License-Identifier: Apache-2.0
"""An ordinary training script for one device. The test records the script and plans a pipeline from
the recording."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.torch.jobs.pipeline_models import batch, chain

torch.set_num_threads(1)
model = chain()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, target = batch(64)
for _ in range(16):
    optimizer.zero_grad()
    functional.cross_entropy(model(inputs), target).backward()
    optimizer.step()
