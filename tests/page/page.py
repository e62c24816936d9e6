"""Tests the page in Chromium as a reader uses it. It is loaded once, and driven through its states.

    python3 tests/page/page.py PAGE.html FOLDER HASH1 HASH2

FOLDER is for files, and contains what page.sh wrote; HASH1 and HASH2 are those of the weights after 500 steps with 1 and
2 heads, computed without a browser. Fails on a console message, a request, a number that differs from PyTorch's or from
its own formula, a control without effect, a text that is cut, covered or not translated, and on serious problems that
axe-core reports.
"""

import os
import sys

import asking
import breaks
import frame
import gpt
import layout
import lines
import story
import training
from attention import Attention
from browser import start


def main():
    path, folder, *hashes = sys.argv[1:]
    print(f"attention.html: {os.path.getsize(path) / 1e3:.0f} KB; limit 1000 KB")
    assert os.path.getsize(path) < 1e6
    driver = start()
    try:
        page = Attention(driver, path)
        training.check(page, hashes)
        lines.check(page)
        asking.check(page)
        breaks.check(page)
        story.check(page, folder)
        gpt.check(page, os.path.dirname(os.path.dirname(os.path.abspath(path))), folder)
        frame.check(page)
        page.check_quiet()
        layout.check(page)
        page.check_quiet()
    finally:
        driver.quit()
    print("page: works in Chromium", driver.capabilities["browserVersion"])


main()
