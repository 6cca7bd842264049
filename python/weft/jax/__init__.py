# SPDX-License-Identifier: Apache-2.0
"""What Weft does inside JAX.

    import weft.jax
    moved = weft.jax.reshard(array, sharding)

moves an array to another sharding, also to other devices.
"""

from .reshard import reshard

__all__ = ["reshard"]
