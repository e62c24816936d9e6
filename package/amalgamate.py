#!/usr/bin/env python3
"""Joins Heed into two files, heed.h and heed.c: amalgamate.py FOLDER DTYPE/FILE ...

The arguments after FOLDER are the kernel files to compile for each dtype, such as F32/table (see the
Makefile). heed.h consists of the public headers, heed.c of everything else: the internal headers, the .c
files, and the kernels, which are repeated for each dtype.

In one file, names that were local to a file may occur twice. Such names get the name of their file as a
suffix, and all names of the kernels get the dtype. Macros are undefined at the end of their file.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
KERNELS = SRC / "tensor/kernels"
ABOUT = (ROOT / "package/amalgamation.c").read_text()

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)|(?P<line>\\\n)|(?P<space>\s+)"""
    r"""|(?P<mark>->|\#\#|\.\.\.|.)""", re.S)
INCLUDE = re.compile(r'^ *# *include +(?:"([^"]+)"|<([^>]+)>).*\n', re.M)
CONDITION = re.compile(r"^ *# *(if|ifdef|ifndef|elif|else|endif)\b(.*)", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*\n", re.M)
DEFINING_MACRO = re.compile(r"(?!HEED_(?!MODULE_KIND)|NAME|KERNEL|REDUCE)[A-Z][A-Z_0-9]+")
C_WORDS = set("auto break case char const continue default do double else enum extern float for goto if inline "
              "int long register restrict return short signed sizeof static struct switch typedef union "
              "unsigned void volatile while bool _Bool int64_t uint64_t int32_t f32 f64 i64".split())


def tokens(text):
    return [(m.lastgroup, m.group()) for m in TOKEN.finditer(text)]


def code_of(text):
    """Without comments and directives."""
    text = "".join(" " if kind == "comment" else token for kind, token in tokens(text))
    return DIRECTIVE.sub("\n", text)


def macros_of(text):
    return list(dict.fromkeys(re.findall(r"^ *# *define +([A-Za-z]\w*)", text, re.M)))


def names_of(text):
    """Names with file scope: functions, variables, types, tags, enum constants. Macros outside of functions
    define what their first argument names, or their second after a type."""
    words = [token for kind, token in tokens(code_of(text)) if kind != "space"]
    names, depth, enum, start, value = set(), 0, None, 0, False
    for i, word in enumerate(words):
        follower = words[i + 1] if i + 1 < len(words) else ""
        previous = words[i - 1] if i > 0 else ""
        if word in "{([":
            if depth == 0 and word == "{":
                enum = "enum" in words[start:i]
            if depth == 0 and word == "(" and DEFINING_MACRO.fullmatch(previous):
                arguments = re.split(r"[,)]", "".join(words[i + 1:i + 8]))[:2]
                names.update([a for a in arguments if re.fullmatch(r"[a-z]\w*", a) and a not in C_WORDS][:1])
            depth += 1
        elif word in "})]":
            depth -= 1
            if depth == 0 and word == "}":
                enum, start = None, i + 1
        elif depth == 0 and word in ";,=":
            start, value = (i + 1 if word == ";" else start), word == "="
        elif re.fullmatch(r"[A-Za-z_]\w*", word) and word not in C_WORDS:
            if depth == 0 and not value:
                tag = previous in ("struct", "union", "enum") and follower == "{"
                declared = follower in ("(", "=", ";", "[", ",", "") or follower == "__attribute__"
                of_struct = previous == "}" and follower in (";", "=", "[", ",", "__attribute__")
                if tag or of_struct or (declared and i > start and not word.startswith("__")):
                    names.add(word)
            elif enum and depth == 1 and previous in ("{", ","):
                names.add(word)
    names -= {m for m in macros_of(text) if m.isupper()} | {"KERNEL", "KERNELS", "NAME"}
    return {n for n in names if not n.lower().startswith("heed_")}


def renamed(text, names, suffix):
    """Adds the suffix to these names, except where they name members of a struct."""
    parts = tokens(text)
    shown = [i for i, (kind, _) in enumerate(parts) if kind not in ("comment", "space", "line")]
    at = {index: k for k, index in enumerate(shown)}
    result, inside, level = [], None, 0
    for i, (kind, token) in enumerate(parts):
        if i in at:
            k = at[i]
            previous = [parts[shown[j]][1] if j >= 0 else "" for j in (k - 1, k - 2, k - 3)]
            follower = parts[shown[k + 1]][1] if k + 1 < len(shown) else ""
            if token == "{":
                level += 1
                if inside is None and ("struct" in previous[:2] or "union" in previous[:2]):
                    inside = level
            elif token == "}":
                inside = None if inside == level else inside
                level -= 1
            elif kind == "word" and token in names:
                member = previous[0] in (".", "->") or (inside is not None and follower in (";", ",", "[", ")"))
                pasted = "##" in (previous[0], follower) or previous[:2] == ["(", "NAME"]
                if not member and not pasted:
                    token += suffix
        result.append(token)
    return "".join(result)


def without_comments(text):
    """One blank line at most where a comment was."""
    text = "".join("\0" if kind == "comment" else token for kind, token in tokens(text))
    text = re.sub(r"^[ \t]*\0[ \t]*\n", "", text, flags=re.M)
    text = re.sub(r" *\0", "", text)
    return re.sub(r"\n{3,}", "\n\n", text)


class Unit:
    """A source file: its text without the include guard."""

    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(SRC))
        text = path.read_text()
        guard = re.search(r"^#ifndef (HEED_\w*_H)\n#define \1\n", text, re.M)
        if guard:
            text = text[:guard.start()] + text[guard.end():]
            text = text[:text.rindex("#endif")].rstrip() + "\n"
        self.text = re.sub(r"\n{3,}", "\n\n", text)

    def includes(self):
        return [(self.path.parent / own).resolve() for own, _ in INCLUDE.findall(self.text) if own]


