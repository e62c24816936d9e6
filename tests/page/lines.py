"""Tests of "Line by line": its formulas are true, and everything that belongs to a line is on one screen."""

import math
import re

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from helpers import open_page, set_state, show

SIZES = ((1920, 1080), (1400, 900), (1366, 768), (820, 1180), (390, 844))


# ---- formulas ----

class False_(Exception):
    """A formula that cannot be computed with these matrices."""


def product(a, b):
    if len(a[0]) != len(b):
        raise False_
    columns = list(zip(*b))
    return [[math.fsum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def each(a, b, function):
    """Number by number; a row or column of b counts for all."""
    if len(b) not in (1, len(a)) or len(b[0]) not in (1, len(a[0])):
        raise False_
    at = lambda r, c: b[r if len(b) > 1 else 0][c if len(b[0]) > 1 else 0]
    return [[function(x, at(r, c)) for c, x in enumerate(row)] for r, row in enumerate(a)]


def softmax(a):
    exponentials = [[math.exp(x - max(row)) for x in row] for row in a]
    return [[x / sum(row) for x in row] for row in exponentials]


def cross_entropy(logits, targets):
    rows = softmax(logits[:len(targets[0])])
    return [[math.fsum(-math.log(row[int(target)]) for row, target in zip(rows, targets[0])) / len(rows)]]


def minus_one_hot(shares, targets):
    if len(shares) != len(targets[0]):
        raise False_
    return [[x - (c == int(target)) for c, x in enumerate(row)] for row, target in zip(shares, targets[0])]


def add(a, b):
    return each(a, b, lambda x, y: x + y)


# The formulas without T0 =; t: the matrices, transposed where there is a T above, and about: what else they need.
FORMULAS = {
    "1": lambda t, about: [[1.0]],
    "T1": lambda t, about: t[1],
    "T1 · T2": lambda t, about: product(t[1], t[2]),
    "T1 · T2 + T3": lambda t, about: add(product(t[1], t[2]), t[3]),
    "2 · T1": lambda t, about: [[2 * x for x in row] for row in t[1]],
    "T1 + T2": lambda t, about: add(t[1], t[2]),
    "T1 + T2 + T3": lambda t, about: add(add(t[1], t[2]), t[3]),
    "T1 + T2 + T3 + T4": lambda t, about: add(add(add(t[1], t[2]), t[3]), t[4]),
    "T1 + T2 + T3 + T4 + others": lambda t, about:
        add(add(add(add(t[1], t[2]), t[3]), t[4]), [[math.fsum(x) for x in zip(*rows)] for rows in zip(*about["others"])]),
    "T1 ÷ √d": lambda t, about: [[x / about["d"] ** 0.5 for x in row] for row in t[1]],
    "T1 −∞ ← T2": lambda t, about: each(t[1], t[2], lambda x, blocked: -math.inf if blocked else x),
    "T1 0 ← T2": lambda t, about: each(t[1], t[2], lambda x, blocked: 0.0 if blocked else x),
    "softmax( T1 )": lambda t, about: softmax(t[1]),
    "Σ→ T1 ∘ T2": lambda t, about: [[math.fsum(row)] for row in each(t[1], t[2], lambda x, y: x * y)],
    "T1 ∘ ( T2 − T3 )": lambda t, about: each(t[1], each(t[2], t[3], lambda x, y: x - y), lambda x, y: x * y),
    "Σ T1 ²": lambda t, about: [[math.fsum(x * x for row in t[1] for x in row)]],
    "Σ↓ T1": lambda t, about: [[math.fsum(column) for column in zip(*t[1])]],
    "T1 [tokens]": lambda t, about: [t[1][token] for token in about["tokens"]],
    "Σ by word T1": lambda t, about: [[math.fsum(column) for column in zip(*(
        [[0.0] * len(t[1][0])] + [row for row, token in zip(t[1], about["tokens"]) if token == word]))]
        for word in range(len(t[0]))],
    "cross_entropy( T1 , T2 )": lambda t, about: cross_entropy(t[1], t[2]),
    "( T1 − onehot( T2 )) ÷ n": lambda t, about: [[x / len(t[1]) for x in row] for row in minus_one_hot(t[1], t[2])],
    "cat( T1 T2 )": lambda t, about: [a + b for a, b in zip(t[1], t[2])],
}
SYMMETRIC = {"T1 + T2", "T1 + T2 + T3", "T1 + T2 + T3 + T4", "T1 + T2 + T3 + T4 + others", "Σ→ T1 ∘ T2"}

DRAWN = """(() => {
    const { view } = page.panels.find(({ root }) => root.id === "panel-class").section, { shown } = view;
    const read = (tensor) => {
        const { shape, values } = shown.pass.tensors[tensor], width = shape.length > 0 ? shape[shape.length - 1] : 1;
        return Array.from({ length: values.length / width }, (_, r) => Array.from(values.slice(r * width, (r + 1) * width),
            (x) => x === -Infinity ? "-inf" : Number(x)));
    };
    return { current: [...document.querySelectorAll("#panel-class ol.code")].map((list) => list.querySelectorAll(".current").length),
        expected: (view.backward ? view.line.back[page.state.part] : view.line.formula)[0],
        parts: [...document.querySelectorAll("#panel-class .equation > *")].map((e) => e.dataset.symbol ?? {
            name: e.dataset.name, transposed: e.dataset.transposed === "true", rows: read(Number(e.dataset.tensor)) }),
        text: document.querySelector("#panel-class .formula-text").textContent,
        d: shown.pass.tensors[shown.find("k").tensor].shape[1],
        others: shown.heads > 1 ? shown.otherParts().map(read) : [],
        tokens: shown.sentence.ids === null ? [] : shown.sentence.ids.slice(0, shown.tokens.length) };
})()"""


def turned(matrix):
    return [list(row) for row in zip(*matrix)]


def numbers(rows):
    return [[float(x) for x in row] for row in rows]


def read_formula(drawn):
    """The formula as drawn: (text with T0, T1, ..., matrices, names)."""
    words, matrices, names = [], [], []
    for part in drawn["parts"]:
        if isinstance(part, str):
            words.append("+ others" if part.endswith("…") else part)
        else:
            words.append(f"T{len(matrices)}")
            rows = numbers(part["rows"])
            matrices.append(turned(rows) if part["transposed"] else rows)
            names.append(part["name"])
    return " ".join(words), matrices, names


def holds(text, matrices, about):
    """Is the formula true, within what rounding to 32 bits allows?"""
    if text == "T0 T1 = split( T2 )":
        return [a + b for a, b in zip(*matrices[:2])] == matrices[2]
    left, right = text.split(" = ")
    assert left == "T0", text
    assert right in FORMULAS, f"no rule for {right!r}"
    try:
        found = FORMULAS[right](matrices, about)
    except (False_, IndexError, ValueError):
        return False
    result = matrices[0]
    if len(found) < len(result) and right.endswith("÷ n"):  # words without a next one get 0
        found = found + [[0.0] * len(found[0])] * (len(result) - len(found))
    if (len(found), len(found[0])) != (len(result), len(result[0])):
        return False
    finite = [abs(x) for row in result for x in row if math.isfinite(x)]
    allowed = 2e-6 + 2e-5 * max(finite, default=0.0)
    return all(x == y or abs(x - y) <= allowed for a, b in zip(found, result) for x, y in zip(a, b))


def each_formula(page, script):
    """[[phase, line, part], the script's value] of every formula of every line, forward and backward."""
    return page.run("""(() => {
        const { view } = page.panels.find(({ root }) => root.id === "panel-class").section, found = [];
        for (const phase of ["forward", "backward"]) {
            view.steps.forEach((step, line) => {
                for (let part = 0; part < (phase === "forward" ? 1 : step.back.length); part++) {
                    page.setState({ phase, line, part, cell: "" });
                    found.push([[phase, line, part], SCRIPT]);
                }
            });
        }
        return found;
    })()""".replace("SCRIPT", script))


def check_equations(page):
    """Every formula that is drawn is true for the numbers of the engine; with two operands swapped it is not."""
    checked = swapped = 0
    seen = set()
    for example, heads, changes in (("tutorial", 1, {"masked": False}), ("tutorial", 1, {"masked": True}), ("pizza", 1, {}),
                                    ("own", 2, {"head": 1})):
        if page.run("page.run.of.heads") != heads:
            set_state(page, heads=heads)
            page.wait("page.run.of.heads === arguments[0] && page.run.measures.has(0)", heads)
        show(page, "class", example=example, phase="forward", line=0, part=0, **changes)
        for at, drawn in each_formula(page, DRAWN):
            text, matrices, names = read_formula(drawn)
            about = {"d": drawn["d"], "others": [numbers(rows) for rows in drawn["others"]], "tokens": drawn["tokens"]}
            assert names[0] == drawn["expected"] and drawn["current"] == [1, 1], (at, names, drawn["expected"], drawn["current"])
            assert holds(text, matrices, about), (example, at, text, names)
            assert "undefined" not in drawn["text"] and len(drawn["text"]) > 5, drawn["text"]
            checked += 1
            seen.add((at[0], names[0]))
            if len(matrices) > 2 and text[5:] not in SYMMETRIC and matrices[1] != matrices[2] and "split" not in text:
                matrices[1], matrices[2] = matrices[2], matrices[1]
                assert not holds(text, matrices, about), ("swapped operands are not noticed", example, at, text, names)
                swapped += 1
    print(f"line by line: {checked} formulas hold, {swapped} with two operands swapped do not")
    for name in ("attention_percents.grad", "v.grad", "W_q.grad", "masked_sims.grad", "sims.grad", "logits.grad", "we.grad",
                 "embeddings.grad", "residual.grad", "token_encodings.grad", "token_encodings.grad@residual"):
        assert ("backward", name) in seen, (name, seen)
    assert checked > 100 and swapped > 40, (checked, swapped)
    weights = page.driver.execute_async_script("""const done = arguments[0];
        page.run.engine.state().then(({ tensors }) => done(tensors.map(({ name, values }) => [name, values.length])))""")
    weights = [(name, count) for name, count in weights if name != "pe.pe"]  # fixed
    own = sum(count for name, count in weights if re.search(r"W_[qkv]\.weight$", name))
    about = page.text("#panel-class .about")
    assert f"all {sum(count for _, count in weights):,} weights" in about and f"{own:,} of them" in about, about
    options = page.run("[...document.querySelectorAll('#panel-class [data-key=head] option')].map((o) => o.textContent)")
    assert options == ["1", "2"], options
    text = page.run("document.querySelector('#panel-class').textContent")
    assert "head 0" not in text.lower(), "heads are counted from 1"
    page.check_quiet()
    set_state(page, heads=1, example="tutorial", masked=False, phase="forward", line=0, part=0, head=0)
    page.wait("page.run.of.heads === 1 && page.run.measures.has(0)")


# ---- the map ----

def check_map(page):
    """A box leads to its line; the arrow keys go on from there; what is done is filled, backward from the right."""
    show(page, "class", example="pizza", phase="forward", line=0, part=0, cell="")
    boxes = "[...document.querySelectorAll('#panel-class .map button')]"
    labels = page.run(f"{boxes}.map((b) => b.getAttribute('aria-label'))")
    assert len(labels) == len(set(labels)) == page.run("page.sections && document.querySelectorAll('#panel-class .listing:first-of-type [data-step]').length"), labels
    for line in (9, 3):
        page.driver.find_elements(By.CSS_SELECTOR, "#panel-class .map button")[line].click()
        assert page.run("page.state.line") == line
        assert page.run(f"{boxes}.findIndex((b) => b.ariaCurrent === 'step')") == line
        assert page.run(f"{boxes}.map((b) => b.classList.contains('done'))") == [i < line for i in range(len(labels))]
    assert page.run(f"{boxes}.filter((b) => b.tabIndex === 0).length") == 1
    ActionChains(page.driver).send_keys(Keys.ARROW_RIGHT).perform()
    assert page.run("page.state.line") == 4 and page.run(f"document.activeElement === {boxes}[4]")
    set_state(page, phase="backward", line=6)
    assert page.run(f"{boxes}.map((b) => b.classList.contains('done'))") == [i > 6 for i in range(len(labels))]
    set_state(page, example="tutorial", phase="forward", line=0)


def check_frames(page):
    """The frames of the legend stay under the pointer: thick for the number that is explained, thin for its sources."""
    show(page, "class", example="tutorial", phase="forward", line=0, part=0, cell="q:1:1")
    shadow = "getComputedStyle(document.querySelector('#panel-class .equation td.result')).boxShadow"
    before = page.run(shadow)
    page.hover("#panel-class .equation td.result")
    assert page.run("document.querySelector('#panel-class .equation td.result').matches(':hover')")
    assert page.run(shadow) == before and before.count("3px") == 1, (before, page.run(shadow))
    page.hover("#panel-class .equation [data-name=W_q] td[data-index]")
    page.hover("#panel-class .map", 1, 1)
    set_state(page, cell="")


# ---- once ----

def check_once(driver, path):
    """At the first visit the page explains a number by itself; not again, and not under reduced motion."""
    hint = "document.querySelector('#panel-class .once') !== null"
    # Long waits of the page end when the test says so.
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """window.waits = [];
        const timeout = setTimeout;
        window.setTimeout = (f, ms, ...more) => ms > 500 ? waits.push(f) : timeout(f, ms, ...more);"""})

    def visit(motion):
        page = open_page(driver, path, "#tab=class", motion=motion)
        page.wait("document.querySelector('#panel-class .equation .card') !== null")
        show(page, "class")
        driver.execute_script("waits.forEach((f) => f())")
        return page.run(f"[{hint}, document.querySelector('#panel-class td.result') !== null, page.state.cell]")
    visit("reduce")
    driver.execute_script("localStorage.clear()")
    assert visit("reduce") == [False, False, ""]
    assert visit("no-preference") == [True, True, ""]
    ActionChains(driver).send_keys(Keys.ARROW_RIGHT).perform()
    assert not driver.execute_script(f"return {hint}")
    assert visit("no-preference") == [False, False, ""]
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


