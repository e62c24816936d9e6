"""Tests the quiz, the questions about lines, and one picture alone (#embed)."""

import math
import os
import re

from attention import number, set_state, show

# ---- the quiz ----

QUESTIONS = """page.panels.find(({ root }) => root.id === "panel-quiz").section.now().map((q, i) => {
    const li = document.querySelectorAll("#panel-quiz li")[i];
    return { id: q.id, text: li.querySelector("legend").textContent, value: q.value, options: q.options ?? null, right: q.right,
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


# Answers every question, [[its option, or a text for its field], ...].
GIVE = """arguments[0].forEach((answer, i) => {
    const li = document.querySelectorAll("#panel-quiz li")[i], field = li.querySelector("input");
    if (typeof answer === "number") {
        li.querySelectorAll("button.option")[answer].click();
    } else {
        field.value = answer;
        field.closest("form").requestSubmit();
    }
})"""


def check_quiz(page):
    """Answers follow from what a reader sees; right and wrong ones are counted; other numbers are other questions."""
    show(page, "quiz")
    page.wait("document.querySelectorAll('#panel-quiz li').length === 10")
    score = "document.querySelector('#panel-quiz .score').textContent"
    for right in (True, False):
        questions = page.run(QUESTIONS)
        assert len({q["id"] for q in questions}) == 10, questions
        for question in questions:
            assert is_same(answer_of(question), question), (question, answer_of(question))
            assert question["options"] is None or len(set(question["options"])) == len(question["options"]) >= 3, question
        assert page.run(score).startswith("0 of 10"), page.run(score)
        page.driver.execute_script(GIVE, [f"{q['value'] + (0 if right else 7):.2f}".replace(".", "," if i % 2 else ".") if q["options"] is None
                                          else (q["right"] + (not right)) % len(q["options"]) for i, q in enumerate(questions)])
        page.wait(f"{score} === 'You have {10 if right else 0} of 10.'")
        shown = page.run("[...document.querySelectorAll('#panel-quiz .answer')].map((p) => p.textContent)")
        assert all(q["why"] in text for q, text in zip(questions, shown, strict=True)), shown
        before = page.text("#panel-quiz .quiz")
        page.driver.execute_script("[...document.querySelectorAll('#panel-quiz button')].find((b) => b.textContent === 'Other numbers').click()")
        page.wait("document.querySelector('#panel-quiz .quiz').textContent !== arguments[0]", before)
    print("quiz: 20 answers follow from what is shown")


# ---- questions about a line ----

# Asks about every line, answers, and closes: [{line, text, options, answer, right, numbers: of the matrix}, ...].
ASK = """(() => {
    const { view } = page.panels.find(({ root }) => root.id === "panel-class").section, box = document.querySelector("#panel-class .question");
    const cells = () => [...document.querySelectorAll("#panel-class .equation .changed td[data-index]")];
    const hidden = () => cells().every((td) => getComputedStyle(td).color === "rgba(0, 0, 0, 0)" && td.closest("[inert]") !== null);
    return view.steps.map((step, line) => {
        page.setState({ line, part: 0 });
        box.querySelector("[data-key=ask]").click();
        const asked = hidden(), text = box.querySelector("legend").textContent;
        const options = [...box.querySelectorAll("fieldset > button[type=button]")], names = options.map((b) => b.textContent);
        if (options.length > 0) {
            options[0].click();
        } else {
            box.querySelector("input").value = "0,123456";
            box.querySelector("form").requestSubmit();
        }
        const found = { line, text, options: names, hides: [asked, hidden()], answer: box.querySelector(".answer").textContent,
            right: [...box.querySelectorAll("[data-right]")].map((b) => b.textContent), numbers: cells().slice(0, 40).map((td) => td.textContent) };
        box.querySelector(".close").click();
        return found;
    });
})()"""


def check_questions(page):
    """Each line has a question, whose numbers are hidden meanwhile; what it says is right is the largest number, or the number."""
    texts = set()
    for example, phase in (("tutorial", "forward"), ("pizza", "backward")):
        show(page, "class", example=example, masked=False, phase=phase, line=0, part=0, cell="")
        for found in page.run(ASK):
            texts.add(found["text"])
            assert found["hides"] == [True, False] and len(found["right"]) == (len(found["options"]) > 0), found
            if "largest" in found["text"]:
                assert [re.search(r"It is (.*?): ", found["answer"])[1]] == found["right"], found
            elif example == "tutorial" and "percent" not in found["text"]:
                value = number(re.search(r"It is ([−\d.]+(?:e[−\d]+)?)\.", found["answer"])[1])
                assert any(abs(number(x) - value) < 1e-4 for x in found["numbers"]), found
    print(f"questions: {len(texts)} different ones about the lines")
    assert len(texts) > 12, texts


# ---- one picture alone ----

CONTROLS = """[...document.querySelectorAll("button:not(.places-cell), input, select, summary, nav, [role=tab], header")].filter((x) => x.checkVisibility())
    .map((x) => x.outerHTML.slice(0, 80))"""
TABLES = "[...document.querySelectorAll('table')].filter((x) => x.checkVisibility()).map((x) => x.closest('.card').dataset.name)"
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/README.md")


def check_embed(page):
    """A link with embed= shows a picture and nothing else, from the top of the window, and not wider."""
    with open(README, encoding="utf-8") as file:
        documented = re.findall(r"`(?:attention\.html)?#([^`]*embed=[^`]*)`", file.read())
    assert len(documented) == 4, documented
    cases = {"embed=line:6": ["attention_scores", "attention_percents", "v"], "embed=matrix:sims&example=pizza": ["sims"], "embed=matrix:q.grad": ["q.grad"],
             "embed=picture:1&tab=training&step=60": None, "embed=picture:1&tab=breaks&broken=merge_view": None,
             "embed=picture:1&tab=onward&onward=3": None} | dict.fromkeys(documented)
    for fragment, names in cases.items():
        if "matrix:" in fragment:
            page.load(f"#{fragment}")
        else:
            page.driver.execute_script("location.hash = arguments[0]", fragment)
        page.wait("[...document.querySelectorAll('[data-shown]')].some((x) => x.checkVisibility()) && !page.run.busy && page.run.step === page.state.step")
        assert page.run(CONTROLS) == [] or "story:" in fragment, (fragment, page.run(CONTROLS))
        assert names is None or sorted(page.run(TABLES)) == sorted(names), (fragment, page.run(TABLES))
        top = page.run("[...document.querySelectorAll('[data-shown]')].find((x) => x.checkVisibility()).getBoundingClientRect().top")
        assert 0 <= top < 60 and page.run("document.documentElement.scrollWidth <= innerWidth"), (fragment, top)
    page.load("#embed=matrix:simz")
    page.wait("document.querySelector('.embed-none').textContent === 'The page has no picture “matrix:simz” here.'")
    page.driver.execute_script("location.hash = 'embed=__proto__'")
    page.wait("page.state.embed === '' && document.querySelector('header').checkVisibility()")
    set_state(page, tab="class", example="tutorial", step=0)


def check(page):
    check_quiz(page)
    check_questions(page)
    check_embed(page)
    page.check_quiet()
