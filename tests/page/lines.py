"""Tests of "Line by line": the numbers of PyTorch, formulas that are true for what is drawn, and the explanations of numbers."""

import math
import re

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from attention import begin_run, go_to, half_a_unit, number, set_state, show

# The tutorial's example in PyTorch, and the derivatives of loss: nn.Linear(2, 2, bias=False) for W_q, W_k and W_v
# after torch.manual_seed(42), then everything in float64; F.softmax(q @ k.T / 2**0.5, 1) @ v;
# loss = (attention_scores**2).sum().
INF = math.inf
SHARED = {
    "W_q": [0.5406, 0.5869, -0.1657, 0.6496],
    "W_k": [-0.1549, 0.1427, -0.3443, 0.4153],
    "W_v": [0.6233, -0.5188, 0.6146, 0.1323],
    "token_encodings": [1.16, 0.23, 0.57, 1.36, 4.41, -2.16],
    "q": [0.7621, -0.0428, 1.1063, 0.7890, 1.1164, -2.1336],
    "k": [-0.1469, -0.3038, 0.1057, 0.3685, -0.9914, -2.4152],
    "v": [0.6038, 0.7434, -0.3502, 0.5303, 3.8695, 2.4246],
    "sims": [-0.0990, 0.0648, -0.6523, -0.4022, 0.4078, -3.0024, 0.4842, -0.6683, 4.0461],
    "scaled_sims": [-0.0700, 0.0458, -0.4612, -0.2844, 0.2883, -2.1230, 0.3424, -0.4725, 2.8610],
}
PLAIN = SHARED | {
    "attention_percents": [0.3573, 0.4011, 0.2416, 0.3410, 0.6047, 0.0542, 0.0722, 0.0320, 0.8959],
    "attention_scores": [1.0100, 1.0641, 0.2040, 0.7057, 3.4989, 2.2427],
    "loss": [19.9643],
    "q.grad": [-1.5294, -3.8683, -0.1782, -0.4538, -2.0213, -5.0850],
    "k.grad": [-1.7693, 2.9959, -1.9368, 1.5559, 3.7060, -4.5519],
    "v.grad": [1.3660, 1.5655, 1.2807, 1.8505, 6.7793, 4.6091],
    "sims.grad": [-0.3797, -1.1016, 1.4814, 0.0522, -0.2026, 0.1504, -1.3773, -0.7821, 2.1594],
    "scaled_sims.grad": [-0.5370, -1.5579, 2.0950, 0.0738, -0.2865, 0.2127, -1.9478, -1.1060, 3.0538],
    "attention_percents.grad": [2.8017, 0.4212, 12.9765, 1.2956, 0.6056, 5.0011, 7.5595, -0.0719, 37.9532],
    "attention_scores.grad": [2.0201, 2.1281, 0.4080, 1.4115, 6.9978, 4.4854],
    "loss.grad": [1],
    "W_q.grad": [-10.7895, 3.7718, -27.1708, 9.4768],
    "W_k.grad": [13.1872, -11.0459, -15.7116, 12.6372],
    "W_v.grad": [32.2112, -12.5874, 23.1967, -7.0788],
    "token_encodings.grad": [0.8704, -2.9201, 1.6789, -0.4490, 7.8011, -8.7576],
}
MASKED = SHARED | {
    "masked_sims": [-0.0700, -INF, -INF, -0.2844, 0.2883, -INF, 0.3424, -0.4725, 2.8610],
    "attention_percents": [1, 0, 0, 0.3606, 0.6394, 0, 0.0722, 0.0320, 0.8959],
    "attention_scores": [0.6038, 0.7434, -0.0062, 0.6072, 3.4989, 2.2427],
    "loss": [18.5580],
    "q.grad": [0, 0, -0.0102, -0.0271, -2.0213, -5.0850],
    "k.grad": [-1.4930, 2.9703, -0.9176, 1.6369, 2.4107, -4.6072],
    "v.grad": [1.7082, 2.2484, 0.2157, 0.9197, 6.2691, 4.0184],
    "sims.grad": [0, 0, 0, 0.0403, -0.0403, 0, -1.3773, -0.7821, 2.1594],
    "scaled_sims.grad": [0, 0, 0, 0.0569, -0.0569, 0, -1.9478, -1.1060, 3.0538],
    "masked_sims.grad": [0, 0, 0, 0.0569, -0.0569, 0, -1.9478, -1.1060, 3.0538],
    "attention_percents.grad": [1.8343, 0.3656, 8.2773, 0.8952, 0.6483, 2.8962, 7.5595, -0.0719, 37.9532],
    "attention_scores.grad": [1.2075, 1.4868, -0.0124, 1.2143, 6.9978, 4.4854],
    "loss.grad": [1],
    "W_q.grad": [-8.9196, 4.3521, -22.4403, 10.9468],
    "W_k.grad": [8.3761, -6.7984, -15.9391, 12.8609],
    "W_v.grad": [29.7513, -12.8552, 20.8534, -6.9117],
    "token_encodings.grad": [1.6555, 0.4319, 0.2774, 0.5351, 7.3398, -8.7789],
}


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
    const read = ({ shape, values }) => {
        const width = shape.length > 0 ? shape[shape.length - 1] : 1;
        return Array.from({ length: values.length / width }, (_, r) => Array.from(values.slice(r * width, (r + 1) * width),
            (x) => x === -Infinity ? "-inf" : Number(x)));
    };
    return { current: [...document.querySelectorAll("#panel-class ol.code")].map((list) => list.querySelectorAll(".current").length),
        expected: (view.backward ? view.line.back[page.state.part] : view.line.formula)[0],
        parts: [...document.querySelectorAll("#panel-class .equation > *")].map((e) => e.dataset.symbol ?? {
            name: e.dataset.name, transposed: e.dataset.transposed === "true", percent: e.querySelector("table").classList.contains("percent"),
            rows: read(view.matrices.get(e.dataset.name)), texts: [...e.querySelector("table").tBodies[0].rows]
                .map((row) => [...row.querySelectorAll("td[data-index]")].map((td) => td.textContent)) }),
        text: document.querySelector("#panel-class .formula-text").textContent,
        d: shown.width,
        others: shown.heads > 1 ? [read({ ...shown.find("token_encodings"), values: shown.others() })] : [],
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


def each_formula(page):
    """[[phase, line, part], DRAWN] of every formula of every line, forward and backward."""
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
    })()""".replace("SCRIPT", DRAWN))


def check_shown(part, expected):
    """The numbers of PyTorch, to the last digit; percentages have one decimal, fewer than `expected`."""
    texts = [text for row in (turned(part["texts"]) if part["transposed"] else part["texts"]) for text in row]
    for text, value in zip(texts, expected, strict=True):
        if part["percent"]:
            assert abs(number(text) / 100 - value) <= 5.5e-4, (part, expected)
        else:
            assert math.isinf(value) or re.search(r"\.\d{4,}$", text), part
            assert number(text) == value, (part, expected)


def check_equations(page):
    """Every formula that is drawn is true for the numbers of the engine, and with two operands swapped it is not; the
    tutorial's numbers are those of PyTorch."""
    checked = swapped = 0
    seen = set()
    for example, heads, changes, expected in (("tutorial", 1, {"masked": False}, PLAIN), ("tutorial", 1, {"masked": True}, MASKED),
                                              ("pizza", 1, {}, None), ("pizza", 2, {"head": 1, "watch": "own", "sentence": "the robot and it"}, None)):
        if page.run("page.run.of.heads") != heads:
            begin_run(page, heads=heads)
        show(page, "class", example=example, phase="forward", line=0, part=0, **changes)
        found, known = each_formula(page), set()
        for at, drawn in found:
            text, matrices, names = read_formula(drawn)
            about = {"d": drawn["d"], "others": [numbers(rows) for rows in drawn["others"]], "tokens": drawn["tokens"]}
            assert names[0] == drawn["expected"] and drawn["current"] == [1], (at, names, drawn["expected"], drawn["current"])
            assert holds(text, matrices, about), (example, at, text, names)
            checked += 1
            seen.add((at[0], names[0]))
            if len(matrices) > 2 and text[5:] not in SYMMETRIC and matrices[1] != matrices[2] and "split" not in text:
                matrices[1], matrices[2] = matrices[2], matrices[1]
                assert not holds(text, matrices, about), ("swapped operands are not noticed", example, at, text, names)
                swapped += 1
            if expected is not None:
                parts = [part for part in drawn["parts"] if not isinstance(part, str)]
                for part in parts:
                    if part["name"] in expected:
                        check_shown(part, expected[part["name"]])
                        known.add(part["name"])
        assert expected is None or known == set(expected), set(expected) - known
        if expected is not None:  # the keys go through all of it, and back
            set_state(page, phase="forward", line=0, part=0)
            for key, end in ((Keys.ARROW_RIGHT, "backward"), (Keys.ARROW_LEFT, "forward")):
                page.press("body", *[key] * (len(found) - 1))
                page.wait("page.state.phase === arguments[0]", end)
                assert page.run(f"document.querySelector('#panel-class [data-key={'next' if end == 'backward' else 'previous'}]').disabled"), key
            assert page.run("[page.state.line, page.state.part]") == [0, 0]
    set_state(page, watch="")
    print(f"line by line: {checked} formulas hold, {swapped} with two operands swapped do not")
    assert checked > 100 and swapped > 40 and {("backward", "we.grad"), ("backward", "logits.grad")} <= seen, (checked, swapped, seen)
    begin_run(page, heads=1)


