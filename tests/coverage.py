"""Prints which lines and branches of src/ the tests do not reach: coverage.py GCOVR.json REASONS

A line of REASONS is "file: text | reason". The text is a part of the lines it stands for; "*" stands for all
lines of the file. These lines, and their branches, are left out. Fails if another line is not reached, or if a
reason stands for no line that needs one.
"""

import json
import sys


def read_reasons(path):
    reasons = []
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            place, reason = line.rstrip("\n").split(" | ")
            file, text = place.split(": ", 1)
            reasons.append({"file": file, "text": text, "reason": reason, "lines": 0})
    return reasons


def main(report, reasons_path):
    reasons = read_reasons(reasons_path)
    reached = lines = taken = branches = left_out = 0
    missing = []
    for file in json.load(open(report))["files"]:
        source = open(file["file"]).read().split("\n")
        own = [r for r in reasons if file["file"] == "src/" + r["file"]]
        merged = {}  # a line has an entry for each function of a macro or instruction set
        for line in file["lines"]:
            if not line.get("gcovr/noncode"):
                merged.setdefault(line["line_number"], []).append(line)
        for number, entries in sorted(merged.items()):
            text = source[number - 1]
            count = sum(e["count"] for e in entries)
            arms = [b for e in entries for b in e["branches"]]
            reason = next((r for r in own if r["text"] in (text, "*") or r["text"] in text), None)
            if reason and (count == 0 or any(b["count"] == 0 for b in arms)):
                reason["lines"] += 1
                left_out += count == 0
                continue
            lines += 1
            reached += count > 0
            branches += len(arms)
            taken += sum(b["count"] > 0 for b in arms)
            if count == 0:
                missing.append(f"{file['file']}:{number}: {text.strip()}")
    print("\n".join(missing))
    unused = [r for r in reasons if r["lines"] == 0]
    for r in unused:
        print(f"{reasons_path}: every line of src/{r['file']} with {r['text']!r} is reached")
    print(f"lines {reached} of {lines}, {100 * reached / lines:.1f} %; "
          f"branches {taken} of {branches}, {100 * taken / branches:.1f} %; left out with a reason: {left_out} lines")
    return bool(missing or unused)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
