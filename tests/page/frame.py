"""Tests the frame of attention.html: menus, help, keys, links, history, printing, and the lesson for teachers."""

import os

from selenium.webdriver.common.keys import Keys

from attention import TABS, begin_run, engine, go_to, set_state, show


def check_menu(page):
    """The story is one press away, the other parts are in one menu; the rest is in another one, which the keyboard opens, walks
    through and closes."""
    shown = """[...document.querySelectorAll('#app > header :is(button, select, input)')].filter((e) => e.checkVisibility())
        .map((e) => e.id || e.className || e.textContent)"""
    show(page, "training")
    closed = ["tab-story", "deeper-button", "present", "menu-button"]
    assert page.run(shown) == closed, page.run(shown)
    assert page.text("#deeper-button").startswith("Go deeper: Training")
    page.find("#deeper-button").click()
    assert page.run(shown) == closed[:2] + [f"tab-{name}" for name in TABS[1:]] + closed[2:], page.run(shown)
    page.find("#tab-quiz").click()
    assert page.run(shown) == closed and page.run("page.state.tab") == "quiz"
    set_state(page, tab="training")
    focus = lambda: page.run("document.activeElement.id")
    page.press("#menu-button", Keys.ENTER)
    items = ["menu-language", "menu-theme", "menu-letters", "menu-link-copy", "menu-link-open", "menu-print", "menu-help"]
    assert page.run(shown) == closed + items, page.run(shown)
    assert page.run("document.querySelector('#menu-button').getAttribute('aria-expanded')") == "true"
    for item in items:
        page.keys(Keys.TAB)
        assert focus() == item, (focus(), item)
    page.keys(Keys.ARROW_UP)
    assert focus() == "menu-print"
    set_state(page, present=True)
    page.keys(Keys.ESCAPE)  # closes the menu alone
    assert page.run(shown) == closed and focus() == "menu-button" and page.run("page.state.present")
    page.keys(Keys.ESCAPE)
    assert not page.run("page.state.present")
    page.find("#menu-button").click()
    page.find("#panel-training").click()
    assert page.run(shown) == closed, "a click elsewhere closes it"
    page.find("#menu-button").click()
    page.press("#menu-theme", Keys.ARROW_DOWN)
    page.wait("document.documentElement.dataset.theme === 'light'")
    set_state(page, theme="")
    page.find("#menu-help").click()
    page.wait("document.querySelector('dialog[open] table.keys') !== null")
    link = page.run("document.querySelector('dialog[open] a')?.href")
    questions = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/questions.md")
    assert link is not None and os.path.samefile(link.removeprefix("file://"), questions), link
    assert page.run(shown) == closed
    page.keys(Keys.ESCAPE)
    page.wait("document.activeElement.id === 'menu-button'")
    page.find("#menu-button").click()
    page.find("#menu-link-copy").click()  # copied, or shown to be copied by hand
    page.wait("document.querySelector('header .said').textContent !== '' || document.querySelector('dialog[open]') !== null")
    page.keys(Keys.ESCAPE)


def check_teachers(page):
    """N and B go through the stations of the lesson, which begins with the story and takes 30 minutes."""
    shows = "Object.entries(arguments[0]).every(([key, value]) => page.state[key] === value)"
    press = """(document.body.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true })),
        document.querySelector("header .said").textContent)"""
    show(page, "teachers")
    links = page.run("document.querySelectorAll('table.lesson a').length")
    stations = page.run("page.sections.teachers.stations")
    assert len(stations) == links and stations[0]["to"] == {"tab": "story", "story": 1} and stations[-1]["part"]["until"] == 30, stations
    for i, (key, to) in enumerate([*(("n", station["to"]) for station in stations), ("b", stations[-2]["to"])]):
        said = page.run(press, key)  # it is said for some seconds only
        assert f"Station {min(i + 1, 2 * links - i - 1)} of {links}" in said, (i, said)
        page.wait(shows, to)
        page.wait("page.run.step === page.state.step && !page.run.busy")
    go_to(page, 0)


def check_underway(page):
    """While the steps of a link are trained, a line over the numbers says which step they are of."""
    show(page, "class", example="pizza", line=8)
    page.driver.execute_script("""window.told = [];
        new MutationObserver(() => told.push(document.querySelector(".underway").textContent)).observe(document.querySelector(".underway"), { childList: true });""")
    begin_run(page, seed=3)
    go_to(page, 300)
    told = [text for text in page.run("told") if text]
    assert told and all(text.startswith("Training: step ") and text.endswith(" of 300 …") for text in told), told
    assert not page.find(".underway").is_displayed()
    begin_run(page, seed=0)


