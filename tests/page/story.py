"""Tests the page's story: numbers, arcs, words, keys and touch of its nine screens (called by page.py).

Numbers are compared with those of tests/page/story.c, which computes them without a browser, bit by bit, and with the
formulas of the models in double precision.
"""

import json
import math
import os
import re
import struct
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import Page, check_axe
from helpers import TABS

NAMES = ("it", "compare", "weigh", "mix", "back", "heads", "learn", "onward", "positions")
MOST_WORDS = 60  # a screen
SENTENCE = "the pizza came out of the oven and it".split()
IT, PIZZA, OVEN = 8, 1, 6
SHUFFLED = "good oven the and pizza it out came the tasted of"


# ---- helpers ----

def opened(driver, path, screen, fragment="", **how):
    page = Page(driver, path, fragment=f"#story={screen}{fragment}", **how)
    page.wait("window.page !== undefined", seconds=20)
    rest(page)
    return page


def rest(page):
    """Waits until the screen shows what it is about to show: the engines answer in order, and each answer may lead to
    another question."""
    page.driver.execute_async_script("""const done = arguments[0];
        const section = page.panels.find(({ root }) => root.id === "panel-story").section;
        const frame = () => new Promise(requestAnimationFrame);
        (async () => {
            const { call } = await page.sections.story.model();
            await section.show();
            for (let i = 0; i < 3; i++) {
                await Promise.all([call("storyPlaces", 1), page.run.engine.hash()]);
                await frame();
            }
        })().then(done, done);""")


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


def numbers_of_attribute(page, selector, name):
    return page.run("[...document.querySelectorAll(arguments[0])].map((e) => Number(e.getAttribute(arguments[1])))", selector, name)


def call(page, name, args):
    """The result of one of the story's functions in the page."""
    found = page.driver.execute_async_script("""const [name, args, done] = arguments;
        page.sections.story.model().then(({ call }) => call(name, args)).then((x) => done([x]), (e) => done(e.message));""", name, args)
    assert isinstance(found, list), found
    return found[0]


def near(a, b, within=2e-6):
    assert len(a) == len(b), (len(a), len(b))
    assert all(abs(x - y) <= within * max(1, abs(y)) for x, y in zip(a, b)), (a, b)


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def percent(value):
    """As words.js writes it in English."""
    hundred = 100 * value
    return f"{hundred:.0f}%" if hundred >= 9.95 or hundred < 0.05 else f"{hundred:.1f}%"


def softmax(scores):
    powers = [math.exp(s - max(scores)) for s in scores]
    return [p / sum(powers) for p in powers]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def natively(folder):
    """{name: result} of tests/page/story.c."""
    found = {}
    with open(os.path.join(folder, "story"), encoding="utf-8") as file:
        for line in filter(str.strip, file):
            at = re.search(r"[{\[]", line).start()
            result = json.loads(line[at:])
            found[line[:at - 1]] = [f32(value) for value in result] if isinstance(result, list) else result
    return found


# ---- the models in double precision, from their weights ----

