"""The reference as man pages: one for each block, links (.so) for its other names, and heed(3)."""
import os
import re
import textwrap
import time

import text
from headers import NAME

WIDTH = 70  # of preformatted lines, so that they fit 80 columns


def wrap(line, width, indent=""):
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def escape(line):
    for plain, roff in (("\\", "\\e"), ("-", "\\-"), ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti")):
        line = line.replace(plain, roff)
    return "\\&" + line if line[:1] in (".", "'") else line


def fill(paragraph):
    """Prose, in source lines of moderate length; names are bold."""
    lines = wrap(re.sub(r"`([^`]+)`", r"\1", paragraph), 66)
    return "\n".join(re.sub(rf"\b({NAME})\b", r"\\fB\1\\fR", escape(l)) for l in lines)


def narrower(lines):
    """Gaps that all lines share, reduced to 3 columns from the right until the lines fit."""
    while max(map(len, lines)) > WIDTH:
        padded = [l.ljust(max(map(len, lines))) for l in lines]
        gaps = [i for i in range(1, len(padded[0]) - 3) if all(p[i : i + 4] == "    " for p in padded)]
        if not gaps or not any(l[: gaps[-1]].strip() for l in lines):
            break
        lines = [(p[: gaps[-1]] + p[gaps[-1] + 1 :]).rstrip() for p in padded]
    return lines


def two_columns(lines):
    """Fills the right column of lines such as "name   what it means", which may continue below.

    None for lines that have other columns.
    """
    padded = [l.ljust(max(map(len, lines))) for l in lines]
    for c in range(8, WIDTH - 30):
        if all(p[c - 2 : c] == "  " for p in padded) and any(p[c] != " " and p[:c].strip() for p in padded):
            rows = []
            for left, right in ((p[:c], p[c:].strip()) for p in padded):
                if left.strip() or not rows:
                    rows.append([left, right])
                else:
                    rows[-1][1] += " " + right
            if any("   " in right for _, right in rows):
                continue
            return [("" if i else left.rstrip()).ljust(c) + part for left, right in rows
                    for i, part in enumerate(wrap(right, WIDTH - c) or [""])]
    return None


def fit(lines, is_code=True):
    """Preformatted lines in WIDTH columns."""
    lines = narrower(lines)
    if max(map(len, lines)) > WIDTH and not is_code:
        lines = two_columns(lines) or lines
    result = []
    for line in lines:
        bare = line.strip()
        if len(line) > WIDTH and len(line) - len(bare) >= 8:
            line = " " * max(4, WIDTH - len(bare)) + bare
        indent = " " * min(len(line) - len(line.lstrip()) + 4, 24)
        while len(line) > WIDTH:
            for where in (r" /\*|\s{3,}", r" "):
                places = [m.start() for m in re.finditer(where, line[: WIDTH + 1]) if line[: m.start()].strip()]
                if places and places[-1] > len(indent):
                    break
            else:
                break
            result.append(line[: places[-1]].rstrip())
            line = indent + line[places[-1] :].strip()
        result.append(line.rstrip())
    return result


def preformatted(source, is_code=True):
    lines = [escape("  " + l) if l else ".sp" for l in fit(source.split("\n"), is_code)]
    return "\n".join([".nf", ".ft CW"] + lines + [".ft R", ".fi"])


def declaration(code):
    """A prototype on lines that fit; structs and macros keep their layout."""
    if "{" in code or code.startswith("#"):
        return code
    code = re.sub(r"\s+", " ", code)
    if len(code) <= WIDTH:
        return code
    # Lines break after commas only, between arguments.
    whole = re.sub(r"(?<!,) ", "\0", code)
    return "\n".join(wrap(whole, WIDTH, " " * 6)).replace("\0", " ")


def parts(source, title=True, errors=True):
    out = []
    for i, part in enumerate(text.parts(source)):
        if part.kind == "error":
            if errors:
                out.append(error(part))
        elif part.kind in ("formula", "code"):
            out.append(".PP\n" + preformatted(part.text, part.kind == "code"))
        elif part.kind == "item":
            out.append(".IP \\(bu 2\n" + fill(part.text))
        else:
            titled = part.label and i == 0 and title
            label = f"{part.label}: " if part.label and not titled else ""
            out.append(".PP\n" + fill(text.sentence(part.text) if titled else label + part.text))
    return out


def error(part):
    return ".TP\n.B " + escape(part.label) + "\n" + (fill(part.text) or "\\&")


def page_name(name):
    return name.replace(" ", "-")


def date():
    stamp = os.environ.get("SOURCE_DATE_EPOCH")
    return time.strftime("%Y-%m-%d", time.gmtime(int(stamp) if stamp else None))


def title(name, reference):
    return f'.TH {page_name(name)} 3 {date()} "Heed {reference.version}" "Heed Manual"'


def finish(lines):
    """The source of a page. A paragraph begins with its section anyway, so .PP there is an error."""
    return re.sub(r"^(\.S[HS] .*\n)\.PP\n", r"\1", "\n".join(lines) + "\n", flags=re.M)


def page(block, reference):
    names = block.pages
    summary = re.sub(r"\s+", " ", text.summary(block))
    out = [title(block.title, reference), ".SH NAME"]
    out.append(escape(", ".join(map(page_name, names))) + " \\- " + escape(summary))
    out += [".SH SYNOPSIS", ".nf", "\\fB#include <heed.h>\\fR", ".PP"]
    out += [escape(line) or ".sp" for line in fit(block.source(declaration).split("\n"))]
    out += [".fi", ".SH DESCRIPTION"] + (parts(block.text, len(names) == 1, errors=False) or [fill(summary + ".")])
    errors = [p for p in text.parts(block.text) if p.kind == "error"]
    if errors:
        out += [".SH ERRORS"] + [error(e) for e in errors]
    out.append(".SH NOTES")
    if block.section.title:
        out += [".SS " + escape(text.sentence(block.section.title))] + parts(block.section.text)
    out += [".SS heed/" + escape(block.header.path)] + parts(block.header.text)
    torch = reference.torch(block)
    if torch:
        out += [".SH PYTORCH", fill(", ".join(torch))]
    example = reference.examples.get(block.title)
    if example:
        out += [".SH EXAMPLES", f"From {escape(example.path)}:", ".PP", preformatted(example.code)]
    known = {n for b in reference.blocks for n in b.pages}
    mentioned = re.findall(rf"\b(?:struct )?{NAME}\b", block.text)
    related = {m if m in known else m.replace("struct ", "") for m in mentioned} & known - set(names)
    out += [".SH SEE ALSO"] + [f".BR {escape(page_name(n))} (3)," for n in sorted(related)] + [".BR heed (3)"]
    return finish(out)


def overview(reference):
    out = [title("heed", reference), ".SH NAME", "heed \\- tiny autograd framework that trains self\\-attention"]
    out += [".SH SYNOPSIS", ".nf", "\\fB#include <heed.h>\\fR", ".PP", "cc program.c \\-lheed \\-lm \\-pthread", ".fi"]
    out += [".SH DESCRIPTION"] + parts(reference.conventions)
    for group, headers in reference.groups():
        out.append(f'.SH "{group.upper()}"')
        for h in headers:
            names = ", ".join(page_name(n) for b in h.blocks for n in b.pages)
            out += [".TP", ".B heed/" + escape(h.path), fill(h.summary + ":"), fill(names + ".")]
    return finish(out)


def write(reference, output):
    """Writes all pages and returns their number."""
    os.makedirs(output, exist_ok=True)
    pages = {"heed": overview(reference)}
    for block in reference.blocks:
        pages[page_name(block.title)] = page(block, reference)
        for name in block.pages[1:]:
            pages[page_name(name)] = f".so man3/{page_name(block.title)}.3\n"
    for name, source in pages.items():
        with open(f"{output}/{name}.3", "w", encoding="utf-8") as f:
            f.write(source)
    return len(pages)