def check_map(page):
    """A box leads to its line; the arrow keys go on from there; what is done is filled, backward from the right."""
    show(page, "class", example="pizza", phase="forward", line=0, part=0, cell="")
    boxes = "[...document.querySelectorAll('#panel-class .map button')]"
    labels = page.run(f"{boxes}.map((b) => b.getAttribute('aria-label'))")
    assert len(labels) == len(set(labels)) > 8, labels
    for line in (9, 3):
        page.driver.find_elements(By.CSS_SELECTOR, "#panel-class .map button")[line].click()
        assert page.run("page.state.line") == line
        assert page.run(f"{boxes}.findIndex((b) => b.ariaCurrent === 'step')") == line
        assert page.run(f"{boxes}.map((b) => b.classList.contains('done'))") == [i < line for i in range(len(labels))]
    assert page.run(f"{boxes}.filter((b) => b.tabIndex === 0).length") == 1
    page.keys(Keys.ARROW_RIGHT)
    assert page.run("page.state.line") == 4 and page.run(f"document.activeElement === {boxes}[4]")
    set_state(page, phase="backward", line=6)
    assert page.run(f"{boxes}.map((b) => b.classList.contains('done'))") == [i > 6 for i in range(len(labels))]


def check_heads(page):
    """Another number of heads is another model, trained as far as this one."""
    go_to(page, 50)
    show(page, "class", example="pizza")
    Select(page.find("#panel-class [data-key=heads]")).select_by_value("2")
    page.wait("page.run.of.heads === 2 && page.run.step === 50 && !page.run.busy && page.run.measures.has(50)")
    page.wait("document.querySelectorAll('#panel-class [data-key=head] option').length === 2")
    begin_run(page, heads=1)


