#!/usr/bin/env python3
"""Lists what takes longest in a build, from the page that `cargo build --timings` writes.

    scripts/timings.py target/cargo-timings/cargo-timing.html [ROWS]

Seconds are of the wall clock while other units were compiled beside: their sum is about the number of cores times the
time of the build.
"""

import json
import re
import sys


def main() -> None:
    page = open(sys.argv[1], encoding="utf-8").read()
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    found = re.search(r"^const UNIT_DATA = (\[.*?\]);$", page, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"{sys.argv[1]} has no UNIT_DATA: is it of another cargo?")
    units = json.loads(found.group(1))
    total = sum(unit["duration"] for unit in units)
    end = max(unit["start"] + unit["duration"] for unit in units)
    print(f"{len(units)} units, {total:.0f} s in all, {end:.0f} s from the first to the last\n")
    print("| unit | seconds | share |\n|---|---|---|")
    for unit in sorted(units, key=lambda unit: -unit["duration"])[:rows]:
        name = f"{unit['name']} {unit['version']}{unit['target']}".strip()
        print(f"| {name} | {unit['duration']:.0f} | {unit['duration'] / total:.1%} |")


main()
