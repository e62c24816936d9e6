"""Tests the frame of attention.html, and what "Training", "Your own" and "For teachers" look like. page.py calls them."""

import os
import re

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from helpers import TABS, engine, open_page, set_state, show

CSS = os.path.join(os.path.dirname(__file__), "../../examples/page/page.css")
WORDS_A_MINUTE, SECONDS_A_STATION, SECONDS_AN_ANSWER = 120, 15, 20  # reading aloud; looking at the page; learners answering


def resize(page, width, height):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})


def boxes(page, selectors):
    """{selector: [left, top, right, bottom]}."""
    return page.run("""Object.fromEntries(arguments[0].map((selector) => {
        const { left, top, right, bottom } = document.querySelector(selector).getBoundingClientRect();
        return [selector, [left, top, right, bottom]];
    }))""", selectors)


def check(page):
    check_menu(page)
    check_own(page)
    check_teachers(page)
    check_claims(page)
    check_types()


def check_menu(page):
    """Everything but the tabs and presenter mode is in one menu, which the keyboard opens, walks through and closes."""
    shown = """[...document.querySelectorAll('#app > header :is(button, select)')].filter((e) => e.checkVisibility())
        .map((e) => e.id || e.className || e.textContent)"""
    set_state(page, tab="training")
    closed = [f"tab-{name}" for name in TABS] + ["present", "menu-button"]
    assert page.run(shown) == closed, page.run(shown)
    focus = lambda: page.run("document.activeElement.id")
    keys = lambda *k: ActionChains(page.driver).send_keys(*k).perform()
    page.press("#menu-button", Keys.ENTER)
    items = ["menu-language", "menu-theme", "menu-link-copy", "menu-link-open", "menu-print", "menu-help"]
    assert page.run(shown) == closed + items, page.run(shown)
    assert page.run("document.querySelector('#menu-button').getAttribute('aria-expanded')") == "true"
    for item in items:
        keys(Keys.TAB)
        assert focus() == item, (focus(), item)
    keys(Keys.ARROW_UP)
    assert focus() == "menu-print"
    set_state(page, present=True)
    keys(Keys.ESCAPE)  # closes the menu alone
    assert page.run(shown) == closed and focus() == "menu-button" and page.run("page.state.present")
    keys(Keys.ESCAPE)
    assert not page.run("page.state.present")
    keys(Keys.ARROW_DOWN)
    assert focus() == "menu-language"
    keys(Keys.ESCAPE)
    page.find("#menu-button").click()
    page.find("#panel-training").click()
    assert page.run(shown) == closed, "a click elsewhere closes it"

    page.find("#menu-button").click()
    page.press("#menu-theme", Keys.ARROW_DOWN)
    page.wait("document.documentElement.dataset.theme === 'light'")
    page.press("#menu-theme", Keys.ARROW_UP)
    page.find("#menu-help").click()
    page.wait("document.querySelector('dialog[open] table.keys') !== null")
    check_help(page)
    assert page.run(shown) == closed
    keys(Keys.ESCAPE)
    page.wait("document.activeElement.id === 'menu-button'")
    page.find("#menu-button").click()
    page.find("#menu-link-copy").click()  # copied, or shown to be copied by hand
    page.wait("document.querySelector('header .said').textContent !== '' || document.querySelector('dialog[open]') !== null")
    keys(Keys.ESCAPE)


def check_help(page):
    """Help leads to the answers, explains the words of all tabs, and has the keys of Onward."""
    link = page.run("document.querySelector('dialog[open] a')?.href")
    questions = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/questions.md")
    assert link is not None and os.path.samefile(link.removeprefix("file://"), questions), link
    words = page.run("[...document.querySelectorAll('dialog[open] dt')].map((x) => x.textContent)")
    assert {"cache", "rotary positions", "residual stream", "layer norm"} <= set(words), words
    assert "in “Onward”" in page.text("dialog[open] table.keys")


def check_own(page):
    """One button trains where the words ask for it."""
    set_state(page, seed=5, step=0)
    page.wait("page.run.of.seed === 5 && page.run.step === 0 && page.run.measures.has(0)")
    show(page, "own", sentence="the pizza came out of the oven and it")
    assert page.run("[...document.querySelectorAll('#panel-own button')].filter((b) => /^▶/.test(b.textContent) && b.checkVisibility()).length") == 1
    said = lambda: page.text("#own-weights")
    assert "random" in said(), said()
    before = page.text("#panel-own table.matrix tbody")
    page.find("#own-train").click()
    page.wait("page.run.playing")
    page.wait("page.run.step === 2000 && !page.run.playing && /2000/.test(document.querySelector('#own-weights').textContent)")
    page.wait("document.querySelector('#panel-own table.matrix tbody').textContent !== arguments[0]", before)
    assert not page.find("#own-train").is_displayed()
    set_state(page, seed=0, step=0)
    page.wait("page.run.of.seed === 0 && page.run.step === 0 && page.run.measures.has(0)")


