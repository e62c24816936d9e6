"""Tests "Training", "Your own" and "Gradient check": one run of the usual model, on which the other tests go on."""

import re

from selenium.webdriver.common.keys import Keys

from attention import begin_run, engine, go_to, number, set_state, show

# Where the loss and what the model writes stand, and what else does not move while it runs.
STILL = """[".chart-plot", ".writes-now", ".chart-reading", ".train-rest .chart-plot", "table.matrix", ".stripes-plot", ".writings", "#train-status",
    "#train-play", "#train-slider"].map((selector) => {
        const { left, top, right, bottom } = document.querySelector(`#panel-training ${selector}`).getBoundingClientRect();
        return [selector, left, top, right, bottom].join(" ");
    })"""

# The sentence that is watched.
PIZZA = "page.run.language.heldOut.find((ids) => ids[1] === page.run.language.words.indexOf('pizza'))"


def check_own(page):
    """One button trains where the words ask for it."""
    show(page, "own", sentence="the pizza came out of the oven and it")
    assert page.run("[...document.querySelectorAll('#panel-own button')].filter((b) => /^▶/.test(b.textContent) && b.checkVisibility()).length") == 1
    assert "random" in page.text("#own-weights")
    set_state(page, sentence="the pizza \N{SLICE OF PIZZA} and it")
    page.wait("/does not know the word “\N{SLICE OF PIZZA}”/.test(document.querySelector('#own-problems').textContent)")
    set_state(page, sentence="the pizza came out of the oven and it")
    page.wait("document.querySelector('#panel-own table.matrix tbody') !== null")
    before = page.text("#panel-own table.matrix tbody")
    page.find("#own-train").click()
    page.wait("page.run.step === 2000 && !page.run.playing && /2000/.test(document.querySelector('#own-weights').textContent)")
    page.wait("document.querySelector('#panel-own table.matrix tbody').textContent !== arguments[0]", before)
    assert not page.find("#own-train").is_displayed()


def check_run(page, hashes):
    """The hash of 500 of 2,000 steps is that without a browser; every step can be reached again, by each control; nothing
    moves meanwhile."""
    page.resize(1366, 768)
    show(page, "training")
    page.find("#train-play").click()  # slow enough to watch
    page.wait("page.run.step >= 2")
    page.find("#train-play").click()
    page.wait("!page.run.playing && page.state.step === page.run.step")
    page.find("#train-first").click()
    page.wait("page.run.step === 0 && !page.run.busy")
    show(page, "training")
    still = page.run(STILL)
    check_own(page)
    assert page.run("page.run.losses.length") == 2000
    last = page.run("page.run.measures.get(2000)")
    assert last["score"]["accuracy"] == 1 and last["score"]["attention"] > 0.9, last["score"]
    seen = {}
    for step in (2000, 37, 500, 37):
        engine(page, f"goTo({step})")
        found = engine(page, "hash()")
        assert seen.setdefault(step, found) == found, step
    assert seen[2000] == last["hash"] and seen[500] == hashes[0], (seen, last["hash"], hashes)
    go_to(page, 500)
    show(page, "training")
    assert page.run(STILL) == still, [pair for pair in zip(page.run(STILL), still) if pair[0] != pair[1]]
    for control, step in (("step", 501), ("back", 500), ("back", 499)):
        page.find(f"#train-{control}").click()
        page.wait("page.run.step === arguments[0] && page.run.measures.has(arguments[0])", step)
        assert (engine(page, "hash()") == seen[500]) == (step == 500), step
    begin_run(page, heads=2)
    engine(page, "goTo(500)")
    assert engine(page, "hash()") == hashes[1], hashes
    begin_run(page, heads=1)
    page.resize(1000, 900)


