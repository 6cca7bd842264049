# SPDX-License-Identifier: Apache-2.0
"""Checks the direction of includes between rooms, and that headers include no third-party headers.

    base < {trace, record} < graph < cost < sim < predict < plan
         < {diagnose, optimize, pipeline, reshard, share} < report < {cli, python}

The testbed is not part of this order: it may include only base, and only cli may include it.

A file may include its own room and rooms of lower rank, but no other room of the same rank.
Headers may include only the standard library, the system, and Weft; weft/base/result.h may also
include <tl/expected.hpp>. All other libraries are included in .cc files.

Usage: check_layers.py [ROOT]
"""

import re
import sys
from pathlib import Path

RANKS = [
    ["base"],
    ["trace", "record"],
    ["graph"],
    ["cost"],
    ["sim"],
    ["predict"],
    ["plan"],
    ["diagnose", "optimize", "pipeline", "reshard", "share"],
    ["report"],
    ["cli", "python"],
]
RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}
# Rooms that may include fewer rooms than their rank allows.
KNOWS_ONLY = {"testbed": {"base"}}
RANK["testbed"] = RANK["report"]
# Tests and benchmarks may include all rooms.
TOP = {"tests": len(RANKS), "bench": len(RANKS)}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Headers with a dot in their name that belong to the system or the compiler.
SYSTEM = re.compile(r"^(sys/.*|(unistd|fcntl|signal|termios)\.h|[a-z]*intrin\.h)$")
THIRD_PARTY_ALLOWED = {("weft/base/result.h", "tl/expected.hpp")}


def room_of(path: str) -> str | None:
    parts = path.split("/")
    if parts[0] == "weft":
        return parts[1] if len(parts) > 2 else None
    return parts[0]


def problems_in(file: Path, root: Path) -> list[str]:
    name = file.relative_to(root).as_posix()
    room = room_of(name)
    found = []
    if room not in RANK and room not in TOP:
        return [f"{name}: unknown room '{room}'; add it to tools/check_layers.py"]
    rank = RANK.get(room, TOP.get(room, -1))
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        where = f"{name}:{number}"
        if quote == '"':
            other = room_of(target)
            if "/" not in target:
                found.append(f'{where}: "{target}": write the path from the repository root')
            elif other == room:
                continue
            elif other not in RANK:
                found.append(f'{where}: "{target}": unknown room')
            elif RANK[other] >= rank or other not in KNOWS_ONLY.get(room, RANK):
                found.append(f"{where}: {room} must not include {other} ({target})")
        elif file.suffix == ".h" and is_third_party(target):
            if (name, target) not in THIRD_PARTY_ALLOWED:
                found.append(f"{where}: <{target}>: include third-party headers in .cc files only")
    return found


def is_third_party(target: str) -> bool:
    # Headers of the C++ standard library have no dot in their name.
    return "." in target and not SYSTEM.match(target)


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    folders = ["weft", "testbed", "cli", "python/bindings", "bench", "tests"]
    files = sorted(
        file
        for folder in folders
        for file in (root / folder).rglob("*")
        if file.suffix in {".h", ".cc"}
    )
    if not files:
        print(f"layers: no sources under {root}", file=sys.stderr)
        return 1
    found = [problem for file in files for problem in problems_in(file, root)]
    for problem in found:
        print(problem, file=sys.stderr)
    if found:
        print(f"layers: {len(found)} problems; docs/design/architecture.md has the rules", file=sys.stderr)
        return 1
    print(f"layers: the includes of {len(files)} files follow the direction of the rooms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