def spoken(page, key):
    return len(re.findall(r"\w+", page.run("page.allStrings[arguments[0]][0]", key)))


def check_teachers(page):
    """The plans can be done: read aloud, shown and answered in their minutes. N and B go through the chosen one."""
    counts = []
    for plan in ("10", "30", "45"):
        show(page, "teachers")
        page.find(f"#plan-{plan}").click()
        assert page.run("page.state.plan") == plan
        parts = page.run("""[...document.querySelectorAll('table.lesson > tbody > tr')].map((row) => [row.querySelector('th').textContent,
            row.querySelector('h3').textContent, row.querySelectorAll('a').length])""")
        names = {text[0]: key for key, text in page.run("page.allStrings").items() if key.count(".") == 1 and key.startswith("teachers.")}
        needed, end = {}, 0
        for minutes, title, count in parts:
            start, until = map(int, re.findall(r"\d+", minutes))
            name = names[title]
            words = sum(spoken(page, f"{name}.{part}") for part in ("do", "ask", "answer"))
            needed[name] = 60 * words / WORDS_A_MINUTE + SECONDS_A_STATION * count + SECONDS_AN_ANSWER
            assert start == end and needed[name] <= 60 * (until - start), (plan, minutes, title, needed[name])
            end = until
        assert end == int(plan), (plan, end)

        stations = page.run("page.sections.teachers.stations().map(({ to }) => to)")
        assert len(stations) == sum(count for *_, count in parts), (plan, parts)
        counts.append(len(stations))
        body = page.find("body")
        for i, to in enumerate(stations if plan != "30" else stations[:2]):
            body.send_keys("n")
            page.wait("Object.entries(arguments[0]).every(([key, value]) => page.state[key] === value)", to)
            assert f"Station {i + 1} of {len(stations)}" in page.text("header .said"), page.text("header .said")
            page.wait("page.run.step === page.state.step && !page.run.busy && page.run.measures.has(page.run.step)", seconds=20)
            assert page.run("page.state.plan") == plan
        body.send_keys("b")
        page.wait("Object.entries(arguments[0]).every(([key, value]) => page.state[key] === value)", stations[i - 1])
    assert counts == sorted(counts) and counts[0] <= 5, counts

    # What "What it does not know" says about the two.
    two = page.run("page.sections.teachers.stations('10').map(({ to }) => to).filter((to) => /dog/.test(to.sentence))")
    looked = []
    for to in two:
        show(page, "own", seed=0, heads=1, **{key: value for key, value in to.items() if key != "tab"})
        page.wait("page.run.step === arguments[0] && !page.run.busy", to["step"])
        tokens = page.run("arguments[0].split(' ').map((w) => page.run.language.words.indexOf(w))", to["sentence"])
        row = page.driver.execute_async_script("""const [tokens, done] = arguments;
            page.run.engine.measure({ tokens, prompt: tokens }).then((m) => done(Array.from(m.weights.slice(-m.seen))));""", tokens)
        looked.append(to["sentence"].split()[row.index(max(row))])
    assert looked == ["dog", "cat"], looked
    set_state(page, plan="10", tab="class", example="tutorial", phase="forward", line=0, step=0)
    page.wait("page.run.step === 0")