class Weights:
    """The numbers of the story's file, in order."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.numbers = list(struct.unpack(f"<{len(data) // 4}f", data))
        self.at = 0

    def matrix(self, rows, columns):
        found = [self.numbers[self.at + i * columns:self.at + (i + 1) * columns] for i in range(rows)]
        self.at += rows * columns
        return found


def place(t, wide):
    """The encoding of position t."""
    angles = [t / 10000 ** (2 * (c // 2) / wide) for c in range(wide)]
    return [math.sin(a) if c % 2 == 0 else math.cos(a) for c, a in enumerate(angles)]


def reader_weights(weights, words):
    wide, flat = 16, 2
    return weights.matrix(words, wide), [weights.matrix(wide, wide) for _ in range(3)], [weights.matrix(flat, wide) for _ in range(3)]


def reader_reference(model, ids, nouns, positions=False):
    """The reader of story_reader.h: {"first", "q", "k", ...}."""
    we, first, second = model
    wide, at = len(we[0]), ids.index(2)
    x = [[e + p for e, p in zip(we[i], place(t, wide))] if positions else we[i] for t, i in enumerate(ids)]

    def look(query, matrices, d):
        q, k, v = times(matrices[0], query), [times(matrices[1], e) for e in x], [times(matrices[2], e) for e in x]
        scores = [sum(a * b for a, b in zip(q, key)) / math.sqrt(d) for key in k]
        shares = softmax(scores)
        mix = [sum(p * value[c] for p, value in zip(shares, v)) for c in range(d)]
        return q, k, v, scores, shares, mix
    *_, shares, mix = look(x[at], first, wide)
    q, k, v, scores, percents, new = look([a + b for a, b in zip(x[at], mix)], second, len(second[0]))
    values = [times(second[2], we[i]) for i in range(nouns[0], nouns[0] + nouns[1])]
    answers = softmax([-sum((a - b) ** 2 for a, b in zip(new, value)) for value in values])
    return {"first": shares, "q": q, "k": sum(k, []), "v": sum(v, []), "scores": scores, "percents": percents, "mix": new,
            "nouns": sum(values, []), "answers": answers}


def heads_reference(weights, heads, who, whom):
    """The model of story_heads.h for "the WHO chased the WHOM ."."""
    wide, animals = 16, 16
    we = weights.matrix(2 + animals + 3, wide)
    parts = [[weights.matrix(wide // heads, wide) for _ in range(3)] for _ in range(heads)]
    w_o, answers = weights.matrix(wide, wide), weights.matrix(2 * wide, wide)
    ids = [0, 2 + who, 2 + animals, 0, 2 + whom, 1]
    x = []
    for t, i in enumerate(ids):
        x.append([e + p for e, p in zip(we[i], place(t, wide))])
    percents, joined = [], []
    for w_q, w_k, w_v in parts:
        q = times(w_q, x[-1])
        shares = softmax([sum(a * b for a, b in zip(q, times(w_k, e))) / math.sqrt(wide // heads) for e in x])
        values = [times(w_v, e) for e in x]
        percents.append(shares)
        joined += [sum(p * value[c] for p, value in zip(shares, values)) for c in range(wide // heads)]
    said = times(answers, [a + b for a, b in zip(x[-1], times(w_o, joined))])
    logits = [times(we[2:2 + animals], said[i * wide:(i + 1) * wide]) for i in range(2)]
    return percents, softmax(logits[0]), softmax(logits[1])


def check_numbers(page, native, folder):
    """The engine in the page gives the bits of the native program, and both follow the formulas; it trains the same
    weights again."""
    about = page.driver.execute_async_script(
        "const done = arguments[0]; page.sections.story.model().then(({ about }) => done(about), (e) => done(e.message));")
    assert about == native["open"], (about, native["open"])
    weights = Weights(os.path.join(folder, "story.bin"))
    readers = [reader_weights(weights, len(about["words"])) for _ in range(2)]  # without and with positions
    in_order = " ".join(SENTENCE) + " tasted good"
    for text in (in_order, " ".join(SENTENCE) + " baked evenly", SHUFFLED):
        ids = [about["words"].index(word) for word in text.split()]
        for positions in (False, True):
            found = call(page, "storyRead", {"tokens": ids, "at": ids.index(2), "positions": positions})
            expected = native[("positions: " if positions else "") + text]
            assert found == expected, (found, expected)
            expected = reader_reference(readers[positions], ids, about["nouns"], positions)
            assert set(found) == set(expected)
            for name, values in expected.items():
                near(found[name], values, 1e-5)
            if text == SHUFFLED:
                continue
            noun = about["words"][about["nouns"][0] + max(range(16), key=lambda i: found["answers"][i])]
            assert noun == ("pizza" if text == in_order else "oven"), noun
            assert found["percents"][PIZZA if noun == "pizza" else OVEN] > 0.75, found["percents"]
    assert call(page, "storyWords", None) == native["words"]
    near(native["words"]["embedding"], sum(readers[False][0], []))
    assert call(page, "storyPlaces", 101) == native["places"]
    near(native["places"]["places"], sum((place(t, 16) for t in range(101)), []), 2e-6)
    for heads, name in ((1, "one head"), (2, "two heads")):
        found = call(page, "storyHeads", {"heads": heads, "who": 0, "verb": 0, "whom": 1})
        assert found == native[name], (found, native[name])
        percents, who, whom = heads_reference(weights, heads, 0, 1)
        for got, row in zip(found["percents"], percents):
            near(got, row, 1e-5)
        near(found["who"] + found["whom"], who + whom, 1e-5)
    assert len(weights.numbers) - weights.at == 20, "the accuracies follow the weights"
    for heads, name in enumerate(("reader", "train 1", "train 2")):
        assert call(page, "storyTrain", {"heads": heads, "seed": 0}) == native[name], name
    assert native["reader"]["unseen"] == native["reader"]["seen"] == 1
    one, two = about["accuracy"]
    assert max(one) < 0.4 and min(two) > 0.95, about["accuracy"]
    for d in (2, 512):
        found = call(page, "storyDots", {"seed": 1 + d, "d": d, "count": 2000})
        assert found == native[f"dots {d}"], d
        near(found["scores"], [dot / math.sqrt(d) for dot in found["dots"]], 1e-6)
        for values, spread, shares in ((found["dots"], found["spread"][0], found["percents"][0]),
                                       (found["scores"], found["spread"][1], found["percents"][1])):
            mean = sum(values) / 2000
            near(spread, [math.sqrt(sum((v - mean) ** 2 for v in values) / 1999)], 1e-5)
            near(shares, softmax(values[:6]), 1e-5)
    print(f"story: {len(weights.numbers)} weights and figures, {native['open']['hash']}")


# ---- the screens ----

def check_it(driver, path, native):
    """A guess shows the arcs; the other ending moves them; the words and numbers are those of the reader."""
    page = opened(driver, path, 1, width=1366)
    assert page.run("document.querySelectorAll('.story-arc').length") == 0, "nothing is given away before the guess"
    assert page.run("document.querySelectorAll('.story-hint').length") == 2
    press(page, "button.story-word", 1)
    assert "disagrees" in page.text(".story-action")
    heights = []
    for end, index in (("tasted good", 0), ("baked evenly", 1)):
        press(page, ".story-actions button", index)
        expected = native[" ".join(SENTENCE) + " " + end]["percents"]
        assert dict(zip(numbers_of(page, ".story-arc", "to"), numbers_of(page, ".story-arc", "percent"))) == dict(enumerate(expected))
        shown = page.run("[...document.querySelectorAll('.story-percent')].map((e) => e.textContent)")
        assert shown == [percent(p) for p in expected], shown
        widths = dict(zip(numbers_of(page, ".story-arc", "to"),
                          page.run("[...document.querySelectorAll('.story-arc')].map((e) => Number(e.getAttribute('stroke-width')))")))
        assert all(abs(widths[i] - max(0.8, 30 * p)) < 0.01 for i, p in enumerate(expected)), "an arc is as thick as its percentage"
        noun, at = ("pizza", PIZZA) if index == 0 else ("oven", OVEN)
        assert noun in page.text(".story-words") and percent(expected[at]) in page.text(".story-words"), page.text(".story-words")
        assert page.text(f".story-word[data-word='{at}'].meant") == noun
        spoken = page.text(".story-stage .unseen")
        assert f"{noun} {percent(expected[at])}" in spoken, spoken
        heights.append(max(numbers_of_attribute(page, ".story-bar", "height")) / expected[at])
    assert abs(heights[0] - heights[1]) < 0.01, "the bars of both sentences have one scale"
    press(page, ".story-actions button", 0)
    press(page, "button.story-word", 0)
    assert "The model agrees" in page.text(".story-action"), "a second guess"
    press(page, ".story-actions button", 1)
    assert f"{native['open']['train']:,}" in page.text(".story-action")
    page = opened(driver, path, 1, "&lang=de")
    press(page, "button.story-word", 0)
    press(page, ".story-actions button", 1)
    assert f"{native['open']['train']:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") in page.text(".story-action"), "no decimal point"
    page.check_quiet()


def check_compare(driver, path, native):
    """The query is that of *it*; dragging and arrow keys move it, and all scores follow from the formula."""
    page = opened(driver, path, 2, width=1366)
    read = native[" ".join(SENTENCE) + " tasted good"]
    assert "Make oven win" in page.text(".story-action")
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
        assert q != before, move
        if move == "key":
            near(q, [before[0], before[1] + 0.2], 1e-5)
        scores = [(q[0] * read["k"][2 * i] + q[1] * read["k"][2 * i + 1]) / math.sqrt(2) for i in range(11)]
        near(numbers_of(page, ".story-row[data-score]", "score"), scores, 1e-5)
        near(numbers_of(page, ".story-row[data-percent]", "percent"), softmax(scores), 1e-5)
        texts = page.run("[...document.querySelectorAll('.story-row[data-percent]')].map((e) => e.textContent)")
        assert texts == [percent(p) for p in numbers_of(page, ".story-row[data-percent]", "percent")]
    key = read["k"][2 * OVEN:2 * OVEN + 2]
    page.press(".story-handle.query", *[Keys.ARROW_UP] * 20, *[Keys.ARROW_LEFT] * 20)
    rest(page)
    shares = numbers_of(page, ".story-row[data-percent]", "percent")
    best = (SENTENCE + ["tasted", "good"])[shares.index(max(shares))]
    assert best == "oven" and f"{best} now gets most: {percent(max(shares))}" in page.text(".story-action"), (key, page.text(".story-action"))
    press(page, ".story-choice")
    near(query(), read["q"], 1e-6)
    assert "Make oven win" in page.text(".story-action")
    page.press(".story-handle.query", *[Keys.ARROW_LEFT] * round(10 * read["q"][0]))
    rest(page)
    most = max(numbers_of(page, ".story-row[data-percent]", "percent"))
    assert most < 0.2 and page.text(".story-action") == f"No word stands out: {percent(most)} at most.", page.text(".story-action")
    assert page.run("document.querySelectorAll('.story-small.caption').length") == 2
    page.check_quiet()


def check_weigh(driver, path, native):
    """Softmax of the eleven scores; sharper and flatter are exact, and what would leave the picture is not allowed; the
    histogram's shares are those of the engine."""
    page = opened(driver, path, 3, width=1366)
    read, shown = native[" ".join(SENTENCE) + " tasted good"], (1, 6, 8, 10)

    def check(scores):
        rest(page)
        shares = softmax(scores)
        near(numbers_of(page, ".story-share", "percent"), [shares[i] for i in shown] + [sum(p for i, p in enumerate(shares) if i not in shown)], 1e-5)
        near(sorted(numbers_of(page, ".story-score", "score")), sorted(scores), 1e-6)
        lead, ratio = sorted((scores[PIZZA], scores[OVEN])), sorted((shares[PIZZA], shares[OVEN]))
        text = page.text(".story-action")
        assert f"by {lead[1] - lead[0]:.2f} points" in text, (text, lead)
        said = float(re.search(r"([\d.,]+) times", text)[1].replace(",", ""))
        assert abs(said - ratio[1] / ratio[0]) <= (0.06 if said < 10 else 0.6) + 1e-4 * said, (text, ratio)
    allowed = lambda: page.run("[...document.querySelectorAll('.story-choice[aria-disabled]')].map((e) => e.getAttribute('aria-disabled') === 'false')")
    scores = read["scores"]
    check(scores)
    near([numbers_of(page, ".story-share", "percent")[0]], [read["percents"][PIZZA]])  # as on the screens before
    assert allowed() == [True, True, False]
    press(page, ".story-actions button", 0)
    check([2 * s for s in scores])
    assert allowed() == [False, True, True], "twice as sharp again would leave the picture"
    press(page, ".story-actions button", 0)
    check([2 * s for s in scores])
    for factor in (1, 0.5):
        press(page, ".story-actions button", 1)
        check([factor * s for s in scores])
    drag(page, ".story-handle.score", 0, -60)
    assert numbers_of(page, ".story-share", "percent")[0] > softmax([0.5 * s for s in scores])[PIZZA] + 0.1
    drag(page, ".story-handle.score", 0, 60)
    page.press(".story-handle.score", Keys.ARROW_UP)
    rest(page)
    moved = [0.5 * s for s in scores]
    moved[PIZZA] = round(10 * numbers_of(page, ".story-score", "score")[0]) / 10
    check(moved)
    ring = page.find(".story-handle.score .story-touch").rect
    label = min((e.rect for e in page.driver.find_elements(By.CSS_SELECTOR, ".story-number:not(.on)")), key=lambda box: abs(box["x"] - ring["x"]))
    assert label["y"] + label["height"] <= ring["y"] or label["y"] >= ring["y"] + ring["height"], (label, ring)
    press(page, ".story-actions button", 2)
    check(scores)
    assert "\N{SQUARE ROOT}" not in page.text("#panel-story"), "d is not explained yet"
    press(page, ".story-actions button", 3)
    for step, d in ((1, 2), (9, 512)):
        page.press(".story-slider input", Keys.HOME if step == 1 else Keys.END)
        page.wait("document.querySelector('.story-slider output').textContent === arguments[0]", f"d = {d}")
        rest(page)
        percents = native[f"dots {d}"]["percents"]
        assert numbers_of(page, ".story-piece", "percent") == sum(percents, []), d
        told = [percent(max(of)) for of in percents]
        assert page.text(".story-action") == f"Drag d. At {d}, the largest share is {told[0]}; divided, {told[1]}.", page.text(".story-action")
        fills = page.run("[...document.querySelectorAll('.story-piece')].map((e) => getComputedStyle(e).fill)")
        assert len(set(fills)) == 6, "each word has its colour"
        spoken = page.text(".story-holder .unseen")
        assert f"largest share is {percent(max(percents[0]))}, divided {percent(max(percents[1]))}" in spoken, spoken
        out = page.run("""[...document.querySelectorAll(".story-number.on")].map((e) => e.getBoundingClientRect()).filter((box) =>
            ![...document.querySelectorAll(".story-piece")].some((e) => { const b = e.getBoundingClientRect(); return b.left <= box.left && b.right >= box.right; })).length""")
        assert out == 0, "a number is wider than its piece"
        texts = page.run("[...document.querySelectorAll('.story-svg .story-small')].map((e) => e.textContent)")
        assert sum("how often" in text for text in texts) == 2 and sum("score" in text for text in texts) >= 2, "both axes have titles"
    page.check_quiet()


