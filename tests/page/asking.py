"""Tests the quiz, the questions about lines, one picture alone (#embed) and copied pictures; for page.py."""

import math
import os
import re
import xml.etree.ElementTree as ElementTree

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import check_axe
from helpers import half_a_unit, number, open_page, set_state, show
from lines import FORMULAS, each_formula

SVG = "{http://www.w3.org/2000/svg}"


# ---- the quiz ----

QUESTIONS = """page.panels.find(({ root }) => root.id === "panel-quiz").section.now().map((q, i) => {
    const li = document.querySelectorAll("#panel-quiz li")[i];
    return { id: q.id, text: q.text, shown: li.querySelector("legend").textContent, value: q.value, options: q.options, right: q.right,
        why: q.why, tables: [...li.querySelectorAll("table")].map((t) => [...t.rows].slice(1).map((row) =>
            [...row.querySelectorAll("td[data-index]")].map((td) => td.textContent))) };
})"""


def answer_of(question):
    """The right answer of a question, from what the reader sees: a number, or an option."""
    numbers = [number(x) for x in re.findall(r"(?<![\w\[])[−-]?\d+(?:\.\d+)?", question["text"])]
    tables = [[[number(x) for x in row] for row in table] for table in question["tables"]]
    match question["id"]:
        case "dot":
            return sum(a * b for a, b in zip(tables[0][0], tables[1][0]))
        case "shape":
            return "3 × 3"
        case "scale":
            return numbers[0] / math.sqrt(numbers[1])
        case "softmax":
            return question["options"][tables[0][0].index(max(tables[0][0]))]
        case "rest":
            return 100 - numbers[0] - numbers[1]
        case "mask":
            return 100
        case "mix":
            feature = int(re.search(r"(\d)\?$", question["text"])[1])
            return sum(p / 100 * v[feature] for p, v in zip(tables[0][0], tables[1]))
        case "it":
            return "pizza"
        case "gradient":
            gradient = number(re.search(r"is ([−-]?\d+\.\d+)\.", question["text"])[1])
            return f"it {'grows' if gradient > 0 else 'falls'} by about {abs(gradient) / 100:.2f}"
        case "loss":
            return f"{math.log(numbers[0]):.1f}"


def is_same(found, question):
    if question["options"] is None:
        return abs(found - question["value"]) <= max(0.006, 2e-3 * abs(question["value"]), 0.11 if question["id"] == "rest" else 0)
    return found == question["options"][question["right"]]


def give(page, i, question, right):
    """Answers a question as a reader does."""
    item = page.driver.find_elements(By.CSS_SELECTOR, "#panel-quiz li")[i]
    if question["options"] is None:
        value = question["value"] if right else question["value"] + 7
        field = item.find_element(By.CSS_SELECTOR, "input")
        field.send_keys(f"{value:.2f}".replace(".", "," if i % 2 else "."), Keys.ENTER)
    else:
        choice = question["right"] if right else (question["right"] + 1) % len(question["options"])
        item.find_elements(By.CSS_SELECTOR, "button.option")[choice].click()


def check_quiz(page):
    """Answers follow from what a reader sees; right and wrong ones are counted; other numbers are other questions."""
    show(page, "quiz")
    page.wait("document.querySelectorAll('#panel-quiz li').length === 10", seconds=60)
    texts, score = set(), "document.querySelector('#panel-quiz .score').textContent"
    for round_ in range(2):
        questions = page.run(QUESTIONS)
        assert len({q["id"] for q in questions}) == 10, questions
        for question in questions:
            question.setdefault("options", None)
            assert question["shown"] == question["text"]
            assert is_same(answer_of(question), question), (question, answer_of(question))
            assert question["options"] is None or len(set(question["options"])) == len(question["options"]) >= 3, question
        texts.add(tuple(q["text"] for q in questions))
        assert page.run(score).startswith("0 of 10"), page.run(score)
        for i, question in enumerate(questions):
            give(page, i, question, right=round_ == 0)
        page.wait(f"{score} === 'You have {10 if round_ == 0 else 0} of 10.'")
        shown = page.run("[...document.querySelectorAll('#panel-quiz .answer')].map((p) => p.textContent)")
        assert all(q["why"] in text for q, text in zip(questions, shown)), shown
        # Sums that are explained come out on a calculator.
        for text in shown:
            found = re.search(r": ([−\d.()×+/ ]+) = ([−\d.]+)\.?$", text)
            assert found is None or abs(eval(found[1].replace("−", "-").replace("×", "*")) - number(found[2].rstrip("."))) <= 5.1e-5, text
        before = page.text("#panel-quiz .quiz")
        page.run("[...document.querySelectorAll('#panel-quiz button')].find((b) => b.textContent === 'Other numbers').click()")
        page.wait("document.querySelector('#panel-quiz .quiz').textContent !== arguments[0]", before)
    assert len(texts) == 2, texts
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    visible = page.run("[...document.querySelectorAll('#panel-quiz button, #panel-quiz .printed')].filter((x) => x.checkVisibility())"
                       ".map((x) => x.className)")
    assert set(visible) == {"option", "printed"}, visible
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    check_axe(page)
    print("quiz: 20 answers follow from what is shown")


