"""Tests "Onward": heads that are split and merged, a cache of keys and values, rotary positions."""

import math
import re

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

from attention import begin_run, go_to, number, set_state, show
from browser import PATIENCE

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
    """All numbers of all ways; what is said says where the chosen number goes; keys and presses choose."""
    for heads, parted in ((2, "right"), (4, "right"), (4, "split_view"), (2, "merge_view")):
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
    page.find('#panel-onward .places-cell[data-stage="split"][data-number="12"]').click()
    assert page.run("page.state.place") == "12" and said(page).startswith("12 is feature 2 of token 1."), said(page)
    page.press('#panel-onward .places-cell[data-stage="x"][data-number="12"]', Keys.ARROW_DOWN, Keys.ARROW_DOWN)  # there is no token 3
    assert page.run("[page.state.place, document.activeElement.textContent, page.state.onward]") == ["22", "22", 1]
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#panel-onward .places-cell[tabindex='0']")) == 1


def check_chooser(page):
    """Line by line chooses the number of heads, stays at its step and at its line, and leads to the picture."""
    go_to(page, 50)
    show(page, "class", example="pizza")
    Select(page.find("#panel-class [data-key=heads]")).select_by_value("2")
    page.wait("page.run.of.heads === 2 && page.run.step === 50 && !page.run.busy && page.run.measures.has(50)")
    page.wait("document.querySelectorAll('#panel-class [data-key=head] option').length === 2")
    page.find("#panel-class [data-key=places]").click()
    page.wait("page.state.tab === 'onward' && document.querySelectorAll('#panel-onward .places-head').length === 2")
    set_state(page, tab="class", example="tutorial")
    begin_run(page, heads=1)


# ---- a cache ----

def call(page, name, args):
    return page.settle("""await page.sections.onward.call(arguments[0], arguments[1])
        .then((x) => Object.fromEntries(Object.entries(x).map(([k, v]) => [k, ArrayBuffer.isView(v) ? Array.from(v) : v])))""", name, args)


def check_refusals(page):
    """Each function says what is wrong, and the next call works."""
    rope = {"q": [1, 0], "k": [1, 0], "atQ": 0, "atK": 0, "most": 4, "base": 100, "pair": -1}
    for name, args, says in (("split", {"tokens": 3, "width": 8, "heads": 3, "breaks": 0}, "3 heads"), ("generate", [], "1 to 11 words"),
                             ("generate", [1000], "no word 1000"), ("rope", rope | {"atQ": 5}, "positions 5")):
        message = page.settle("await page.sections.onward.call(arguments[0], arguments[1]).then(() => null, (e) => e.message)", name, args)
        assert message is not None and says in message, (name, args, message)
    assert call(page, "rope", rope)["rotary"]["score"] == [1]


def rows_of(values, width):
    return [values[i:i + width] for i in range(0, len(values), width)]