# ---- positions ----

PLACES = """(() => {
    const panel = document.querySelector("#panel-class"), { left: x0, top: y0 } = panel.getBoundingClientRect();
    const box = (e) => {
        const { left, top, right, bottom } = e.getBoundingClientRect();
        return [left, top, right, bottom].map((x) => Math.round(10 * x) / 10);
    };
    const relative = (e) => box(e).map((x, i) => Math.round(10 * (x - (i % 2 === 0 ? x0 : y0))) / 10);
    const frame = [".map", ".steps", ".listings", ".formula-text", ".panel", ".line-choices"];
    const equation = panel.querySelector(".equation");
    return { cards: [...equation.querySelectorAll(".card")].map((e) => [e.dataset.name, box(e), relative(e)]),
        tables: [...equation.querySelectorAll("table")].map(box),
        panel: box(panel.querySelector(".panel")), inner: [innerWidth, innerHeight],
        frame: Object.fromEntries(frame.map((name) => [name, relative(panel.querySelector(name))])),
        scrolls: equation.scrollWidth > equation.clientWidth + 1 || document.documentElement.scrollWidth > innerWidth,
        sentence: (({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(panel.querySelector(".sentence")),
        layout: equation.dataset.layout,
        cut: [...equation.querySelectorAll(innerWidth < 700 ? ".card-title .size" : ".card-title *, thead th, thead td:first-child")]
            .filter((e) => e.textContent !== "" && e.clientHeight > 0 && parseFloat(getComputedStyle(e).fontSize) > 0 &&
                (e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > e.closest(".card").getBoundingClientRect().right + 1))
            .map((e) => e.textContent) };
})()"""

