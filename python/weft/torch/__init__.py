# SPDX-License-Identifier: Apache-2.0
"""Weft for PyTorch: records jobs, redistributes arrays and models, and runs pipeline plans.

    import weft.torch
    weft.torch.record("traces", steps=(10, 14))

records optimizer steps 10 to 14 into traces/, one file per rank.

    weft.torch.redistribute(array, mesh, [Shard(1), Replicate()])

returns a DTensor with other placements, which may be on another mesh.

    with weft.torch.use_for_dtensor():
        output = tensor_parallel_model(inputs)

lets DTensor itself use Weft: redistribute(), full_tensor(), operators and gradients.

    weft.torch.refit(trained.state_dict(), served.state_dict())

copies all arrays of a model into a model with another parallel layout.

    pipe = weft.torch.pipeline(model, "plan.json", loss=cross_entropy)
    loss = pipe.step(inputs, target=targets)

trains a model with the stages and the schedule of a plan from `weft pipeline`.
"""

from typing import TYPE_CHECKING, Any

from .record import record

if TYPE_CHECKING:
    from .for_dtensor import use_for_dtensor
    from .pipelining import Pipeline, pipeline
    from .redistribution import absent, redistribute
    from .refitting import refit

__all__ = ["Pipeline", "absent", "pipeline", "record", "redistribute", "refit", "use_for_dtensor"]

_FOUND_IN = {
    "Pipeline": "pipelining",
    "absent": "redistribution",
    "pipeline": "pipelining",
    "redistribute": "redistribution",
    "refit": "refitting",
    "use_for_dtensor": "for_dtensor",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used. A job that is only recorded imports this package too,
    perhaps without torch and without Weft's compiled part. So only record() is imported at once."""
    if name not in _FOUND_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    try:
        value = getattr(importlib.import_module("." + _FOUND_IN[name], __name__), name)
    except ModuleNotFoundError as error:
        raise AttributeError(
            f"{__name__}.{name} needs {error.name}, which is not installed"
        ) from error
    globals()[name] = value
    return value