def whole_pass(page, ids):
    """The rows of a pass over all these tokens at once, by the same model: {mark: rows}."""
    return page.settle("""await page.sections.onward.call("pass", arguments[0]).then(({ marks, tensors }) => Object.fromEntries(
        marks.map(({ name, tensor }) => {
            const { shape, values } = tensors[tensor], width = shape[shape.length - 1] ?? 1;
            return [name, Array.from({ length: values.length / width }, (_, r) => Array.from(values.slice(r * width, (r + 1) * width)))];
        })))""", ids)


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
    page.wait("document.querySelector('#panel-onward .cache-written') !== null")
    for prompt in ("the pizza", "the"):
        assert check_generation(page, prompt) >= 2, prompt
    last = check_generation(page, "the pizza came") - 1
    found, written = page.run("""Array.from({ length: arguments[0] + 1 }, (_, write_step) => {
        page.setState({ write_step });
        return [["kept", "new", "again"].map((kind) => document.querySelectorAll(`#panel-onward .cache-row.${kind}`).length),
            document.querySelector("#panel-onward .cache-written").textContent, document.querySelector("#panel-onward .story-action").textContent];
    })""", last), []
    for step, (rows, word, action) in enumerate(found):
        before, fresh = 0 if step == 0 else step + 2, 3 if step == 0 else 1
        # Kept: keys and values. New: the query, its key and its value; and q, k, v and the percentages without a cache.
        assert rows == [2 * before, 7 * fresh, 4 * before] and f"writes “{word}”" in action, (step, rows, action)
        written.append(word)
    page.press("body", Keys.ARROW_RIGHT)
    assert page.run("[page.state.write_step, page.state.onward]") == [last, 3], "after the last word, the next screen"
    page.press("body", Keys.PAGE_UP)
    page.wait("page.state.onward === 2")
    page.press("body", Keys.ARROW_LEFT)
    page.wait("page.state.write_step === arguments[0]", last - 1)
    assert page.run("document.querySelector('#panel-onward .cache-written').textContent") == written[last - 1]
    page.find("#onward-prompt").clear()
    page.find("#onward-prompt").send_keys("the unicorn" + Keys.ENTER)
    page.wait("/unicorn/.test(document.querySelector('#panel-onward [data-screen=cache] > .story-screen .error').textContent)")
    page.find("#onward-prompt").clear()
    page.find("#onward-prompt").send_keys("The dog" + Keys.ENTER)
    page.wait("page.state.write_step === 0 && /all 2 words/.test(document.querySelector('#panel-onward .story-action').textContent)")
    print(f"onward: {last + 1} steps with a cache are the rows of one pass")


# ---- rotary positions ----

MOST, BASE = 24, 100
PAIRS = [[[1.5, 0.4], [1.3, -0.5]], [[1.2, 0.9], [1.5, 0.2]], [[0.9, 1.2], [1.2, 0.8]], [[1.4, -0.6], [1.0, 0.7]]]
SPEEDS = [BASE ** (-2 * i / 8) for i in range(4)]


def turned(pair, angle):
    a, b = pair
    return [a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)]


def placed(pairs, position, way):
    """The pairs at a position, as heed_rope turns them, or with (cos, sin) added."""
    return [turned(pair, position * speed) if way == "rotary" else
            [pair[0] + math.cos(position * speed), pair[1] + math.sin(position * speed)] for pair, speed in zip(pairs, SPEEDS)]


def dot(a, b):
    return sum(x * y for pair, other in zip(a, b) for x, y in zip(pair, other))


def near(found, expected, tolerance=1e-5):
    assert len(found) == len(expected) and all(abs(a - b) < tolerance for a, b in zip(found, expected)), (found, expected)


def flat(pairs):
    return [x for pair in pairs for x in pair]


def check_rope_numbers(page):
    q, k = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
    for at_q, at_k, pair in ((9, 4, -1), (4, 9, 0), (0, 0, 3), (24, 1, -1)):
        found = call(page, "rope", {"q": flat(q), "k": flat(k), "atQ": at_q, "atK": at_k, "most": MOST, "base": BASE, "pair": pair})
        of = slice(None) if pair < 0 else slice(pair, pair + 1)
        near(found["speeds"], SPEEDS, 1e-6)
        for way in ("rotary", "sines"):
            there_q, there_k = placed(q, at_q, way), placed(k, at_k, way)
            near(found[way]["q"], flat(there_q))
            near(found[way]["k"], flat(there_k))
            near(found[way]["score"], [dot(there_q[of], there_k[of])])
            near(found[way]["moved"], [dot(placed(q, n + at_q - at_k, way)[of], placed(k, n, way)[of]) for n in range(MOST + 1)])
        assert max(found["rotary"]["moved"]) - min(found["rotary"]["moved"]) < 1e-5, "both move: nothing changes"
        assert max(found["sines"]["moved"]) - min(found["sines"]["moved"]) > 0.1


ARROWS = """[...document.querySelectorAll("#panel-onward [data-pair] .shaft")].map((path) => {
    const [x1, y1, x2, y2] = path.getAttribute("d").match(/-?[\\d.e-]+/g).map(Number);
    return [path.parentNode.dataset.pair, Math.atan2(y1 - y2, x2 - x1)];
})"""