# ---- one picture alone ----

CONTROLS = """[...document.querySelectorAll("button, input, select, summary, nav, [role=tab], header")].filter((x) => x.checkVisibility())
    .map((x) => x.outerHTML.slice(0, 80))"""
TABLES = "[...document.querySelectorAll('table')].filter((x) => x.checkVisibility()).map((x) => x.closest('.card').dataset.name)"


def documented_embeds():
    """The links of examples/README.md."""
    readme = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/README.md")
    with open(readme, encoding="utf-8") as file:
        found = re.findall(r"`(?:attention\.html)?(#[^`]*embed=[^`]*)`", file.read())
    assert len(found) == 4, found
    return found


def check_embed(driver, path):
    """A link with embed= shows a picture and nothing else, in the window's size."""
    cases = (("#embed=line:6", ["attention_scores", "attention_percents", "v"]),
             ("#embed=matrix:attention_percents&line=6", ["attention_percents"]),
             ("#embed=matrix:sims&example=pizza", ["sims"]), ("#embed=matrix:q.grad", ["q.grad"]),
             ("#embed=line:5&example=pizza&step=50&theme=dark", None))
    for fragment, names in cases:
        page = open_page(driver, path, fragment, width=800)
        page.wait("document.querySelector('[data-shown] td[data-index]')?.checkVisibility()", seconds=20)
        assert page.run(CONTROLS) == [], (fragment, page.run(CONTROLS))
        assert names is None or sorted(page.run(TABLES)) == sorted(names), (fragment, page.run(TABLES))
        assert page.run("document.documentElement.scrollWidth") <= 800, fragment
        if "matrix:" in fragment:
            rows, left = page.run("(table => [table.querySelectorAll('th[scope=row]').length, table.getBoundingClientRect().left])"
                                  "(document.querySelector('[data-shown] table'))")
            assert rows in (3, 11) and left < 60, (fragment, rows, left)
        top = page.run("document.querySelector('[data-shown]').getBoundingClientRect().top")
        assert 0 <= top < 60, (fragment, top)
        page.check_quiet()
    check_axe(page)
    page = open_page(driver, path, "#embed=picture:1&tab=training&step=60", width=800)
    page.wait("page.run.step === 60 && document.querySelector('figure[data-shown]')?.checkVisibility()", seconds=20)
    assert page.run(CONTROLS) == [], page.run(CONTROLS)
    assert page.run("[...document.querySelectorAll('figure')].filter((x) => x.checkVisibility()).length") == 1
    page.check_quiet()
    for fragment in documented_embeds():
        page = open_page(driver, path, fragment, width=800)
        page.wait("document.querySelector('[data-shown]')?.checkVisibility()", seconds=20)
        assert page.run(CONTROLS) == [] or "story:" in fragment, (fragment, page.run(CONTROLS))
        page.check_quiet()
    for fragment, shown in (("#embed=picture:1&tab=breaks&broken=merge_view", ".places-cell"), ("#embed=picture:1&tab=onward", ".places-cell"),
                            ("#embed=picture:1&tab=onward&onward=2", ".cache-written"), ("#embed=picture:1&tab=onward&onward=3", ".rope-now")):
        page = open_page(driver, path, fragment, width=1000)
        page.wait("document.querySelector(`figure[data-shown] ${arguments[0]}`)?.checkVisibility()", shown, seconds=20)
        assert [x for x in page.run(CONTROLS) if "places-cell" not in x] == [], (fragment, page.run(CONTROLS))
        page.check_quiet()
    for fragment in ("#embed=matrix:simz", "#embed=picture:1&tab=breaks&broken=no_scale"):
        page = open_page(driver, path, fragment)
        page.wait("document.querySelector('.embed-none').textContent !== ''", seconds=20)
        seen = page.run("[...document.querySelectorAll('#app *')].filter((e) => e.checkVisibility({ visibilityProperty: true }) && e.textContent !== '')"
                        ".map((e) => e.textContent)")
        assert seen == [f"The page has no picture “{fragment[7:].partition('&')[0]}” here."], (fragment, seen)
    for hostile in ("matrix:<b>", "__proto__", "story:1e9"):
        page = open_page(driver, path, f"#embed={hostile}")
        assert page.run("page.state.embed") == "" and len(page.run(CONTROLS)) > 5, hostile


