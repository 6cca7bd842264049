# SPDX-License-Identifier: Apache-2.0
"""Checks that includes follow the direction of the rooms, and that headers stay free of strangers.

    base < {trace, record} < graph < cost < sim < predict < plan
         < {diagnose, optimize, pipeline, reshard, share} < report < {cli, python}

The testbed stands beside them: it knows base, and cli knows it.

A file may include its own room and rooms of lower rank, never a neighbour of the same rank.
Headers of weft/ and cli/ may include the standard library, weft, and <tl/expected.hpp> in
weft/base/result.h alone; every other library is a matter of .cc files.

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
# Rooms that know less than those to their left.
KNOWS_ONLY = {"testbed": {"base"}}
RANK["testbed"] = RANK["report"]
# Tests and benchmarks may look at any room that the command may.
TOP = {"tests": len(RANKS), "bench": len(RANKS)}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Headers with a dot that come with the system or the compiler.
SYSTEM = re.compile(r"^(sys/.*|(unistd|fcntl|signal|termios)\.h|[a-z]*intrin\.h)$")
STRANGERS_ALLOWED = {("weft/base/result.h", "tl/expected.hpp")}


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
        return [f"{name}: {room} is no known room; add it to tools/check_layers.py"]
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
                found.append(f'{where}: "{target}": spell includes from the repository root')
            elif other == room:
                continue
            elif other not in RANK:
                found.append(f'{where}: "{target}": no known room')
            elif RANK[other] >= rank or other not in KNOWS_ONLY.get(room, RANK):
                found.append(f"{where}: {room} must not know {other} ({target})")
        elif file.suffix == ".h" and is_stranger(target):
            if (name, target) not in STRANGERS_ALLOWED:
                found.append(f"{where}: <{target}>: third-party headers belong into .cc files")
    return found


def is_stranger(target: str) -> bool:
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
        print(f"layers: {len(found)} includes against the direction", file=sys.stderr)
        return 1
    print(f"layers: {len(files)} files keep the direction of the rooms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
