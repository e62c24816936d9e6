"""Prints the lines of src/ that no test reaches: coverage.py GCOVR.json REASONS LEAST_LINES LEAST_BRANCHES

Each line of REASONS is "file: text | reason". It excludes the lines of that file that contain the text (*: all lines),
if the tests do not reach them or all of their branches. Fails if less than the given percentages of the other lines and branches are
reached, or if a reason excludes nothing.
"""

import json
import sys


def read_reasons(path):
    reasons = []
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            place, reason = line.rstrip("\n").split(" | ")
            file, text = place.split(": ", 1)
            reasons.append({"file": "src/" + file, "text": text, "reason": reason, "excluded": 0})
    return reasons


def lines_of(file):
    """Line number -> its entries. A line has one for each function of a macro, and for each instruction set."""
    lines = {}
    for line in file["lines"]:
        if not line.get("gcovr/noncode"):
            lines.setdefault(line["line_number"], []).append(line)
    return lines


def main(report, reasons_path, least_lines, least_branches):
    reasons = read_reasons(reasons_path)
    reached = lines = taken = branches = 0
    for file in json.load(open(report))["files"]:
        source = open(file["file"]).read().split("\n")
        own = [r for r in reasons if r["file"] == file["file"]]
        for number, entries in sorted(lines_of(file).items()):
            text = source[number - 1]
            count = sum(e["count"] for e in entries)
            counts = [b["count"] for e in entries for b in e["branches"]]
            reason = next((r for r in own if r["text"] == "*" or r["text"] in text), None)
            if reason and (count == 0 or 0 in counts):
                reason["excluded"] += 1
                continue
            lines += 1
            reached += count > 0
            branches += len(counts)
            taken += sum(c > 0 for c in counts)
            if count == 0:
                print(f"{file['file']}:{number}: {text.strip()}")
    unused = [r for r in reasons if r["excluded"] == 0]
    for r in unused:
        print(f"{reasons_path}: {r['file']}: {r['text']}: excludes nothing")
    by_lines, by_branches = 100 * reached / lines, 100 * taken / branches
    print(f"lines: {reached} of {lines}, {by_lines:.1f} %; branches: {taken} of {branches}, {by_branches:.1f} %; "
          f"excluded with a reason: {sum(r['excluded'] for r in reasons)} lines")
    return bool(unused) or by_lines < float(least_lines) or by_branches < float(least_branches)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