def check_arrows(page, pairs, at_q, at_k):
    """The arrows that are drawn point where heed_rope turns them."""
    expected = [(i, math.atan2(*reversed(turned(PAIRS[i][which], at * SPEEDS[i])))) for i in pairs for which, at in ((0, at_q), (1, at_k))]
    page.wait(f"(({'{'} length {'}'}) => length === arguments[0])({ARROWS})", len(expected))

    def stands(_):
        found = page.run(ARROWS)
        return all(int(i) == j and abs(math.remainder(a - b, 2 * math.pi)) < 1e-3 for (i, a), (j, b) in zip(found, expected))
    WebDriverWait(page.driver, PATIENCE, 0.05).until(stands, (page.run(ARROWS), expected))


def check_rope(page):
    show(page, "onward", onward=3, rope="one", rope_q=9, rope_k=4)
    page.wait("document.querySelector('#panel-onward .rope-now') !== null")
    check_rope_numbers(page)
    check_arrows(page, (1,), 9, 4)
    grip = lambda name: f"#panel-onward .story-handle.rope.{name}"
    score = lambda: page.run("document.querySelector('#panel-onward [data-screen=rope] .story-number').textContent")
    at = lambda: page.run("[page.state.rope_q, page.state.rope_k, page.state.onward]")
    begun = score()
    page.press(grip("q"), Keys.ARROW_RIGHT)
    page.wait("document.querySelector('#panel-onward [data-screen=rope] .story-number').textContent !== arguments[0]", begun)
    assert at() == [10, 4, 3], "arrows on a handle do not change the screen"
    check_arrows(page, (1,), 10, 4)
    page.press(grip("q"), Keys.ARROW_LEFT)
    page.wait("document.querySelector('#panel-onward [data-screen=rope] .story-number').textContent === arguments[0]", begun)
    page.press(grip("both"), Keys.ARROW_RIGHT)
    assert at() == [10, 5, 3]
    check_arrows(page, (1,), 10, 5)
    page.find("#panel-onward [data-by='1']").click()
    assert at() == [11, 6, 3]
    check_arrows(page, (1,), 11, 6)
    assert score() == begun and "Query at 11, key at 6, score" in page.text("#panel-onward [data-screen=rope] .story-screen > .unseen")

    step = page.run("document.querySelector('#panel-onward .rope-stage').clientWidth - 48") / MOST
    for name, by, to in (("k", -3, [11, 3]), ("both", 5, [16, 8])):
        ActionChains(page.driver).move_to_element(page.find(f"{grip(name)} .story-grip")).click_and_hold().move_by_offset(
            round(by * step / 2), 0).move_by_offset(round(by * step / 2), 0).release().perform()
        assert at()[:2] == to, (name, at(), to)
    page.press(grip("both"), *[Keys.ARROW_RIGHT] * 9)
    assert at()[:2] == [24, 16], "the end of the line keeps them apart"

    moved = lambda: [float(x) for x in page.run("document.querySelector('#panel-onward [data-moved]').dataset.moved").split()]
    assert max(moved()) - min(moved()) < 1e-5
    page.find("#panel-onward [data-value=four]").click()
    check_arrows(page, range(4), 24, 16)
    assert max(moved()) - min(moved()) < 1e-5
    page.find("#panel-onward [data-value=sines]").click()
    page.wait("document.querySelector('#panel-onward .story-curve.open') !== null")
    alone = lambda which, position: placed([pair[which] for pair in PAIRS], position, "sines")[1:2]
    near(moved(), [dot(alone(0, n + 8), alone(1, n)) for n in range(MOST + 1)])
    said = re.search(r"from (−?\d+\.\d+) to (−?\d+\.\d+)", page.text("#panel-onward .story-action"))
    near([number(x) for x in said.groups()], [min(moved()), max(moved())], 0.006)
    assert page.run("location.hash").find("rope=sines") > 0


def check(page):
    check_places(page)
    check_chooser(page)
    print("onward: split and merge are drawn as they are computed")
    check_cache(page)
    check_refusals(page)
    check_rope(page)
    print("onward: arrows turn as heed_rope turns them")