# Of a product: does each number of the result stand where its row and its column meet?
CROSSES = """(() => {
    const cards = [...document.querySelectorAll("#panel-class .equation .card")];
    const { view } = page.panels.find(({ root }) => root.id === "panel-class").section;
    const cellsOf = (card) => {
        const { shape } = view.shown.pass.tensors[card.dataset.tensor], width = shape[shape.length - 1];
        const turned = card.dataset.transposed === "true";
        return [...card.querySelectorAll("td[data-index]")].map((td) => {
            const at = Number(td.dataset.index), r = Math.floor(at / width), c = at % width, b = td.getBoundingClientRect();
            return { r: turned ? c : r, c: turned ? r : c, x: (b.left + b.right) / 2, y: (b.top + b.bottom) / 2 };
        });
    };
    const [result, left, right] = cards.map(cellsOf), rows = new Map(), columns = new Map();
    left.forEach(({ r, y }) => rows.set(r, y));
    right.forEach(({ c, x }) => columns.set(c, x));
    const above = Math.max(...right.map(({ y }) => y)) < Math.min(...result.map(({ y }) => y));
    const before = Math.max(...left.map(({ x }) => x)) < Math.min(...result.map(({ x }) => x));
    return above && before && result.every(({ r, c, x, y }) => Math.abs(rows.get(r) - y) < 1.01 && Math.abs(columns.get(c) - x) < 1.01);
})()"""