# ---- copied pictures ----

def check_picture(page):
    """The picture has every number of the line, where the page has it; it goes to the clipboard, or into a file."""
    show(page, "class", example="tutorial", masked=False, phase="forward", line=6, cell="")
    page.driver.execute_script("""window.blobs = [];
        window.createURL = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blobs.push(blob); return createURL(blob); };
        navigator.clipboard.write = () => Promise.reject(new Error("not allowed"));
        HTMLAnchorElement.prototype.click = function () { window.saved = this.download; };""")
    page.find("#panel-class [data-key=picture]").click()
    page.wait("window.saved !== undefined")
    assert page.run("saved").endswith(".svg"), page.run("saved")
    svg = page.driver.execute_async_script("blobs[0].text().then(arguments[0])")
    root = ElementTree.fromstring(svg)
    width, height = (float(root.get(side)) for side in ("width", "height"))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    cells = page.run("[...document.querySelectorAll('#panel-class .equation td[data-index]')].map((td) => td.textContent)")
    assert len(cells) == 21 and all(texts.count(cell) >= cells.count(cell) for cell in cells), (cells, texts)
    assert all(word in texts for word in ("Pizza", "is", "awesome")), texts
    assert len(list(root.iter(f"{SVG}rect"))) == 1 + len(cells)
    for element in root.iter():
        assert re.fullmatch(r"#[0-9a-f]{6}", element.get("fill", "#000000")), element.attrib
        if element.tag == f"{SVG}text":
            assert 0 < float(element.get("x")) < width and 0 < float(element.get("y")) < height, element.attrib
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.driver.execute_script("""delete navigator.clipboard.write;
        const write = navigator.clipboard.write.bind(navigator.clipboard);
        navigator.clipboard.write = (items) => { window.written = items[0].types; return write(items); };""")
    page.find("#panel-class [data-key=picture]").click()
    page.wait("document.querySelector('#panel-class .picture [role=status]').textContent === 'copied'")
    assert "image/png" in page.run("written"), page.run("written")
    page.driver.execute_script("URL.createObjectURL = createURL")


# ---- questions about a line ----

HIDDEN = """[...document.querySelectorAll("#panel-class .equation .changed td[data-index]")].every((td) =>
    getComputedStyle(td).color === "rgba(0, 0, 0, 0)" && td.closest("[inert]") !== null)"""


def ask_and_answer(page, where):
    """Opens the question of the current line and answers it from the numbers that the line shows afterwards."""
    box = "#panel-class .question"
    page.find(f"{box} [data-key=ask]").click()
    page.wait(f"document.querySelector('{box} legend') !== null")
    assert page.run(HIDDEN), where
    text = page.text(f"{box} legend")
    options = page.run(f"[...document.querySelectorAll('{box} fieldset > button[type=button]')].map((b) => b.textContent)")
    if options:
        page.find(f"{box} [data-key=option0]").click()
    else:
        page.press(f"{box} input", "0,123456", Keys.ENTER)
    page.wait(f"document.querySelector('{box} .answer') !== null")
    answer = page.text(f"{box} .answer")
    assert not page.run(HIDDEN), where
    right = page.run(f"[...document.querySelectorAll('{box} [data-right]')].map((b) => b.textContent)")
    assert len(right) == (1 if options else 0), (where, right)
    if "largest" in text:
        name, value = re.search(r"It is (.*): ([−\d.e%, ]+?)\. Next", answer).groups()
        assert right == [name], (where, answer)
    page.find(f"{box} .close").click()
    assert page.run(f"document.querySelector('{box} legend') === null"), where
    return text, options, answer


