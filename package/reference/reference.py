"""What all forms of the reference share: the headers, PyTorch's names, examples, and the checks."""
import glob
import itertools
import os
import re
import textwrap

import headers
import text
from headers import NAME


class Example:
    def __init__(self, path, line, code):
        self.path, self.line, self.code = path, line, code


class Reference:
    def __init__(self, root):
        self.root = root
        self.headers, self.conventions = headers.read_all(root)
        self.version = re.search(r'HEED_VERSION\s+"(.*)"', self.file("src/tensor/version.h")).group(1)
        self.guides = ["README.md", "examples/README.md"] + sorted(
            os.path.relpath(p, root) for p in glob.glob(f"{root}/docs/*.md"))
        self.blocks = [b for h in self.headers for b in h.blocks]
        self.names = [n for b in self.blocks for n in b.names]
        self.table = self.read_table()
        self.examples = self.find_examples()

    def groups(self):
        """(title, headers) of each section of heed.h."""
        return [(g, list(headers)) for g, headers in itertools.groupby(self.headers, lambda h: h.group)]

    def file(self, path):
        with open(f"{self.root}/{path}", encoding="utf-8") as f:
            return f.read()

    # ---- PyTorch's names ----

    def read_table(self):
        """name -> torch's name, from the rows of docs/pytorch.md."""
        table, prefix = {}, ""
        for line in self.file("docs/pytorch.md").split("\n"):
            cells = re.match(r"\| (.*) \| (.*) \|$", line)
            if cells is None:
                continue
            left, right = cells.groups()
            if re.fullmatch(r"torch(\.[\w.]+)?", left):
                prefix = left + "."
            same = {}  # "gelu" -> torch.nn.functional.gelu
            codes = re.findall(r"`([^`]*)`", left)
            for code in codes:
                module = prefix
                for word in code.split():  # in `F.silu softplus`, F is the module of both
                    head, _, last = re.sub(r"\(.*", "", word).rpartition(".")
                    head = re.sub(r"^(nn|optim|autograd)\b", r"torch.\1", head)
                    head = re.sub(r"^F$", "torch.nn.functional", head)
                    module = head + "." if head else module
                    is_tutorials = last[:1].isupper() and module == "torch."  # SelfAttention, GPT
                    same[last.replace("_", "").lower()] = (code, last if is_tutorials else module + last)
            names = [n for n in re.findall(r"heed_\w+", right) if n not in table]
            bare = {n: re.sub(r"(_dims?|_with|_into|_new)+$", "", n[5:]).replace("_", "") for n in names}
            table.update((n, same[bare[n]][1]) for n in names if bare[n] in same)
            # The others correspond in order, as a + b to heed_add, if their numbers show it.
            used = {same[bare[n]][0] for n in names if bare[n] in same}
            rest, others = [c for c in codes if c not in used], [n for n in names if n not in table]
            if not used or len(rest) == len(others):
                table.update(zip(others, rest))
        return table

    def torch(self, block):
        """PyTorch's names for a block whose comment does not mention them."""
        if re.search(r"torch|PyTorch", block.text):
            return []
        found = []
        for kind, name in block.names:
            if kind == "function" and name in self.table and self.table[name] not in found:
                found.append(self.table[name])
        return found

    # ---- examples ----

    def find_examples(self):
        """title of a block -> the first call in examples/, or in a code block of the guides."""
        owner = {n: b.title for b in self.blocks for k, n in b.names if k in ("function", "macro")}
        found = {}
        paths = glob.glob(f"{self.root}/examples/*.c") + glob.glob(f"{self.root}/examples/*/*.c")
        paths = sorted((os.path.relpath(p, self.root) for p in paths), key=lambda p: (p.count("/"), p))
        end, open_end = r"[;{}]\s*(/[/*].*)?$", r"[,(=|&?:]\s*$"
        other = r"/\*.*?\*/|//[^\n]*|#include[^\n]*"
        for path in paths + self.guides:
            source = self.file(path)
            hidden = rf"\A.*?^```c$|^```$.*?(?:^```c$|\Z)|{other}" if path.endswith(".md") else other
            code = re.sub(hidden, lambda m: re.sub(r"[^\n]", " ", m.group()), source, flags=re.S | re.M)
            lines = source.split("\n")
            for m in re.finditer(rf"({NAME})\(", code):
                title = owner.get(m.group(1))
                if title is None or title in found:
                    continue
                first = last = code.count("\n", 0, m.start())
                while last < len(lines) - 1 and last - first < 5 and not re.search(end, lines[last]):
                    last += 1
                while first > 0 and last - first < 5 and re.search(open_end, lines[first - 1]):
                    first -= 1
                shown = textwrap.dedent("\n".join(lines[first : last + 1]))
                found[title] = Example(path, first + 1, shown)
        return found

    # ---- checks ----

    def warnings(self):
        """What is missing in the headers."""
        found = []
        known = {n.replace("struct ", "") for _, n in self.names}
        for block in self.blocks:
            place = f"src/{block.header.path}:{block.line}: "
            if not block.text:
                found.append(place + f"{block.title} has no comment")
        for h in self.headers:
            for comment in [h.text] + [s.text for s in h.sections] + [b.text for b in h.blocks]:
                for part in text.parts(comment):
                    if part.kind in ("code", "formula"):
                        continue
                    prose = re.sub(rf"environment variable {NAME}", "", part.text + " " + part.label)
                    for name in set(re.findall(rf"\b{NAME}\b(?!\*)", prose)) - known:
                        found.append(f"src/{h.path}: {name} is not public")
        return found
