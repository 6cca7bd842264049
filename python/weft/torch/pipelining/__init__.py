# SPDX-License-Identifier: Apache-2.0
"""Trains PyTorch models with the plans of `weft pipeline`."""

from .making import pipeline
from .plan import Plan, read_plan
from .runtime import Pipeline
from .torch_runtime import TorchPipeline

__all__ = ["Pipeline", "Plan", "TorchPipeline", "pipeline", "read_plan"]