class Amalgamation:
    def __init__(self):
        self.units = {}
        self.system = {True: {}, False: {}}  # of heed.h, of heed.c

    def unit(self, path):
        if path not in self.units:
            self.units[path] = Unit(path)
        return self.units[path]

    def closure(self, paths, seen):
        """The units of these headers, each after those that it includes."""
        for path in paths:
            if path not in seen and path.suffix == ".h":
                seen.add(path)
                yield from self.closure(self.unit(path).includes(), seen)
                yield self.unit(path)

    def moved(self, text, in_header):
        """The text without its includes. System headers move to the beginning of the file, along with the
        conditions around them."""
        conditions, lines = [], []
        for line in text.splitlines(True):
            directive = CONDITION.match(line)
            if directive:
                what = directive.group(1)
                if what.startswith("if"):
                    conditions.append(line)
                elif what == "endif":
                    conditions.pop()
                else:
                    conditions[-1] = ""  # no system header is included in an #else
            include = INCLUDE.match(line)
            if include and include.group(2):
                around = "".join(conditions)
                if include.group(2) == "immintrin.h":
                    around = "#if defined __AVX2__\n"
                self.system[in_header].setdefault(around, set()).add(include.group(2))
            if not include and not re.match("#define _(DEFAULT|GNU)_SOURCE", line):
                lines.append(line)
        text = "".join(lines)
        text = re.sub(r"^#if[^\n]*\n(#if[^\n]*\n#endif\n)?#endif\n", "", text, flags=re.M)  # empty now
        return re.sub(r"\n{3,}", "\n\n", text)

    def system_includes(self, in_header):
        lines = []
        for around, names in sorted(self.system[in_header].items()):
            lines += [around] if around else []
            lines += [f"#include <{n}>\n" for n in sorted(names)
                      if in_header or n not in self.system[True].get("", ())]
            lines += ["#endif\n"] * around.count("\n")
        return "".join(lines)