def check_mix(driver, path, native):
    """The new point is the weighted mean; it moves between the two nouns, and the nearest noun is named."""
    page = opened(driver, path, 4, width=1366)
    read, words = native[" ".join(SENTENCE) + " tasted good"], native["open"]["words"]
    for keys, noun in (((), "pizza"), ((Keys.ARROW_RIGHT,) * 50, "oven")):
        if keys:
            page.press(".story-handle.mixed", *keys)
            rest(page)
        shares = numbers_of(page, ".story-pull", "percent")
        mix = [sum(p * read["v"][2 * i + c] for i, p in enumerate(shares)) for c in (0, 1)]
        near([numbers_of(page, ".story-label.mixed", c)[0] for c in "xy"], mix, 1e-5)
        far = [math.dist(mix, read["nouns"][2 * i:2 * i + 2]) for i in range(16)]
        assert words[3 + far.index(min(far))] == noun
        assert sorted(page.run("[...document.querySelectorAll('.story-label.value')].map((e) => e.textContent.split(' ')[0])")) == \
            sorted(SENTENCE + ["tasted", "good"]), "the map has the sentence's words and no others"
        assert noun in page.text(".story-action"), page.text(".story-action")
        if keys:
            page.press(".story-handle.mixed", *[Keys.ARROW_LEFT] * 25)
            rest(page)
            halfway = [numbers_of(page, ".story-label.mixed", c)[0] for c in "xy"]
            outside = words[3 + min(range(16), key=lambda i: math.dist(halfway, read["nouns"][2 * i:2 * i + 2]))]
            assert outside not in SENTENCE and f"{outside}, not in this sentence" in page.text(".story-action"), page.text(".story-action")
            assert page.text(".story-label.outside") == outside and outside in page.text(".story-screen .unseen")
            ring, grip = (page.find(f".story-{name}").rect for name in ("nearest", "svg"))
            assert grip["y"] <= ring["y"] and ring["y"] + ring["height"] <= grip["y"] + grip["height"], "the noun has place"
            drag(page, ".story-handle.mixed", -450, 0)
            assert "pizza" in page.text(".story-action")
            press(page, ".story-choice")
            near(numbers_of(page, ".story-pull", "percent"), read["percents"], 1e-6)
        if not keys:
            near(shares, read["percents"], 1e-6)
            near(mix, read["mix"], 1e-5)
    page.check_quiet()


