"""Tests view.html and the reports made from it in Chromium: by mouse, by keyboard, in both themes, at two widths.

    python3 tests/page/report.py FOLDER

FOLDER contains what tests/page/report.sh wrote. Fails on a console message, a
request, or a page that is too wide. If axe-core is installed (PyPI axe-core-python), it must report no serious problem.
"""

import csv
import json
import os
import sys

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import Page, check_axe, start

HOSTILE = "</script><img src=x onerror=alert(1)>"


def data(page):
    run = json.loads(page.text("#run"))
    run["curves"] = {}
    for name, _, value in run["points"]:
        run["curves"].setdefault(name, []).append(value)
    return run


def curves(page):
    return page.run("[...document.querySelectorAll('#charts path[data-name]')].map(e => e.dataset.name).sort()")


def check_content(page):
    run = data(page)
    assert page.text("#state") == "finished: step 40 of 40", page.text("#state")
    assert curves(page) == sorted(run["curves"]) and "val_loss" in curves(page), curves(page)
    assert page.run("document.querySelectorAll('#texts tr').length") == 4
    rows = dict(page.run("[...document.querySelectorAll('#settings tr')].map(e => [...e.cells].map(c => c.textContent))"))
    assert rows["--n-layer"] == "2" and rows["--prompt"] == HOSTILE, rows


def check_charts(page):
    chart = "#charts figure svg"
    losses = data(page)["curves"]["loss"]
    page.press(chart, Keys.HOME)
    assert page.text("#charts output").startswith(f"step 1: loss {losses[0]:.4g}"), page.text("#charts output")
    page.press(chart, Keys.ARROW_RIGHT)
    assert page.find(chart).get_attribute("aria-valuetext").startswith("step 2: loss ")
    page.hover(chart)
    assert 15 <= int(page.text("#charts output").split()[1].rstrip(":")) <= 25, page.text("#charts output")
    before = page.find(chart + " path[data-name]").get_attribute("d")
    page.press("#log", Keys.SPACE)
    assert page.find(chart + " path[data-name]").get_attribute("d") != before
    page.press("#log", Keys.SPACE)


def weights(run, snapshot, head):
    """The percentages of a head, rounded as its cells show them."""
    n = len(run["tokens"])
    size = n * (n + 1) // 2
    return run["snapshots"][snapshot][1][head * size:(head + 1) * size]


def check_matrix(page, snapshot, head):
    cells = page.run("[...document.querySelectorAll('#matrix td[data-at]')].map(e => [e.textContent, e.style.background])")
    for (text, background), weight in zip(cells, weights(data(page), snapshot, head), strict=True):
        assert abs(float(text or 0) - weight / 10) <= 0.5, (text, weight)
        assert f"var(--share) {weight / 10:g}%" in background, (background, weight)


def check_attention(page):
    run = data(page)
    steps = [step for step, _ in run["snapshots"]]
    assert steps == [0, 1, 2, 4, 8, 16, 32, 40] and page.text("#shown") == "after step 40", steps
    check_matrix(page, 7, 0)
    page.press("#when", Keys.HOME)
    assert page.text("#shown") == "before training"
    check_matrix(page, 0, 0)
    page.press("#when", Keys.ARROW_RIGHT)
    assert page.find("#when").get_attribute("aria-valuetext") == "after step 1"
    buttons = page.driver.find_elements(By.CSS_SELECTOR, "#heads button")
    assert len(buttons) == 4
    buttons[2].click()
    assert page.text("#head") == "Layer 2, head 1" and buttons[2].get_attribute("aria-pressed") == "true"
    check_matrix(page, 1, 2)
    page.hover("#matrix td[data-at='3 1']")
    assert page.text("#cell").startswith("> (token 4) attends to p (token 2): "), page.text("#cell")
    page.press("#matrix td[data-at='3 1']", Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.text("#cell").startswith("t (token 3) attends to t (token 3): "), page.text("#cell")
    for token, name in ((" \\n\\t", "␣↵⇥"), ("", "∅"), ("\\u202eab", "U+202Eab"), ("\\x1b[1m", "U+001B[1m")):
        assert page.run(f"named('{token}')") == name, token


def check_files(driver, folder):
    """view.html opened by itself, and a report, take CSV files, which are drawn together."""
    page = Page(driver, os.path.join(folder, "view.html"))
    assert not page.find("#curves").is_displayed() and not page.find("#attention").is_displayed()
    files = [os.path.join(folder, name) for name in ("a.csv", "b.csv")]
    page.find("#files").send_keys("\n".join(files))
    with open(files[0], encoding="utf-8") as file:
        names = next(csv.reader(file))[1:]
    page.wait("document.querySelectorAll('#charts path[data-name]').length === arguments[0]", 2 * len(names))
    assert curves(page) == sorted(f"{run}.csv {name}" for run in "ab" for name in names)
    page.find("#files").send_keys(os.path.join(folder, "text"))
    page.wait("document.getElementById('problem').textContent.startsWith('text: not a CSV file')")
    check_axe(page)
    page.check_quiet()
    page = Page(driver, os.path.join(folder, "gpt.html"))
    page.find("#files").send_keys(files[1])
    page.wait("document.querySelectorAll('#charts path[data-name]').length === arguments[0]", 2 * len(names))
    page.check_quiet()


def check_toys(driver, folder):
    page = Page(driver, os.path.join(folder, "recall.html"))
    assert page.text("#outputs").count("as an induction head") == 1 and page.find("#attention").is_displayed()
    assert curves(page) == ["loss", "score", "test_loss"], curves(page)
    page.check_quiet()
    page = Page(driver, os.path.join(folder, "sweep.html"))
    assert page.text("#state") == "finished: run 4 of 4" and curves(page) == ["learned"], page.text("#state")
    assert len(page.text("#outputs pre").splitlines()) == 3 and not page.find("#attention").is_displayed()
    check_axe(page)
    page.check_quiet()


def check_widths(driver, folder):
    for name in ("sweep", "recall", "gpt"):
        page = Page(driver, os.path.join(folder, f"{name}.html"))
        for theme in ("light", "dark"):
            page.emulate(theme)
            for width in (400, 1200):
                page.resize(width, 900)
                assert page.run("document.documentElement.scrollWidth") <= width, (name, width)
        page.check_quiet()
    check_axe(page)


def main():
    folder = sys.argv[1]
    driver = start()
    try:
        page = Page(driver, os.path.join(folder, "gpt.html"))
        for check in (check_content, check_charts, check_attention, check_axe, Page.check_quiet):
            check(page)
        check_files(driver, folder)
        check_toys(driver, folder)
        check_widths(driver, folder)
    finally:
        driver.quit()
    print("report: the pages work in Chromium", driver.capabilities["browserVersion"])


main()
