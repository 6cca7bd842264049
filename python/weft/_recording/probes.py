# SPDX-License-Identifier: Apache-2.0
"""Switches probes, which are C libraries that record transfers, on and off.

`weft record` (LD_PRELOAD) or NCCL (as its profiler plug-in) loads them into the process.
"""

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
    """Opens and closes the window of all probes of this process, including probes that are loaded
    later."""

    def __init__(self) -> None:
        self._wait: Optional[str] = None  # the value of _WAIT before the window was opened

    def record(self, on: bool) -> None:
        """Open the window (true) or close it (false)."""
        self._switch_later_ones(on)
        for path, name in _loaded().items():
            # Look the symbol up in the library itself: NCCL loads its plug-in with local scope, so
            # the symbols of the plug-in are not visible in the process.
            with contextlib.suppress(OSError):  # the file is mapped, but not loaded as a library
                switch = getattr(ctypes.CDLL(path, mode=os.RTLD_NOLOAD), name)
                switch.argtypes = [ctypes.c_int]
                switch.restype = None
                switch(1 if on else 0)

    def _switch_later_ones(self, on: bool) -> None:
        """Set the environment variable that a probe reads when it is loaded. NCCL loads its plug-in
        with the first communicator, which the job may create while the window is open."""
        if on and self._wait is None and _WAIT in os.environ:
            self._wait, os.environ[_WAIT] = os.environ[_WAIT], "0"
        elif not on and self._wait is not None:
            os.environ[_WAIT], self._wait = self._wait, None


def _loaded() -> Dict[str, str]:
    """Paths of the probes that are loaded, each with the name of the function that switches it."""
    found = {}
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            _, slash, path = line.rstrip("\n").partition("/")
            switch = _SWITCHES.get(os.path.basename(path))
            if switch is not None:
                found[slash + path] = switch
    return found
