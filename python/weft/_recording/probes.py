# SPDX-License-Identifier: Apache-2.0
"""The C libraries that see transfers, where `weft record` or NCCL has loaded them into this process."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Dict, Optional

_SWITCHES = {
    "libweft-wire.so": "weft_wire_record",
    "libweft-mpi.so": "weft_mpi_record",
    "libnccl-profiler-weft.so": "weft_nccl_record",
}
_WAIT = "WEFT_RECORD_WAIT"


class Probes:
    """The window of all probes of this process, whether they are here already or come later."""

    def __init__(self) -> None:
        self._wait: Optional[str] = None  # what the variable said before the window was opened

    def record(self, on: bool) -> None:
        """Opens or closes it."""
        self._tell_later_ones(on)
        for path, name in _loaded().items():
            # Not among the symbols of the process: NCCL opens its plug-in for itself alone.
            with contextlib.suppress(OSError):  # the file is mapped, but not as a library
                switch = getattr(ctypes.CDLL(path, mode=os.RTLD_NOLOAD), name)
                switch.argtypes = [ctypes.c_int]
                switch.restype = None
                switch(1 if on else 0)

    def _tell_later_ones(self, on: bool) -> None:
        """NCCL loads its plug-in with its first communicator, which may be within the window."""
        if on and self._wait is None and _WAIT in os.environ:
            self._wait, os.environ[_WAIT] = os.environ[_WAIT], "0"
        elif not on and self._wait is not None:
            os.environ[_WAIT], self._wait = self._wait, None


def _loaded() -> Dict[str, str]:
    """Paths of the probes that are here, each with the name of its switch."""
    found = {}
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            _, slash, path = line.rstrip("\n").partition("/")
            switch = _SWITCHES.get(os.path.basename(path))
            if switch is not None:
                found[slash + path] = switch
    return found
