"""Tests the quiz, and one picture alone (#embed)."""

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
    check_embed(page)
    page.check_quiet()