def arcs_of(page):
    found = dict(zip(numbers_of(page, ".story-arc", "to"), numbers_of(page, ".story-arc", "percent")))
    return [found[i] for i in range(len(found))]


def check_back(driver, path, native):
    """Both models have the losses of the native program; with the curtain nothing behind it is seen."""
    page = opened(driver, path, 5, width=1366)
    page.wait("document.querySelectorAll('.two > .story-stage .story-label').length === 2", seconds=60)
    rest(page)
    signed = lambda value: f"{value:.2f}"
    labels = page.run("[...document.querySelectorAll('.two > .story-stage .story-label')].map((e) => e.textContent)")
    assert [label.split()[-1] for label in labels] == [signed(native[k]["loss"]) for k in ("closed", "cheat")], labels
    assert native["cheat"]["loss"] < 0.1 < 0.4 < native["closed"]["loss"]
    assert arcs_of(page) == native["closed row"]
    edge = lambda: page.run("document.querySelectorAll('.hidden-word').length")
    guess = lambda: page.run("document.querySelector('.story-guess').textContent")
    assert edge() == 2 and guess() == "guess: tasted \N{CHECK MARK}", guess()
    page.press(".story-handle.curtain", Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    rest(page)
    assert edge() == 4 and all(p == 0 for p in arcs_of(page)[7:]), arcs_of(page)
    for at in range(5, -1, -1):
        page.press(".story-handle.curtain", Keys.ARROW_LEFT)
        rest(page)
        _, word, mark = guess().split()
        assert (mark == "\N{CHECK MARK}") == (word == SENTENCE[at + 1]), (word, mark, SENTENCE[at + 1])
    assert mark == "\N{BALLOT X}" and word in page.run("page.run.language.words"), "nobody can guess the first noun"
    page.press(".story-handle.curtain", *[Keys.ARROW_RIGHT] * 6)
    rest(page)
    assert edge() == 4, edge()
    drag(page, ".story-handle.curtain", 300, 0)
    assert edge() == 0, "the curtain follows the pointer"
    drag(page, ".story-handle.curtain", -200, 0)
    assert edge() == 2, edge()
    press(page, ".story-actions button", 1)
    assert edge() == 0 and arcs_of(page) == native["cheat row"]
    most = native["cheat row"].index(max(native["cheat row"]))
    assert most == PIZZA + 1 and native["cheat row"][most] > 0.5, "a word takes most from the very next one"
    assert f"pizza takes {percent(native['cheat row'][most])} from {SENTENCE[most]}" in page.text(".story-action")
    page.check_quiet()


def check_heads(driver, path, native):
    """One head and two, on pairs that no model has seen; ten models each, which can be trained again."""
    page = opened(driver, path, 6, width=1366)
    accuracy = native["open"]["accuracy"]
    values = lambda heads: numbers_of(page, f".story-run[data-heads='{heads}']", "value")
    assert [values(1), values(2)] == accuracy
    text = page.text(".story-action")
    assert f"{round(100 * min(accuracy[0]))}–{round(100 * max(accuracy[0]))}%" in text and f"two heads {round(100 * min(accuracy[1]))}%" in text, text
    for _ in range(3):
        words = page.run("[...document.querySelectorAll('.story-word')].map((e) => e.textContent)")
        who, whom = (native["open"]["animals"].index(words[i]) for i in (1, 4))
        assert (who + whom) % 4 == 3, "a pair that is held out"
        for heads in (1, 2):
            press(page, ".story-actions button", heads - 1)
            found = call(page, "storyHeads", {"heads": heads, "who": who, "verb": 0, "whom": whom})
            drawn = page.run("""[...document.querySelectorAll(".story-arc")].map((e) =>
                [Number(e.dataset.head), Number(e.dataset.to), Number(e.dataset.percent)]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((e) => e[2])""")
            assert drawn == sum(found["percents"], [])
            said = page.run("[...document.querySelectorAll('.story-answers b')].map((e) => e.textContent.trim())")
            best = [native["open"]["animals"][max(range(16), key=lambda i: found[k][i])] for k in ("who", "whom")]
            assert said == best, (said, best)
            marks = page.run("[...document.querySelectorAll('.story-answers p:not(.faint)')].map((e) => e.className)")
            note = page.text(".story-answers p.faint")
            assert note == (("Right this time." if marks == ["right", "right"] else "") if heads == 1 else "Learned numbers (W_o) join the two results."), note
            assert marks == ["right" if a == b else "wrong" for a, b in zip(said, (words[1], words[4]))]
            assert heads == 1 or marks == ["right", "right"]
        press(page, ".story-actions button", 2)
    page.driver.execute_script("[...document.querySelectorAll('.story-actions button')].at(-1).click()")
    page.wait("[...document.querySelectorAll('.story-actions button')].at(-1).disabled")
    page.wait("![...document.querySelectorAll('.story-actions button')].at(-1).disabled", seconds=60)
    rest(page)
    for heads in (1, 2):
        new = values(heads)
        near([new[0], new[9]], [call(page, "storyTrain", {"heads": heads, "seed": seed})["unseen"] for seed in (10, 19)], 1e-7)
        assert f"{round(100 * min(new))}–{round(100 * max(new))}%" in page.text(".story-action"), (new, page.text(".story-action"))
        assert (max(new) < 0.5) if heads == 1 else sorted(new)[2] > 0.9, new  # two of ten get stuck
    page.check_quiet()


def check_learn(driver, path):
    """Random arcs become right ones in 500 steps; the slider goes back; the gradient says which way."""
    page = opened(driver, path, 7, width=1366)
    page.wait("document.querySelector('.story-weight p') !== null", seconds=20)
    rest(page)
    assert max(arcs_of(page)) < 0.3, "at first nothing is preferred"
    assert page.text(".story-action") == "Press Play."
    gradient = numbers_of(page, ".story-weight p", "gradient")[0]
    value = numbers_of(page, ".story-weight p", "value")[0]
    found = page.driver.execute_async_script("""const done = arguments[0], { watched } = page.run, { engine } = page.run;
        const { words, heldOut, it } = page.run.language;
        engine.pass(heldOut.find((ids) => ids[1] === words.indexOf("pizza"))).then((pass) => {
            const leaf = pass.leaves.find(({ name }) => name.endsWith("W_q.weight"));
            done([pass.tensors[leaf.tensor].values, pass.tensors[leaf.gradient].values].map((list) => Array.from(list)));
        })""")
    cell = max(range(len(found[1])), key=lambda i: abs(found[1][i]))
    tangent, curve = (page.run("document.querySelector(arguments[0]).getAttribute('d').match(/-?[\\d.]+/g).map(Number)", f".story-slope .{name}") for name in ("story-tangent", "story-curve"))
    close = lambda d, i: (d[2 * i + 3] - d[2 * i + 1]) / (d[2 * i + 2] - d[2 * i])  # slope on the screen
    assert abs(close(tangent, 0) - (close(curve, 9) + close(curve, 10)) / 2) < 0.03, "the gradient is the slope of the loss"
    assert (found[0][cell], found[1][cell]) == (value, gradient)
    low, high = (float(text) for text in page.run("[...document.querySelectorAll('.story-slope text')].map((e) => e.textContent)"))
    assert abs((high - low) / 2 - gradient) < 0.2 * abs(gradient) + 0.001, "the losses at its ends say how steep the curve is"
    for button, sign in ((0, -1), (1, 1)):
        press(page, ".story-weight button", button)
        page.wait("document.querySelector('.story-verdict').textContent !== ''")
        right = "right" in page.find(".story-verdict").get_attribute("class")
        assert right == (sign * gradient < 0)
        before, after = (float(x) for x in re.findall(r"\d+\.\d+", page.text(".story-verdict")))
        assert before != after, page.text(".story-verdict")
        assert (after < before) == right, "the sentence agrees with the losses"
    page.find(".story-choice.primary").click()
    page.wait("document.querySelector('.story-action').textContent === 'Watch the arcs.'")
    page.wait("page.run.step === 500 && !page.run.playing", seconds=60)
    rest(page)
    assert "Learned" in page.text(".story-action")
    assert arcs_of(page)[PIZZA] > 0.9, arcs_of(page)
    assert page.run("Number(document.querySelector('.story-slider input').value)") == 500
    measured = page.run("Array.from(page.run.measures.get(500).weights.slice(8 * 11, 9 * 11))")
    assert arcs_of(page) == measured
    page.press(".story-slider input", Keys.HOME)
    page.wait("page.run.step === 0 && !page.run.busy", seconds=30)
    rest(page)
    assert max(arcs_of(page)) < 0.3 and page.text(".story-action") == "Press Play."
    page.press(".story-slider input", Keys.ARROW_RIGHT)
    page.wait("page.run.step > 0 && !page.run.busy", seconds=30)
    rest(page)
    assert page.text(".story-action") == "Press Play again."
    page.check_quiet()


def check_onward(driver, path, native):
    """The switch breaks the model; each tab is reached by its link."""
    page = opened(driver, path, 8, width=1366)
    page.wait("document.querySelectorAll('.story-arc').length === 11", seconds=60)
    rest(page)
    assert arcs_of(page) == native["closed row"]
    assert percent(native["closed"]["accuracy"]) in page.text(".story-action")
    assert page.run("document.querySelectorAll('.hidden-word').length") == 2, "what follows is not visible, as on screens 5 and 7"
    press(page, ".story-switch")
    page.wait("document.querySelector('.story-action').textContent.includes(arguments[0])", percent(native["broken"]["accuracy"]), seconds=60)
    rest(page)
    assert native["closed"]["accuracy"] > 0.9 and native["broken"]["accuracy"] < 0.2
    assert arcs_of(page) == native["broken row"]
    course = page.find(".story-links li:last-child > *")
    assert course.tag_name == "span" and "examples/README.md" in course.text, "a file that is opened has no course beside it"
    links = page.run("[...document.querySelectorAll('.story-links a')].map((a) => a.getAttribute('href'))")
    assert len(links) == len(TABS) - 1, "one to each of the other tabs"
    for href, tab in zip(links, TABS[1:]):
        driver.execute_script("document.querySelector(`.story-links a[href=\"${arguments[0]}\"]`).click()", href)
        page.wait("page.state.tab === arguments[0]", tab)
        driver.execute_script("page.setState({ tab: 'story' })")
        assert page.run("page.state.story") == 8, "one comes back to the same screen"
    page.check_quiet()
    # On the site, which has the course beside the page.
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=os.path.dirname(os.path.abspath(path)))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        driver.get(f"{url}{os.path.basename(path)}#story=8")
        page.wait("document.querySelector('.story-links li:last-child > a') !== null")
        assert page.find(".story-links li:last-child > a").get_attribute("href") == url + "examples/index.html"
        server.shutdown()
    for log in ("browser", "performance"):  # the browser asked for an icon of the site
        driver.get_log(log)