# Of a formula: [its places, whether a product is right, whether anything has moved under a pointer, at one size].
EVERY = """(() => {
    const still = ({ cards, frame }) => JSON.stringify([cards, frame]);
    const places = PLACES, crosses = places.layout !== "product" || CROSSES;
    if (innerWidth !== 1366) return [places, crosses, false];
    document.querySelector("#panel-class .equation .changed td[data-index]").dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    return [places, crosses, still(PLACES) !== still(places)];
})()""".replace("PLACES", PLACES).replace("CROSSES", CROSSES)


def overlap(a, b):
    return a[0] < b[2] - 0.5 and b[0] < a[2] - 0.5 and a[1] < b[3] - 0.5 and b[1] < a[3] - 0.5


def check_places(at, found, crosses):
    """What belongs to a line is inside the window, and nothing covers anything else."""
    width, height = found["inner"]
    for name, (left, top, right, bottom), _ in found["cards"]:
        assert left >= 0 and top >= 0 and right <= width + 0.5 and bottom <= height + 0.5, (at, name, left, top, right, bottom)
    boxes = [box for _, box, _ in found["cards"]] + [found["panel"]]
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert not overlap(a, b), (at, a, b)
    for (_, card, _), table in zip(found["cards"], found["tables"]):
        assert table[0] >= card[0] - 1 and table[2] <= card[2] + 1, (at, card, table)
    assert not found["scrolls"], at
    assert found["cut"] == [], (at, found["cut"])
    assert width < 700 or found["sentence"] <= 1, (at, "the sentence is cut off")
    assert crosses, (at, "a number does not stand where its row and its column meet")