# ---- explanations of numbers ----

def recompute(parts):
    """A formula as a calculator computes it from the digits shown: texts, and [number] for the numbers of cells."""
    source = "".join(f"({part[0]})" if isinstance(part, list) else part for part in parts)
    for sign, python in (("−", "-"), ("×", "*"), ("²", "**2"), ("³", "**3"), ("^", "**"), ("∞", "math.inf")):
        source = source.replace(sign, python)
    assert re.fullmatch(r"[\w\s.()+*/,-]*", source), source
    return eval(source, {"exp": math.exp, "log": math.log, "math": math})


def check_equals(parts, sign, result, where):
    """The sign between a formula and its result is = if a calculator gives the digits of the result, else ≈."""
    computed, shown = recompute(parts), number(result)
    equal = computed == shown or abs(computed - shown) <= half_a_unit(result) + 1e-12 * abs(shown)
    assert equal == (sign == "="), (where, parts, sign, result, computed)
    assert equal or abs(computed - shown) < 2e-2 * max(1, abs(shown)), (where, parts, result, computed)


# Points at every `every`-th number of each formula: what the panel says.
POINT = """(() => {
    const { view } = page.panels.find(({ root }) => root.id === "panel-class").section, found = [];
    for (const phase of ["forward", "backward"]) {
        view.steps.forEach((step, line) => (phase === "forward" ? [step.formula] : step.back).forEach((_, part) => {
            page.setState({ phase, line, part, cell: "" });
            const cells = [...document.querySelectorAll("#panel-class .equation table:not(.mask, .id) td[data-index]")];
            cells.filter((_, i) => i % Math.ceil(cells.length / arguments[0]) === 0).forEach((td) => {
                td.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
                const formula = document.querySelector("#panel-class .panel .formula");
                found.push({ at: [phase, line, part], cell: td.textContent, percent: td.closest("table").classList.contains("percent"),
                    marked: td.classList.contains("result"), sources: document.querySelectorAll("#panel-class td.source").length,
                    parts: formula === null ? null : [...formula.children].map((x) => x.tagName === "BUTTON" ? [x.textContent] : x.textContent) });
            });
        }));
    }
    return found;
})()"""


