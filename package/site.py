"""Writes a site of static files: the page, the reference, and all pages of documentation as HTML.

    python3 package/site.py BUILD [REPOSITORY]

README.md becomes index.html. Links between pages stay links; those to other files lead to REPOSITORY, such as
https://example.org/heed/blob/main, or are left out. Needs BUILD/page/attention.html, BUILD/docs/html and
Python-Markdown.
"""

import html
import os
import posixpath
import re
import shutil
import sys

import markdown

STYLE = """
:root { color-scheme: light dark }
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 58rem; margin: 0 auto; padding: 1rem }
nav { display: flex; flex-wrap: wrap; gap: 1.2rem; padding-bottom: .7rem; border-bottom: 1px solid #8886 }
pre { overflow-x: auto; padding: .7rem; background: #8882; border-radius: .3rem }
code { font-size: .92em }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top }
img { max-width: 100% }
"""
NAVIGATION = (("Heed", "index.html"), ("The page: see every number", "attention.html"), ("Documentation", "docs/index.html"),
              ("Reference", "reference/index.html"), ("Course", "examples/index.html"))


def target_of(path):
    """docs/README.md -> docs/index.html"""
    folder, name = posixpath.split(path)
    root = "index.html" if name == "README.md" else name.removesuffix(".md") + ".html"
    return posixpath.join(folder, root)


def slug(title, separator):
    """The anchor of a heading, as on public hosts."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", separator)


def linked(text, path, pages, repository):
    """Lets the links of a page lead to pages of the site."""
    folder = posixpath.dirname(path)

    def follow(match):
        before, link, after, inner = match.groups()
        file, sign, anchor = html.unescape(link).partition("#")
        if re.match(r"[a-z]+:", link) or file == "":
            return match[0]
        to = posixpath.normpath(posixpath.join(folder, file))
        if os.path.isfile(posixpath.join(to, "README.md")):
            to = posixpath.join(to, "README.md")
        if to == "examples/page":
            return f'<a{before}href="{posixpath.relpath("attention.html", folder or ".")}"{after}>{inner}</a>'
        if to in pages:
            return f'<a{before}href="{posixpath.relpath(target_of(to), folder or ".")}{sign}{anchor}"{after}>{inner}</a>'
        return f'<a{before}href="{repository}/{to}{sign}{anchor}"{after}>{inner}</a>' if repository else inner

    return re.sub(r'<a([^>]*)href="([^"]*)"([^>]*)>(.*?)</a>', follow, text, flags=re.S)


def page(path, pages, repository):
    with open(path, encoding="utf-8") as file:
        source = re.sub(r"<!--.*?-->\n?", "", file.read(), flags=re.S)
    body = markdown.markdown(source, extensions=["tables", "fenced_code", "toc", "sane_lists"],
                             extension_configs={"toc": {"slugify": slug}})
    title = re.search(r"^# (.*)", source, flags=re.M)[1]
    up = posixpath.dirname(path) or "."
    links = "".join(f'<a href="{posixpath.relpath(to, up)}">{name}</a>' for name, to in NAVIGATION)
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style>\n</head>\n<body>\n'
            f'<nav>{links}</nav>\n<main>\n{linked(body, path, pages, repository)}\n</main>\n</body>\n</html>\n')


def main():
    build, repository = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    site = os.path.join(build, "site")
    pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "bench/README.md", "src/README.md",
             "tests/README.md", "examples/README.md", "examples/pytorch/README.md"]
    pages += sorted(f"docs/{name}" for name in os.listdir("docs") if name.endswith(".md"))
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(os.path.join(build, "docs", "html"), os.path.join(site, "reference"))
    shutil.copytree("docs/pictures", os.path.join(site, "docs", "pictures"), ignore=shutil.ignore_patterns("*.sh"))
    shutil.copy(os.path.join(build, "page", "attention.html"), site)
    for path in pages:
        out = os.path.join(site, target_of(path))
        os.makedirs(os.path.dirname(out), exist_ok=True)
        with open(out, "w", encoding="utf-8") as file:
            file.write(page(path, pages, repository))
    print(f"{site}: {len(pages)} pages of documentation, the reference and attention.html")


main()
