# SPDX-License-Identifier: Apache-2.0
"""Starts one command several times, each with its own environment variables, like a launcher.

    launch.py '[{"RANK": "0"}, {"RANK": "1"}]' COMMAND...

Processes with the variable SERVES are terminated when the others have ended. The exit status is the
first one that is not 0.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

started = [
    (subprocess.Popen(sys.argv[2:], env={**os.environ, **variables}), "SERVES" in variables)
    for variables in json.loads(sys.argv[1])
]
statuses = [process.wait() for process, serves in started if not serves]
for process, serves in started:
    if serves:
        process.terminate()
        process.wait()
sys.exit(next((status for status in statuses if status), 0))
