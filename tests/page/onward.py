"""Tests "Onward": heads that are split and merged, a cache of keys and values, rotary positions."""

import math

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


# ---- a cache ----

def call(page, name, args):
    found = page.driver.execute_async_script("""const [name, args, done] = arguments;
        const plain = (x) => (ArrayBuffer.isView(x) ? Array.from(x) : x);
        page.sections.onward.call(name, args).then((x) => done([Object.fromEntries(Object.entries(x).map(([k, v]) => [k, plain(v)]))]),
            (e) => done(e.message));""", name, args)
    assert isinstance(found, list), found
    return found[0]


def rows_of(values, width):
    return [values[i:i + width] for i in range(0, len(values), width)]


def whole_pass(page, ids):
    """The rows of a pass over all these tokens at once, by the same model: {mark: rows}."""
    return page.driver.execute_async_script("""const [ids, done] = arguments;
        page.sections.onward.call("pass", ids).then(({ marks, tensors }) => done(Object.fromEntries(marks.map(({ name, tensor }) => {
            const { shape, values } = tensors[tensor], width = shape[shape.length - 1] ?? 1;
            return [name, Array.from({ length: values.length / width }, (_, r) => Array.from(values.slice(r * width, (r + 1) * width)))];
        }))), (e) => done({ error: e.message }))""", ids)


def check_generation(page, prompt):
    """Each step's rows are those of one pass over all words, and so are the words written; what is counted is what is computed."""
    words = page.run("page.run.language.words")
    begun = [words.index(word) for word in prompt.split()]
    found = call(page, "generate", begun)
    width, steps, ids = found["width"], found["steps"], found["ids"]
    read = steps[-1]["read"]
    assert ids[:len(begun)] == begun and len(ids) == read + 1 and len(found["q"]) == read * width
    assert ids[-1] == 0 or read == 11, ids
    whole = whole_pass(page, ids[:read])
    assert "error" not in whole, whole
    for mark, name in (("q", "q"), ("k", "k"), ("v", "v"), ("attention_percents", "percents")):
        for kept, row in zip(rows_of(found[name], width if mark in "qkv" else 11), whole[mark], strict=True):
            assert max(abs(a - b) for a, b in zip(kept, row)) < 1e-5, (prompt, name)
            assert mark in "qkv" or abs(sum(kept) - 1) < 1e-5
    before = 0
    for step in steps:
        assert step["before"] == before and step["read"] == (before + 1 if before else len(begun)), step
        row = whole["logits"][step["read"] - 1]
        assert step["word"] == row.index(max(row)) == ids[step["read"]], step
        assert abs(step["share"] - 1 / sum(math.exp(x - max(row)) for x in row)) < 1e-5, step
        n, m = step["read"] - before, step["read"]
        assert step["with"] == 3 * n * width ** 2 + 2 * n * m * width, step
        assert step["without"] == 3 * m * width ** 2 + 2 * m * m * width, step
        assert step["difference"] < 1e-4, step
        before = m
    return len(steps)


def check_cache(page):
    show(page, "onward", onward=2, prompt="the pizza came", write_step=0)
    page.wait("document.querySelector('#panel-onward .cache-written') !== null", seconds=20)
    for prompt in ("the pizza", "the pizza came out of the oven and it", "the"):
        assert check_generation(page, prompt) >= 2, prompt
    rows = lambda kind: page.run("document.querySelectorAll(`#panel-onward .cache-row.${arguments[0]}`).length", kind)
    body = page.find("body")
    written, asked = [], page.text("#panel-onward .story-action")
    assert "all 3 words at once" in asked, asked
    last = check_generation(page, "the pizza came") - 1
    page.run("document.activeElement.blur()")
    for step in range(last + 1):
        page.wait("page.state.write_step === arguments[0]", step)
        before = 0 if step == 0 else step + 2
        fresh = 3 if step == 0 else 1
        # Kept: keys and values. New: the query, its key and its value; and q, k, v and the percentages without a cache.
        assert (rows("kept"), rows("new"), rows("again")) == (2 * before, 7 * fresh, 4 * before), (step, rows("kept"), rows("new"), rows("again"))
        written.append(page.text("#panel-onward .cache-written"))
        assert f"writes “{written[-1]}”" in page.text("#panel-onward .story-action")
        counts = page.run("[...document.querySelectorAll('#panel-onward .cache-count')].map((x) => Number(x.dataset.count))")
        assert f"{counts[0]:,} with the cache, {counts[1]:,} without" in page.run(
            "[...document.querySelectorAll('#panel-onward .unseen')].map((x) => x.textContent).join()"), counts
        body.send_keys(Keys.ARROW_RIGHT)
    assert page.run("[page.state.write_step, page.state.onward]") == [last, 3], "after the last word, the next screen"
    body.send_keys(Keys.PAGE_UP)
    page.wait("page.state.onward === 2")
    page.run("document.activeElement.blur()")
    body.send_keys(Keys.ARROW_LEFT)
    page.wait("page.state.write_step === arguments[0]", last - 1)
    assert page.text("#panel-onward .cache-written") == written[last - 1]
    page.find("#panel-onward [data-key=write]").click()
    page.wait("page.state.write_step === arguments[0]", last)
    assert page.run("document.activeElement.dataset.key") == "back", "the focus is not lost"
    page.find("#onward-prompt").clear()
    page.find("#onward-prompt").send_keys("the unicorn" + Keys.ENTER)
    page.wait("/unicorn/.test(document.querySelector('#panel-onward [data-screen=cache] > .story-screen .error').textContent)")
    page.find("#onward-prompt").clear()
    page.find("#onward-prompt").send_keys("The dog" + Keys.ENTER)
    page.wait("page.state.write_step === 0 && /all 2 words/.test(document.querySelector('#panel-onward .story-action').textContent)")
    print(f"onward: {last + 1} steps with a cache are the rows of one pass")


def check(page):
    check_places(page)
    check_chooser(page)
    print("onward: split and merge are drawn as they are computed")
    check_cache(page)
