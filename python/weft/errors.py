# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions. The names follow the exit codes of the command."""

from __future__ import annotations


class WeftError(Exception):
    """The world failed, not Weft. Every error but InternalError is one."""

    def __init__(self, message: str, file: str | None = None, byte: int | None = None) -> None:
        super().__init__(message)
        self.file = file
        """The file at fault, if one is."""
        self.byte = byte
        """Where in the (uncompressed) file, if known."""


class BadInput(WeftError):
    """A file is unreadable or not what it should be (exit 3)."""


class NotFound(BadInput):
    """A path does not exist, or a pattern matches no file (exit 3)."""


class UsageError(WeftError, ValueError):
    """The request makes no sense, or cannot be answered from this input (exit 2)."""


class Infeasible(WeftError):
    """Understood and computed, and the answer is no (exit 1)."""


class Unavailable(WeftError):
    """Needs something that this machine lacks (exit 4)."""


class PeerFailed(WeftError):
    """Another process or host failed, or did not answer in time (exit 5)."""


class Cancelled(WeftError):
    """Given up before it was done."""


class InternalError(RuntimeError):
    """A bug of Weft (exit 70). Please report it."""
