# SPDX-License-Identifier: Apache-2.0
"""Which samples of a micro-batch each replica of a stage has, and which pieces go between replicas.

Where two neighbours are both replicated, one has blocks of samples and the other every r-th one, so
that every sender has something for every receiver: all links between them carry a part, as planned.
"""

from __future__ import annotations

from dataclasses import dataclass

from .plan import Plan


@dataclass(frozen=True)
class Piece:
    """Samples that a device has of one stage and another needs for the next (or gives back for it)."""

    lower: int  # device of the earlier stage
    upper: int
    lower_part: slice  # where they lie among the samples of either device
    upper_part: slice
    samples: int


class Samples:
    """Of micro-batches of so many samples, over the stages of a plan."""

    def __init__(self, plan: Plan, count: int) -> None:
        self.count = count
        self._plan = plan
        self._strided = self._choose(plan, count)
        self._pieces: dict[int, list[Piece]] = {}

    @staticmethod
    def _choose(plan: Plan, count: int) -> list[bool]:
        strided = [False]
        for before, stage in zip(plan.stages, plan.stages[1:]):
            replicas = len(before.devices) * len(stage.devices)
            stays = before.devices == stage.devices or replicas > count
            strided.append(strided[-1] if stays else not strided[-1])
        return strided

    def of(self, stage: int, device: int) -> range:
        """The samples of a device, as numbers within the micro-batch."""
        devices = self._plan.stages[stage].devices
        replica, replicas = devices.index(device), len(devices)
        if self._strided[stage]:
            return range(replica, self.count, replicas)
        return range(self.count * replica // replicas, self.count * (replica + 1) // replicas)

    def pieces(self, stage: int) -> list[Piece]:
        """Between this stage and the next one; both ends list them in the same order."""
        if stage not in self._pieces:
            self._pieces[stage] = self._find_pieces(stage)
        return self._pieces[stage]

    def _find_pieces(self, stage: int) -> list[Piece]:
        found = []
        for lower in self._plan.stages[stage].devices:
            for upper in self._plan.stages[stage + 1].devices:
                mine, theirs = self.of(stage, lower), self.of(stage + 1, upper)
                common = [sample for sample in mine if sample in theirs]
                if common:
                    found.append(
                        Piece(lower, upper, _part(mine, common), _part(theirs, common), len(common))
                    )
        return found


def _part(samples: range, common: list[int]) -> slice:
    """Both ways to divide samples are regular, so what they have in common is."""
    first = samples.index(common[0])
    step = samples.index(common[1]) - first if len(common) > 1 else 1
    return slice(first, first + (len(common) - 1) * step + 1, step)
