"""Tests reports in Chromium as a reader uses them: by mouse, by keyboard, in both themes, at three widths.

    python3 tests/page/report.py FOLDER [SCREENSHOTS]

FOLDER contains the reports written by tests/page/report.sh; SCREENSHOTS is a folder for pictures. Fails on a
console message, a request, a control without effect, or a page that is too wide. If axe-core is
installed (PyPI axe-core-python), it must report no serious problem.
"""

import os
import sys

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from browser import Page, check_axe, start

HOSTILE = "</script><img src=x onerror=alert(1)>"


def cells(page):
    """The colors of the matrix."""
    return page.run("[...document.querySelectorAll('#matrix td[data-at]')].map(e => e.style.backgroundColor)")


def check_content(page):
    assert page.text("#state") == "Finished after step 40 of 40.", page.text("#state")
    assert page.run("document.title") == "step 40 of 40: gpt train"
    assert page.text("#facts").count("val_loss") == 2
    titles = page.run("[...document.querySelectorAll('#charts h3')].map(e => e.textContent)")
    assert titles[0] == "loss" and "lr" in titles and "grad_norm" in titles, titles
    assert page.run("document.querySelectorAll('#texts tbody tr').length") == 4
    assert page.run("document.querySelectorAll('.layer').length") == 2
    assert page.run("document.querySelectorAll('#heads input').length") == 4
    rows = dict(page.run("[...document.querySelectorAll('#flags tr')].map(e => [...e.cells].map(c => c.textContent))"))
    assert rows["--n-layer"] == "2" and rows["--prompt"] == HOSTILE, rows
    assert page.text("#sentence") == HOSTILE[-32:]
    model = page.text("#model")
    assert "c_attn: Linear" in model and "tied to transformer.wte.weight" in model