def check_claims(page):
    """Numbers that texts name for the usual run, in all three languages, are those of the engine."""
    found = page.driver.execute_async_script("""const done = arguments[0];
        (async () => {
            const e = await page.run.engine.constructor.create(), found = {};
            const begin = (lr = 0.02) => e.start({ seed: 0, heads: 1, lr, steps: 2000, breaks: 0 });
            const { words, heldOut, train } = await begin();
            const ids = (text) => text.split(" ").map((word) => words.indexOf(word));
            const pizza = heldOut.find((sentence) => sentence[1] === words.indexOf("pizza"));
            const lossOf = async (sentence) => {
                const pass = await e.pass(sentence);
                return pass.tensors[pass.loss].values[0];
            };
            const surprise = async (at) => { // of the word at a position
                const pass = await e.pass(pizza), { values } = pass.tensors[pass.marks.find(({ name }) => name === "logits").tensor];
                const row = Array.from(values.subarray((at - 1) * words.length, at * words.length)), most = Math.max(...row);
                return most + Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0)) - row[pizza[at]];
            };
            const allOf = async () => {
                let sum = 0;
                for (const sentence of train) {
                    sum += await lossOf(sentence);
                }
                return sum / train.length;
            };
            const write = async (text) => (await e.measure({ tokens: ids(text), prompt: ids(text) })).written.filter((id) => id !== 0)
                .map((id) => words[id]).join(" ");
            await e.goTo(500);
            found.early = [await lossOf(pizza), await surprise(6)];
            await e.goTo(1316);
            found.before = await allOf();
            await e.goTo(1317);
            found.peak = await allOf();
            await e.goTo(2000);
            found.late = [await lossOf(pizza), await surprise(6)];
            found.garden = await write("the garden was found near the dog and it");
            const losses = async (count = 2000) => {
                const all = [];
                for (let step = 0; step < count; step++) {
                    all.push((await e.step()).loss);
                }
                return all;
            };
            await begin();
            found.losses = await losses();
            await begin(0.01);
            found.calm = Math.max(...(await losses()).slice(500));
            await begin();
            await e.mask(new Uint8Array(121));
            await e.goTo(1980);
            found.copied = [Math.max(...await losses(20)), await write("the pizza came"),
                (await e.measure({ tokens: pizza, prompt: pizza.slice(0, 9) })).score.accuracy];
            e.end();
            return found;
        })().then(done, (error) => done(error.message));""")
    assert isinstance(found, dict), found

    def named(key, *numbers):
        for text in page.run("page.allStrings[arguments[0]]", key):
            for value in numbers:
                assert value in text.replace(",", "."), (key, value, text)

    early, late = found["early"], found["late"]
    named("train.why.unseen", f"{early[0]:.3f}", f"{late[0]:.3f}", f"{early[1]:.2f}", f"{late[1]:.2f}")
    named("teachers.more.unseen", f"{early[0]:.3f}", f"{late[0]:.3f}")
    named("train.why.peak", f"{found['before']:.2f}", f"{found['peak']:.2f}")
    losses = found["losses"]
    assert max(losses[600:]) == max(losses[1316:1345]) > 1 and found["calm"] < 0.7, "the peak near step 1330, and none with 0.01"
    assert max(losses[1380:1600]) < 0.7, "low again after about 50 steps"
    assert found["garden"] == "purred softly", found
    named("teachers.more.own.answer", f"{found['copied'][0]:.3f}")
    assert found["copied"][1:] == ["came came came came", 1], found


def check_types():
    """One scale of type, one gap: the sections after "training, charts" use no other."""
    with open(CSS, encoding="utf-8") as file:
        css = file.read()
    css = css[css.index("/* ---- training, charts ---- */"):]
    other = [size for size in re.findall(r"font-size: ([^;}]*)", css) if not re.search(r"var\(--type-|^[\d.]+em", size)]
    assert other == [], other


# ---- layout ----

FIRST_VIEW = ["#panel-training .chart-plot", "#panel-training .writes-now", "#panel-training .chart-reading"]
STILL = FIRST_VIEW + ["#panel-training .train-rest .chart-plot", "#train-status", "#panel-training table.matrix",
                      "#panel-training .stripes-plot", "#train-hash", "#train-play", "#train-slider", "#panel-training .writings"]


