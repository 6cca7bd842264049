# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch job can tell about itself that its trace does not."""

from __future__ import annotations

import gc
from typing import Any, Dict, List


def job_facts() -> Dict[str, Any]:
    import torch
    from torch import distributed

    facts: Dict[str, Any] = {"device": "cuda" if torch.cuda.is_initialized() else "cpu"}
    if distributed.is_available() and distributed.is_initialized():
        facts["backend"] = distributed.get_backend()
        models = [_ddp_facts(model) for model in _ddp_models()]
        facts["scheme"] = "ddp" if models else "distributed"
        if models:
            facts["ddp"] = models
    else:
        facts["scheme"] = "single"
    return facts


def _ddp_models() -> List[Any]:
    """Found among all objects rather than by a hook: asked once, and nothing of DDP is changed."""
    from torch.nn.parallel import DistributedDataParallel

    # By type(): isinstance() would ask proxies for their class, and run code of the job.
    return [
        thing for thing in gc.get_objects() if issubclass(type(thing), DistributedDataParallel)
    ]


def _ddp_facts(model: Any) -> Dict[str, Any]:
    logged = model._get_ddp_logging_data()
    return {
        "logging": {key: logged[key] for key in sorted(logged)},
        "bucket_cap_bytes": model.bucket_bytes_cap,
        "parameters": [
            {"name": name, "elements": value.numel(), "dtype": str(value.dtype).partition(".")[2]}
            for name, value in model.module.named_parameters()
            if value.requires_grad
        ],
    }
