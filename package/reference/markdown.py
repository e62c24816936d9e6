"""The subset of Markdown that the guides use, as HTML."""
import html
import re


ITEM = r"(?:[-*]|\d+\.) +"


def slug(title):
    """GitHub's anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


class Markdown:
    def __init__(self, link, code):
        """link(target) gives the address of a link, or None for plain text; code(text) is the HTML of code."""
        self.link, self.code = link, code
        self.headings = []  # (level, title, anchor)

    def inline(self, text):
        kept = []

        def keep(fragment):
            kept.append(fragment)
            return f"\0{len(kept) - 1}\0"

        def picture(m):
            return keep(f'<img src="{self.link(m.group(2))}" alt="{html.escape(m.group(1))}">')

        def linked(m):
            address = self.link(m.group(2))
            return keep(f'<a href="{address}">') + m.group(1) + keep("</a>") if address else m.group(1)

        def code(m):
            return keep(f"<code>{self.code(m.group(2).strip())}</code>")

        text = re.sub(r"(`+)(.+?)\1", code, text, flags=re.S)
        text = re.sub(r"!\[([^\]]*)\]\(([^)\s]+)\)", picture, text)
        text = re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", linked, text)
        text = html.escape(text, quote=False)
        text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text, flags=re.S)
        text = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?!\w)", r"<em>\1</em>", text)
        while "\0" in text:
            text = re.sub("\0(\\d+)\0", lambda m: kept[int(m.group(1))], text)
        return text

    def table(self, lines):
        rows = []
        for line in lines:
            # A bar inside code does not end a cell.
            line = re.sub(r"`[^`]*`", lambda m: m.group().replace("|", "\1"), line.strip().strip("|"))
            cells = [c.strip().replace("\\|", "|").replace("\1", "|") for c in re.split(r"(?<!\\)\|", line)]
            rows.append([self.inline(c) for c in cells])
        head = "".join(f"<th>{c}</th>" for c in rows[0])
        body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>\n" for row in rows[2:])
        return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'

    def blocks(self, text):
        lines, out, i = text.split("\n"), [], 0
        while i < len(lines):
            line, start = lines[i], i
            fence = re.match(r"(```+|~~~+)", line)
            heading = re.match(r"(#+) (.*)", line)
            if not line.strip():
                i += 1
            elif fence:
                i += 1
                while i < len(lines) and not lines[i].startswith(fence.group(1)):
                    i += 1
                out.append(f"<pre>{self.code(chr(10).join(lines[start + 1 : i]))}</pre>")
                i += 1
            elif line.startswith("    "):
                while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                    i += 1
                body = "\n".join(l[4:] for l in lines[start:i]).rstrip()
                out.append(f"<pre>{self.code(body)}</pre>")
            elif heading:
                level, title = len(heading.group(1)), heading.group(2)
                anchor = slug(title)
                self.headings.append((level, re.sub("`", "", title), anchor))
                out.append(f'<h{level} id="{anchor}">{self.inline(title)}</h{level}>')
                i += 1
            elif line.startswith("|"):
                while i < len(lines) and lines[i].startswith("|"):
                    i += 1
                out.append(self.table(lines[start:i]))
            elif re.match(ITEM, line):
                # A blank line ends the list unless an item or an indented line follows.
                while i < len(lines) and (lines[i].strip() or re.match(rf"  |{ITEM}", "\n".join(lines[i + 1 :]))):
                    i += 1
                items = []
                for content in re.split(rf"^{ITEM}", "\n".join(lines[start:i]), flags=re.M)[1:]:
                    inner = self.blocks(re.sub(r"^ {1,4}", "", content, flags=re.M).strip("\n"))
                    alone = re.fullmatch(r"<p>((?:(?!<p>).)*)</p>", inner, re.S)
                    items.append(f"<li>{alone.group(1) if alone else inner}</li>")
                tag = "ol" if line[0].isdigit() else "ul"
                out.append("\n".join([f"<{tag}>"] + items + [f"</{tag}>"]))
            elif line.startswith("<"):
                out.append(line)
                i += 1
            else:
                while i < len(lines) and lines[i].strip() and not re.match(r"```|[-*] |\||#+ ", lines[i]):
                    i += 1
                out.append(f"<p>{self.inline(chr(10).join(lines[start:i]))}</p>")
        return "\n".join(out)