def check_layout(driver, path):
    """The header is one row; Training's first view has the loss and what the model writes, and nothing moves while it runs."""
    for language, sizes in (("en", ((1920, 1080), (1400, 900), (390, 844))), ("de", ((820, 1180), (1366, 768))), ("fr", ((1366, 768),))):
        page = open_page(driver, path, f"#tab=training&lang={language}", motion="no-preference")
        for width, height in sizes:
            resize(page, width, height)
            show(page, "training")
            header = page.run("""[...document.querySelectorAll('#app > header > *, #app > header [role=tab]')]
                .filter((e) => e.checkVisibility() && e.textContent !== '').map((e) => {
                    const { left, right, top, bottom } = e.getBoundingClientRect();
                    return [e.id || e.tagName, left, right, top, bottom];
                })""")
            assert max(bottom for *_, bottom in header) < 56, (width, language, header)
            row = [box for box in header if not box[0].startswith("tab-")]
            assert row[0][0] == "H1" and len(row) == 4, row  # the title, the tabs, presenter mode, the menu
            assert all(a[2] <= b[1] for a, b in zip(row, row[1:])) and row[-1][2] <= width, (width, language, row)
            if width >= 1366:
                assert all(row[1][1] <= box[1] and box[2] <= row[1][2] + 1 for box in header if box[0].startswith("tab-")), header
        page.run("document.querySelector('#train-speed').value = 0")
        page.run("document.querySelector('#train-speed').dispatchEvent(new Event('change'))")
        page.wait("document.querySelector('#train-hash').textContent !== ''")
        ticks = lambda: page.run("[...document.querySelectorAll('#panel-training .chart .tick-y')].map((e) => [e.textContent, e.style.top])")
        at = {0: (boxes(page, STILL), ticks())}
        if width == 1366:
            for selector in FIRST_VIEW:
                left, top, right, bottom = at[0][0][selector]
                assert top >= 0 and bottom <= height and left >= 0 and right <= width, (selector, at[0][0][selector])
        if language == "fr":
            continue  # two languages train
        page.find("#train-play").click()
        for step in (2, 100, 500, 1400, 2000):
            page.wait("page.run.step >= arguments[0]", step, seconds=60)
            at[step] = boxes(page, STILL), ticks()
        page.wait("!page.run.playing")
        at["end"] = boxes(page, STILL), ticks()
        for step, found in at.items():
            assert found == at[0], (width, language, step, [(s, found[0][s], at[0][0][s]) for s in STILL if found[0][s] != at[0][0][s]])
        page.check_quiet()

    # Reduced motion: nothing is animated, and what runs is drawn when it has stopped.
    page = open_page(driver, path, "#tab=training")
    page.wait("document.querySelector('#train-hash').textContent !== ''")
    show(page, "training")
    drawn = "document.querySelector('#panel-training .chart .line:nth-of-type(3)').getAttribute('d')"
    before = page.run(drawn)
    page.run("document.querySelector('#train-speed').value = 25")
    page.run("document.querySelector('#train-speed').dispatchEvent(new Event('change'))")
    page.find("#train-play").click()
    page.wait("page.run.step >= 5 && document.querySelector('#train-play').textContent.includes('Pause')")
    assert page.run(drawn) == before
    page.find("#train-play").click()
    page.wait(f"!page.run.playing && {drawn} !== arguments[0]", before)
    moving = page.run("""[...document.querySelectorAll('*')].filter((e) => { const s = getComputedStyle(e);
        return s.animationName !== 'none' || s.transitionDuration !== '0s' && s.transitionProperty !== 'none'; }).length""")
    assert moving == 0 and page.run("document.getAnimations().length") == 0, moving


# ---- history ----

def check_history(driver, path):
    """Back and Forward lead through the tabs and keep the run; after another page, the run is repeated."""
    page = open_page(driver, path, "#example=pizza&line=3")
    page.wait("page.run.measures.has(0)")
    driver.execute_script("window.loadedOnce = true")
    page.find("#tab-training").click()
    set_state(page, step=500)
    page.wait("page.run.step === 500 && !page.run.busy", seconds=60)
    digest = engine(page, "hash()")
    set_state(page, tab="class", line=5)
    set_state(page, line=6)
    page.find("#tab-own").click()
    seen = []  # an entry for each tab, none for lines and steps
    for go in ("back", "back", "back", "forward", "forward", "forward"):
        before = page.run("location.href")
        getattr(driver, go)()
        page.wait("location.href !== arguments[0]", before)
        seen.append((page.run("page.state.tab"), page.run("page.state.line")))
        assert page.run("document.querySelector('[role=tabpanel]:not([hidden])').id") == f"panel-{seen[-1][0]}"
        page.wait("page.run.step === 500 && page.state.step === 500")
        assert page.run("window.loadedOnce") and engine(page, "hash()") == digest, go
    assert seen == [("class", 6), ("training", 3), ("class", 3), ("training", 3), ("class", 6), ("own", 6)], seen

    # A link sets everything; Back from it keeps the run that it made.
    driver.execute_script("location.hash = 'tab=training&step=30'")
    page.wait("page.run.step === 30 && page.state.tab === 'training'")
    driver.back()
    page.wait("page.state.tab === 'own' && page.run.step === 30")

    # Leaving and coming back repeats the run.
    set_state(page, tab="training", step=600)
    page.wait("page.run.step === 600 && !page.run.busy")
    digest = engine(page, "hash()")
    driver.get("about:blank")
    driver.back()
    page.wait("window.page !== undefined && page.run.step === 600 && !page.run.busy", seconds=60)
    assert engine(page, "hash()") == digest and page.run("page.state.tab") == "training"
    page.check_quiet()
