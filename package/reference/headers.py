"""Reads the public headers: declarations, and the comments that document them.

A header is split into blocks. A block is a comment with the declarations below it, up to the next comment or blank
line. Declarations without a comment belong to

- the block before, if its comment has their name as a label ("heed_mse_loss: ...");
- the next block, if they are types or macros, such as a module's struct before its constructor;
- a block of their own otherwise, documented by the section ("---- comparisons ----").

If each declaration has a comment on its line, each becomes a block.
"""
import fnmatch
import re

NAME = r"(?:heed|HEED)_\w+"
LABEL = re.compile(rf"(?:^|(?<=[.;)] )|(?<=\n))((?:{NAME}\*?(?:\([^()]*\))?(?:, )?)+):(?=\s)")


class Block:
    def __init__(self, text, line):
        self.text = text  # the comment
        self.line = line
        self.declarations = []  # as source
        self.names = []  # (kind, name): function, type, macro, constant
        self.header = self.section = None

    def source(self, layout=lambda code: code):
        """The declarations as source; structs stand apart."""
        text, before = "", ""
        for code, note in self.declarations:
            if text:
                text += "\n\n" if "{" in before + code else "\n"
            text += layout(code) + (f" /* {note} */" if note else "")
            before = code
        return text

    @property
    def pages(self):
        """The names that have a page, functions first: all but constants, which their types describe."""
        ranked = sorted(self.names, key=lambda n: ["function", "type", "macro", "constant"].index(n[0]))
        return [n for k, n in ranked if k != "constant"] or [n for _, n in ranked]

    @property
    def title(self):
        return self.pages[0]

    def has(self, kind):
        return any(k == kind for k, _ in self.names)


class Section:
    def __init__(self, title, text):
        self.title, self.text, self.blocks = title, text, []


class Header:
    def __init__(self, path, group, summary):
        self.path, self.group, self.summary = path, group, summary
        self.text = ""
        self.sections = [Section("", "")]

    @property
    def blocks(self):
        return [b for s in self.sections for b in s.blocks]


def clean(comment):
    """The text of a comment, without its stars."""
    body = re.sub(r"^/\*+ ?|\s*\*+/$", "", comment)
    lines = body.split("\n")
    starred = all(re.match(r"\s*\*", l) for l in lines[1:])
    lines[1:] = [re.sub(r"^\s*\* ?", "", l) if starred else l.strip() for l in lines[1:]]
    return "\n".join(l.rstrip() for l in lines).strip("\n")


def labels(text):
    """The names that a comment documents: its labels, or the name that is its first line."""
    found = re.findall(rf"\A({NAME})$", text, re.M)
    for match in LABEL.finditer(text):
        found += re.findall(NAME + r"\*?", re.sub(r"\([^()]*\)", "", match.group(1)))
    return found


def taken_lines(text):
    """Blanks what the C compiler does not see: C++ branches, and all but the first branch of other conditionals."""
    result, stack = [], []
    for line in text.split("\n"):
        word = re.match(r"#\s*(ifdef|ifndef|if|else|elif|endif)\b", line)
        if word is None:
            result.append(line if all(taken for taken, _ in stack) else None)
            continue
        if word.group(1).startswith("if"):
            taken = "__cplusplus" not in line or word.group(1) == "ifndef"
            stack.append((taken, taken))
        elif word.group(1) == "endif":
            stack.pop()
        else:
            _, before = stack.pop()
            stack.append((not before, True))
        result.append(None)
    # A directive is no blank line: it does not end a block.
    return "\n".join("#" if l is None else l for l in result) + "\n"


def end_of_declaration(text, start):
    """The end of the declaration, and where the body of a function begins (or None)."""
    depth, body, i = 0, None, start
    while i < len(text):
        if text.startswith("/*", i):
            i = text.index("*/", i) + 2
            continue
        c = text[i]
        if c == "{":
            if depth == 0 and text[start:i].rstrip().endswith(")"):
                body = i
            depth += 1
        elif c in "([":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if c == "}" and depth == 0 and body is not None:
                return i + 1, body
        elif c == ";" and depth == 0:
            return i + 1, None
        i += 1
    raise SyntaxError("a declaration does not end: " + text[start : start + 60])


def declared_names(code):
    """(kind, name) of everything that a declaration introduces."""
    bare = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    outer = bare
    while re.search(r"\{[^{}]*\}", outer):
        outer = re.sub(r"\{[^{}]*\}", " ", outer)
    names = []
    if re.match(r"(typedef\s+)?(struct|enum)\b", bare):
        tag = re.match(rf"(typedef\s+)?(struct|enum)\s+({NAME})", bare)
        typedef = re.search(rf"({NAME})\s*;$", outer) if tag is None or tag.group(1) else None
        if typedef:
            names.append(("type", typedef.group(1)))
        elif tag and "{" in bare:
            names.append(("type", tag.group(2) + " " + tag.group(3)))
        if re.match(r"(typedef\s+)?enum\b", bare):
            names += [("constant", n) for n in re.findall(rf"\b({NAME})\b\s*(?:=[^,}}]*)?[,}}]", bare)]
    if not names or "(" in outer:
        called = re.search(rf"({NAME})\s*\(", outer)
        if called:
            names = [("type" if bare.startswith("typedef") else "function", called.group(1))]
    return names


