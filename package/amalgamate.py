#!/usr/bin/env python3
"""Joins Heed into two files: package/amalgamate.py FOLDER writes heed.h, a copy, and heed.c: all sources, each with the
internal files that it includes. Names that several sources define for themselves become NAME_SOURCE, by macros that end
with the source; so do all names of kernels, which stand there once per instruction set and dtype."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """/* Heed in one file: cc -O2 -c heed.c && cc mine.c heed.o -lm -pthread\n\n%s*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef __clang__ /* it takes heed_fail for a function that may return HEED_OK */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
%s
"""


def joined(path, seen):
    """The text with the files that it includes; those with a guard once."""
    text = path.read_text()
    if path in seen or path.name == "heed.h":
        return '#include "heed.h"\n' * (path not in seen)
    if re.search(r"^#ifndef HEED_\w+_H$", text, re.M):
        seen.add(path)
    text = re.sub(r"^#define _(DEFAULT|GNU)_SOURCE\b.*\n", "", text, flags=re.M)
    return re.sub(r'^#include "(.*?)".*\n', lambda m: joined((path.parent / m[1]).resolve(), seen), text, flags=re.M)


def names_of(text):
    """Functions, variables, types and enum constants that are defined at file scope."""
    text = re.sub(r"""/\*[\s\S]*?\*/|^ *#(?:.*\\\n)*.*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'""", "", text, flags=re.M)
    names = re.findall(r"^(?:FOLD\(\w+, |SUMS?_OF\(|TILES_OF\()(\w+)", text, re.M)  # macros of kernels
    for body in re.findall(r"^enum\b[^{;()]*\{(.*?)\}", text, re.M | re.S):
        names += re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip())
    while (shorter := re.sub(r"\{[^{}]*\}", "@", re.sub(r"\([^()]*\)", "~", text))) != text:
        text = shorter
    text = re.sub(r"__attribute__ *~|_Static_assert|=[^;]*(?=;)", "", text)
    names += re.findall(r"([A-Za-z_]\w*)\s*(?:~(?!\s*;)|[@;\[])", text)
    return {n for n in names if not re.match(r"(?i:heed_|operation)|(if|const|static|struct|enum|union|void)$", n)}


seen = set()
out = joined(ROOT / "src/check/check.h", seen)  # it includes all internal headers
sources = sorted((ROOT / "src").glob("**/*.c"), key=lambda path: ("/kernels/" in str(path), path))
texts = {path: joined(path, seen) for path in sources}
times = collections.Counter(n for path in sources if "/kernels/" not in str(path) for n in names_of(texts[path]))
for path, text in texts.items():
    macros = set(re.findall(r"^ *# *define (\w+)", text, re.M))
    names = names_of(text) | {n + s for n in re.findall(r"\bNAME\((\w+)\)", text) for s in ("_plain", "_in_double")}
    names = sorted(n for n in names - macros if "/kernels/" in str(path) or times[n] > 1)
    out += f"\n/* ==== {path.relative_to(ROOT)} ==== */\n\n" + "".join(f"#define {n} {n}_{path.stem}\n" for n in names)
    out += text + "\n" + "".join(f"#undef {n}\n" for n in names + sorted(macros))
system = sorted({m[0] + "\n#endif" * bool(m[1]) for m in re.finditer(r"^(#if.*\n)?#include <.*>", out, re.M)})
head = HEAD % ((ROOT / "LICENSE").read_text(), "\n".join(system))
pathlib.Path(sys.argv[1], "heed.c").write_text(head + out)
pathlib.Path(sys.argv[1], "heed.h").write_text((ROOT / "src/heed.h").read_text())
