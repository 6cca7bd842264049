# SPDX-License-Identifier: Apache-2.0
"""Makes a big Kineto trace out of a small one, for the reading benchmark.

    tools/make_big_trace.py SMALL.json[.gz] BIG.json[.gz] [--size BYTES]

The events of the small trace are repeated until the JSON has the wanted size (2 GB unless told).
Every copy is moved behind the one before in time, and gets step numbers and correlation, external
and sequence ids of its own, so that the big trace is one long recording, not a pile of equal ones.
Times keep their decimals. A name that ends in .gz is compressed on the way.
"""

import argparse
import gzip
import json
import re
import sys

STEP = re.compile(r'"ProfilerStep#(\d+)"')
# Ids that link events of one copy with each other.
IDS = re.compile(r'"(correlation|External id|external id|Ev Idx|Sequence number|id)":\s*(\d+)')
TIME = re.compile(r'"ts":\s*(\d+)((?:\.\d+)?)')


def opened(path, mode):
    return gzip.open(path, mode, compresslevel=4) if path.endswith(".gz") else open(path, mode)


def load(path):
    with opened(path, "rb") as file:
        return json.loads(file.read(), strict=False)


class Template:
    """The events as text, cut at the numbers that change from copy to copy."""

    def __init__(self, events):
        text = ",\n".join(json.dumps(event) for event in events)
        times = [int(m.group(1)) for m in TIME.finditer(text)]
        ids = [int(m.group(2)) for m in IDS.finditer(text)]
        steps = [int(m.group(1)) for m in STEP.finditer(text)]
        self.period = max(times) - min(times) + 1000
        self.id_stride = max(ids, default=0) + 1
        self.step_stride = max(steps, default=0) - min(steps, default=0) + 1
        self.pieces = []
        at = 0
        cuts = [(m.start(1), m.end(1), "ts") for m in TIME.finditer(text)]
        cuts += [(m.start(2), m.end(2), "id") for m in IDS.finditer(text)]
        cuts += [(m.start(1), m.end(1), "step") for m in STEP.finditer(text)]
        for start, end, kind in sorted(cuts):
            self.pieces.append((text[at:start], int(text[start:end]), kind))
            at = end
        self.tail = text[at:]

    def copy(self, number):
        move = {
            "ts": number * self.period,
            "id": number * self.id_stride % 4_000_000_000,
            "step": number * self.step_stride,
        }
        out = []
        for text, value, kind in self.pieces:
            out.append(text)
            out.append(str(value + move[kind]))
        out.append(self.tail)
        return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("small")
    parser.add_argument("big")
    parser.add_argument("--size", type=int, default=2_000_000_000, help="bytes of JSON")
    options = parser.parse_args()

    trace = load(options.small)
    moving = [e for e in trace["traceEvents"] if e.get("ph") in ("X", "i", "s", "f", "t")]
    fixed = [e for e in trace["traceEvents"] if e.get("ph") not in ("X", "i", "s", "f", "t")]
    head = {key: value for key, value in trace.items() if key != "traceEvents"}
    template = Template(moving)

    written = 0
    with opened(options.big, "wb") as out:

        def write(text):
            nonlocal written
            data = text.encode()
            out.write(data)
            written += len(data)

        write(json.dumps(head)[:-1] + (", " if head else "") + '"traceEvents": [\n')
        copies = 0
        while written < options.size:
            write((",\n" if copies else "") + template.copy(copies))
            copies += 1
        for event in fixed:
            write(",\n" + json.dumps(event))
        write("\n]}\n")
    print(f"{options.big}: {written} bytes of JSON, {copies} copies of {len(moving)} events")


if __name__ == "__main__":
    sys.exit(main())
