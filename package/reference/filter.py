"""Doxygen's input filter: prints a public header, or a guide, as Doxygen shall read it.  python3 filter.py FILE

Each block of declarations (headers.py) becomes a group, that is, a page. Its parent is the group of its header, whose
parent is a section of heed.h. In guides, links lead to pages of the reference, or become plain text.
"""
import glob
import os
import re
import sys

import headers
import text
from headers import NAME
from torch_names import TorchNames

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
GUIDES = ["README.md", "examples/README.md"] + [os.path.relpath(p, ROOT) for p in glob.glob(f"{ROOT}/docs/*.md")]


def label(path):
    """Doxygen's label for the page of a file."""
    return "file_" + re.sub(r"\W", "_", path)


def group(name, title, parent, brief, lines):
    return "\n".join([f"/** @defgroup {name} {title}", parent and f"@ingroup {parent}", f"@brief {brief}", ""] + lines)


class Filter:
    def __init__(self, path):
        self.path = os.path.relpath(path, ROOT)
        self.headers, self.conventions = headers.read_list(ROOT)

    # ---- comments ----

    def prose(self, source, own=(), links=True):
        """A text in which public names and headers are links, and nothing else has a meaning in Markdown.

        own: the names that the page documents.
        """

        def name(m):
            is_variable = m.string[: m.start()].endswith("environment variable ")
            plain = is_variable or m.group() in own or m.group().startswith("HEED_ERR")
            return m.group() if plain else f"[{m.group()}](@ref {m.group()})"

        def header(m):
            paths = [h.path for h in self.headers if ("/" + h.path).endswith("/" + m.group())]
            return f"[{m.group()}](@ref {label(paths[0])})" if len(paths) == 1 else m.group()

        def words(part):
            part = re.sub(r"(?<!\w)_\w+", r"`\g<0>`", part)
            part = re.sub(r"[\\@&$#<>%\"*\[\]]", r"\\\g<0>", part)
            if links:
                part = re.sub(r"(?<![\w/.])[\w/]+\.h\b", header, part)
                part = re.sub(rf"(?<!struct )\b{NAME}\b(?!\\\*)", name, part)
            return part

        return "".join(p if i % 2 else words(p) for i, p in enumerate(re.split(r"(`[^`]+`)", source)))

    def comment(self, source, own=(), title=True):
        """The lines of a comment. title: its first label is the title of the page."""
        lines, errors = [], []
        for i, part in enumerate(text.parts(source)):
            if part.kind == "error":
                errors.append(f"- {part.label}: {self.prose(part.text, own)}")
            elif part.kind in ("formula", "code"):
                begin, end = ("@verbatim", "@endverbatim") if part.kind == "formula" else ("@code{.c}", "@endcode")
                lines += [begin] + ["  " + l for l in part.text.split("\n")] + [end, ""]
            elif part.kind == "item":
                lines.append("- " + self.prose(part.text, own))
            elif i == 0 and title:
                lines += [self.prose(text.sentence(part.text), own), ""]
            else:
                lines += ["", self.prose(f"{part.label}: " * bool(part.label) + part.text, own), ""]
        return lines + (["", "@par Errors"] + errors + [""] if errors else [])

    # ---- groups ----

    def declaration(self, code, note):
        """A declaration, in which comments are Doxygen's."""

        def field(m):
            mark = "/**<" if m.group(1).strip() else "/**"
            return f"{m.group(1)}{mark} {self.prose(headers.clean(m.group(2)))} */"

        code = re.sub(r"(?ms)^([^\n]*?)(/\*.*?\*/)", field, code)
        return code + (f" /**< {self.prose(note)} */" if note else "")

    def block(self, block, torch):
        """A group. It repeats the comments of its section and header, which can state shapes and errors."""
        own = [n for _, n in block.names]
        name = block.title.replace(" ", "_")  # some functions have the name of a struct
        # Doxygen warns of the unknown command.
        lines = self.comment(block.text, own, len(block.pages) == 1) if block.text else [f"@{name}_has_no_comment"]
        if torch.of(block):
            lines += ["@par In PyTorch", ", ".join(f"`{t}`" for t in torch.of(block)), ""]
        if block.section.title:
            lines += ["### " + self.prose(text.sentence(block.section.title), links=False), ""]
            lines += self.comment(block.section.text)
        lines += [f"### {block.header.path}", ""] + self.comment(block.header.text) + ["@{ */"]
        brief = self.prose(text.sentence(text.summary(block)), own)
        lines += [self.declaration(*d) for d in block.declarations] + ["/** @} */"]
        title = re.sub("heed_|HEED_", "", block.title)  # the search compares the beginnings of titles
        return group(name, title, label(block.header.path), brief, lines)

    def contents(self):
        """For heed.h: the group of all headers, which lists their names; their groups; and the examples."""
        front, groups, section = self.comment(self.conventions), [], None
        for h in self.headers:
            headers.read(ROOT, h)
            name = "section_" + re.sub(r"\W", "_", h.group)
            if name != section:
                section = name
                front += ["", f"### {h.group}", ""]
                groups.append(group(section, h.group, "heed", "", ["*/"]))
            front.append(f"- {self.prose(h.path)}: {self.prose(', '.join(n for b in h.blocks for n in b.pages))}.")
            brief = self.prose(text.sentence(h.summary))
            groups.append(group(label(h.path), os.path.basename(h.path), section, brief, self.comment(h.text) + ["*/"]))
        root = group("heed", "Headers", "", "Tiny autograd framework that trains self-attention", front + ["*/"])
        examples = glob.glob("*.c", root_dir=f"{ROOT}/examples") + glob.glob("*/*.c", root_dir=f"{ROOT}/examples")
        return "\n".join([root] + groups + [f"/** @example {e} */" for e in sorted(examples)])

    def guide(self):
        def link(m):
            words, target = m.group(1), m.group(2).partition("#")[0]
            path = os.path.normpath(os.path.join(os.path.dirname(self.path), target))
            path = path[4:] if path[4:] in [h.path for h in self.headers] else path
            if re.match(r"\w+:", target):
                return m.group()
            is_page = path in GUIDES or path in [h.path for h in self.headers]
            return f"[{words}](@ref {label(path)})" if is_page else words

        with open(f"{ROOT}/{self.path}", encoding="utf-8") as f:
            page = f.read()
        page = re.sub(r"\A# (.*)", rf"# \1 {{#{label(self.path)}}}", page)
        return re.sub(r"(?<!!)\[([^\]]*)\]\(([^()\s]+)\)", link, page)

    def output(self):
        if self.path.endswith(".md"):
            return self.guide()
        if self.path == "src/heed.h":
            return self.contents()
        torch = TorchNames(ROOT)
        return "\n".join(self.block(b, torch) for h in self.headers if "src/" + h.path == self.path
                         for b in headers.read(ROOT, h).blocks)


if __name__ == "__main__":
    print(Filter(sys.argv[1]).output())
