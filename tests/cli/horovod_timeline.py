# SPDX-License-Identifier: Apache-2.0
"""Writes the timeline of a synthetic Horovod job, as its coordinator does with HOROVOD_TIMELINE.

The schema is that of Horovod 0.28 (horovod/common/timeline.cc): a JSON list, one entry per line.
Each tensor is a "process" of the timeline, named by a metadata entry before its first event. Each
collective of a tensor has these events:

    B NEGOTIATE_<OP>        the first rank is ready
      X "<rank>"            one per rank, when the coordinator learns that the rank is ready; none if
                            the tensor is in the response cache
    E                       all ranks are ready
    B <OP>                  fused tensors are written one after the other, here and below
      B/E MEMCPY_IN_FUSION_BUFFER, <BACKEND>_<OP>, MEMCPY_OUT_FUSION_BUFFER
    E                       args: dtype and shape of the result

Times are whole microseconds since Horovod was initialised; the first entry holds that time.
`i` entries CYCLE_START belong to no tensor. Releases before 0.20 do not close the list, so the file
ends with a comma; later releases close the list after every entry. tests/data/horovod has timelines of
a real job.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass
class Job:
    ranks: int = 4
    steps: int = 4
    tensors: int = 6
    fused: int = 3
    late_rank: int = 2
    late_us: int = 900
    backward_us: int = 6000
    transfer_us: int = 1500
    forward_us: int = 4000
    cycle_us: int = 200
    cached: bool = False
    closed: bool = False
    _lines: list[str] = field(default_factory=list)

    def _entry(self, **members: object) -> None:
        self._lines.append(json.dumps(members))

    def _begin(self, tensor: int, name: str, ts: int) -> None:
        self._entry(ph="B", name=name, ts=ts, pid=tensor)

    def _end(self, tensor: int, ts: int, **args: str) -> None:
        self._entry(ph="E", ts=ts, pid=tensor, **({"args": args} if args else {}))

    def _ready(self, rank: int, start: int, tensor: int) -> int:
        gradient = self.backward_us * tensor // self.tensors
        # Ranks become ready at different times, so that the order of arrivals is unambiguous.
        return start + gradient + 7 * rank + (self.late_us if rank == self.late_rank else 0)

    def _negotiate(self, tensor: int, start: int) -> int:
        """Writes the events of the negotiation of a tensor. Returns the time at which all ranks are
        ready."""
        arrivals = sorted((self._ready(r, start, tensor), r) for r in range(self.ranks))
        self._begin(tensor, "NEGOTIATE_ALLREDUCE", arrivals[0][0])
        if not self.cached:
            for ts, rank in arrivals:
                self._entry(ph="X", name=str(rank), ts=ts, pid=tensor, dur=0)
        done = arrivals[-1][0] + self.cycle_us
        self._end(tensor, done)
        return done

    def _respond(self, group: range, ts: int) -> int:
        """Writes the events of one response (a group of fused tensors). Returns the time at which
        it ends."""
        for tensor in group:
            self._begin(tensor, "ALLREDUCE", ts)
        for activity, length in (
            ("MEMCPY_IN_FUSION_BUFFER", 40),
            ("GLOO_ALLREDUCE", self.transfer_us),
            ("MEMCPY_OUT_FUSION_BUFFER", 30),
        ):
            for tensor in group:
                self._begin(tensor, activity, ts)
            ts += length
            for tensor in group:
                self._end(tensor, ts)
        for tensor in group:
            self._end(tensor, ts, dtype="float32", shape=f"[{128 * tensor}, 256]")
        return ts

    def text(self) -> str:
        self._lines.clear()
        began = {"start_time_since_epoch_in_micros": 1_700_000_000_000_000}
        self._entry(name="process_name", ph="M", pid=0, args=began)
        for tensor in range(1, self.tensors + 1):
            name = {"name": f"DistributedSGD.layer{tensor}.weight"}
            self._entry(name="process_name", ph="M", pid=tensor, args=name)
            self._entry(name="process_sort_index", ph="M", pid=tensor, args={"sort_index": tensor})
        start = 5000
        for _ in range(self.steps):
            free = 0
            for first in range(1, self.tensors + 1, self.fused):
                self._entry(ph="i", name="CYCLE_START", ts=start, s="g")
                group = range(first, min(first + self.fused, self.tensors + 1))
                ready = max(self._negotiate(tensor, start) for tensor in group)
                free = self._respond(group, max(ready, free))
            start = free + self.forward_us
        return "[\n" + ",\n".join(self._lines) + ("\n]" if self.closed else ",\n")
