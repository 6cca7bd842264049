# SPDX-License-Identifier: Apache-2.0
"""Divides the samples of a micro-batch among the replicas of each stage, and finds the pieces that
replicas of neighbouring stages exchange.

If two neighbouring stages are both replicated, each replica of one stage has a block of consecutive
samples. The other stage has r replicas, and each of them has every r-th sample. So every sender has
samples for every receiver, and all links between them carry a part of the data, as the planner
assumes.
"""

from __future__ import annotations

from dataclasses import dataclass

from .plan import Plan


@dataclass(frozen=True)
class Piece:
    """The samples that one device of a stage and one device of the next stage have in common."""

    lower: int  # device of the earlier stage
    upper: int  # device of the later stage
    lower_part: slice  # position of these samples among those of the lower device
    upper_part: slice  # position of these samples among those of the upper device
    samples: int


class Samples:
    """How the stages of a plan divide micro-batches of `count` samples."""

    def __init__(self, plan: Plan, count: int) -> None:
        self.count = count
        self._plan = plan
        self._strided = self._choose(plan, count)
        self._pieces: dict[int, list[Piece]] = {}

    @staticmethod
    def _choose(plan: Plan, count: int) -> list[bool]:
        """For each stage, whether its replicas have every r-th sample instead of blocks.

        The value changes from each stage to the next, with two exceptions. It stays if the next
        stage has the same devices, so that these keep their samples. It also stays if there are
        more pairs of replicas than samples, because not every pair could share a sample then.
        """
        strided = [False]
        for before, stage in zip(plan.stages, plan.stages[1:]):
            replicas = len(before.devices) * len(stage.devices)
            stays = before.devices == stage.devices or replicas > count
            strided.append(strided[-1] if stays else not strided[-1])
        return strided

    def of(self, stage: int, device: int) -> range:
        """The samples of a device, as positions within the micro-batch."""
        devices = self._plan.stages[stage].devices
        replica, replicas = devices.index(device), len(devices)
        if self._strided[stage]:
            return range(replica, self.count, replicas)
        return range(self.count * replica // replicas, self.count * (replica + 1) // replicas)

    def pieces(self, stage: int) -> list[Piece]:
        """The pieces between this stage and the next one. All
        devices list them in the same order."""
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
    """The positions of the common samples within `samples`, as a slice. Both ways to divide samples
    have a constant stride, so the common samples have one too."""
    first = samples.index(common[0])
    step = samples.index(common[1]) - first if len(common) > 1 else 1
    return slice(first, first + (len(common) - 1) * step + 1, step)