def banner(unit):
    line = f"/* ==== {unit.name} "
    return "\n" + line + "=" * max(4, 97 - len(line)) + " */\n\n"


def undefined(macros):
    return "".join(f"#undef {m}\n" for m in dict.fromkeys(macros))


def header(a, heed_h, public):
    """heed.h: the introduction, the table of contents, and the parts."""
    text = heed_h.read_text()
    version = re.search(r'HEED_VERSION +"(.*)"', (SRC / "tensor/version.h").read_text()).group(1)
    _, _, conventions = text[:text.index("#ifndef")].rstrip()[:-2].rstrip().partition("\n *\n")
    about = (f"/* Heed {version}: a tiny autograd framework that trains self-attention, in two files.\n"
             f" * heed.c begins with the command that compiles it.\n *\n{conventions}\n *\n * Parts:\n *\n")
    contents = re.findall(r'^#include "([^"]+)" */\* (.*?) \*/', text, re.M)
    parts = []
    for unit in a.closure(public, set()):
        parts.append(banner(unit) + a.moved(unit.text, True).strip() + "\n")
    width = max(len(name) for name, _ in contents)
    about += "".join(f" *   {name:{width}}  {what}\n" for name, what in contents)
    return (about + " *\n" + licence().split(" * =====")[0] + " * Licences of algorithms: see heed.c. */\n" +
            "#ifndef HEED_H\n#define HEED_H\n\n" + a.system_includes(True) + "".join(parts) + "\n#endif\n")


def licence():
    lines = (ROOT / "LICENSE").read_text().rstrip().splitlines()
    return "".join(f" * {line}".rstrip() + "\n" for line in lines)


def sources(a, public):
    """The .c files. Names that are defined twice get the name of the file."""
    paths = [p for p in sorted(SRC.glob("**/*.c"), key=lambda p: (ORDER.index(p.relative_to(SRC).parts[0]), p))
             if p.parent != KERNELS]
    headers = [u for u in a.closure(dict.fromkeys(h for p in paths for h in a.unit(p).includes()), set())
               if u.path not in public]
    text = "".join(banner(u) + expanded(a, u).strip() + "\n" for u in headers)
    taken = {}
    for unit in headers + [a.unit(h) for h in public] + [a.unit(p) for p in paths]:
        for name in names_of(unit.text):
            taken.setdefault(name, set()).add(unit.path)
    for path in paths:
        unit = a.unit(path)
        twice = {n for n in names_of(unit.text) if len(taken[n]) > 1 or n in SYSTEM_NAMES}
        text += (banner(unit) + renamed(expanded(a, unit), twice, "_in_" + path.stem).strip() + "\n\n" +
                 undefined(macros_of(unit.text)))
    return text


def expanded(a, unit):
    """The text, with the files that are no headers (ops.def) in place of their includes."""
    def insert(include):
        path = unit.path.parent / (include.group(1) or "")
        return without_comments(path.read_text()) if path.suffix == ".def" else include.group()
    return a.moved(INCLUDE.sub(insert, unit.text), False)


class KernelFile:
    """A kernel file of one dtype, with the headers that no earlier file of this dtype has included."""

    def __init__(self, a, path, dtype, done):
        self.a, self.dtype, self.done = a, dtype, done
        self.unit, self.names = a.unit(path), set()
        self.macros, self.shared_macros = [], []  # to undefine after this file; after the dtype
        self.text = self.joined(self.unit, self.macros)
        self.text = a.moved(self.text, False)
        # Macros of the C library that the file redefines.
        self.saved = list(dict.fromkeys(re.findall(r"^ *#undef (is[a-z]+)$", self.text, re.M)))

    def joined(self, unit, macros):
        macros += macros_of(unit.text)
        self.names |= names_of(unit.text)

        def insert(include):
            if not include.group(1):
                return include.group()
            path = (unit.path.parent / include.group(1)).resolve()
            if path.suffix == ".def":
                return without_comments(path.read_text())
            is_template = path.name == "gemm_tiles.h"
            if path in self.done or (path.name in ONLY_F32 and self.dtype != "F32"):
                return ""
            if not is_template:
                self.done.add(path)
            return self.joined(self.a.unit(path), [] if is_template else
                               self.shared_macros if path.name in SHARED else self.macros)

        return INCLUDE.sub(insert, unit.text)


