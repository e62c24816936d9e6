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
    def __init__(self, text):
        self.text = text  # the comment
        self.declarations = []  # as source
        self.names = []  # (kind, name): function, type, macro, constant
        self.header = self.section = None

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
    code = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", code)
    code = re.sub(r"^static inline\s+", "", code)
    code = re.sub(r"\)\s+HEED_[A-Z]+\([^()]*\);", ");", code)
    for name in local:
        code = re.sub(rf"\s*\b{name}\b", "", code)
    return re.sub(r"[ \t]+(?=[;\n])", "", code).strip()


class Reader:
    """Reads one header from top to bottom."""

    def __init__(self, source, header):
        self.source, self.header = source, header
        self.text = taken_lines(source)
        self.undefined = set(re.findall(r"^#undef (\w+)", self.text, re.M))
        self.guard = re.search(r"^#ifndef (\w+)$", source, re.M).group(1)
        self.macros = {}  # name -> (parameters, value)
        self.block = None  # the one under construction
        self.waiting = []  # types without a comment, for the next block
        self.blank = False  # whether a blank line precedes

    def read(self):
        position = 0
        while position < len(self.text):
            start = self.text[position]
            if start == "\n":
                self.blank, position = True, position + 1
            elif start == "#":
                position = self.directive(position)
            elif self.text.startswith("/*", position):
                position = self.comment(position)
            elif re.compile(r"[A-Z_]+(\(.*\))?\n").match(self.text, position):
                position = self.call(position)
            else:
                position = self.declaration(position)
        self.close()
        for block in self.waiting:
            self.append(block)
        self.header.sections = [s for s in self.header.sections if s.blocks]

    def comment(self, position):
        self.close()
        end = self.text.index("*/", position) + 2
        body = clean(self.text[position:end])
        title = re.match(r"---- (.*?) ----\n*", body, re.S)
        if not self.header.text:
            self.header.text = body
        elif title:
            self.header.sections.append(Section(title.group(1), body[title.end() :]))
        else:
            self.block = Block(body)
        self.blank = False
        return end + 1

    def directive(self, position):
        directive = re.compile(r"#.*?(?<!\\)\n", re.S).match(self.text, position)
        define = re.match(r"#define (\w+)(\([^)]*\))?\s?(.*)", directive.group(), re.S)
        if define:
            name, parameters, value = define.groups()
            self.macros[name] = (re.findall(r"[\w.]+", parameters or ""), value)
            if name not in self.undefined and name != self.guard:
                value = re.sub(r"\s*\\\n\s*", " ", value).strip()
                shown = f"#define {name}{parameters or ''}"  # the values of longer ones are no interface
                shown += f" {value}" if parameters is None and len(value) < 40 else ""
                self.add(shown, "", [("macro", name)])
        return directive.end()

    def call(self, position):
        """A macro on a line of its own. If the header undefines the macro, it declares a function."""
        call = re.compile(r"([A-Z_]+)(?:\((.*)\))?\n").match(self.text, position)
        if call.group(1) in self.undefined:
            parameters, code = self.macros[call.group(1)]
            for parameter, argument in zip(parameters, call.group(2).split(",")):
                code = re.sub(rf"\b{parameter}\b", argument.strip(), code)
            code = re.sub(r"[\\\s]+", " ", code[: code.index("{")]).replace("( ", "(").strip() + ";"
            self.add(code, "", declared_names(code))
        return call.end()

    def declaration(self, position):
        end, body = end_of_declaration(self.text, position)
        code = self.text[position:end].strip() if body is None else self.text[position:body].strip() + ";"
        note = re.compile(r"[ \t]*(/\*.*?\*/)", re.S).match(self.text, end)
        names = declared_names(code)
        if names:
            self.add(code, clean(note.group(1)) if note else "", names)
        return self.text.index("\n", note.end() if note else end) + 1

    def add(self, code, note, names):
        if self.blank:
            self.close()
        if self.block is None:
            self.block = Block("")
        self.block.declarations.append((without_decoration(code, self.undefined), note))
        self.block.names += names
        self.blank = False

    def close(self):
        """Ends the block under construction, and decides where its declarations belong."""
        block, self.block = self.block, None
        if block is None or not block.names:
            return
        before = self.header.sections[-1].blocks[-1:]
        is_labelled = bool(labels(block.text))
        if before and not is_labelled:
            described = labels(before[0].text)
            if any(fnmatch.fnmatch(n, d) for _, n in block.names for d in described):
                before[0].text += "\n\n" + block.text if block.text else ""
                before[0].declarations += block.declarations
                before[0].names += block.names
                return
        if not block.text and not block.has("function"):
            self.waiting.append(block)
            return
        for other in reversed(self.waiting):
            block.declarations[:0] = other.declarations
            block.names[:0] = other.names
        self.waiting = []
        if is_labelled or not all(note for _, note in block.declarations):
            self.append(block)
            return
        for code, note in block.declarations:
            one = Block((block.text + "\n\n" + note).strip())
            one.declarations, one.names = [(code, "")], declared_names(code)
            self.append(one)

    def append(self, block):
        block.header, block.section = self.header, self.header.sections[-1]
        block.section.blocks.append(block)


def read(root, header):
    with open(f"{root}/src/{header.path}", encoding="utf-8") as f:
        Reader(f.read(), header).read()
    return header


def read_list(root):
    """The headers in the reading order of heed.h, not yet read, with the title of their section; and its comment."""
    with open(f"{root}/src/heed.h", encoding="utf-8") as f:
        text = f.read()
    group, headers = "", []
    for title, path, summary in re.findall(
        r'/\* ---- (.*?) ---- \*/|#include "(.*?)"\s*(?:/\* (.*?) \*/)?', text
    ):
        if title:
            group = title
        else:
            headers.append(Header(path, group, summary))
    return headers, clean(re.search(r"/\*.*?\*/", text, re.S).group())