def check_claims(page):
    """The losses that texts name for the usual run, in all three languages, are those of the engine."""
    early, late = (page.settle("""await page.run.engine.goTo(arguments[0]).then(() => page.run.engine.pass(PIZZA))
        .then(({ tensors, loss }) => tensors[loss].values[0])""".replace("PIZZA", PIZZA), step) for step in (500, 2000))
    engine(page, "goTo(0)")
    for text in page.run("page.allStrings['train.why.unseen']"):
        assert all(f"{loss:.3f}" in text.replace(",", ".") for loss in (early, late)), (early, late, text)


def check_gradients(page, steepest, loss):
    """Turning a number moves the loss as its gradient says; quotients agree with backward, unless h is too large or small."""
    show(page, "gradients", example="tutorial", masked=False, weight="", turn=0, zoom=1, h=4)
    section = "#panel-gradients"
    shown = "[...document.querySelectorAll('#panel-gradients dd')].map((dd) => dd.textContent)"
    page.wait(f"({shown})[0]?.startsWith('W_q.weight[1, 0]')")  # the largest gradient

    def readings():  # the loss before and after, its change, the predicted change, the rest
        _, losses, change, predicted, rest = page.run(shown)
        before, after = losses.split(" → ")
        return [number(x) for x in (before, after, change, predicted.split(" = ")[1], rest)]

    before, after, *_ = readings()
    assert abs(before - loss) < 6e-5 and after == before, (before, after)
    page.press(f"{section} input[type=range]", Keys.ARROW_RIGHT * 2)
    page.wait(f"({shown})[0].includes('+ 0.0200') && ({shown})[1].split(' → ').every((x, i, both) => i === 0 || x !== both[0])")
    before, after, change, predicted, rest = readings()
    assert abs(after - before - change) < 2e-6 and abs(predicted - 0.02 * steepest) < 1e-5, readings()
    assert abs(change - predicted - rest) < 2e-6 and 0 < abs(rest) < 0.1 * abs(change), readings()
    verdicts = set()
    for h in (1, 4, 13):
        set_state(page, h=h)
        page.wait("document.querySelector('#panel-gradients .formula').textContent.includes(arguments[0])",
                  "10⁻" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(h)))
        formula = page.text(f"{section} .formula")
        verdicts.add(page.text(f"{section} .formula ~ p ~ p"))
        after, before, quotient = (number(x) for x in re.search(r"= \((\S+) − (\S+)\) / \(.*\) = (\S+)$", formula).groups())
        rounding = 1e-10 / 2 / 10.0**-h  # of the losses shown
        assert abs((after - before) / 2 / 10.0**-h - quotient) <= 2 * rounding + 1e-7, formula
        assert (abs(quotient / steepest - 1) < 1e-5) == (h == 4), (h, quotient)
    assert len(verdicts) == 3, verdicts
    set_state(page, h=5)
    page.driver.execute_script("[...document.querySelectorAll('#panel-gradients button')].find((b) => b.textContent.startsWith('Check all')).click()")
    page.wait("document.querySelectorAll('#panel-gradients table.matrix').length === 3")
    first, second = page.run("""[...document.querySelectorAll("#panel-gradients table.matrix")].slice(1).map((t) =>
        [...t.querySelectorAll("td[data-index]")].map((td) => td.textContent))""")
    assert all(abs(number(a) - number(b)) < 1e-4 for a, b in zip(first, second, strict=True)), (first, second)
    page.press(f"{section} td[tabindex='0']", Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    page.wait(f"({shown})[0].startsWith('W_q.weight[1, 1]')")
    page.press(f"{section} input[type=checkbox]", Keys.SPACE)  # the mask
    page.wait(f"({shown})[1]?.startsWith('18.558')")
    set_state(page, weight="", turn=0, masked=False)


def check(page, hashes):
    check_run(page, hashes)
    check_claims(page)
    check_gradients(page, steepest=-27.1708, loss=19.9643)  # of PyTorch (lines.py)
    page.check_quiet()
    print("training: the hashes are those of a program")