# Is the current line of each listing seen, and does the listing begin with a whole line?
CODE = """[...document.querySelectorAll("#panel-class ol.code")].filter((list) => list.checkVisibility()).map((list) => {
    const box = list.getBoundingClientRect(), line = list.querySelector(".current").getBoundingClientRect();
    const cut = [...list.querySelectorAll(".line")].find((e) => e.getBoundingClientRect().bottom > box.top + 2);
    const { top } = cut.getBoundingClientRect(), tall = parseFloat(getComputedStyle(cut).lineHeight), hidden = (box.top + 1 - top) % tall;
    return [line.top >= box.top - 1 && line.bottom <= box.bottom + 1, top >= box.top - 2 || Math.min(hidden, tall - hidden) < 2.5];
})"""
SETTLED = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"


def check_code(driver, path):
    """The current line of the program is seen, also after something below it has taken its height."""
    for size, fragment in (((1366, 768), "present=true"), ((390, 844), "step=500")):
        page = open_page(driver, path, f"#tab=class&example=pizza&line=9&{fragment}", width=size[0], height=size[1])
        page.wait("document.querySelector('#panel-class .equation .card') !== null && !page.run.busy", seconds=20)
        for line in (9, *range(13)):
            set_state(page, line=line)
            for asked in (False, True) if line in (2, 9) else (False,):
                if asked:
                    page.find("#panel-class .question [data-key=ask]").click()
                driver.execute_async_script(SETTLED)
                found = page.run(CODE)
                assert found and all(seen and whole for seen, whole in found), (size, fragment, line, asked, found)


PARTS = """[...document.querySelectorAll("#panel-class .equation .card")].map((card) => ({ name: card.dataset.name,
    cells: [...card.querySelectorAll("tbody tr:first-child td[data-index]")].map((td) => td.getBoundingClientRect()).map((b) => [b.left, b.width, b.height]) }))"""


