# SPDX-License-Identifier: Apache-2.0
"""Finds facts about a PyTorch job that its trace does not contain, such as the settings of DDP."""

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
    """All DDP models of the process. This searches all objects of the process, which is slow but
    needs no hook in DDP."""
    from torch.nn.parallel import DistributedDataParallel

    # Do not use isinstance() here: it reads __class__, and for a proxy object this would run code
    # of the job.
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
