# SPDX-License-Identifier: Apache-2.0
"""The exceptions that Weft raises. Most of them correspond to an exit code of the `weft`
command."""

from __future__ import annotations


class WeftError(Exception):
    """Base class of all errors except InternalError, which reports a bug in Weft."""

    def __init__(self, message: str, file: str | None = None, byte: int | None = None) -> None:
        super().__init__(message)
        self.file = file
        """The file that caused the error; None if no file did."""
        self.byte = byte
        """Position of the error in the file, in bytes from its beginning; None if unknown. In a
        compressed file, this counts uncompressed bytes."""


class BadInput(WeftError):
    """A file cannot be read, or its contents are not what they should be (exit 3)."""


class NotFound(BadInput):
    """A path does not exist, or a pattern matches no file (exit 3)."""


class UsageError(WeftError, ValueError):
    """The request is invalid, or this input cannot answer it (exit 2)."""


class Infeasible(WeftError):
    """The request is valid but has no solution, for example within the given budget (exit 1)."""


class Unavailable(WeftError):
    """The request needs something that this machine does not have (exit 4)."""


class PeerFailed(WeftError):
    """Another process or host failed, or did not answer in time (exit 5)."""


class Cancelled(WeftError):
    """The operation was cancelled before it was complete."""


class InternalError(RuntimeError):
    """A bug in Weft (exit 70). Please report it."""