def components(rows):
    """The first two principal components of rows by Jacobi's rotations: (axes, shares of the variance)."""
    size = len(rows[0])
    mean = [sum(column) / len(rows) for column in zip(*rows)]
    a = [[sum((r[i] - mean[i]) * (r[j] - mean[j]) for r in rows) for j in range(size)] for i in range(size)]
    v = [[float(i == j) for j in range(size)] for i in range(size)]
    for _ in range(12):
        for p in range(size):
            for q in range(p + 1, size):
                angle = 0.5 * math.atan2(2 * a[p][q], a[q][q] - a[p][p])
                c, s = math.cos(angle), math.sin(angle)
                for m in (a, v):  # columns p and q
                    for row in m:
                        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
                a[p], a[q] = [c * x - s * y for x, y in zip(a[p], a[q])], [s * x + c * y for x, y in zip(a[p], a[q])]
    order = sorted(range(size), key=lambda i: -a[i][i])[:2]
    axes = [[row[i] for row in v] for i in order]
    axes = [[x * math.copysign(1, max(axis, key=abs)) for x in axis] for axis in axes]
    points = [[sum((r[i] - mean[i]) * axis[i] for i in range(size)) for axis in axes] for r in rows]
    return points, [a[i][i] / sum(a[j][j] for j in range(size)) for i in order]


