# SPDX-License-Identifier: Apache-2.0
"""Runs every plan NAME.json of a folder with Weft's runtime. If torch's runtime supports the plan,
runs it there too: in the plan's order, and in the order of each exported file NAME.*.csv.

Usage: planned_families.py FOLDER. Rank 0 prints a line of JSON per run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.torch.jobs.pipeline_cases import compare
from tests.torch.jobs.pipeline_models import batch, chain
from tests.torch.jobs.runner import main
from weft.torch.pipelining import read_plan


def runs(folder: Path) -> dict[str, Callable[[], None]]:
    found: dict[str, Callable[[], None]] = {}
    for file in sorted(folder.glob("*.json")):
        plan = read_plan(file)
        data = batch(4 * plan.microbatches)
        found[f"{file.stem} weft"] = partial(compare, file, chain(), chain(), data)
        idle = set(range(plan.devices)) - {d for stage in plan.stages for d in stage.devices}
        if plan.replicated or idle:
            continue
        found[f"{file.stem} torch"] = partial(
            compare, file, chain(), chain(), data, runtime="torch"
        )
        for exported in sorted(folder.glob(f"{file.stem}.*.csv")):
            found[f"{exported.stem} torch"] = partial(
                compare, file, chain(), chain(), data, runtime="torch", exported=exported
            )
    return found


if __name__ == "__main__":
    cases = runs(Path(sys.argv.pop()))
    sys.argv += cases
    main(cases)
