"""Tests "Training": one run of the usual model, on which the other tests go on."""

from selenium.webdriver.common.keys import Keys

from attention import begin_run, engine, go_to, set_state, show

# Where the loss and what the model writes stand, and what else does not move while it runs.
STILL = """[".chart-plot", ".writes-now", ".chart-reading", ".train-rest .chart-plot", "table.matrix", "#train-status",
    "#train-play", "#train-slider"].map((selector) => {
        const { left, top, right, bottom } = document.querySelector(`#panel-training ${selector}`).getBoundingClientRect();
        return [selector, left, top, right, bottom].join(" ");
    })"""

# The sentence that is watched.
PIZZA = "page.run.language.heldOut.find((ids) => ids[1] === page.run.language.words.indexOf('pizza'))"


def check_own(page):
    """A sentence of the reader's is watched; what the model cannot read is said."""
    set_state(page, watch="own", sentence="the pizza \N{SLICE OF PIZZA} and it")
    page.wait("/does not know: \N{SLICE OF PIZZA}/.test(document.querySelector('#panel-training .train-watched').textContent)")
    page.find("#train-own").clear()
    page.find("#train-own").send_keys("The cat was found near the dog, and it" + Keys.ENTER)
    page.wait("document.querySelector('#panel-training .writes-now').textContent.startsWith('the cat was found near the dog and it ')")
    assert page.text("#panel-training .train-watched .error") == ""
    set_state(page, watch="")
    page.wait("!page.run.busy && document.querySelector('#train-own') === null")


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
    page.find("#train-play").click()
    page.wait("page.run.step === 2000 && !page.run.playing")
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


def check(page, hashes):
    check_run(page, hashes)
    check_claims(page)
    check_own(page)
    page.check_quiet()
    print("training: the hashes are those of a program")