def without_decoration(code, local):
    """A prototype as a user reads it: without attributes, inline and the macros that the header undefines."""
    code = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", code) if "{" not in code else code
    code = re.sub(r"^static inline\s+", "", code)
    code = re.sub(r"\)\s+HEED_[A-Z]+\([^()]*\);", ");", code)
    for name in local:
        code = re.sub(rf"\s*\b{name}\b", "", code)
    return re.sub(r"[ \t]+(?=[;\n])", "", code).strip()


def read(path, header):
    source = open(path, encoding="utf-8").read()
    text = taken_lines(source)
    undefined = set(re.findall(r"^#undef (\w+)", text, re.M))
    guard = re.search(r"^#ifndef (\w+)$", source, re.M).group(1)
    macros = {}
    section, block, waiting = header.sections[0], None, []
    seen_first = blank = False
    position = 0

    def close():
        """Ends the block under construction, and decides where its declarations belong."""
        nonlocal block, waiting
        ended, block = block, None
        if ended is None or not ended.names:
            return
        own = [n for _, n in ended.names]
        ahead = section.blocks[-1] if section.blocks else None
        patterns = labels(ahead.text) if ahead else []
        mine = labels(ended.text)
        if not mine and any(fnmatch.fnmatch(n, p) for n in own for p in patterns):
            ahead.text += "\n\n" + ended.text if ended.text else ""
            ahead.declarations += ended.declarations
            ahead.names += ended.names
            return
        if not ended.text and not ended.has("function") and "/*" not in ended.declarations[-1][1]:
            waiting.append(ended)
            return
        for w in reversed(waiting):
            ended.declarations[:0] = w.declarations
            ended.names[:0] = w.names
        waiting = []
        if all(note for _, note in ended.declarations) and not mine:
            for code, note in ended.declarations:
                one = Block((ended.text + "\n\n" + note).strip(), ended.line)
                one.declarations, one.names = [(code, "")], declared_names(code)
                one.header, one.section = header, section
                section.blocks.append(one)
            return
        ended.header, ended.section = header, section
        section.blocks.append(ended)

    def add(code, note, names):
        nonlocal block, blank
        if blank and block is not None:
            close()
        if block is None:
            block = Block("", source[:position].count("\n") + 1)
        block.declarations.append((without_decoration(code, undefined), note))
        block.names += names
        blank = False

    while position < len(text):
        if text[position] == "\n":
            blank, position = True, position + 1
            continue
        comment = re.compile(r"/\*.*?\*/", re.S).match(text, position)
        if comment:
            close()
            body = clean(comment.group())
            title = re.match(r"---- (.*?) ----\n*", body, re.S)
            if not seen_first:
                header.text, seen_first = body, True
            elif title:
                section = Section(title.group(1), body[title.end() :])
                header.sections.append(section)
            else:
                block = Block(body, source[:position].count("\n") + 1)
            blank, position = False, comment.end() + 1
            continue
        if text[position] == "#":
            directive = re.compile(r"#.*?(?<!\\)\n", re.S).match(text, position)
            define = re.match(rf"#define (\w+)(\([^)]*\))?\s?(.*)", directive.group(), re.S)
            if define:
                name, parameters, value = define.groups()
                macros[name] = (re.findall(r"[\w.]+", parameters or ""), value)
                if name not in undefined and name != guard:
                    value = re.sub(r"\s*\\\n\s*", " ", value).strip()
                    shown = f"#define {name}{parameters or ''}"  # the values of longer ones are no interface
                    shown += f" {value}" if parameters is None and len(value) < 40 else ""
                    add(shown, "", [("macro", name)])
            position = directive.end()
            continue
        call = re.compile(r"([A-Z_]+)(?:\((.*)\))?\n").match(text, position)
        if call:
            if call.group(1) in undefined and call.group(1) in macros:
                parameters, value = macros[call.group(1)]
                code = re.sub(r"\\\n", "\n", value)
                for parameter, argument in zip(parameters, call.group(2).split(",")):
                    code = re.sub(rf"\b{parameter}\b", argument.strip(), code)
                code = re.sub(r"\(\s+", "(", re.sub(r"\s+", " ", code[: code.index("{")])).strip() + ";"
                code = without_decoration(code, undefined)
                add(code, "", declared_names(code))
            position = call.end()
            continue
        end, body = end_of_declaration(text, position)
        code = text[position : end if body is None else body].strip()
        code += ";" if body is not None else ""
        note = re.compile(r"[ \t]*(/\*.*?\*/)", re.S).match(text, end)
        names = declared_names(code)
        if names:
            add(code, clean(note.group(1)) if note else "", names)
        newline = text.index("\n", note.end() if note else end)
        position = newline + 1
    close()
    for w in waiting:
        w.header, w.section = header, section
        section.blocks.append(w)
    header.sections = [s for s in header.sections if s.blocks]


def read_all(root):
    """The headers in the reading order of heed.h, grouped by its sections; and its comment."""
    text = open(f"{root}/src/heed.h", encoding="utf-8").read()
    group, headers = "", []
    for title, path, summary in re.findall(
        r'/\* ---- (.*?) ---- \*/|#include "(.*?)"\s*(?:/\* (.*?) \*/)?', text
    ):
        if title:
            group = title
        else:
            headers.append(Header(path, group, summary))
            read(f"{root}/src/{path}", headers[-1])
    return headers, clean(re.search(r"/\*.*?\*/", text, re.S).group())
