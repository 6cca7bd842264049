# SPDX-License-Identifier: Apache-2.0
"""Weft for JAX: redistributes arrays, and contains the hook that records JAX jobs.

    import weft.jax
    moved = weft.jax.reshard(array, sharding)

moves an array to another sharding, which may be over other devices.
"""

from .reshard import reshard

__all__ = ["reshard"]