def check_parts(driver, path):
    """Pieces of heads stand over theirs in the whole; operands that are multiplied number by number have cells of one size;
    the words of a look-up stand over those of its result."""
    for size in ((1366, 768), (390, 844)):
        page = open_page(driver, path, "#tab=class&example=pizza&heads=2&line=10", width=size[0], height=size[1])
        for heads in (2, 4):
            for phase in ("forward", "backward"):
                set_state(page, heads=heads, phase=phase)
                page.wait("document.querySelectorAll('#panel-class .equation .card').length === arguments[0]", heads + 1)
                show(page, "class")
                parts = page.run(PARTS)
                whole = [part["cells"] for part in parts if part["name"].startswith("all_heads")]
                pieces = [cell for part in parts if not part["name"].startswith("all_heads") for cell in part["cells"]]
                assert len(whole) == 1 and len(pieces) == len(whole[0]) == 32, (size, heads, phase, parts)
                assert all(abs(a[0] - b[0]) < 1 and abs(a[1] - b[1]) < 1 for a, b in zip(pieces, whole[0])), (size, heads, phase, parts)
    page = open_page(driver, path, "#tab=class&example=pizza&line=8&phase=backward", width=1366, height=768)
    for present in (False, True):
        for part in (0, 1):
            show(page, "class", present=present, part=part)
            cells = {each["name"]: each["cells"] for each in page.run(PARTS)}
            (_, wide, tall), (_, *other) = cells["attention_percents"][0], cells["attention_percents.grad"][0]
            assert abs(wide - other[0]) < 0.5 and abs(tall - other[1]) < 0.5 and tall >= 9 and wide < 3 * tall, (present, part, wide, tall, other)
            if part == 0 and not present:
                tops = page.run("[...document.querySelectorAll('#panel-class .equation .card')].map((e) => e.getBoundingClientRect().top)")
                assert max(tops) - min(tops) < 1, (present, tops)
    for phase in ("forward", "backward"):
        show(page, "class", line=0, part=0, phase=phase, present=False)
        page.wait("document.querySelectorAll('#panel-class .equation .card').length === 2")
        (a, *_), (b, *_) = [each["cells"] for each in page.run(PARTS)]
        assert abs(a[0] - b[0]) < 1, (phase, a, b)
    print("line by line: pieces of heads stand over theirs")


def check_layout(driver, path):
    """Result and operands of every line on one screen at five sizes, and nothing moves."""
    checked = 0

    def drawings(size, fragment):
        width, height = size
        page = open_page(driver, path, f"{fragment}&tab=class", width=width, height=height)
        page.wait("document.querySelector('#panel-class .equation .card') !== null")
        if width >= 700:
            check_places((size, fragment, "the first drawing"), page.run(PLACES), True)
        show(page, "class")
        if width < 700:
            driver.execute_script("scrollTo(0, document.querySelector('#panel-class').getBoundingClientRect().top + scrollY)")
        found = [(at, *of) for at, of in each_formula(page, EVERY)]
        page.check_quiet()
        assert len(found) > 15, found
        for at, places, crosses, moved in found:
            check_places((size, fragment, at), places, crosses)
            assert not moved, (size, fragment, at, "pointing at a number moves something")
            assert places["frame"] == found[0][1]["frame"], (size, fragment, at, "something moved", places["frame"], found[0][1]["frame"])
        return found

    for size in SIZES:
        usual = size in ((1366, 768), (390, 844))
        found = [x for fragment in ("#example=pizza", *(["#line=1"] if usual else []),
                                    *(["#example=pizza&present=true"] if size[0] == 1366 else []))
                 for x in drawings(size, fragment)]
        lowest = max(box[3] for _, places, _, _ in found for _, box, _ in places["cards"])
        checked += len(found)
        print(f"line by line, {size[0]} x {size[1]}: the lowest matrix ends at {lowest:.0f} px")
        for language in {1366: ["de"], 390: ["fr"]}.get(size[0], []):  # the same places in every language
            tops = [[{name: [round(x) for x in box[:2]] for name, box in places["frame"].items()} for _, places, _, _ in of]
                    for of in (found, drawings(size, f"#lang={language}&example=pizza"))]
            assert tops[0][:len(tops[1])] == tops[1], (size, [x for x in zip(*tops) if x[0] != x[1]][:1])
    print(f"line by line: {checked} drawings are whole on one screen")