def check_panel(page):
    """Pointing at a number: the formula in the panel gives it, or says ≈, and its sources are marked. In the tutorial, all numbers
    come out."""
    for example, heads, most, changes in (("tutorial", 1, 100, {"masked": True}), ("pizza", 1, 12, {}), ("pizza", 2, 12, {"head": 1})):
        if page.run("page.run.of.heads") != heads:
            begin_run(page, heads=heads)
        show(page, "class", example=example, phase="forward", line=0, part=0, cell="", **changes)
        found = page.run(POINT, most)
        explained = [x for x in found if x["parts"] is not None]
        assert all(x["marked"] for x in found) and len(explained) >= 200 and sum(x["sources"] > 0 for x in explained) > len(explained) / 5, len(explained)
        computed = [x for x in explained if "…" not in str(x["parts"])]
        for x in computed:
            *formula, last = x["parts"]
            sign, result = last.split()
            check_equals(formula, sign, result, x)
            assert sign == "=" or example != "tutorial", x
            cell = number(x["cell"].replace("<", "")) / (100 if x["percent"] else 1)
            assert abs(cell - number(result)) <= (1e-3 if x["percent"] else half_a_unit(x["cell"]) + half_a_unit(result)) or math.isinf(cell), x
        assert len(computed) > 150 and sum(x["parts"][-1].startswith(" =") for x in computed) > 0.9 * len(computed), (example, len(computed))
        print(f"{example}, {heads} heads: the formulas of {len(computed)} numbers give them")
    begin_run(page, heads=1)


def check_trail(page):
    """A number of a formula leads to its own explanation, and back."""
    show(page, "class", example="tutorial", masked=False, phase="forward", line=6, cell="attention_scores:0:0")
    title = "document.querySelector('#panel-class .panel h3').textContent"
    first = page.run(title)
    page.find("#panel-class .panel button.number").click()
    assert page.run("page.state.cell") == "attention_percents:0:0" and page.run(title) != first
    page.find("#panel-class .panel-bar button").click()
    assert page.run("page.state.cell") == "attention_scores:0:0" and page.run(title) == first
    page.find("#panel-class .panel .close").click()
    assert page.run("page.state.cell") == ""


def check(page):
    check_equations(page)
    check_map(page)
    check_heads(page)
    check_panel(page)
    check_trail(page)
    page.check_quiet()
