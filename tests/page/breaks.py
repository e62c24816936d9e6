"""Tests "Break it": what it says is held against the numbers of the models that it trains."""

from selenium.webdriver.support.select import Select

from attention import number, show

SWITCHES = ("no_scale", "wrong_dim", "mask_inverted", "mask_after", "no_positions", "same_keys", "no_zero_grad", "lr_100",
            "split_view", "merge_view", "scale_d_model")
TRAINED = ("no_scale", "no_zero_grad")
OF_HEADS = {"split_view": 4, "merge_view": 2, "scale_d_model": 2}  # switches of several heads, and a number that is not their own
LEARNT = 0.9  # from this accuracy on, the toy counts as learnt


def shows(text, value, unit):
    """Whether a text such as "92 %" shows a value, rounded to a unit."""
    return abs(number(text.removesuffix(" %")) - value) <= unit / 2 + 1e-9


def percents(texts, *shares):
    return len(texts) == len(shares) and all(shows(text, 100 * x, 0.1 if "." in text else 1) for text, x in zip(texts, shares))


def at_step(text, result):
    return text == ("never" if result["learntAt"] is None else f"at step {result['learntAt']}")


def scored(values, b):
    return percents(values[:1], b["accuracy"]) and [int(x) for x in values[1:]] == [b["right"], b["prompts"]]


def lowest(b):
    """(step from 1, loss) of the lowest loss of the first 100 steps."""
    loss = min(b["losses"][:100])
    return b["losses"].index(loss) + 1, loss


# For each sentence: does what it says hold? a: the healthy result, b: the broken one, v: the values in the sentence.
HOLDS = {
    "no_scale.start": lambda a, b, v: percents(v, max(b["row0"]), max(a["row0"])),
    "no_scale.when": lambda a, b, v: at_step(v[0], b) and at_step(v[1], a),
    "no_zero_grad.course": lambda a, b, v: shows(v[0], b["losses"][0], 0.01) and lowest(b)[1] < b["losses"][0] and
    int(v[2]) == lowest(b)[0] and shows(v[1], lowest(b)[1], 0.01) and
    shows(v[3], max(b["losses"][lowest(b)[0]:]), 1) and shows(v[4], sum(b["losses"][-100:]) / 100, 1),
    "no_zero_grad.end": lambda a, b, v: percents(v[:1], b["accuracy"]) and shows(v[1], a["loss"], 1e-3),
    "loss.below": lambda a, b, v: b["loss"] < b["limit"] and number(v[0]) < number(v[1]) and
    shows(v[0], b["loss"], 1e-3) and shows(v[1], b["limit"], 1e-3),
    "loss.above": lambda a, b, v: shows(v[0], b["loss"], 1e-3) and shows(v[1], b["limit"], 1e-3),
    "outcome.learnt": lambda a, b, v: scored(v, b) and b["accuracy"] >= LEARNT and b["right"] > b["prompts"] / 2,
    "outcome.failed": lambda a, b, v: scored(v, b) and b["accuracy"] < LEARNT and b["learntAt"] is None,
    "outcome.lost": lambda a, b, v: scored(v, b) and b["accuracy"] < LEARNT and b["learntAt"] is not None,
    "outcome.healthy": lambda a, b, v: percents(v, a["accuracy"]) and a["accuracy"] < LEARNT,
}


def verdict(page, name):
    """{sentences, text, healthy, broken} of a switch."""
    return page.settle("""await page.sections.breaks.verdict(arguments[0]).then(({ healthy, broken, ...rest }) => {
        const plain = ({ language, first, last, ...rest }) => rest;
        return { ...rest, healthy: plain(healthy), broken: plain(broken) };
    })""", name)


def check(page):
    """Each switch changes a line and asks a question of its own; what is said about two of them holds."""
    show(page, "breaks")
    asked, lines = set(), set()
    for name in SWITCHES:
        page.find(f"#break-{name}").click()
        assert page.find(f"#break-{name}").get_attribute("aria-pressed") == "true"
        asked.add(page.text("#panel-breaks fieldset"))
        changed = page.run("[...document.querySelectorAll('#panel-breaks ins, #panel-breaks del')].map((x) => x.textContent)")
        assert len(changed) >= 2, (name, changed)
        lines.add("".join(changed))
        if name in OF_HEADS:
            before = page.text("#panel-breaks h3 + p")
            Select(page.find("#break-heads")).select_by_value(str(OF_HEADS[name]))
            assert page.text("#panel-breaks h3 + p") != before, (name, "the text names the number of heads")
        if name in TRAINED:
            page.find("#panel-breaks fieldset input").click()
            page.find("#break-retrain").click()
            page.wait("document.querySelector('#break-seen') !== null")
            found = verdict(page, name)
            a, b = found["healthy"], found["broken"]
            assert page.text("#break-seen") == found["text"]
            for sentence in found["sentences"]:
                key = sentence["key"].removeprefix("breaks.")
                assert HOLDS[key](a, b, [str(value) for value in sentence["values"]]), (name, key, sentence)
    assert len(lines) == len(asked) == len(SWITCHES), (lines, asked)
    assert page.run("page.state.seed") == 0, "Break it leaves the run alone"
    page.check_quiet()
    print(f"breaks: what the page says about {len(TRAINED)} holds")
