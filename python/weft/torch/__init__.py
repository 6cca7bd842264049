# SPDX-License-Identifier: Apache-2.0
"""What Weft does inside PyTorch.

    import weft.torch
    weft.torch.record("traces", steps=(10, 14))

records steps 10 to 14 of the optimizer into traces/, one file a rank.
"""

from .record import record

__all__ = ["record"]