def check_keyboard(page):
    """What Tab reaches shows the focus, in every tab."""
    page.driver.execute_script("""window.reached = [];
        document.addEventListener("focusin", ({ target: e }) => requestAnimationFrame(() => reached.push([e.id || e.className.baseVal || e.className || e.tagName,
            [e, e.parentElement].some(x => getComputedStyle(x).outlineStyle !== 'none') || // handles have a ring
                [...e.querySelectorAll('.story-touch')].some(x => getComputedStyle(x).stroke !== 'none')])));""")
    for tab in TABS:
        show(page, tab)
        page.driver.execute_script("document.querySelector('#app button').focus()")
        page.settle("await new Promise(requestAnimationFrame).then(() => (reached = []))")
        for _ in range(8):
            page.keys(Keys.TAB)
            page.settle("await new Promise(requestAnimationFrame).then(() => null)")
        reached = page.run("reached")
        assert len(reached) >= 8 and all(outline for _, outline in reached), (tab, reached)
    page.press("body", "2")
    assert page.run("page.state.tab") == "class"
    set_state(page, letters=False)
    page.press("body", "3", "p", "?")
    assert page.run("[page.state.tab, page.state.present, document.querySelector('dialog[open]')]") == ["class", False, None]
    set_state(page, letters=True)
    page.press("a.skip", Keys.ENTER)
    assert page.run("document.activeElement.tagName") == "MAIN"


def check_print(page):
    """The tabs are not printed, nor the numbers that a worksheet asks for; the quiz is printed with its answers to choose."""
    show(page, "class", example="tutorial", masked=False, phase="forward", line=3, cell="")
    page.emulate(media="print")
    assert not page.run("document.querySelector('nav.parts').checkVisibility()")
    colours = """[...document.querySelectorAll("#panel-class .equation td[data-index]")].map((td) =>
        [td.closest(".changed") !== null, getComputedStyle(td).color === "rgba(0, 0, 0, 0)"])"""
    for blanks in (False, True):
        assert all(blank == (new and blanks) for new, blank in page.run(colours)), "a worksheet hides the new numbers, and no others"
        page.driver.execute_script("document.querySelector('#panel-class [data-key=blanks]').click()")
    show(page, "quiz")
    visible = page.run("[...document.querySelectorAll('#panel-quiz button, #panel-quiz .printed')].filter((x) => x.checkVisibility()).map((x) => x.className)")
    assert set(visible) == {"option", "printed"}, visible
    page.emulate()


def check_history(page):
    """Back and Forward lead through the tabs and keep the run; after another page, the run is repeated."""
    page.load("#example=pizza&line=3")
    driver = page.driver
    go_to(page, 60)
    digest = engine(page, "hash()")
    for tab in ("training", "class", "teachers"):
        page.find("#deeper-button").click()  # browsers skip entries that no reader has made
        page.find(f"#tab-{tab}").click()
        if tab == "class":
            set_state(page, line=6)
    seen = []  # an entry for each tab, none for lines and steps
    for go in ("back", "back", "back", "forward", "forward", "forward"):
        before = page.run("location.href")
        getattr(driver, go)()
        page.wait("location.href !== arguments[0]", before)
        seen.append((page.run("page.state.tab"), page.run("page.state.line")))
        assert page.run("document.querySelector('.part-panel:not([hidden])').id") == f"panel-{seen[-1][0]}"
    assert seen == [("class", 6), ("training", 3), ("class", 3), ("training", 3), ("class", 6), ("teachers", 6)], seen
    assert page.run("page.run.step") == 60 and engine(page, "hash()") == digest
    driver.get("about:blank")
    driver.back()
    page.wait("window.page !== undefined && page.run.step === 60 && !page.run.busy")
    assert engine(page, "hash()") == digest and page.run("page.state.tab") == "teachers"


def check_links(page):
    """A link reproduces what is shown; hostile links do no harm."""
    hashes = set()
    for fragment in ("tab=class&example=pizza&step=60&heads=2&line=6&lang=de&theme=dark&seed=5", "seed=5&heads=2&step=60"):
        page.load(f"#{fragment}")
        page.wait("page.run.step === 60")
        hashes.add(engine(page, "hash()"))
        assert page.run("[page.state.line, document.documentElement.lang]") == ([6, "de"] if "lang=de" in fragment else [0, "en"])
    assert len(hashes) == 1, hashes
    page.load("#line=NaN&heads=1e9&seed=-1&lr=x&step=1e99&tab=__proto__&example=constructor&cell=%00"
              "&sentence=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&broken=toString&lang=xx&unknown=1")
    names = ["line", "heads", "seed", "lr", "tab", "example", "cell", "broken", "lang"]
    found = page.run("arguments[0].map((name) => page.state[name])", names)
    assert found == [0, 16, 0, 0.02, "story", "tutorial", "", "", ""], found
    assert page.run("document.querySelector('img') === null")
    page.load("#line=99")
    page.wait("page.state.line < 13 && location.hash.includes(`line=${page.state.line}`)")


def check(page):
    check_menu(page)
    check_teachers(page)
    check_underway(page)
    check_keyboard(page)
    check_print(page)
    check_history(page)
    check_links(page)
    page.check_quiet()
