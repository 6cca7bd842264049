# SPDX-License-Identifier: Apache-2.0
"""Starts one command several times, each with variables of its own, as a launcher does.

    launch.py '[{"RANK": "0"}, {"RANK": "1"}]' COMMAND...

Processes whose variables hold SERVES are ended once the others are done. The status is the first that
is not 0.
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
