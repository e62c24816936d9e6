"""The reference as HTML: a page for each header, the guides, and the sources that they link to."""
import html
import json
import os
import re
import shutil

import text
from headers import NAME
from markdown import Markdown

HERE = os.path.dirname(os.path.abspath(__file__))

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<nav id="contents">
<a class="home" href="index.html">Heed {version}</a>
<input id="search" type="search" placeholder="Search" aria-label="Search the reference" autocomplete="off">
<ol id="results"></ol>
{contents}
</nav>
<main>
{body}
</main>
<script src="search-index.js"></script>
<script src="search.js"></script>
</body>
</html>
"""

INTRODUCTION = """<h1>Heed</h1>
<p>Heed is an autograd framework in C that trains self-attention and agrees with PyTorch. This reference documents
every public function, type and macro, with its shapes, formula, gradient, errors and PyTorch name; a program includes
<code>&lt;heed.h&gt;</code>, which includes all headers below. The guides explain how the parts work together.</p>"""


def flat(path):
    """The page of a file of the repository."""
    return re.sub(r"\.(md|h)$", "", re.sub(r"^src/", "", path)).replace("/", "-").lower() + ".html"


class Site:
    def __init__(self, reference, output):
        self.reference, self.output = reference, output
        self.anchors = {}  # name -> address
        self.headers = {"src/" + h.path: h for h in reference.headers}
        self.guides, self.sources = list(reference.guides), []  # and those that pages link to
        self.entries = []  # of the search index: [name, address, summary]
        for h in reference.headers:
            for block in h.blocks:
                for _, name in block.names:
                    self.anchors[name] = flat(h.path) + "#" + name.replace(" ", "-")
        for kind, name in reference.names:  # "struct heed_gpt" is usually written heed_gpt
            self.anchors.setdefault(name.replace("struct ", ""), self.anchors[name])

    # ---- links ----

    def names(self, escaped, own=()):
        """Links the public names in a text that is already HTML."""

        def linked(m):
            name = m.group(2)
            key = "struct " + name if m.group(1) and "struct " + name in self.anchors else name
            address = self.anchors.get(key)
            if address is None or key in own:
                return m.group()
            return f'{m.group(1) or ""}<a href="{address}">{name}</a>'

        return re.sub(rf"\b(struct )?({NAME})\b(?!\*)", linked, escaped)

    def code(self, source, own=()):
        escaped = html.escape(source, quote=False)
        escaped = re.sub(r"/\*.*?\*/|//[^\n]*", 
                         lambda m: re.sub(r"(?m)^.+$", r"<i>\g<0></i>", m.group()), escaped, flags=re.S)
        return self.names(escaped, own)

    def prose(self, source, header, own=()):
        """A text with links for public names and files, and `code`."""

        def file(m):
            folder = os.path.dirname(header.path)
            for path in (m.group(), "src/" + m.group(), os.path.normpath(f"src/{folder}/{m.group()}")):
                if os.path.isfile(f"{self.reference.root}/{path}"):
                    return f'<a href="{self.page(path)}">{m.group()}</a>'
            return m.group()

        escaped = html.escape(source, quote=False)
        escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
        escaped = re.sub(r"(?<![\w.])[a-z][\w/]*\.(?:h|c|md)\b", file, escaped)
        return self.names(escaped, own)

    def page(self, path):
        """The page of a file, which is added to the site if it is new."""
        if path == "src/heed.h":
            return "index.html"
        if path not in self.headers:
            known = self.guides if path.endswith(".md") else self.sources
            if path not in known:
                known.append(path)
        return flat(path)

    def target(self, guide, link):
        """The address of a link in a guide; None if it leads to no file."""
        if re.match(r"\w+:", link):
            return link
        path, _, anchor = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(guide), path)) if path else guide
        full = f"{self.reference.root}/{path}"
        if os.path.isdir(full):
            path, full = f"{path}/README.md", f"{full}/README.md"
        if not os.path.isfile(full):
            return None
        if re.search(r"\.(svg|png|webp|jpg)$", path):
            shutil.copy(full, f"{self.output}/{path.replace('/', '-')}")
            return path.replace("/", "-")
        return self.page(path) + ("#" + anchor if anchor else "")

    # ---- pages ----

    def parts(self, source, header, own=(), title=True):
        """A comment as HTML. title: its first label is the title of the entry."""
        out, errors, items = [], [], []

        def end():
            if errors:
                out.append('<dl class="errors">' + "\n".join(errors) + "</dl>")
            if items:
                out.append("<ul>" + "\n".join(items) + "</ul>")
            errors.clear()
            items.clear()

        for i, part in enumerate(text.parts(source)):
            if part.kind == "error":
                name, meaning = self.prose(part.label, header), self.prose(part.text, header, own)
                errors.append(f"<dt>{name}</dt><dd>{meaning}</dd>")
                continue
            if part.kind == "item":
                items.append(f"<li>{self.prose(part.text, header, own)}</li>")
                continue
            end()
            if part.kind in ("formula", "code"):
                out.append(f'<pre class="{part.kind}">{self.code(part.text, own)}</pre>')
            else:
                titled = part.label and i == 0 and title
                label = f"<b>{html.escape(part.label)}</b>: " if part.label and not titled else ""
                body = text.sentence(part.text) if titled else part.text
                out.append(f"<p>{label}{self.prose(body, header, own)}</p>")
        end()
        return "\n".join(out)

    def block(self, block):
        own = [n for _, n in block.names]
        heads = block.pages
        constants = "".join(f'<span id="{n}"></span>' for k, n in block.names if n not in heads)
        ids = [(n, self.anchors[n].partition("#")[2]) for n in heads]
        titles = " ".join(f'<a id="{i}" href="#{i}">{n}</a>' for n, i in ids)
        out = [f'<section class="entry">{constants}<h3>{titles}</h3>']
        out.append(f'<pre class="declaration">{self.code(block.source(), own)}</pre>')
        out.append(self.parts(block.text, block.header, own, len(heads) == 1))
        torch = self.reference.torch(block)
        if torch:
            names = ", ".join(f"<code>{html.escape(t)}</code>" for t in torch)
            out.append(f'<p class="more">In PyTorch: {names}</p>')
        example = self.reference.examples.get(block.title)
        if example:
            place = self.page(example.path) + ("" if example.path.endswith(".md") else f"#L{example.line}")
            out.append(f'<p class="more">From <a href="{place}">{example.path}:{example.line}</a>:</p>')
            out.append(f'<pre class="code">{self.code(example.code, own)}</pre>')
        out.append("</section>")
        for name in own:
            self.entries.append([name, self.anchors[name], text.summary(block)])
        return "\n".join(out)

    def header(self, header):
        out = [f"<h1>{header.path}</h1>", self.parts(header.text, header)]
        for section in header.sections:
            if section.title:
                out.append(f"<h2>{self.prose(text.sentence(section.title), header)}</h2>")
            out.append(self.parts(section.text, header))
            out += [self.block(b) for b in section.blocks]
        return "\n".join(out)

    def guide(self, path):
        markdown = Markdown(lambda link: self.target(path, link), self.code)
        body = markdown.blocks(self.reference.file(path))
        for level, title, anchor in markdown.headings:
            self.entries.append([title, f"{flat(path)}#{anchor}", path])
        return markdown.headings[0][1], body

    def source(self, path):
        lines = self.code(self.reference.file(path).rstrip("\n")).split("\n")
        numbered = "\n".join(f'<span id="L{i}">{l}</span>' for i, l in enumerate(lines, 1))
        return f'<h1>{path}</h1>\n<pre class="source">{numbered}</pre>'

    def contents(self, current):
        """The list of all pages, in which the current one is marked."""
        groups = [(g, [(flat(h.path), os.path.basename(h.path)) for h in headers])
                  for g, headers in self.reference.groups()]
        groups.append(("Guides", [(flat(path), title) for path, title in self.titles.items()]))
        out = []
        for group, pages in groups:
            out.append(f"<h2>{group}</h2><ul>")
            for address, title in pages:
                here = ' class="here"' if address == current else ""
                out.append(f'<li><a{here} href="{address}">{html.escape(title)}</a></li>')
            out.append("</ul>")
        return "\n".join(out)

    def index(self):
        conventions = self.reference.conventions.partition("Conventions:")[2]
        out = [INTRODUCTION, "<h2>Guides</h2><ul>"]
        out += [f'<li><a href="{flat(path)}">{html.escape(title)}</a></li>' for path, title in self.titles.items()]
        out.append("</ul><h2>Conventions</h2>" + self.parts(conventions, self.reference.headers[0]))
        for group, headers in self.reference.groups():
            out.append(f"<h2>{group}</h2><table>")
            for h in headers:
                summary = html.escape(h.summary)
                out.append(f'<tr><td><a href="{flat(h.path)}">{h.path}</a></td><td>{summary}</td></tr>')
            out.append("</table>")
        return "\n".join(out)

    def write(self):
        os.makedirs(self.output, exist_ok=True)
        bodies = {}
        for h in self.reference.headers:
            bodies[flat(h.path)] = (h.path, self.header(h))
        self.titles = {}
        for path in self.guides:  # a guide can add others
            title, body = self.guide(path)
            bodies[flat(path)] = (title, body)
            self.titles[path] = "Introduction" if path == "README.md" else title
        if os.path.isfile(f"{self.reference.root}/src/heed.hpp"):
            self.page("src/heed.hpp")
            self.titles["src/heed.hpp"] = "heed.hpp, the header for C++"
        for path in self.sources:
            bodies[flat(path)] = (path, self.source(path))
        bodies["index.html"] = ("Heed", self.index())
        for name, (title, body) in bodies.items():
            page = PAGE.format(title=html.escape(title), version=self.reference.version, body=body,
                               contents=self.contents(name))
            with open(f"{self.output}/{name}", "w", encoding="utf-8") as out:
                out.write(page)
        entries = ",\n".join(json.dumps(e, ensure_ascii=False) for e in self.entries)
        with open(f"{self.output}/search-index.js", "w", encoding="utf-8") as out:
            out.write(f"var entries = [{entries}];\n")
        for file in ("style.css", "search.js"):
            shutil.copy(f"{HERE}/{file}", self.output)
        return len(bodies)