def check_positions(driver, path, native):
    """Shuffled words keep their shares without positions and not with them; clock hands; the map of the words."""
    page = opened(driver, path, 9, width=1366)
    words = lambda: page.run("[...document.querySelectorAll('.story-word')].map((e) => e.textContent)")
    shares = lambda: dict(zip(words(), arcs_of(page)))  # "the" stands twice
    in_order = SENTENCE + ["tasted", "good"]
    assert words() == in_order and arcs_of(page) == native[" ".join(in_order)]["percents"]
    before = shares()
    for _ in range(2):
        press(page, ".story-choice", 0)
        order = words()
        assert order != in_order and sorted(order) == sorted(in_order), order
        after = shares()
        near([after[w] for w in sorted(before)], [before[w] for w in sorted(before)], 1e-5)
        assert percent(before["pizza"]) in page.text(".story-action")
    press(page, ".story-switch")
    ids = [native["open"]["words"].index(word) for word in order]
    assert arcs_of(page) == call(page, "storyRead", {"tokens": ids, "at": ids.index(2), "positions": True})["percents"]
    assert abs(shares()["pizza"] - before["pizza"]) > 0.5 and percent(shares()["pizza"]) in page.text(".story-action")
    press(page, ".story-choice", 1)
    assert words() == in_order and arcs_of(page) == native["positions: " + " ".join(in_order)]["percents"]

    press(page, ".story-choice", 3)  # clock hands
    places = native["places"]["places"]
    hands = lambda: [[numbers_of(page, ".story-hand", c)[i] for c in "xy"] for i in range(8)]
    assert sum(hands(), []) == places[3 * 16:4 * 16]
    page.press(".story-handle.position", Keys.ARROW_RIGHT)
    rest(page)
    assert sum(hands(), []) == places[4 * 16:5 * 16]
    drag(page, ".story-handle.position", 300, 0)
    at = int(re.search(r"\d+", page.text(".story-action"))[0])
    assert 20 < at < 40 and sum(hands(), []) == places[16 * at:16 * at + 16], at

    press(page, ".story-choice", 2)  # the map
    names = native["open"]["words"]
    rows = [native["words"]["embedding"][16 * i:16 * i + 16] for i in range(len(names))]
    points, parts = components(rows)
    drawn = [dict(zip(page.run("[...document.querySelectorAll('.story-word-point')].map((e) => e.dataset.word)"), numbers_of(page, ".story-word-point", c))) for c in "xy"]
    for name, point in zip(names, points):
        near([drawn[0][name], drawn[1][name]], point, 1e-4)
    assert percent(sum(parts)) in page.text(".story-words"), (parts, page.text(".story-words"))
    named = set(page.run("[...document.querySelectorAll('.story-words em')].map((e) => e.textContent)"))
    assert named <= set(page.run("[...document.querySelectorAll('.story-label.map')].map((e) => e.textContent)")), "words of the text have their names"
    far = lambda a, b: math.dist(rows[names.index(a)], rows[names.index(b)])
    for word in ("good", "stood"):
        page.driver.execute_script("""const select = document.querySelector("select.story-choice"); select.value = arguments[0];
            select.dispatchEvent(new Event("change"));""", word)
        rest(page)
        near_ones = sorted((w for w in names if w != word), key=lambda w: far(word, w))[:3]
        assert page.text(".story-action").endswith(f"{word}: {', '.join(near_ones)}."), (page.text(".story-action"), near_ones)
    ActionChains(driver).move_to_element(page.find(".story-word-point[data-word='pizza']")).click().perform()
    rest(page)
    assert page.run("document.querySelector('select.story-choice').value") == "pizza"
    page.check_quiet()