def check_slider(page):
    last = cells(page)
    assert page.text("#shown") == "after step 40"
    page.press("#when", Keys.HOME)
    assert page.text("#shown") == "before training"
    first = cells(page)
    assert first != last
    norms = page.text("#model tbody")
    page.press("#when", Keys.ARROW_RIGHT)
    assert page.text("#shown") == "after step 1"
    assert page.find("#when").get_attribute("aria-valuetext") == "after step 1"
    assert cells(page) != first and page.text("#model tbody") != norms
    slider = page.find("#when")
    page.hover("#when", slider.size["width"] // 2 - 3)
    ActionChains(page.driver).click().perform()
    assert page.text("#shown") == "after step 40" and cells(page) == last
    page.find("#play").click()
    assert page.text("#shown") == "before training" and page.text("#play") == "Stop"
    page.find("#play").click()
    page.press("#when", Keys.END)


def check_heads(page):
    first = cells(page)
    page.press("#heads input", Keys.ARROW_RIGHT)
    assert page.text("#head") == "Layer 1, head 2" and cells(page) != first
    page.driver.find_elements(By.CSS_SELECTOR, "#heads input")[2].click()
    assert page.text("#head") == "Layer 2, head 1"


def check_matrix(page):
    page.hover("#matrix td[data-at='3 1']")
    text = page.text("#cell")
    assert text.startswith("> (token 4) attends to p (token 2): ") and text.endswith(" %"), text
    page.press("#matrix td[data-at='3 1']", Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert page.text("#cell").startswith("< (token 5) attends to t (token 3): "), page.text("#cell")
    page.press("#matrix td[data-at='4 2']", Keys.END, Keys.ARROW_RIGHT) # later tokens are masked
    assert page.text("#cell").startswith("< (token 5) attends to < (token 5): "), page.text("#cell")
    sums = page.run("""run.tokens.map((t, query) => run.tokens.slice(0, query + 1)
        .reduce((sum, u, key) => sum + weight(chosen.head, query, key), 0))""")
    assert all(abs(s - 1) < 0.005 for s in sums), sums


def check_names(page):
    """Tokens that are invisible, or reverse what follows, are shown as code points."""
    for token, name in ((" \\n\\t", "␣↵⇥"), ("", "∅"), ("\\u202eab", "U+202Eab"), ("\\x1b[1m", "U+001B[1m"),
                        ("\\u200d", "U+200D"), ("\\u{1f469}\\u200d\\u{1f467}", "\U0001f469\u200d\U0001f467")):
        assert page.run(f"named('{token}')") == name, token
    assert page.style("#sentence", "unicode-bidi") == "isolate"


def check_charts(page):
    readout = "#charts figure:first-child .readout"
    slider = "#charts figure:first-child [role=slider]"
    assert page.text(readout).startswith("step 40: loss ")
    page.hover(slider)
    middle = page.text(readout)
    step = int(middle.split()[1].rstrip(":"))
    assert 15 <= step <= 25, middle
    page.press(slider, Keys.ARROW_RIGHT)
    assert page.text(readout).startswith(f"step {step + 1}: "), page.text(readout)
    assert page.find(slider).get_attribute("aria-valuetext") == page.text(readout)
    assert "smoothed" not in page.text(readout) # 40 points are not smoothed
    page.find("#charts figure:first-child summary").click()
    WebDriverWait(page.driver, 10).until( # the event that fills the table is asynchronous
        lambda _: page.run("document.querySelectorAll('#charts figure:first-child tbody tr').length") == 21)
    before = page.find(slider + " path.s0").get_attribute("d")
    page.press("#log", Keys.SPACE)
    assert page.find(slider + " path.s0").get_attribute("d") != before


def check_order(page):
    """The settings stand before the model's norms, whose table has a height of its own; the smoothing is called a weight."""
    tops = page.run("['curves', 'settings', 'inside'].map((id) => document.getElementById(id).getBoundingClientRect().top)")
    assert tops == sorted(tops), tops
    assert page.run("document.querySelector('#model').parentElement.clientHeight") <= 400
    legend = page.run("document.querySelector('#charts').textContent")
    assert "smoothed with weight 0." in legend or "smoothed" not in legend, legend


def check_theme(page):
    light = page.style("body", "background-color")

    def becomes(*, dark):  # a key changes the select element asynchronously
        WebDriverWait(page.driver, 10).until(
            lambda _: (page.style("body", "background-color") != light) == dark)

    page.press("#theme", "d")
    becomes(dark=True)
    assert page.run("document.documentElement.dataset.theme") == "dark"
    page.driver.refresh()  # the choice survives a reload
    becomes(dark=True)
    page.press("#theme", "s")
    becomes(dark=False)


def check_focus(page):
    """Each control can be reached by Tab and shows the focus."""
    reached = []
    page.driver.refresh()
    for _ in range(40):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        name, outline = page.run("""(e => [e.id || e.getAttribute('aria-label') || e.tagName,
            [e, e.parentElement].some(x => getComputedStyle(x).outlineStyle !== 'none')])(document.activeElement)""")
        if name == "BODY":
            break
        assert outline, name
        reached.append(name)
    for name in ("theme", "smoothing", "log", "loss by step", "Samples", "when", "play", "Parameters", "Settings"):
        assert name in reached, (name, reached)


def check_widths(driver, path, pictures):
    for width in (360, 800, 1600):
        for theme in ("light", "dark"):
            page = Page(driver, path, width, theme)
            assert page.run("document.documentElement.scrollWidth") <= width, width
            page.check_quiet()
            if pictures:
                height = min(page.run("document.documentElement.scrollHeight"), 4000)
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                    "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
                name = os.path.basename(path).split(".")[0]
                driver.save_screenshot(f"{pictures}/{name}_{width}_{theme}.png")


def check_print(page):
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.style(".controls", "display") == "none"
    assert page.style("body", "background-color") == "rgba(255, 255, 255, 1)"
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def check_training(driver, path):
    """During training, the page shows that state and offers to reload itself."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    other = os.path.join(os.path.dirname(path), "training.html")
    with open(other, "w", encoding="utf-8") as file:
        file.write(text.replace("\nstate\tfinished\t40", "\nstate\ttraining\t40").replace("\nsince\t0", "\nsince\t9"))
    page = Page(driver, other)
    assert page.text("#state") == "Training, step 40 of 40."
    assert "no data before step 10" in page.text("#note")
    assert page.find("#live").is_displayed()
    page.check_quiet()


def check_toys(driver, folder):
    """The page of a run of toys has its tables and attention; that of many has a table and no model."""
    page = Page(driver, os.path.join(folder, "recall.html"))
    assert page.text("#title") == "toys recall"
    assert page.text("#results").count("as an induction head") == 1
    assert page.run("[...document.querySelectorAll('#results h3')].map(e => e.textContent)") == ["Result", "Measurements"]
    assert page.find("#attention").is_displayed() and page.text("#sentence").startswith("k")
    assert "test_loss" in page.text("#facts") and "score" in page.text("#facts")
    check_axe(page)
    page.check_quiet()
    page = Page(driver, os.path.join(folder, "sweep.html"))
    assert page.text("#state") == "Finished after run 8 of 8.", page.text("#state")
    assert page.text("#charts figure:first-child .readout").startswith("run 8: learned"), page.text("#charts")
    assert len(page.text("#results pre").splitlines()) == 6
    assert "width=8,16" in page.text("#flags") and "--steps" in page.text("#flags")
    assert not page.find("#inside").is_displayed() and "parameters" not in page.text("#facts")
    check_axe(page)
    check_axe(Page(driver, os.path.join(folder, "sweep.html"), 360, "dark"))
    page.check_quiet()


def check_empty(driver, folder):
    """A run without steps, and a page without data."""
    page = Page(driver, os.path.join(folder, "empty.html"))
    assert "No step has ended yet." in page.text("#charts")
    page.check_quiet()


def main():
    folder, pictures = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    gpt = os.path.join(folder, "gpt.html")
    driver = start()
    try:
        page = Page(driver, gpt)
        for check in (check_content, check_slider, check_heads, check_matrix, check_names, check_charts, check_order, check_theme,
                      check_focus, check_print, check_axe, Page.check_quiet):
            check(page)
        check_axe(Page(driver, gpt, 360, "dark"))
        check_widths(driver, gpt, pictures)
        for name in ("recall", "sweep"):
            check_widths(driver, os.path.join(folder, f"{name}.html"), pictures)
        check_toys(driver, folder)
        check_training(driver, gpt)
        check_empty(driver, folder)
    finally:
        driver.quit()
    print("report: the pages work in Chromium", driver.capabilities["browserVersion"])


main()
