# SPDX-License-Identifier: Apache-2.0
"""What Weft does inside PyTorch.

    import weft.torch
    weft.torch.record("traces", steps=(10, 14))

records steps 10 to 14 of the optimizer into traces/, one file a rank.

    weft.torch.redistribute(array, mesh, [Shard(1), Replicate()])

takes a DTensor to another distribution, also on another mesh, and

    weft.torch.refit(trained.state_dict(), served.state_dict())

takes a whole model there.

    pipe = weft.torch.pipeline(model, "plan.json", loss=cross_entropy)
    loss = pipe.step(inputs, target=targets)

trains a model in the stages, and in the order of micro-batches, that `weft pipeline` planned.
"""

from typing import TYPE_CHECKING, Any

from .record import record

if TYPE_CHECKING:
    from .pipelining import Pipeline, pipeline
    from .redistribution import absent, redistribute
    from .refitting import refit

__all__ = ["Pipeline", "absent", "pipeline", "record", "redistribute", "refit"]

_FOUND_IN = {
    "Pipeline": "pipelining",
    "absent": "redistribution",
    "pipeline": "pipelining",
    "redistribute": "redistribution",
    "refit": "refitting",
}


def __getattr__(name: str) -> Any:
    """Recording needs neither torch nor the library: what does is loaded when it is asked for."""
    if name not in _FOUND_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    try:
        value = getattr(importlib.import_module("." + _FOUND_IN[name], __name__), name)
    except ModuleNotFoundError as error:
        raise AttributeError(f"{__name__}.{name} needs {error.name}, which is not here") from error
    globals()[name] = value
    return value
