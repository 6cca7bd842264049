# SPDX-License-Identifier: Apache-2.0
"""What the tests with gloo ranks share."""

from __future__ import annotations

import pytest

# The tests run twice: over shared memory, and over messages of gloo. To use messages, it is enough
# that one rank disables shared memory.
TRANSPORTS = {"shared": {}, "messages": {"WEFT_SHARED_MEMORY": "0"}}


@pytest.fixture(scope="module", params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> dict[str, str]:
    return TRANSPORTS[request.param]