# ---- the frame ----

def check_way(driver, path):
    """The URL names the screen; buttons, dots and keys lead to others; links from before the story open the class."""
    page = opened(driver, path, 1)
    assert page.run("page.state.tab") == "story"
    page.find(".story-step:last-child").click()
    assert page.run("[page.state.story, location.hash]") == [2, "#story=2"]
    page.press("body", Keys.ARROW_RIGHT)
    assert page.run("page.state.story") == 3
    assert page.run("document.activeElement.tagName") == "H2", "screen readers read the new screen"
    page.press("body", Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert page.run("page.state.story") == 1
    assert page.run("document.querySelector('.story-step').disabled")
    page.run("document.querySelectorAll('.story-dot')[8].click()")
    assert page.run("page.state.story") == 9
    assert page.run("[...document.querySelectorAll('.story-dot')].map((e) => e.getAttribute('aria-current'))")[8] == "step"
    for fragment, expected in (("", ["story", 1]), ("#story=99", ["story", 9]), ("#embed=story:9", ["story", 9]),
                               ("#phase=backward&line=6", ["class", 1]), ("#story=7&step=25", ["story", 7])):
        page = Page(driver, path, fragment=fragment)
        page.wait("window.page !== undefined", seconds=20)
        assert page.run("[page.state.tab, page.state.story]") == expected, fragment
    page.check_quiet()


COUNT = """(() => {
    const parts = [...document.querySelectorAll(".story-text h2, .story-text p, .story-weight > p:not(.story-verdict), .story-links li")];
    return parts.map((e) => e.textContent);
})()"""


ACTIONS = {1: [("button.story-word", 0), (".story-actions button", 1)], 3: [(".story-actions button", 3)],
           5: [(".story-actions button", 1)], 6: [(".story-actions button", 1)], 8: [(".story-switch", 0)],
           9: [(".story-choice", 0), (".story-switch", 0), (".story-choice", 1), (".story-choice", 3), (".story-choice", 2)]}


def check_screens(driver, path, pictures):
    """At most 60 words a screen, in every state and language; no screen is too wide, or higher than its window; targets
    can be touched; axe finds nothing serious."""
    most = {}
    for width, height, language, theme in ((1366, 768, "en", "light"), (390, 844, "de", "dark"), (390, 844, "fr", "light"),
                                           (360, 844, "en", "light"), (820, 844, "de", "light")):
        page = opened(driver, path, 1, f"&lang={language}", width=width, height=height, theme=theme)
        for screen, name in enumerate(NAMES, 1):
            where = (width, language, name)
            driver.execute_script("page.setState({ story: arguments[0] })", screen)
            if screen in (5, 7, 8):
                page.wait("document.querySelectorAll('.story-arc').length === 11", seconds=60)
            rest(page)
            size = page.run("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            assert size[0] <= width, (where, size)
            assert width not in (390, 1366) or size[1] <= height, (where, size)
            small = page.run("""[...document.querySelectorAll("#panel-story :is(button, a, input, .story-handle)")].filter((e) => e.checkVisibility())
                .map((e) => [e.className.baseVal ?? e.className, e.getBoundingClientRect()])
                .filter(([, box]) => box.height < 24 || box.width < 24).map(([name, box]) => [name, box.width, box.height])""")
            assert small == [], (where, small)
            # What the text says is never below the picture, and nothing of a picture of words is cut.
            cut = page.run("""[...document.querySelectorAll(".story-word")].filter((e) => { const a = e.getBoundingClientRect(),
                b = e.closest(".story-stage").getBoundingClientRect();
                return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1; }).map((e) => e.textContent)""")
            if width == 390:
                cut += page.run("""[...document.querySelectorAll(".story-svg text")].map((e) => [e.textContent, e.getBoundingClientRect()])
                    .filter(([, box]) => box.left < -1 || box.right > innerWidth + 1).map(([text]) => text)""")
            assert cut == [], (where, cut)
            if name == "compare":
                assert page.run("document.querySelectorAll('.story-small.caption').length") == 2, "the colours are explained"
            if (width, language) in ((1366, "en"), (390, "de")):
                check_axe(page)
            if pictures:
                driver.save_screenshot(f"{pictures}/story_{screen}_{width}_{theme}.png")
            for action in [None] + (ACTIONS.get(screen, []) if width in (390, 1366) else []):
                if action is not None:
                    press(page, *action)
                texts = page.run(COUNT)
                words = len(re.findall(r"[^\W_][\w’'.,]*", " ".join(texts)))
                most[language] = max(most.get(language, 0), words)
                assert not re.search(r"\b(simply|simplement|bloß)\b", " ".join(texts), re.I), texts
                assert "undefined" not in " ".join(texts) and "{" not in " ".join(texts), texts
        page.check_quiet()
    print("story: the most words of a screen:", most)
    assert max(most.values()) <= MOST_WORDS, most


def check_still(driver, path):
    """Under reduced motion nothing moves; otherwise something does."""
    page = opened(driver, path, 1)
    assert page.run("document.getAnimations().length") == 0
    page = Page(driver, path, fragment="#story=1", motion="no-preference")
    page.wait("document.getAnimations().length > 0")


def check_story(driver, path, folder, pictures=None):
    native = natively(folder)
    page = opened(driver, path, 1)
    check_numbers(page, native, folder)
    check_it(driver, path, native)
    check_compare(driver, path, native)
    check_weigh(driver, path, native)
    check_mix(driver, path, native)
    check_back(driver, path, native)
    check_heads(driver, path, native)
    check_learn(driver, path)
    check_onward(driver, path, native)
    check_positions(driver, path, native)
    check_way(driver, path)
    check_screens(driver, path, pictures)
    check_still(driver, path)
