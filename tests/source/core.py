#!/usr/bin/env python3
"""make core: the part of src/ that a small program takes from the library.
    core.py BUILD PROGRAM MAP ...    MAP: the linker's map of PROGRAM

An object that the linker takes brings its source and the headers that it includes (the compiler's .d file). Prints
their lines by room."""
import collections
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def find_takers(build, maps):
    """{file of src/: the programs that take it}, from {program: linker map}."""
    objects = collections.defaultdict(list)
    for path in build.glob("src/**/*.o"):
        objects[path.name].append(path)

    takers = collections.defaultdict(set)
    for program, path in maps.items():
        members = set(re.findall(r"libheed\.a\((\w+\.o)\)", pathlib.Path(path).read_text()))
        if not members:
            sys.exit(f"{path}: takes nothing from libheed.a")
        for member in members:
            for taken in objects[member]:
                for file in re.findall(r"src/[\w/.]+", taken.with_suffix(".d").read_text()):
                    file = os.path.normpath(file)  # src/nn/../tensor/shape.h
                    if (ROOT / file).is_file():  # else it was moved since
                        takers[file].add(program)
    return takers


def count_lines(path):
    return len((ROOT / path).read_text().splitlines())


def main(build, maps):
    takers = find_takers(build, maps)
    lines = {file: count_lines(file) for file in takers}
    rooms = collections.defaultdict(list)
    for file in sorted(takers):
        rooms["/".join(file.split("/")[1:-1]) or "src"].append(file)
    for room, files in sorted(rooms.items()):
        print(f"{room}: {sum(lines[f] for f in files)} lines in {len(files)} files")
        for file in files:
            some = sorted(takers[file]) if len(takers[file]) < len(maps) else []
            print(f"  {lines[file]:5} {file.split('/')[-1]:26} {', '.join(some)}".rstrip())
    print(f"core: {sum(lines.values())} lines in {len(lines)} files, taken by {', '.join(maps)}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), dict(zip(sys.argv[2::2], sys.argv[3::2])))
