"""Tests the frame of attention.html: menu, help, keys, links, history, files, printing, and the plans for teachers."""

import json
import os
import struct

from selenium.webdriver.common.keys import Keys

from attention import TABS, engine, go_to, set_state, show


def check_menu(page):
    """Everything but the tabs and presenter mode is in one menu, which the keyboard opens, walks through and closes."""
    shown = """[...document.querySelectorAll('#app > header :is(button, select)')].filter((e) => e.checkVisibility())
        .map((e) => e.id || e.className || e.textContent)"""
    show(page, "training")
    closed = [f"tab-{name}" for name in TABS] + ["present", "menu-button"]
    assert page.run(shown) == closed, page.run(shown)
    focus = lambda: page.run("document.activeElement.id")
    page.press("#menu-button", Keys.ENTER)
    items = ["menu-language", "menu-theme", "menu-link-copy", "menu-link-open", "menu-print", "menu-help"]
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
    """N and B go through the stations of each plan."""
    shows = "Object.entries(arguments[0]).every(([key, value]) => page.state[key] === value)"
    press = """(document.body.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true })),
        document.querySelector("header .said").textContent)"""
    counts = []
    for plan in ("10", "30", "45"):
        show(page, "teachers")
        page.find(f"#plan-{plan}").click()
        links = page.run("document.querySelectorAll('table.lesson a').length")
        stations = page.run("page.sections.teachers.stations().map(({ to }) => to)")
        assert len(stations) == links and page.run("page.state.plan") == plan, (plan, links)
        counts.append(links)
        for i, (key, to) in enumerate([*(("n", to) for to in stations), ("b", stations[-2])]):
            said = page.run(press, key)  # it is said for some seconds only
            assert f"Station {min(i + 1, 2 * links - i - 1)} of {links}" in said, (plan, i, said)
            page.wait(shows, to)
            page.wait("page.run.step === page.state.step && !page.run.busy")
    assert counts == sorted(set(counts)), counts
    go_to(page, 0)


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
    page.find("#tab-class").click()
    page.press("#tab-class", Keys.ARROW_RIGHT)
    assert page.run("page.state.tab") == "training"
    page.press("body", "2")
    assert page.run("page.state.tab") == "class"


def write_safetensors(path, tensors):
    """tensors: {name: (shape, values)}, f32."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        numbers = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def check_files(page, folder):
    """Hostile files give a sentence and change nothing; a SelfAttention of PyTorch opens."""
    file = lambda name: os.path.join(folder, f"{name}.safetensors")
    with open(file("long"), "wb") as out:
        out.write(struct.pack("<Q", 2**62) + b"{}")
    write_safetensors(file("markup"), {"<img src=x onerror=alert(1)>": ([1], [0])})
    write_safetensors(file("shape"), {f"W_{w}.weight": ([2, n], [0] * 2 * n) for w, n in (("q", 2), ("k", 3), ("v", 2))})
    write_safetensors(file("good"), {f"W_{w}.weight": ([2, 2], [0.5, -0.25, 1, 2]) for w in "qkv"})
    show(page, "own")
    before = engine(page, "hash()")
    for name in ("long", "markup", "shape"):
        page.find("#own-file").send_keys(file(name))
        page.wait("[...document.querySelectorAll('#panel-own .problem')].some((p) => p.textContent.includes(arguments[0]) && p.textContent.length > 40)", name)
    page.find("#own-file").send_keys(file("good"))
    page.wait("document.querySelectorAll('#panel-own .problem').length === 0 && document.querySelectorAll('#panel-own td[data-index]').length > 0")
    assert engine(page, "hash()") == before and page.run("document.querySelector('img') === null")


def check_print(page):
    """The tabs are not printed, nor the numbers that a worksheet asks for; the quiz is printed with its answers to choose."""
    show(page, "class", example="tutorial", masked=False, phase="forward", line=3, cell="")
    page.emulate(media="print")
    assert not page.run("document.querySelector('[role=tablist]').checkVisibility()")
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
    for tab in ("training", "class", "own"):
        page.find(f"#tab-{tab}").click()  # browsers skip entries that no reader has made
        if tab == "class":
            set_state(page, line=6)
    seen = []  # an entry for each tab, none for lines and steps
    for go in ("back", "back", "back", "forward", "forward", "forward"):
        before = page.run("location.href")
        getattr(driver, go)()
        page.wait("location.href !== arguments[0]", before)
        seen.append((page.run("page.state.tab"), page.run("page.state.line")))
        assert page.run("document.querySelector('[role=tabpanel]:not([hidden])').id") == f"panel-{seen[-1][0]}"
    assert seen == [("class", 6), ("training", 3), ("class", 3), ("training", 3), ("class", 6), ("own", 6)], seen
    assert page.run("page.run.step") == 60 and engine(page, "hash()") == digest
    driver.get("about:blank")
    driver.back()
    page.wait("window.page !== undefined && page.run.step === 60 && !page.run.busy")
    assert engine(page, "hash()") == digest and page.run("page.state.tab") == "own"


def check_links(page):
    """A link reproduces what is shown; hostile links do no harm."""
    hashes = set()
    for fragment in ("tab=class&example=pizza&step=60&heads=2&line=6&lang=de&theme=dark&seed=5", "seed=5&heads=2&step=60"):
        page.load(f"#{fragment}")
        page.wait("page.run.step === 60")
        hashes.add(engine(page, "hash()"))
        assert page.run("[page.state.line, document.documentElement.lang]") == ([6, "de"] if "lang=de" in fragment else [0, "en"])
    assert len(hashes) == 1, hashes
    page.load("#line=NaN&heads=1e9&seed=-1&lr=x&step=1e99&tab=__proto__&example=constructor&cell=%00&mask=zz"
              "&sentence=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&broken=toString&lang=xx&unknown=1")
    names = ["line", "heads", "seed", "lr", "tab", "example", "cell", "mask", "broken", "lang"]
    found = page.run("arguments[0].map((name) => page.state[name])", names)
    assert found == [0, 16, 0, 0.02, "story", "tutorial", "", "", "", ""], found
    assert page.run("document.querySelector('img') === null")


def check(page, folder):
    check_menu(page)
    check_teachers(page)
    check_keyboard(page)
    check_files(page, folder)
    check_print(page)
    check_history(page)
    check_links(page)
    page.check_quiet()
