# SPDX-License-Identifier: Apache-2.0
"""Runs a pipeline in which one rank is lost during a step. Every other rank prints how its step
ended and how long it took.

Usage: lost_stage.py killed|stopped TIMEOUT_SECONDS
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

import weft
import weft.torch
from tests.torch.jobs.pipeline_cases import MICROBATCHES
from tests.torch.jobs.pipeline_models import CHAIN, batch, chain
from tests.torch.jobs.pipeline_plans import Group, greedy, plan

LOST = 2


class Leaving(nn.Module):  # type: ignore[misc]
    """A layer that sends a signal to its own process in the second step, on rank LOST."""

    def __init__(self, layer: nn.Module, number: int) -> None:
        super().__init__()
        self.layer, self.calls, self.signal = layer, 0, number

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        if dist.get_rank() == LOST and self.calls == MICROBATCHES + 3:  # in the second step
            os.kill(os.getpid(), self.signal)
        y: Tensor = self.layer(x)
        return y


def main() -> None:
    how, seconds = sys.argv[1], float(sys.argv[2])
    dist.init_process_group("gloo")
    placement: list[Group] = [(0,), (1, 2), (3,)]
    document = plan(
        CHAIN, [3, 5], placement, MICROBATCHES, greedy(placement, MICROBATCHES, "BF", 3)
    )
    model = chain()
    model[3] = Leaving(model[3], signal.SIGKILL if how == "killed" else signal.SIGSTOP)
    made: Any = weft.torch.pipeline(model, document, loss=functional.cross_entropy, timeout=seconds)
    inputs, target = batch(4 * MICROBATCHES)
    begin, ended = time.monotonic(), "done"
    try:
        for _ in range(3):
            begin = time.monotonic()
            made.step(inputs, target=target)
    except weft.PeerFailed as error:
        ended = f"PeerFailed: {error}"
    took = time.monotonic() - begin
    print(json.dumps({"rank": dist.get_rank(), "ended": ended, "seconds": took}), flush=True)
    # End without torch's shutdown, which would wait for ranks that are gone.
    os._exit(0)


if __name__ == "__main__":
    main()