def check_questions(page):
    """Each line has a question; what it says is right is the largest number, or the number."""
    asked = set()
    for example, heads in (("tutorial", 1), ("pizza", 2)):
        set_state(page, heads=heads)
        page.wait("page.run.of.heads === arguments[0] && page.run.measures.has(0)", heads)
        show(page, "class", example=example, masked=False, phase="forward", line=0, cell="")
        count = page.run("Number(document.querySelectorAll('#panel-class nav.map button').length)")
        assert count > 5, count
        phase = "forward" if example == "tutorial" else "backward"
        for line in range(count):
            show(page, "class", phase=phase, line=line, part=0)
            text, options, answer = ask_and_answer(page, (example, phase, line))
            asked.add(text)
            if example == "tutorial" and not options and "percent" not in text:
                # The number is that of the matrix, and its formula comes out.
                value = number(re.search(r"It is ([−\d.]+(?:e[−\d]+)?)\.", answer)[1])
                shown = page.run("[...document.querySelectorAll('#panel-class .equation .changed td[data-index]')].map((td) => td.textContent)")
                assert any(abs(number(x) - value) < 1e-4 for x in shown), (phase, line, answer, shown)
    set_state(page, heads=1)
    page.wait("page.run.of.heads === 1 && page.run.measures.has(0)")
    print(f"questions: {len(asked)} different ones about the lines")
    assert len(asked) > 15, asked


# ---- formulas of lines, from the digits shown ----

SHOWN = """[...document.querySelectorAll("#panel-class .equation > *")].map((e) => e.dataset.symbol ?? {
    percent: e.querySelector("table").classList.contains("percent"),
    rows: [...e.querySelector("table").tBodies[0].rows].map((row) => [...row.querySelectorAll("td[data-index]")].map((td) => td.textContent)) })"""

# The formula, its text, its visible text, whether it says that it is rounded, and whether a note does.
WORKSHEET = """((line) => [SHOWN, line.textContent, line.innerText, line.querySelector(".sign").classList.contains("rounded"),
    !document.querySelector("#panel-class p.rounded").hidden])(document.querySelector("#panel-class .formula-text"))""".replace("SHOWN", SHOWN)


def check_rounding(page):
    """On the worksheet, the formula of a line has the sign = only if a calculator gives every digit of the result from the digits shown."""
    equal = rounded = 0
    for masked in (False, True):
        show(page, "class", example="tutorial", masked=masked, phase="forward", line=0, part=0, cell="")
        for at, (parts, text, seen, says, noted) in each_formula(page, WORKSHEET):
            words, matrices, units = [], [], []
            for part in parts:
                if isinstance(part, str):
                    words.append(part)
                    continue
                words.append(f"T{len(matrices)}")
                scale = 0.01 if part["percent"] else 1
                matrices.append([[{"✕": 1.0, "·": 0.0}.get(x) if x in "✕·" else scale * number(x) for x in row] for row in part["rows"]])
                units.append([[scale * half_a_unit(x) for x in row] for row in part["rows"]])
            right = " ".join(words).removeprefix("T0 = ")
            found = FORMULAS[right](matrices, {"d": 2})
            comes_out = all(x == y or abs(x - y) <= unit * (1 + 1e-6)
                            for a, b, c in zip(found, matrices[0], units[0]) for x, y, unit in zip(a, b, c))
            assert comes_out or says, (masked, at, text, found, matrices[0])
            assert " = " in seen, text
            equal += not says
            rounded += not comes_out
            assert noted == says, text
    print(f"worksheet: {equal} formulas come out from the digits shown, {rounded} do not and say ≈")
    assert equal >= 6 and rounded >= 8, (equal, rounded)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.run("document.querySelector('#panel-class p.rounded').checkVisibility()")
    sign = page.run("getComputedStyle(document.querySelector('#panel-class .formula-text .sign'), '::after').content")
    assert sign == '"≈"', sign
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def check(page):
    check_quiz(page)
    check_rounding(page)
    check_picture(page)
    check_questions(page)
