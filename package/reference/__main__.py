"""Writes the reference of the public headers: python3 package/reference OUTPUT

OUTPUT/html has a page for each header, OUTPUT/man3 a page for each public name. Prints what is missing in the
headers, and then fails.
"""
import os
import shutil
import sys

import man
from reference import Reference
from web import Site


def main(output):
    reference = Reference(os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
    shutil.rmtree(output, ignore_errors=True)
    pages = Site(reference, f"{output}/html").write()
    manuals = man.write(reference, f"{output}/man3")
    warnings = reference.warnings()
    for warning in warnings:
        print(warning, file=sys.stderr)
    kinds = [k for k, _ in reference.names]
    counts = ", ".join(f"{kinds.count(k)} {k}s" for k in ("function", "macro", "type", "constant"))
    print(f"{pages} pages, {manuals} manual pages: {counts}")
    return 1 if warnings else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1]))
