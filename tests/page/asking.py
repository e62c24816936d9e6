"""Tests the quiz, the questions about lines, and one picture alone (#embed)."""

import os
import re

from attention import number, set_state, show

# ---- the quiz ----

QUESTIONS = """page.panels.find(({ root }) => root.id === "panel-quiz").section.now().map(({ id, options, right, why }) => ({ id, options, right, why,
    text: document.querySelector(`#panel-quiz [data-question=${id}] legend`).textContent }))"""

# How the right answers begin, as they follow from the formulas: softmax of twice the scores is sharper, of shifted ones the
# same, of equal ones flat.
RIGHT = {"it_twice": "It read the ending", "longer": "it grows", "shift": "it stays the same", "root": "So that one word", "same_keys": "it shrinks",
         "first": "its own value", "order": "Every word keeps", "cheat": "It fails", "it": "pizza"}


def check_quiz(page):
    """Right and wrong answers are counted; each is explained; the quiz can be begun again."""
    show(page, "quiz")
    page.wait("document.querySelectorAll('#panel-quiz li').length === 10")
    score = "document.querySelector('#panel-quiz .score').textContent"
    questions = page.run(QUESTIONS)
    for question in questions:
        gradient = re.search(r"is ([−-]?\d+\.\d+)\.", question["text"])
        right = RIGHT.get(question["id"]) or f"make it a little {'smaller' if number(gradient[1]) > 0 else 'larger'}"
        assert question["options"][question["right"]].startswith(right) and len(set(question["options"])) >= 3, question
    assert len({q["id"] for q in questions}) == 10 and len({q["right"] for q in questions}) > 2, "the right one is not always at the same place"
    for right in (True, False):
        assert page.run(score).startswith("0 of 10"), page.run(score)
        page.driver.execute_script("""arguments[0].forEach((k, i) => document.querySelectorAll("#panel-quiz li")[i].querySelectorAll("button")[k].click())""",
                                   [(q["right"] + (not right)) % len(q["options"]) for q in questions])
        page.wait(f"{score} === 'You have {10 if right else 0} of 10.'")
        shown = page.run("[...document.querySelectorAll('#panel-quiz .answer')].map((p) => p.textContent)")
        assert all(q["why"] in text for q, text in zip(questions, shown, strict=True)), shown
        page.driver.execute_script("[...document.querySelectorAll('#panel-quiz button')].find((b) => b.textContent === 'Start again').click()")
    print("quiz: the answers follow from the formulas")


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

CONTROLS = """[...document.querySelectorAll("button, input, select, summary, nav, .parts, header")].filter((x) => x.checkVisibility())
    .map((x) => x.outerHTML.slice(0, 80))"""
TABLES = "[...document.querySelectorAll('table')].filter((x) => x.checkVisibility()).map((x) => x.closest('.card').dataset.name)"
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/README.md")


def check_embed(page):
    """A link with embed= shows a picture and nothing else, from the top of the window, and not wider."""
    with open(README, encoding="utf-8") as file:
        documented = re.findall(r"`(?:attention\.html)?#([^`]*embed=[^`]*)`", file.read())
    assert len(documented) == 4, documented
    cases = {"embed=line:6": ["attention_scores", "attention_percents", "v"], "embed=matrix:sims&example=pizza": ["sims"], "embed=matrix:q.grad": ["q.grad"],
             "embed=picture:1&tab=training&step=60": None} | dict.fromkeys(documented)
    for fragment, names in cases.items():
        if "matrix:" in fragment:
            page.load(f"#{fragment}")
        else:
            page.driver.execute_script("location.hash = arguments[0]", fragment)
        page.wait("[...document.querySelectorAll('[data-shown]')].some((x) => x.checkVisibility()) && !page.run.busy && page.run.step === page.state.step")
        if fragment == "embed=line:6":  # as slides are wide
            page.resize(1366, 768)
            page.wait("[...document.querySelectorAll('[data-shown] td')].filter((x) => x.checkVisibility() && x.getBoundingClientRect().bottom < 400).length > 5")
            page.resize(1000, 900)
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
