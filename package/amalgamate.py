#!/usr/bin/env python3
"""Joins Heed into two files, heed.h and heed.c: amalgamate.py FOLDER DTYPE/FILE ...

The arguments after FOLDER are the kernel files to compile for each dtype, such as F32/table (see the
Makefile). heed.h consists of the public headers, heed.c of everything else: the internal headers, the .c
files, and the kernels. heed.c includes itself to compile the kernels once per dtype.

In one file, names that were local to a file may occur twice. Such names get the name of their file as a
suffix; those of the kernels, the prefix of the dtype. Macros are undefined at the end of their file.
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
DEFINING_MACRO = re.compile(r"(?!HEED_(?!MODULE_KIND|FORGET_WEIGHTS)|NAME|KERNEL|REDUCE)[A-Z][A-Z_0-9]+")
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


def names_of(text, makers=()):
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
            if depth == 0 and word == "(" and DEFINING_MACRO.fullmatch(previous) and previous not in makers:
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
            if (not include or include.group(1) == "heed.c") and not re.match("#define _(DEFAULT|GNU)_SOURCE", line):
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
    a.placed = {u.path for u in headers} | set(public)
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


def kernels(a, passes):
    """The kernels of one dtype; heed.c reads them once per dtype. A header stands where the first file includes it,
    so files of many dtypes come first. Macros give local names the prefix of the dtype, like KERNEL."""
    dtypes = {}
    for of_pass in passes:
        dtype, name = of_pass.split("/")
        dtypes.setdefault(KERNELS / (name + ".c"), []).append(dtype)
    texts, shared, done = [], [], set(a.placed)
    for path in sorted(dtypes, key=lambda p: -len(dtypes[p])):
        text, macros = with_headers(a, a.unit(path), done, shared)
        around = " || ".join(f"defined T_IS_{d}" for d in dtypes[path])
        texts.append(f"\n#if {around}" + banner(a.unit(path)) + a.moved(text, False).strip() + "\n\n" +
                     undefined(m for m in macros if f"#undef {m}\n" not in text) + "#endif\n")
    text = "".join(texts)
    text += "\n" + undefined(shared)
    macros = set(macros_of(text))
    with_prefix = set(re.findall(r"KERNEL\((\w+)\)", text))
    makers = set(re.findall(r"^#define (\w+)\((?:[^\n\\]|\\.|\\\n)*?KERNEL\(", text, re.M))
    names = [n for t in texts for n in names_of(t, makers) - with_prefix]
    local = set(names) - macros
    if len(local) < len([n for n in names if n in local]):
        sys.exit("kernel files define the same names: " + ", ".join(sorted(n for n in local if names.count(n) > 1)))
    for suffix in re.findall(r"#define NAME\(x\) x##(\w+)", text):
        local |= {n + suffix for n in re.findall(r"\bNAME\((\w+)\)", a.unit(TEMPLATE).text)}
    return "".join(f"#define {n} KERNEL({n})\n" for n in sorted(local)) + text


def with_headers(a, unit, done, shared):
    """The text with its headers, and the macros to undefine after it; those of headers of several files are `shared`."""
    macros = macros_of(unit.text)

    def insert(include):
        if not include.group(1):
            return include.group()
        path = (unit.path.parent / include.group(1)).resolve()
        if path == TEMPLATE:
            return '#include "heed.c"\n'
        if path.suffix == ".def":
            return without_comments(path.read_text())
        if path in done:
            return ""
        done.add(path)
        text, inner = with_headers(a, a.unit(path), done, shared)
        users = [u for u in KERNELS.glob("*.[ch]") if path in a.unit(u).includes()]
        (macros if len(users) == 1 else shared).extend(inner)
        return text

    return INCLUDE.sub(insert, unit.text), macros


ORDER = ["tensor", "autograd", "nn", "check"]
# Functions of system headers that a .c file does not include, but others do (on macOS, for example).
SYSTEM_NAMES = {"accept", "bind", "connect", "listen", "recv", "select", "send", "shutdown", "socket"}
# Included once for each type of sums, by including heed.c again.
TEMPLATE = KERNELS / "gemm_tiles.h"


def main():
    folder, passes = pathlib.Path(sys.argv[1]), sys.argv[2:]
    heed_h = SRC / "heed.h"
    public = [SRC / p for p in re.findall(r'^#include "([^"]+)"', heed_h.read_text(), re.M)]
    a = Amalgamation()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "heed.h").write_text(header(a, heed_h, public))
    # The system headers of heed.c are known after its parts.
    text = ABOUT.replace("@SOURCES@\n", sources(a, public)).replace("@KERNELS@\n", kernels(a, passes))
    text = text.replace("@TEMPLATE@\n", a.unit(TEMPLATE).text).replace("@LICENCE@\n", licence())
    text = text.replace("@SYSTEM@\n", a.system_includes(False))
    (folder / "heed.c").write_text(text)


main()
