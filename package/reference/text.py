"""The structure of a comment: paragraphs, preformatted lines, lists, and errors."""
import re

from headers import LABEL, NAME

ERROR = re.compile(r"(?:^|(?<=[.;)\"] ))(?:Also )?(HEED_ERR_\w+(?:, HEED_ERR_\w+)*)(?::\s+|\.(?=\s|$))")


def sentence(text):
    """With a capital, if it begins with a word."""
    return text[:1].upper() + text[1:] if re.match(r"(a )?[a-z]{2,}[\s,:;]|[a-z]+$", text) else text


class Part:
    """kind: paragraph, formula, code, item, error. label: the names that a paragraph describes, or the errors."""

    def __init__(self, kind, text, label=""):
        self.kind, self.text, self.label = kind, text, label


def parts(text):
    result = []
    lines, prose, kind = text.split("\n"), [], "paragraph"

    def flush():
        nonlocal prose, kind
        if prose:
            result.extend(sentences(" ".join(prose), kind))
        prose, kind = [], "paragraph"

    i = 0
    while i < len(lines):
        line = lines[i]
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            flush()
        elif line.startswith("- "):
            flush()
            prose, kind = [line[2:]], "item"
        elif indent >= 2 and kind == "item":
            prose.append(line.strip())
        elif indent >= 2:
            flush()
            end = i
            while end < len(lines) and (not lines[end].strip() or lines[end].startswith("  ")):
                end += 1
            while not lines[end - 1].strip():
                end -= 1
            block = lines[i:end]
            margin = min(len(l) - len(l.lstrip()) for l in block if l.strip())
            result.append(Part("code" if indent >= 4 else "formula", "\n".join(l[margin:] for l in block)))
            i = end
            continue
        else:
            if kind == "item":
                flush()
            # "removes a dim.      dx = reshape(g)": a formula at the end of a line
            words = re.match(r"(.*?\S)?\s{3,}(\S.*)$", line)
            gaps = re.findall(r"\S\s{3,}\S", line)
            if words and len(gaps) > 1:
                flush()
                result.append(Part("formula", line))
            elif words:
                prose.append(words.group(1))
                flush()
                result.append(Part("formula", words.group(2)))
            else:
                label = re.match(rf"{NAME}$", line)
                if not (label and not prose):  # a name alone: the title says it
                    prose.append(line)
        i += 1
    flush()
    return result


def sentences(text, kind):
    """Splits a paragraph where an error or the description of other names begins."""
    starts = [(m.start(), m.end(), "error", m.group(1)) for m in ERROR.finditer(text)]
    starts += [(m.start(), m.end(), kind, m.group(1)) for m in LABEL.finditer(text)]
    starts.sort()
    found = []
    if not starts or starts[0][0] > 0:
        found.append(Part(kind, text[: starts[0][0] if starts else None]))
    for (_, begin, what, label), following in zip(starts, starts[1:] + [(None,)]):
        found.append(Part(what, text[begin : following[0]], label))
    for part in found:
        part.text = re.sub(r";$", ".", part.text.strip())
    return [p for p in found if p.text or p.kind == "error"]


def summary(block):
    """One line for indexes: the beginning of the description."""
    for source in (block.text, block.section.title, block.header.summary):
        for part in parts(source):
            if part.kind in ("paragraph", "formula") and part.text:
                line = re.split(r"\n|\s{2,}", part.text)[0]
                end = re.search(r"[.:;](?=\s)|[.:]$", line)
                line = line[: end.start()] if end and end.start() > 12 else line.rstrip(".:")
                return line.replace("`", "")
    return ""
