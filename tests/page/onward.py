"""Tests "Onward": where numbers go when heads are split and merged."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from helpers import set_state, show

TOKENS, WIDTH = 3, 8


# ---- heads ----

def places(heads, parted):
    """(split, merged) as torch.view, transpose and reshape make them."""
    width = WIDTH // heads
    x = [10 * token + feature for token in range(TOKENS) for feature in range(WIDTH)]
    split = x if parted == "split_view" else [x[token * WIDTH + head * width + i] for head in range(heads)
                                              for token in range(TOKENS) for i in range(width)]
    merged = split if parted == "merge_view" else [split[(head * TOKENS + token) * width + i] for token in range(TOKENS)
                                                   for head in range(heads) for i in range(width)]
    return split, merged


def drawn(page, stage):
    return page.run("""[...document.querySelectorAll(`#panel-onward .places-cell[data-stage="${arguments[0]}"]`)]
        .map((cell) => Number(cell.textContent))""", stage)


def said(page):
    return page.text("#panel-onward .places-said")


def check_places(page):
    """All numbers of all ways; the line leads from the chosen number to where it goes; keys and presses choose."""
    for heads in (2, 4):
        for parted in ("right", "split_view", "merge_view"):
            show(page, "onward", onward=1, parted=parted, in_heads=str(heads), place="17")
            split, merged = places(heads, parted)
            page.wait("document.querySelectorAll('#panel-onward .places-head').length === arguments[0]", heads)
            page.wait("[...document.querySelectorAll('#panel-onward .places-cell[data-stage=merged]')].map((c) => Number(c.textContent)).join() === arguments[0].join()", merged)
            assert drawn(page, "x") == sorted(split) and drawn(page, "split") == split, (heads, parted)
            width, at, end = WIDTH // heads, split.index(17), merged.index(17)
            goes = f"17 is feature 7 of token 1. It goes to head {at // (TOKENS * width) + 1}, row {at // width % TOKENS}, feature {at % width}"
            assert said(page).startswith(goes), said(page)
            assert ("it should go to head" in said(page)) == (parted == "split_view"), said(page)
            assert said(page).endswith("it is back in its place." if parted == "right" else
                                       f"it is feature {end % WIDTH} of token {end // WIDTH}."), said(page)
    show(page, "onward", parted="right", in_heads="2")
    page.wait("document.querySelectorAll('#panel-onward .places-head').length === 2")
    page.run("document.getAnimations().filter((a) => a.effect.getTiming().iterations === 1).forEach((a) => a.finish())")
    page.find('#panel-onward .places-cell[data-stage="split"][data-number="12"]').click()
    assert page.run("page.state.place") == "12" and said(page).startswith("12 is feature 2 of token 1."), said(page)
    page.press('#panel-onward .places-cell[data-stage="x"][data-number="12"]', Keys.ARROW_DOWN)
    assert page.run("[page.state.place, document.activeElement.textContent, page.state.onward]") == ["22", "22", 1]
    page.press('#panel-onward .places-cell[data-stage="x"][data-number="22"]', Keys.ARROW_DOWN)  # there is no token 3
    assert page.run("page.state.place") == "22"
    apart = page.run("""(() => {
        const ends = [...document.querySelectorAll("#panel-onward .places-line path")].flatMap((path) =>
            [path.getPointAtLength(0), path.getPointAtLength(path.getTotalLength())].map((p) => p.matrixTransform(path.getScreenCTM())));
        const cells = ["x", "split", "split", "merged"].map((stage) =>
            document.querySelector(`#panel-onward .places-cell.chosen[data-stage=${stage}]`).getBoundingClientRect());
        return ends.map(({ x, y }, i) => Math.max(cells[i].left - x, x - cells[i].right, cells[i].top - y, y - cells[i].bottom));
    })()""")
    assert len(apart) == 4 and max(apart) < 1, apart
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#panel-onward .places-cell[tabindex='0']")) == 1
    page.find("#panel-onward [data-value=merge_view]").click()
    assert page.run("page.state.parted") == "merge_view"


def check_chooser(page):
    """Line by line chooses the number of heads, stays at its step and at its line, and leads to the picture."""
    show(page, "class", example="pizza", heads=1, step=50)
    page.wait("page.run.step === 50 && !page.run.busy")
    heads = lambda: page.find("#panel-class [data-key=heads]")
    for count in (4, 2):
        Select(heads()).select_by_value(str(count))
        page.wait("page.run.of.heads === arguments[0] && page.run.step === 50 && !page.run.busy && page.run.measures.has(50)", count, seconds=30)
        page.wait("document.querySelectorAll('#panel-class [data-key=head] option').length === arguments[0]", count)
    page.find("#panel-class [data-key=places]").click()
    page.wait("page.state.tab === 'onward' && document.querySelectorAll('#panel-onward .places-head').length === 2")
    page.driver.back()
    page.wait("page.state.tab === 'class'")
    assert page.run("page.run.step") == 50
    set_state(page, heads=1, example="tutorial", step=0)
    page.wait("page.run.of.heads === 1 && page.run.step === 0 && page.run.measures.has(0)")


def check(page):
    check_places(page)
    check_chooser(page)
    print("onward: split and merge are drawn as they are computed")
