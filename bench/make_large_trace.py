#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a profiler trace of any size: it repeats the events of a real trace, with later times in
each copy.

Usage: make_large_trace.py SOURCE.json.gz TARGET.json MEGABYTES

The speed and the memory of a reader depend on times, names and sizes of events, and these are like
those of a long recording. Every copy has the same correlation and sequence numbers, so the file can
be used only to measure readers.
"""

from __future__ import annotations

import gzip
import re
import sys

EVENTS = '"traceEvents":'
TIME = re.compile(r'"ts":\s*(\d+\.?\d*)')


def main() -> int:
    source, target, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with gzip.open(source, "rt", encoding="utf-8") as file:
        text = file.read()
    begin = text.index("[", text.index(EVENTS)) + 1
    end = text.rindex("]")
    # Text and times alternate in `parts`. A further copy replaces the times and joins the parts;
    # it needs no second search.
    parts = TIME.split(text[begin:end])
    times = [float(part) for part in parts[1::2]]
    period = max(times) - min(times)
    with open(target, "w", encoding="utf-8") as file:
        written = file.write(text[:begin])
        copy = 0
        while written < megabytes * 1_000_000:
            parts[1::2] = [f'"ts": {time + copy * period:.3f}' for time in times]
            written += file.write(("," if copy else "") + "".join(parts))
            copy += 1
        file.write(text[end:])
    print(f"{target}: {written / 1e6:.0f} MB, {copy} copies of {source}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
