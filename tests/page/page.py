"""Tests the page in Chromium as a reader uses it, and opens it in Firefox.

    python3 tests/page/page.py PAGE.html FOLDER HASH1 HASH2 [SCREENSHOTS]

FOLDER is for files; HASH1 and HASH2 are those of the weights after 500 steps with 1 and 2 heads, computed
without a browser (tests/page/page.sh). Fails on a console message, a request, a
number that differs from PyTorch's or from its own formula, a control without effect, a page that is too
wide, and on serious problems that axe-core reports.
"""

import base64
import json
import math
import os
import random
import re
import struct
import sys

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import asking
import breaks
import gpt
import lines
import onward
import shell
import story
from browser import check_axe, skip, start
from firefox import Firefox, find as find_firefox
from helpers import TABS, engine, half_a_unit, number, open_page, set_state, show

# The tutorial's example in PyTorch, and the derivatives of loss: nn.Linear(2, 2, bias=False) for W_q, W_k and W_v
# after torch.manual_seed(42), then everything in float64; F.softmax(q @ k.T / 2**0.5, 1) @ v;
# loss = (attention_scores**2).sum().
INF = math.inf
WEIGHTS = {
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
PLAIN = WEIGHTS | {
    "attention_percents": [0.3573, 0.4011, 0.2416, 0.3410, 0.6047, 0.0542, 0.0722, 0.0320, 0.8959],
    "attention_scores": [1.0100, 1.0641, 0.2040, 0.7057, 3.4989, 2.2427],
    "loss": [19.9643],
}
PLAIN_GRADIENTS = {
    "q": [-1.5294, -3.8683, -0.1782, -0.4538, -2.0213, -5.0850],
    "k": [-1.7693, 2.9959, -1.9368, 1.5559, 3.7060, -4.5519],
    "v": [1.3660, 1.5655, 1.2807, 1.8505, 6.7793, 4.6091],
    "sims": [-0.3797, -1.1016, 1.4814, 0.0522, -0.2026, 0.1504, -1.3773, -0.7821, 2.1594],
    "scaled_sims": [-0.5370, -1.5579, 2.0950, 0.0738, -0.2865, 0.2127, -1.9478, -1.1060, 3.0538],
    "attention_percents": [2.8017, 0.4212, 12.9765, 1.2956, 0.6056, 5.0011, 7.5595, -0.0719, 37.9532],
    "attention_scores": [2.0201, 2.1281, 0.4080, 1.4115, 6.9978, 4.4854],
    "loss": [1],
    "W_q": [-10.7895, 3.7718, -27.1708, 9.4768],
    "W_k": [13.1872, -11.0459, -15.7116, 12.6372],
    "W_v": [32.2112, -12.5874, 23.1967, -7.0788],
    "token_encodings": [0.8704, -2.9201, 1.6789, -0.4490, 7.8011, -8.7576],
}
MASKED = WEIGHTS | {
    "masked_sims": [-0.0700, -INF, -INF, -0.2844, 0.2883, -INF, 0.3424, -0.4725, 2.8610],
    "attention_percents": [1, 0, 0, 0.3606, 0.6394, 0, 0.0722, 0.0320, 0.8959],
    "attention_scores": [0.6038, 0.7434, -0.0062, 0.6072, 3.4989, 2.2427],
    "loss": [18.5580],
}
MASKED_GRADIENTS = {
    "q": [0, 0, -0.0102, -0.0271, -2.0213, -5.0850],
    "k": [-1.4930, 2.9703, -0.9176, 1.6369, 2.4107, -4.6072],
    "v": [1.7082, 2.2484, 0.2157, 0.9197, 6.2691, 4.0184],
    "sims": [0, 0, 0, 0.0403, -0.0403, 0, -1.3773, -0.7821, 2.1594],
    "scaled_sims": [0, 0, 0, 0.0569, -0.0569, 0, -1.9478, -1.1060, 3.0538],
    "masked_sims": [0, 0, 0, 0.0569, -0.0569, 0, -1.9478, -1.1060, 3.0538],
    "attention_percents": [1.8343, 0.3656, 8.2773, 0.8952, 0.6483, 2.8962, 7.5595, -0.0719, 37.9532],
    "attention_scores": [1.2075, 1.4868, -0.0124, 1.2143, 6.9978, 4.4854],
    "loss": [1],
    "W_q": [-8.9196, 4.3521, -22.4403, 10.9468],
    "W_k": [8.3761, -6.7984, -15.9391, 12.8609],
    "W_v": [29.7513, -12.8552, 20.8534, -6.9117],
    "token_encodings": [1.6555, 0.4319, 0.2774, 0.5351, 7.3398, -8.7789],
}


# ---- training ----

def check_training(page, hashes):
    """The hash of 500 of 2,000 steps is that without a browser; every step can be reached again."""
    page.find("#tab-training").click()
    page.find("#train-play").click()  # slow enough to watch
    page.wait("page.run.step >= 2", seconds=30)
    page.find("#train-play").click()
    page.wait("!page.run.playing && page.state.step === page.run.step")
    page.find("#train-first").click()
    page.wait("page.run.step === 0")
    page.run("document.querySelector('#train-speed').value = 0")
    page.run("document.querySelector('#train-speed').dispatchEvent(new Event('change'))")
    page.find("#train-play").click()
    page.wait("page.run.step === 2000 && !page.run.playing", seconds=120)
    assert page.run("page.run.losses.length") == 2000
    last = page.run("page.run.measures.get(2000)")
    assert last["score"]["accuracy"] == 1 and last["score"]["attention"] > 0.9, last["score"]
    page.wait("document.querySelector('#train-hash').textContent.includes(arguments[0])", last["hash"])

    seen = {}
    for step in (2000, 37, 500, 37):
        engine(page, f"goTo({step})")
        found = engine(page, "hash()")
        assert seen.setdefault(step, found) == found, step
    assert seen[2000] == last["hash"]
    print("after 500 steps:", seen[500])
    assert seen[500] == hashes[0], (seen[500], hashes[0])
    set_state(page, heads=2)
    page.wait("page.run.of.heads === 2 && page.run.step === 0")
    engine(page, "goTo(500)")
    found = engine(page, "hash()")
    assert found == hashes[1], (found, hashes[1])
    set_state(page, heads=1)
    page.wait("page.run.of.heads === 1 && page.run.step === 0")


def check_training_controls(page):
    """One step, back, and the slider lead to the same hashes: those shown, and the engine's."""
    set_state(page, tab="training")
    shown = lambda: page.text("#train-hash")
    cut = page.run("""((select, width) => {
        select.style.maxWidth = "none";
        const cut = select.offsetWidth - width;
        select.style.maxWidth = "";
        return cut;
    })(document.querySelector("#train-speed"), document.querySelector("#train-speed").offsetWidth)""")
    assert cut <= 0, f"the speed is cut by {cut:.0f} px"
    assert not re.search(r":\s*$", page.text("#panel-training .chart-reading")), page.text("#panel-training .chart-reading")
    at = lambda step: page.wait("page.run.step === arguments[0] && page.run.measures.has(arguments[0])", step)
    first = shown()
    page.find("#train-step").click()
    at(1)
    page.wait("document.querySelector('#train-hash').textContent !== arguments[0]", first)
    second = shown()
    page.find("#train-step").click()
    at(2)
    page.wait("document.querySelector('#train-hash').textContent !== arguments[0]", second)
    page.find("#train-back").click()
    page.wait("document.querySelector('#train-hash').textContent === arguments[0]", second)
    assert engine(page, "hash()") in second, second
    page.press("#train-slider", Keys.HOME)
    page.wait("document.querySelector('#train-hash').textContent === arguments[0]", first)
    assert engine(page, "hash()") in first, first


# ---- the class ----

def current_lines(page):
    return page.run("""[...document.querySelectorAll("#panel-class ol.code")].map((list) =>
        [...list.querySelectorAll(".current")].map((line) => line.textContent.trim()))""")


def shown_matrices(page):
    """The matrices at the current line: {name: texts, in the order of the tensor}."""
    return page.run("""Object.fromEntries([...document.querySelectorAll("#panel-class .equation .card")].map((card) =>
        [card.dataset.name, [...card.querySelectorAll("td[data-index]")]
            .sort((a, b) => a.dataset.index - b.dataset.index).map((td) => td.textContent)]))""")


def expect_shown(name, texts, expected):
    """The numbers of PyTorch, to the last digit; percentages have one decimal, fewer than `expected`."""
    assert len(texts) == len(expected), (name, texts)
    for text, value in zip(texts, expected):
        if name == "attention_percents":
            assert abs(number(text) / 100 - value) <= 5.5e-4, (name, texts, expected)
        else:
            assert math.isinf(value) or re.search(r"\.\d{4,}$", text), (name, texts)
            assert number(text) == value, (name, texts, expected)


def check_class(page, masked, values, gradients):
    """Every line, forward and backward and back again, with PyTorch's numbers."""
    show(page, "class", example="tutorial", masked=masked, phase="forward", line=0, part=0, cell="")
    seen, drawn = [], set()
    body = page.find("body")
    where = lambda: [page.run(f"page.state.{key}") for key in ("phase", "line", "part")]
    for phase in ("forward", "backward"):
        while True:
            page.wait("document.querySelectorAll('#panel-class ol.code .current').length === 2")
            python, c = current_lines(page)
            assert len(python) == 1 and len(c) == 1, (python, c)
            here = [*where(), python[0]]
            if here[0] != phase or here in seen:
                break
            seen.append(here)
            matrices = shown_matrices(page)
            made = re.match(r"\w+", python[0])[0]
            assert phase == "backward" or made in matrices, (made, list(matrices))
            for name, texts in matrices.items():
                value = name.removesuffix(".grad")
                expected = gradients.get(value) if name.endswith(".grad") else values.get(name)
                if expected is not None:
                    expect_shown(name, texts, expected)
                    drawn.add(name)
            assert phase == "forward" or any(".grad" in name for name in matrices), here
            body.send_keys(Keys.ARROW_RIGHT)
            if page.run("document.querySelector('#panel-class [data-key=next]').disabled") and where() == here[:3]:
                break
            page.wait("page.state.phase !== arguments[0] || page.state.line !== arguments[1] || page.state.part !== arguments[2]",
                      *here[:3])
    lines = len(values) - 4  # without the weights and the input
    assert len([here for here in seen if here[0] == "forward"]) == lines, seen
    assert len({here[1] for here in seen if here[0] == "backward"}) == lines, seen
    assert drawn == {*values} | {f"{name}.grad" for name in gradients}, drawn
    for here in reversed(seen):
        assert where() == here[:3], here
        assert current_lines(page)[0] == [here[3]], here
        body.send_keys(Keys.ARROW_LEFT)
    assert where() == ["forward", 0, 0]


# ---- formulas ----

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
    comes_out = computed == shown or abs(computed - shown) <= half_a_unit(result) + 1e-12 * abs(shown)
    assert comes_out == (sign == "="), (where, parts, sign, result, computed)
    assert comes_out or abs(computed - shown) < 2e-2 * max(1, abs(shown)), (where, parts, result, computed)


TUTORIAL = ("await (async () => { await other.alone({ seed: 42, dModel: 2, heads: 1 }); return other.passAlone({"
            "encodings: [1.16, 0.23, 0.57, 1.36, 4.41, -2.16], count: 3, blocked: %s }); })()")
PASSES = (  # (name, JavaScript that gives a pass, the numbers to compute: all, or so many at random)
    ("tutorial", TUTORIAL % "null", None),
    ("tutorial with a mask", TUTORIAL % "[0, 1, 1, 0, 0, 1, 0, 0, 0]", None),
    ("pizza, untrained", "await (async () => { await other.start({ seed: 0, heads: 1, lr: 0.02, steps: 2000, breaks: 0 });"
     "return other.pass(sentence); })()", 300),
    ("pizza, 2 heads, 300 steps", "await (async () => { await other.start({ seed: 3, heads: 2, lr: 0.02, steps: 2000, breaks: 0 });"
     "await other.goTo(300); return other.pass(sentence); })()", 300),
    ("pizza, softmax along the wrong dim", "await (async () => { await other.start({ seed: 0, heads: 4, lr: 0.02, steps: 2000,"
     "breaks: 2 }); await other.goTo(20); return other.pass(sentence.slice(0, 7)); })()", 300),
)


def check_formulas(page):
    """Formulas, computed from the digits that they show, give the digits of the result, or say ≈. In the tutorial, all
    numbers come out."""
    choose = random.Random(1)
    checked = {}
    for name, code, count in PASSES:
        sizes = page.driver.execute_async_script("""const done = arguments[0];
            (async () => {
                const other = window.other ??= await page.run.engine.constructor.create();
                const { heldOut, words } = page.run.language, sentence = heldOut.find((ids) => ids[1] === words.indexOf("pizza"));
                window.recorded = """ + code + """;
                return recorded.tensors.map(({ values }) => values.length);
            })().then(done, (e) => done(e.message));""")
        assert isinstance(sizes, list), sizes
        every = page.run("(({ cells, unknown, failures }) => [cells, unknown, failures.slice(0, 3)])(page.check(recorded))")
        assert every[0] > 250 and every[1:] == [0, []], (name, every)
        if count is None:
            wanted = [(tensor, index) for tensor, size in enumerate(sizes) for index in range(size)]
        else:  # a tensor first, then one of its cells, so that large tensors do not hide the others
            wanted = [(tensor, choose.randrange(sizes[tensor])) for tensor in choose.choices(range(len(sizes)), k=2 * count)]
        found = page.run("""arguments[0].map(([tensor, index]) => {
            const x = page.explain(recorded, tensor, index, { most: Infinity });
            return x === null || !x.known ? null : { op: x.op, value: page.number(x.value), sign: x.comesOut ? "=" : "≈",
                parts: x.parts.map((p) => typeof p === "string" ? p : [p.text]) };
        })""", wanted)
        explained = [x for x in found if x is not None][:count]
        assert len(explained) > 150, (name, len(explained))
        for x in explained:
            check_equals(x["parts"], x["sign"], x["value"], name)
            assert count is not None or x["sign"] == "=", (name, x)
            checked[x["op"]] = checked.get(x["op"], 0) + 1
        equal = sum(x["sign"] == "=" for x in explained)
        longest = max(len(part[0]) for x in explained for part in x["parts"] if isinstance(part, list))
        print(f"formulas of {name}: {equal} of {len(explained)} come out from the digits shown (at most {longest} characters), "
              "the others say ≈")
        assert equal >= 0.9 * len(explained), name
    total = sum(checked.values())
    print(f"formulas: {total} numbers of {len(checked)} operations")
    assert total >= 1400, checked
    return checked


def check_panel(page):
    """Pointing at each cell of the tutorial: the formula in the panel gives the cell's number, and marks its sources."""
    show(page, "class", example="tutorial", masked=True, phase="backward", line=0, cell="")
    explained = marking = 0
    for line in range(9):
        set_state(page, line=line)
        found = page.run("""[...document.querySelectorAll("#panel-class .equation td[data-index]")].map((td) => {
            td.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
            const formula = td.closest("table.mask") !== null ? null : document.querySelector("#panel-class .panel .formula");
            return { cell: td.textContent, percent: td.closest("table").classList.contains("percent"),
                sources: document.querySelectorAll("#panel-class td.source").length,
                marked: td.classList.contains("result"), said: document.querySelector("#panel-class .panel [aria-live]").textContent,
                parts: formula === null ? null : [...formula.children].map((x) => x.tagName === "BUTTON" ? [x.textContent] : x.textContent) };
        })""")
        assert len(found) > 0, line
        for x in found:
            assert x["marked"] and x["said"] != "", x
            if x["parts"] is None:
                continue
            explained += 1
            marking += x["sources"] > 0  # a number may come from one without a name, which has no matrix
            *formula, last = x["parts"]
            sign, result = last.split()
            check_equals(formula, sign, result, line)
            assert sign == "=", x
            cell = number(x["cell"]) / (100 if x["percent"] else 1)
            assert abs(cell - number(result)) <= (6e-4 if x["percent"] else 0) or math.isinf(cell), x
    assert explained >= 100 and marking > 0.5 * explained, (explained, marking)


# ---- gradients ----

def check_gradients(page):
    """Turning a number moves the loss as its gradient says; quotients agree with backward, unless h is too large or small."""
    set_state(page, tab="gradients", example="tutorial", masked=False, weight="", turn=0, zoom=1, h=4)
    section = "#panel-gradients"
    shown = "[...document.querySelectorAll('#panel-gradients dd')].map((dd) => dd.textContent)"
    page.wait(f"({shown})[0]?.startsWith('W_q.weight[1, 0]')")  # the largest gradient

    def readings():  # the loss before and after, its change, the predicted change, the rest
        _, losses, change, predicted, rest = page.run(shown)
        before, after = losses.split(" → ")
        return [number(x) for x in (before, after, change, predicted.split(" = ")[1], rest)]

    steepest = PLAIN_GRADIENTS["W_q"][2]
    before, after, *_ = readings()
    assert abs(before - PLAIN["loss"][0]) < 6e-5 and after == before, (before, after)
    page.press(f"{section} input[type=range]", Keys.ARROW_RIGHT * 2)
    page.wait(f"({shown})[0].includes('+ 0.0200')")
    WebDriverWait(page.driver, 30, 0.02).until(lambda _: abs(readings()[4]) <= 0.1 * abs(readings()[3]))  # the engine has answered
    before, after, change, predicted, rest = readings()
    assert abs(after - before - change) < 2e-6 and abs(predicted - 0.02 * steepest) < 1e-5, readings()
    assert abs(change - predicted - rest) < 2e-6 and 0 < abs(rest) < 0.1 * abs(change), readings()

    verdicts = {}
    for h in (1, 4, 13):
        set_state(page, h=h)
        page.wait("document.querySelector('#panel-gradients .formula').textContent.includes(arguments[0])",
                  "10⁻" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(h)))
        formula, verdict = page.text(f"{section} .formula"), page.text(f"{section} .formula ~ p ~ p")
        after, before, quotient = re.search(r"= \((\S+) − (\S+)\) / \(.*\) = (\S+)$", formula).groups()
        error = abs(number(quotient) / steepest - 1)
        verdicts[verdict] = error
        rounding = 1e-10 / 2 / 10.0**-h  # of the losses shown
        assert abs((number(after) - number(before)) / 2 / 10.0**-h - number(quotient)) <= 2 * rounding + 1e-7, formula
        assert (error < 1e-5) == (h == 4), (h, error)
    assert len(verdicts) == 3, verdicts

    set_state(page, h=5)
    buttons = page.driver.find_elements(By.CSS_SELECTOR, f"{section} button")
    next(b for b in buttons if b.text.startswith("Check all")).send_keys(Keys.ENTER)
    page.wait("document.querySelectorAll('#panel-gradients table.matrix').length === 3")
    quotients = page.run("[...document.querySelectorAll('#panel-gradients table.matrix')[2].querySelectorAll('td[data-index]')]"
                         ".map((td) => td.textContent)")
    expect_shown("quotients", quotients, PLAIN_GRADIENTS["W_q"])
    page.press(f"{section} td[tabindex='0']", Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    page.wait(f"({shown})[0].startsWith('W_q.weight[1, 1]')")
    set_state(page, weight="", turn=0, zoom=1, h=4)

    page.press(f"{section} input[type=checkbox]", Keys.SPACE)  # the mask
    page.wait(f"({shown})[1]?.startsWith('18.558')")
    page.press(f"{section} input[type=checkbox]", Keys.SPACE)
    page.wait(f"({shown})[1]?.startsWith('19.964')")


# ---- files ----

def write_safetensors(path, tensors, metadata=None):
    """tensors: {name: (shape, values)}, f32."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        bytes_ = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    if metadata:
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return path


def check_files(page, folder):
    """Hostile files give a sentence and change nothing; a SelfAttention of PyTorch opens."""
    file = lambda name: os.path.join(folder, name)
    hostile = {
        "empty.safetensors": b"",
        "text.safetensors": b"not a model",
        "long.safetensors": struct.pack("<Q", 2**62) + b"{}",
        "cut.safetensors": struct.pack("<Q", 100) + b'{"W_q.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}',
        "huge.safetensors": struct.pack("<Q", 87) + b'{"W_q.weight":{"dtype":"F32","shape":[1000000000,1000000000],"data_offsets":[0,16]}}  ' + b"0" * 16,
        "markup.safetensors": None,
    }
    for name, data in hostile.items():
        if data is not None:
            with open(file(name), "wb") as out:
                out.write(data)
    write_safetensors(file("markup.safetensors"), {"<img src=x onerror=alert(1)>": ([1], [0])})
    names = list(hostile)
    names.append("shape.safetensors")
    write_safetensors(file("shape.safetensors"), {f"W_{w}.weight": ([2, n], [0] * 2 * n) for w, n in (("q", 2), ("k", 3), ("v", 2))})

    set_state(page, tab="own")
    before = engine(page, "hash()")
    for name in names:
        page.find("#own-file").send_keys(file(name))
        page.wait("[...document.querySelectorAll('#panel-own .problem')].some((p) => p.textContent.includes(arguments[0]))", name)
        sentence = page.run("[...document.querySelectorAll('#panel-own .problem')].find((p) => p.textContent.includes(arguments[0])).textContent", name)
        assert len(sentence) > len(name) + 20, sentence
    assert engine(page, "hash()") == before
    write_safetensors(file("good.safetensors"), {
        f"W_{w}.weight": ([2, 2], WEIGHTS[f"W_{w}"]) for w in "qkv"})
    page.find("#own-file").send_keys(file("good.safetensors"))
    page.wait("document.querySelectorAll('#panel-own td[data-index]').length > 0")
    assert engine(page, "hash()") == before


# ---- the frame ----

def check_links(driver, path):
    """A link reproduces what is shown; hostile links do no harm."""
    page = open_page(driver, path, "#tab=class&example=pizza&step=60&heads=2&line=6&lang=de&theme=dark&seed=5")
    page.wait("page.run.step === 60")
    assert page.run("document.documentElement.lang") == "de"
    assert page.run("page.state.line") == 6
    first = engine(page, "hash()")
    page = open_page(driver, path, "#seed=5&heads=2&step=60")
    page.wait("page.run.step === 60")
    assert engine(page, "hash()") == first
    page = open_page(driver, path, "#line=NaN&heads=1e9&seed=-1&lr=x&step=1e99&tab=__proto__&example=constructor&cell=%00&mask=zz"
                                   "&sentence=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&broken=toString&lang=xx&unknown=1")
    names = ["line", "heads", "seed", "lr", "tab", "example", "cell", "mask", "broken", "lang"]
    found = page.run("arguments[0].map((name) => page.state[name])", names)
    assert found == [0, 16, 0, 0.02, "story", "tutorial", "", "", "", ""], found
    assert page.run("document.querySelector('img') === null")
    page.check_quiet()


def check_languages(driver, path):
    """Each language has its own title, and no sentence of another."""
    titles, sentences = set(), set()
    for language in ("en", "de", "fr"):
        page = open_page(driver, path, f"#lang={language}")
        assert page.run("document.documentElement.lang") == language
        titles.add(page.run("document.title"))
        for tab in TABS:
            show(page, tab)
        own = set(page.run("""[...document.querySelectorAll("#app p, #app li, #app label, #app summary, #app button")]
            .filter((e) => e.closest(".code, .gpt-code, pre") === null && e.querySelector("select") === null)
            .map((e) => e.textContent.trim()).filter((text) => (text.match(/\\p{L}{2,}/gu) ?? []).length > 5)"""))
        assert len(own) > 50 and not own & sentences, (language, len(own), own & sentences)
        sentences |= own
        page.check_quiet()
    assert len(titles) == 3, titles


def check_keyboard(page):
    """What Tab reaches shows the focus, in every tab."""
    for tab in TABS:
        show(page, tab)
        page.driver.execute_script("document.querySelector('#app button').focus()")
        reached = 0
        for _ in range(60):
            ActionChains(page.driver).send_keys(Keys.TAB).perform()
            name, outline = page.run("""(e => [e.id || e.className.baseVal || e.className || e.tagName,
                [e, e.parentElement].some(x => getComputedStyle(x).outlineStyle !== 'none') || // handles have a ring
                    [...e.querySelectorAll('.story-touch')].some(x => getComputedStyle(x).stroke !== 'none')])(document.activeElement)""")
            if name == "BODY":
                break
            assert outline, (tab, name)
            reached += 1
        assert reached > 5, (tab, reached)
    page.find("#tab-class").click()
    page.press("#tab-class", Keys.ARROW_RIGHT)
    assert page.run("page.state.tab") == "training"


def check_widths(driver, path, pictures):
    """No tab is wider than the window, and axe-core finds nothing serious."""
    for width, theme, checked in ((360, "dark", TABS[::2]), (800, "light", ()), (1600, "light", TABS[1::2])):
        page = open_page(driver, path, "#example=pizza&step=100&line=8&cell=attention_percents:8:1", width=width, theme=theme)
        for tab in TABS:
            show(page, tab)
            wide = page.run("document.documentElement.scrollWidth")
            assert wide <= width, (tab, width, wide)
            if tab in checked:
                check_axe(page)
            if pictures:
                shell.resize(page, width, min(page.run("document.documentElement.scrollHeight"), 4000))
                driver.save_screenshot(f"{pictures}/page_{tab}_{width}_{theme}.png")
                shell.resize(page, width, 900)
        page.check_quiet()


def check_print(page):
    """The tabs are not printed."""
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not page.run("document.querySelector('[role=tablist]').checkVisibility()")
    set_state(page, tab="class", example="tutorial", masked=False, phase="forward", line=3, cell="")
    page.wait("document.querySelector('#panel-class .changed [data-index]') !== null")
    assert page.run("document.querySelector('#panel-class h2.printed').checkVisibility()")
    colours = """[...document.querySelectorAll("#panel-class .equation td[data-index]")].map((td) =>
        [td.closest(".changed") !== null, getComputedStyle(td).color === "rgba(0, 0, 0, 0)"])"""
    assert not any(blank for _, blank in page.run(colours))
    page.run("document.querySelector('#panel-class [data-key=blanks]').click()")
    assert all(new == blank for new, blank in page.run(colours)), "a worksheet hides the new numbers, and no others"
    page.run("document.querySelector('#panel-class [data-key=blanks]').click()")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


# ---- Firefox ----

def check_firefox(path, expected):
    """Firefox shows the tutorial's numbers, and trains to the same weights."""
    if find_firefox() is None:
        skip("Firefox is not installed")
        return
    with Firefox() as firefox:
        firefox.open("file://" + os.path.abspath(path) + "#line=6")
        assert firefox.run("""return new Promise((done) => {
            const look = () => document.querySelector("[data-name=attention_percents] td[data-index]") ? done(true) : setTimeout(look, 50);
            look();
        })""")
        shown = firefox.run("""return [...document.querySelectorAll("[data-name=attention_percents] td[data-index]")].map((td) => td.textContent)""")
        expect_shown("attention_percents", shown, PLAIN["attention_percents"])
        found = firefox.run("const { engine } = window.page.run; return engine.goTo(500).then(() => engine.hash())")
        assert found == expected, (found, expected)
        print("page: works in Firefox", firefox.version)


def main():
    path, folder, hashes, pictures = sys.argv[1], sys.argv[2], sys.argv[3:5], sys.argv[5] if len(sys.argv) > 5 else None
    print(f"attention.html: {os.path.getsize(path) / 1e3:.0f} KB; limit 1200 KB")
    assert os.path.getsize(path) < 1.2e6
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    driver = start()
    driver.set_script_timeout(600)
    try:
        page = open_page(driver, path)
        check_training(page, hashes)
        check_training_controls(page)
        check_class(page, False, PLAIN, PLAIN_GRADIENTS)
        check_class(page, True, MASKED, MASKED_GRADIENTS)
        lines.check_equations(page)
        lines.check_map(page)
        lines.check_frames(page)
        check_formulas(page)
        check_panel(page)
        check_gradients(page)
        breaks.check(page)
        shell.check(page)
        asking.check(page)
        onward.check(page)
        check_files(page, folder)
        check_keyboard(page)
        check_print(page)
        page.check_quiet()
        story.check_story(driver, path, folder)
        gpt.check(driver, path, folder)
        check_links(driver, path)
        shell.check_layout(driver, path)
        onward.check_layout(driver, path)
        shell.check_history(driver, path)
        asking.check_embed(driver, path)
        check_languages(driver, path)
        lines.check_once(driver, path)
        lines.check_layout(driver, path)
        lines.check_code(driver, path)
        lines.check_parts(driver, path)
        check_widths(driver, path, pictures)
    finally:
        driver.quit()
    print("page: works in Chromium", driver.capabilities["browserVersion"])
    check_firefox(path, hashes[0])


main()