def kernels(a, passes):
    """The kernels of each dtype; with comments only once."""
    text, commented = "", set()
    for dtype in dict.fromkeys(p.split("/")[0] for p in passes):
        paths = [KERNELS / (p.split("/")[1] + ".c") for p in passes if p.split("/")[0] == dtype]
        paths.sort(key=lambda p: "softmax_rows.h" in a.unit(p).text)  # it defines exp and log as macros
        done = {KERNELS / "kernels.h", SRC / "tensor/parallel.h"}
        files = [KernelFile(a, p, dtype, done) for p in paths]
        names = set(re.findall(r"DEFINE *\( *([a-z]\w+)", (KERNELS / "ops.def").read_text()))
        for file in files:
            others = set().union(*(names_of(f.unit.text) for f in files if f is not file))
            twice = names_of(file.unit.text) & others
            if file.unit.path in commented:
                file.text = without_comments(file.text)
            file.text = renamed(file.text, twice, "_in_" + file.unit.path.stem)
            names |= file.names | {n + "_in_" + file.unit.path.stem for n in twice}
            names |= set(PASTED_BEFORE.findall(file.text))
        names.discard("name")  # a parameter of macros
        commented.update(paths)
        suffix = "_" + dtype.lower()
        text += f"\n#define T_IS_{dtype}\n#define KERNELS HEED_TABLE_{dtype}\n"
        for file in files:
            body = PASTED.sub(lambda m: m.group() + "##" + suffix, renamed(file.text, names, suffix))
            text += (banner(file.unit) + "".join(f'#pragma push_macro("{m}")\n' for m in file.saved) + body.strip() +
                     "\n\n" + undefined(file.macros) + "".join(f'#pragma pop_macro("{m}")\n' for m in file.saved))
        text += "\n" + undefined(m for f in files for m in f.shared_macros)
        text += f"#undef T_IS_{dtype}\n#undef KERNELS\n"
    return text


ORDER = ["tensor", "autograd", "nn"]
# Functions of system headers that a .c file does not include, but others do (on macOS, for example).
SYSTEM_NAMES = {"accept", "bind", "connect", "listen", "recv", "select", "send", "shutdown", "socket"}
# Headers of several kernel files: each dtype has them once.
SHARED = ["element.h", "math_f32.h", "trig_f32.h", "gemm_transpose.h", "row_reduce.h", "softmax_rows.h"]
ONLY_F32 = ["math_f32.h", "trig_f32.h", "avx512.h", "gemm_small.h"]
# Pasted names of functions and types of the kernels, where macros define them, and where they are used.
PASTED = re.compile(r"\b(?:(?:name|x)##_[a-z_0-9]+|gather_(?:\w+_)?##dtype)\b")
PASTED_BEFORE = re.compile(r"\bgather_rows_\w+\b|\b\w+_(?:plain|in_double)\b")


def main():
    folder, passes = pathlib.Path(sys.argv[1]), sys.argv[2:]
    heed_h = SRC / "heed.h"
    public = [SRC / p for p in re.findall(r'^#include "([^"]+)"', heed_h.read_text(), re.M)]
    a = Amalgamation()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "heed.h").write_text(header(a, heed_h, public))
    # The system headers of heed.c are known after its parts.
    text = ABOUT.replace("@SOURCES@\n", sources(a, public)).replace("@KERNELS@\n", kernels(a, passes))
    text = text.replace("@LICENCE@\n", licence()).replace("@SYSTEM@\n", a.system_includes(False))
    (folder / "heed.c").write_text(text)


main()
