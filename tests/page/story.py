"""Tests the page's story: what its eleven screens show is what tests/page/story.c computes without a browser, bit by bit, and
what a reader does to them follows from the formulas.
"""

import json
import math
import os
import re
import struct

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from attention import show

SENTENCE = "the pizza came out of the oven and it".split()
IT, PIZZA, OVEN = 8, 1, 6
WORDS = SENTENCE + ["tasted", "good"]


# ---- helpers ----

def rest(page):
    """Waits until the screen shows what it is about to show: the engines answer in order, and each answer may lead to
    another question."""
    page.settle("""await (async () => {
        const { section } = page.panels.find(({ root }) => root.id === "panel-story"), { call } = await page.sections.story.model();
        await section.show();
        for (let i = 0; i < 3; i++) {
            await Promise.all([call("storyPlaces", 1), page.run.engine.hash()]);
            await new Promise(requestAnimationFrame);
        }
    })()""")


def screen(page, number):
    show(page, "story", story=number)
    rest(page)


def press(page, selector, index=0):
    page.driver.execute_script("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, index)
    rest(page)


def drag(page, selector, x, y):
    """Drags a handle with the pointer."""
    grip = page.find(selector + " .story-grip")
    ActionChains(page.driver).move_to_element(grip).click_and_hold().move_by_offset(x, y).release().perform()
    rest(page)


def numbers_of(page, selector, name):
    return page.run(f"[...document.querySelectorAll(arguments[0])].map((e) => Number(e.dataset.{name}))", selector)


def texts(page, selector):
    return page.run("[...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)


def call(page, name, args):
    """The result of one of the story's functions in the page."""
    return page.settle("await page.sections.story.model().then(({ call }) => call(arguments[0], arguments[1]))", name, args)


def near(a, b, within=2e-6):
    assert len(a) == len(b), (len(a), len(b))
    assert all(abs(x - y) <= within * max(1, abs(y)) for x, y in zip(a, b)), (a, b)


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def percent(value):
    """As words.js writes it in English."""
    hundred = 100 * value
    return "<0.1%" if 0 < hundred < 0.05 else f"{hundred:.0f}%" if hundred >= 9.95 or hundred == 0 else f"{hundred:.1f}%"


def softmax(scores):
    powers = [math.exp(s - max(scores)) for s in scores]
    return [p / sum(powers) for p in powers]


def natively(folder):
    """{name: result} of tests/page/story.c."""
    found = {}
    with open(os.path.join(folder, "story"), encoding="utf-8") as file:
        for line in filter(str.strip, file):
            at = re.search(r"[{\[]", line).start()
            result = json.loads(line[at:])
            found[line[:at - 1]] = [f32(value) for value in result] if isinstance(result, list) else result
    return found


def check_numbers(page, native):
    """The engine in the page gives the bits of the native program."""
    about = page.settle("await page.sections.story.model().then(({ about }) => about)")
    assert about == native["open"], (about, native["open"])
    read = [name for name in native if name.startswith(("the ", "good "))]
    assert len(read) == 3, read
    for name in read:
        ids = [about["words"].index(word) for word in name.split()]
        found = call(page, "storyRead", {"tokens": ids, "at": ids.index(2)})
        assert found == native[name], (name, found, native[name])
    for name, function, args in (("words", "storyWords", None), ("places", "storyPlaces", 101),
                                 ("one head", "storyHeads", {"heads": 1, "who": 0, "whom": 1}),
                                 ("two heads", "storyHeads", {"heads": 2, "who": 0, "whom": 1}),
                                 ("dots 2", "storyDots", {"seed": 3, "d": 2, "count": 1000}), ("dots 512", "storyDots", {"seed": 513, "d": 512, "count": 1000})):
        assert call(page, function, args) == native[name], name
    one, two = about["accuracy"]
    assert max(one) < 0.4 and min(two) > 0.95 and native["seed 17"]["unseen"] == 1, about["accuracy"]


# ---- the screens ----

def check_it(page, native):
    """A guess shows the arcs; the other ending moves them; the words and numbers are those of the reader."""
    screen(page, 1)
    assert texts(page, ".story-arc") == [], "nothing is given away before the guess"
    press(page, "button.story-word", 1)
    assert "disagrees" in page.text(".story-action")
    for end, index, noun, at in (("tasted good", 0, "pizza", PIZZA), ("baked evenly", 1, "oven", OVEN)):
        press(page, ".story-actions button", index)
        expected = native[" ".join(SENTENCE) + " " + end]["percents"]
        assert arcs_of(page) == expected
        assert texts(page, ".story-percent") == [percent(p) for p in expected]
        widths = dict(zip(numbers_of(page, ".story-arc", "to"),
                          page.run("[...document.querySelectorAll('.story-arc')].map((e) => Number(e.getAttribute('stroke-width')))")))
        assert all(abs(widths[i] - max(0.8, 30 * p)) < 0.01 for i, p in enumerate(expected)), "an arc is as thick as its percentage"
        assert noun in page.text(".story-words") and percent(expected[at]) in page.text(".story-words"), page.text(".story-words")
        assert page.text(f".story-word[data-word='{at}'].meant") == noun
        assert f"{noun} {percent(expected[at])}" in page.text(".story-stage .unseen")
    assert "How can it look elsewhere?" in page.text(".story-action")


def check_looks(page, native):
    """Both layers, for both endings; the first reads the ending; how the model was trained is said, and true."""
    screen(page, 2)
    for layer, name in enumerate(("first", "percents")):
        press(page, ".story-actions button", layer)
        for ending, index in (("baked evenly", 3), ("tasted good", 2)):
            press(page, ".story-actions button", index)
            expected = native[" ".join(SENTENCE) + " " + ending][name]
            most = expected.index(max(expected))
            assert arcs_of(page) == expected and (most > IT if layer == 0 else most in (PIZZA, OVEN)), (name, ending, expected)
            assert percent(max(expected)) in page.text(".story-words") and page.text(f".story-word[data-word='{most}'].meant") in page.text(".story-words")
    right = [native[f"seed {i}"]["unseen"] for i in range(24)]
    clearest = max((i for i in range(24) if right[i] == 1), key=lambda i: native[f"seed {i}"]["looks"])
    said = f"learned from {native['open']['train']:,} sentences.*Of 24 models trained like this, {right.count(1)} answer every new sentence right"
    assert clearest == 17 and re.search(said, page.text(".story-words")), (right, page.text(".story-words"))


def check_rows(page, native):
    """The arrow is the table times the row of numbers, as the engine has it; a changed weight moves it as the formula says."""
    screen(page, 3)
    read, words = native[" ".join(WORDS)], native["words"]
    arrow = lambda: [numbers_of(page, ".story-stage g[data-x]", c)[0] for c in "xy"]
    times = lambda table, x: [sum(w * v for w, v in zip(table[16 * c:16 * c + 16], x)) for c in (0, 1)]
    pizza = words["embedding"][16 * 3:16 * 4]
    for word, x, q in ((0, read["it"], read["q"]), (1, pizza, None)):
        press(page, ".story-screen .story-actions:first-child button", word)
        near(numbers_of(page, "span.rows-cell", "x"), x)
        for i, table in enumerate("qkv"):
            press(page, ".rows-numbers + .story-actions button", i)
            near(arrow(), times(words[table], x), 1e-5)
            known = {"q": q, "k": read["k"][2:4], "v": read["v"][2:4]}[table] if word or table == "q" else None
            known is None or near(arrow(), known, 1e-5)
    press(page, "button.rows-cell", 20)  # of the second row of W_v
    before = arrow()
    page.press(".story-slider input", Keys.END)
    rest(page)
    near(arrow(), [before[0], before[1] + (3 - words["v"][20]) * pizza[4]], 1e-5)
    press(page, ".story-slider + .story-choice")
    near(arrow(), before)


def check_compare(page, native):
    """The query is that of *it*; dragging and arrow keys move it, and all scores follow from the formula."""
    screen(page, 4)
    read = native[" ".join(WORDS)]
    query = lambda: [numbers_of(page, ".story-label.query", c)[0] for c in "xy"]
    assert query() == read["q"]
    assert numbers_of(page, ".story-row[data-percent]", "percent") == read["percents"]
    for move in ("key", "pointer"):
        before = query()
        if move == "key":
            page.press(".story-handle.query", Keys.ARROW_UP, Keys.ARROW_UP)
        else:
            drag(page, ".story-handle.query", -150, -90)
        rest(page)
        q = query()
        assert q != before and (move == "pointer" or abs(q[1] - before[1] - 0.2) < 1e-5), (move, q, before)
        scores = [(q[0] * read["k"][2 * i] + q[1] * read["k"][2 * i + 1]) / math.sqrt(2) for i in range(11)]
        near(numbers_of(page, ".story-row[data-score]", "score"), scores, 1e-5)
        shares = numbers_of(page, ".story-row[data-percent]", "percent")
        near(shares, softmax(scores), 1e-5)
        assert texts(page, ".story-row[data-percent]") == [percent(p) for p in shares]
    page.press(".story-handle.query", *[Keys.ARROW_UP] * 20, *[Keys.ARROW_RIGHT] * 65)
    rest(page)
    most = max(numbers_of(page, ".story-row[data-percent]", "percent"))
    assert f"oven now gets most: {percent(most)}" in page.text(".story-action"), page.text(".story-action")
    press(page, ".story-choice")
    near(query(), read["q"], 1e-6)
    assert "Make oven win" in page.text(".story-action")


def check_weigh(page, native):
    """Softmax of the eleven scores; sharper and flatter are exact, and what would leave the picture is not allowed; the
    histogram's shares are those of the engine."""
    screen(page, 5)
    scores, shown = native[" ".join(WORDS)]["scores"], (1, 6, 8, 10)

    def check(scores):
        rest(page)
        shares = softmax(scores)
        near(numbers_of(page, ".story-share", "percent"), [shares[i] for i in shown] + [sum(p for i, p in enumerate(shares) if i not in shown)], 1e-5)
        near(sorted(numbers_of(page, ".story-score", "score")), sorted(scores), 1e-6)
        assert f"by {abs(scores[PIZZA] - scores[OVEN]):.2f} points" in page.text(".story-action"), page.text(".story-action")
    allowed = lambda: page.run("[...document.querySelectorAll('.story-choice[aria-disabled]')].map((e) => e.getAttribute('aria-disabled') === 'false')")
    check(scores)
    assert allowed() == [True, True, False]
    press(page, ".story-actions button", 0)
    check([2 * s for s in scores])
    assert allowed() == [False, True, True], "twice as sharp again would leave the picture"
    for factor in (1, 0.5):
        press(page, ".story-actions button", 1)
        check([factor * s for s in scores])
    drag(page, ".story-handle.score", 0, -60)
    assert numbers_of(page, ".story-share", "percent")[0] > softmax([0.5 * s for s in scores])[PIZZA] + 0.1
    press(page, ".story-actions button", 2)
    check(scores)
    press(page, ".story-actions button", 3)
    for key, d in ((Keys.HOME, 2), (Keys.END, 512)):
        page.press(".story-slider input", key)
        page.wait("document.querySelector('.story-slider output').textContent === arguments[0]", f"d = {d}")
        rest(page)
        flat = native[f"dots {d}"]["shares"]
        assert numbers_of(page, ".story-piece", "percent") == flat, d
        shares = [flat[:6], flat[6:]]
        told = [percent(of[0]) for of in shares]
        assert all(of == sorted(of, reverse=True) and abs(sum(of) - 1) < 1e-5 for of in shares), shares
        assert all(f"{of:.1f}" in label for of, label in zip(native[f"dots {d}"]["spread"], texts(page, ".story-stage .story-label"))), "the spread is written"
        assert page.text(".story-action") == f"Drag d. At {d}, the largest of six shares is {told[0]} on average; divided by √d, {told[1]}.", page.text(".story-action")


def check_mix(page, native):
    """The new point is the weighted mean; it moves between the two nouns, and the nearest noun is named."""
    screen(page, 6)
    read, words = native[" ".join(WORDS)], native["open"]["words"]
    near(numbers_of(page, ".story-pull", "percent"), read["percents"], 1e-6)
    for keys, noun in (((), "pizza"), ((Keys.ARROW_RIGHT,) * 50, "oven")):
        if keys:
            page.press(".story-handle.mixed", *keys)
            rest(page)
        shares = numbers_of(page, ".story-pull", "percent")
        mix = [sum(p * read["v"][2 * i + c] for i, p in enumerate(shares)) for c in (0, 1)]
        near([numbers_of(page, ".story-label.mixed", c)[0] for c in "xy"], mix, 1e-5)
        far = [math.dist(mix, read["nouns"][2 * i:2 * i + 2]) for i in range(16)]
        assert words[3 + far.index(min(far))] == noun and noun in page.text(".story-action"), page.text(".story-action")
    page.press(".story-handle.mixed", *[Keys.ARROW_LEFT] * 25)
    rest(page)
    drag(page, ".story-handle.mixed", -300, 0)
    assert "pizza" in page.text(".story-action")
    press(page, ".story-choice")
    near(numbers_of(page, ".story-pull", "percent"), read["percents"], 1e-6)


def arcs_of(page):
    found = dict(zip(numbers_of(page, ".story-arc", "to"), numbers_of(page, ".story-arc", "percent")))
    return [found[i] for i in range(len(found))]


def check_back(page, native):
    """Both models have the losses of the native program; with the curtain nothing behind it is seen."""
    screen(page, 8)
    labels = texts(page, ".two > .story-stage .story-label")
    assert [label.split()[-1] for label in labels] == [f"{native[k]['loss']:.2f}" for k in ("closed", "cheat")], labels
    assert native["cheat"]["loss"] < 0.1 < 0.4 < native["closed"]["loss"]
    assert arcs_of(page) == native["closed row"]
    edge = lambda: len(texts(page, ".hidden-word"))
    guess = lambda: page.text(".story-guess")
    assert edge() == 2 and guess() == "guess: tasted \N{CHECK MARK}", guess()
    page.press(".story-handle.curtain", Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    rest(page)
    assert edge() == 4 and all(p == 0 for p in arcs_of(page)[7:]), arcs_of(page)
    for at in (5, 4, 3, 2, 1, 0):
        page.press(".story-handle.curtain", Keys.ARROW_LEFT)
        rest(page)
        _, word, mark = guess().split()
        assert (mark == "\N{CHECK MARK}") == (word == SENTENCE[at + 1]), (word, mark, SENTENCE[at + 1])
    drag(page, ".story-handle.curtain", 760, 0)
    assert edge() == 0, "the curtain follows the pointer"
    press(page, ".story-actions button", 1)
    assert edge() == 0 and arcs_of(page) == native["cheat row"]
    most = max(native["cheat row"])
    assert most == native["cheat row"][PIZZA + 1] > 0.5, "a word takes most from the very next one"
    assert f"pizza takes {percent(most)} from {SENTENCE[PIZZA + 1]}, the very word" in page.text(".story-action")


def check_heads(page, native):
    """One head and two, on pairs that no model has seen; ten models each."""
    screen(page, 9)
    animals, accuracy = native["open"]["animals"], native["open"]["accuracy"]
    values = lambda heads: numbers_of(page, f".story-run[data-heads='{heads}']", "value")
    assert [values(1), values(2)] == accuracy
    for _ in range(2):
        words = texts(page, ".story-word")
        who, whom = (animals.index(words[i]) for i in (1, 4))
        assert (who + whom) % 4 == 3, "a pair that is held out"
        for heads in (1, 2):
            press(page, ".story-actions button", heads - 1)
            found = call(page, "storyHeads", {"heads": heads, "who": who, "whom": whom})
            drawn = page.run("""[...document.querySelectorAll(".story-arc")].map((e) =>
                [Number(e.dataset.head), Number(e.dataset.to), Number(e.dataset.percent)]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((e) => e[2])""")
            assert drawn == found["percents"]
            said = [text.strip() for text in texts(page, ".story-answers b")]
            assert said == [animals[max(range(16), key=lambda i: found[k][i])] for k in ("who", "whom")], said
            marks = page.run("[...document.querySelectorAll('.story-answers p:not(.faint)')].map((e) => e.className)")
            assert marks == ["right" if a == b else "wrong" for a, b in zip(said, (words[1], words[4]))]
        press(page, ".story-actions button", 2)
    for of in accuracy:
        least, most = (str(round(100 * x)) for x in (min(of), max(of)))
        assert f"in {least if least == most else f'{least}–{most}'}%" in page.text(".story-action"), page.text(".story-action")


def check_learn(page):
    """Random arcs become right ones in 500 steps; the slider goes back; the gradient says which way."""
    screen(page, 10)
    page.wait("document.querySelector('.story-weight p') !== null")
    rest(page)
    assert max(arcs_of(page)) < 0.3, "at first nothing is preferred"
    gradient = numbers_of(page, ".story-weight p", "gradient")[0]
    found = page.settle("""await page.run.engine.pass(page.run.language.heldOut.find((ids) => ids[1] === page.run.language.words.indexOf("pizza")))
        .then(({ leaves, tensors }) => tensors[leaves.find(({ name }) => name.endsWith("W_q.weight")).gradient].values).then((x) => Array.from(x))""")
    assert gradient == max(found, key=abs)
    for key, sign in ((Keys.ARROW_LEFT, -1), (Keys.ARROW_RIGHT, 1)):
        page.press(".story-handle.ball", *(key, key) if sign > 0 else (key,))  # past where it was
        rest(page)
        right = "right" in page.find(".story-verdict").get_attribute("class")
        before, after = (float(x) for x in re.findall(r"\d+\.\d+", page.text(".story-verdict")))
        assert right == (sign * gradient < 0) == (after < before), page.text(".story-verdict")
    page.find(".story-choice.primary").click()
    page.wait("page.run.step === 500 && !page.run.playing")
    rest(page)
    assert "Learned" in page.text(".story-action") and arcs_of(page)[PIZZA] > 0.9, arcs_of(page)
    assert arcs_of(page) == page.run("Array.from(page.run.measures.get(500).weights.slice(8 * 11, 9 * 11))")
    page.press(".story-slider input", Keys.HOME)
    page.wait("page.run.step === 0 && !page.run.busy")
    rest(page)
    assert max(arcs_of(page)) < 0.3 and page.text(".story-action") == "Press Play."


def check_end(page, native):
    """Four steps with the reader's numbers; each part of the formula belongs to one; three doors lead on, and back here."""
    screen(page, 11)
    read = native[" ".join(WORDS)]
    said = []
    for i, numbers in enumerate(([], [f"{s:.1f}".replace("-", "\N{MINUS SIGN}") for s in read["scores"]], *2 * [[percent(p) for p in read["percents"]]])):
        press(page, ".story-actions button", i)
        assert texts(page, ".story-percent") == numbers, (i, texts(page, ".story-percent"))
        said += texts(page, ".end-formula .now")
    assert sorted(said) == sorted(["q", *texts(page, ".end-formula span")]), said  # the query is in the scores, too
    assert "".join(texts(page, ".end-formula span")) == "softmax(qkᵀ / √d)v"
    assert page.text(f".story-word[data-word='{IT}']") == "pizza" and percent(read["percents"][PIZZA]) in texts(page, ".story-percent")
    for i, tab in enumerate(("class", "training", "gpt")):
        press(page, ".story-doors a", i)
        page.wait("page.state.tab === arguments[0]", tab)
        if tab == "class":
            page.wait("page.run.step === 500 && !page.run.busy")
            assert page.run("page.state.cell") == "attention_percents:8:1"
        page.driver.execute_script("page.setState({ tab: 'story' })")
        assert page.run("page.state.story") == 11, "one comes back to the same screen"
    links = page.run("document.querySelectorAll('.story-code').length")
    assert links == 0, "the end has doors"
    screen(page, 4)
    press(page, ".story-code")
    page.wait("page.state.tab === 'class' && page.state.line === 5")
    page.driver.back()
    page.wait("page.state.tab === 'story' && page.state.story === 4")


def check_positions(page, native):
    """Shuffled words keep their shares; clock hands."""
    screen(page, 7)
    words = lambda: texts(page, ".story-word")
    shares = lambda: dict(zip(words(), arcs_of(page)))  # "the" stands twice
    assert words() == WORDS and arcs_of(page) == native[" ".join(WORDS)]["percents"]
    before = shares()
    press(page, ".story-choice", 0)
    order, after = words(), shares()
    assert order != WORDS and sorted(order) == sorted(WORDS), order
    near([after[w] for w in sorted(before)], [before[w] for w in sorted(before)], 1e-5)
    assert f"still gets {percent(after['pizza'])}" in page.text(".story-action")
    press(page, ".story-choice", 1)
    assert words() == WORDS

    press(page, ".story-choice", 3)  # clock hands
    places = native["places"]["places"]
    hands = lambda: sum(([numbers_of(page, ".story-hand", c)[i] for c in "xy"] for i in range(8)), [])
    assert hands() == places[3 * 16:4 * 16]
    page.press(".story-slider input", Keys.ARROW_RIGHT)
    rest(page)
    assert hands() == places[4 * 16:5 * 16]


def check_way(page):
    """The URL names the screen; buttons, dots and keys lead to others."""
    screen(page, 1)
    page.find(".story-step:last-child").click()
    assert page.run("[page.state.story, location.hash]") == [2, "#story=2"]
    page.press("body", Keys.ARROW_RIGHT)
    assert page.run("[page.state.story, document.activeElement.tagName]") == [3, "H2"], "screen readers read the new screen"
    page.press("body", Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert page.run("page.state.story") == 1 and page.run("document.querySelector('.story-step').disabled")
    page.run("document.querySelectorAll('.story-dot')[10].click()")
    assert page.run("page.state.story") == 11
    assert page.run("[...document.querySelectorAll('.story-dot')].map((e) => e.getAttribute('aria-current'))")[10] == "step"
    page.driver.back()
    page.wait("page.state.story === 1")


def check(page, folder):
    native = natively(folder)
    page.resize(1366, 768)
    page.load()
    check_numbers(page, native)
    check_it(page, native)
    check_looks(page, native)
    check_rows(page, native)
    check_compare(page, native)
    check_weigh(page, native)
    check_mix(page, native)
    check_back(page, native)
    check_heads(page, native)
    check_learn(page)
    check_positions(page, native)
    check_way(page)
    check_end(page, native)
    page.check_quiet()
    print("story: all screens show the numbers of the program")
