"""Tests "Break it": what it says is held against the numbers of the models that it trains."""

from attention import number, show

SWITCHES = ("no_scale", "wrong_dim", "mask_inverted", "mask_after", "no_positions", "same_keys", "no_zero_grad", "lr_100",
            "split_view", "merge_view", "scale_d_model")
LEARNT = 0.9  # from this accuracy on, the toy counts as learnt


def shows(text, value, unit):
    """Whether a text such as "92%" shows a value, rounded to a unit; "<1%" and ">99%" are not quite 0 and 100."""
    bare = text.rstrip(" %")
    if bare[0] in "<>":
        return 0 < abs(value - 100 * (bare[0] == ">")) < unit / 2
    return abs(number(bare) - value) <= unit / 2 + 1e-9


def percents(texts, *shares):
    return len(texts) == len(shares) and all(shows(text, 100 * x, 0.1 if "." in text else 1) for text, x in zip(texts, shares))


def at_step(text, result):
    return text == ("never" if result["learntAt"] is None else f"at step {result['learntAt']}")


def scored(values, b):
    return percents(values[:1], b["accuracy"]) and [int(x) for x in values[1:]] == [b["right"], b["prompts"]]


def when(a, b, v):
    return at_step(v[0], b) and at_step(v[1], a)


def lowest(b):
    """(step from 1, loss) of the lowest loss of the first 100 steps."""
    loss = min(b["losses"][:100])
    return b["losses"].index(loss) + 1, loss


def near(a, b, distance):
    return abs(a - b) < distance


# For each sentence: does what it says hold? a: the healthy result, b: the broken one, v: the values in the sentence.
HOLDS = {
    "no_scale.start": lambda a, b, v: percents(v, max(b["row0"]), max(a["row0"])) and max(b["row0"]) > max(a["row0"]) + 0.01,
    "no_scale.when": when,
    "wrong_dim.rows": lambda a, b, v: percents(v, min(b["rowSums"]), max(b["rowSums"])) and max(b["rowSums"]) > min(b["rowSums"]) + 0.05 and
    all(near(x, 1, 1e-4) for x in b["columnSums"]),
    "mask_inverted.later": lambda a, b, v: percents(v, sum(b["row"][b["it"] + 1:]), b["row"][b["subject"]]) and sum(b["row"][b["it"] + 1:]) > 0.99,
    "mask_after.sum": lambda a, b, v: percents(v, sum(b["row0"]), sum(a["row0"])) and sum(b["row0"]) < 0.99,
    "mask_after.leak": lambda a, b, v: percents(v, b["leak"]) and b["leak"] > 1e-3 > a["leak"],
    "no_positions.moves": lambda a, b, v: percents(v[:2], b["onSubject"], b["movedTo"]) and near(b["onSubject"], b["movedTo"], 5e-4),
    "no_positions.healthy": lambda a, b, v: percents(v[:2], a["onSubject"], a["movedTo"]) and a["onSubject"] > 0.5 and
    a["movedTo"] > a["onSubject"] / 2 and not near(a["movedTo"], a["onSubject"], 2e-3),
    "same_keys.self": lambda a, b, v: percents(v, b["row0"][b["it"]], a["row0"][a["it"]]),
    "same_keys.pair": lambda a, b, v: all(shows(text, x, 0.01) for text, x in zip(v, b["simPair"] + a["simPair"], strict=True)) and
    near(*b["simPair"], 1e-3 * abs(b["simPair"][0])) and not near(*a["simPair"], 0.1),
    "same_keys.when": when,
    "no_zero_grad.course": lambda a, b, v: shows(v[0], b["losses"][0], 0.01) and lowest(b)[1] < b["losses"][0] and
    int(v[2]) == lowest(b)[0] and shows(v[1], lowest(b)[1], 0.01) and
    shows(v[3], max(b["losses"][lowest(b)[0]:]), 1) and shows(v[4], sum(b["losses"][-100:]) / 100, 1),
    "no_zero_grad.end": lambda a, b, v: percents(v[:1], b["accuracy"]) and shows(v[1], a["loss"], 1e-3),
    "lr_100.course": lambda a, b, v: shows(v[0], b["largestLoss"], 1) and shows(v[1], b["loss"], 0.01) and shows(v[2], a["loss"], 1e-3) and
    b["largestLoss"] > 10 * b["losses"][0] and b["loss"] > 1.5 * a["loss"],
    "lr_100.end": lambda a, b, v: percents(v, b["accuracy"], b["attention"]),
    "scale_d_model.start": lambda a, b, v: percents(v, max(b["row0"]), max(a["row0"])) and max(b["row0"]) < max(a["row0"]) - 0.005,
    "scale_d_model.when": when,
    "told": lambda a, b, v: percents(v, b["told"]) and b["told"] > 1e-3 > a["told"],
    "loss.below": lambda a, b, v: b["loss"] < b["limit"] and number(v[0]) < number(v[1]) and
    shows(v[0], b["loss"], 1e-3) and shows(v[1], b["limit"], 1e-3),
    "scores": lambda a, b, v: scored(v, b) and b["accuracy"] >= LEARNT and b["right"] <= b["prompts"] / 2,
    "outcome.learnt": lambda a, b, v: scored(v, b) and b["accuracy"] >= LEARNT and b["right"] > b["prompts"] / 2,
    "outcome.failed": lambda a, b, v: scored(v, b) and b["accuracy"] < LEARNT and b["learntAt"] is None,
}


def verdict(page, name):
    """{sentences, healthy, broken} of a switch."""
    return page.settle("""await page.sections.breaks.verdict(arguments[0]).then(({ healthy, broken, ...rest }) => {
        const plain = ({ language, first, last, ...rest }) => rest;
        return { ...rest, healthy: plain(healthy), broken: plain(broken) };
    })""", name)


def check(page):
    """Each switch changes a line and asks a question of its own, and what is said about it holds."""
    show(page, "breaks")
    asked, lines, said = set(), set(), set()
    for name in SWITCHES:
        page.find(f"#break-{name}").click()
        assert page.find(f"#break-{name}").get_attribute("aria-pressed") == "true"
        asked.add(page.text("#panel-breaks fieldset"))
        changed = page.run("[...document.querySelectorAll('#panel-breaks ins, #panel-breaks del')].map((x) => x.textContent)")
        assert len(changed) >= 2, (name, changed)
        lines.add("".join(changed))
        page.find("#panel-breaks fieldset input").click()
        page.find("#break-retrain").click()
        page.wait("document.querySelector('#break-seen') !== null")
        found = verdict(page, name)
        for sentence in found["sentences"]:
            key = sentence["key"].removeprefix("breaks.")
            values = [str(value) for value in sentence["values"]]
            assert HOLDS[key](found["healthy"], found["broken"], values), (name, sentence)
            assert all(value in page.text("#break-seen") for value in values), (name, values)
            said.add(key)
    assert len(lines) == len(asked) == len(SWITCHES) and said == set(HOLDS), (lines, asked, set(HOLDS) - said)
    assert page.run("page.state.seed") == 0, "Break it leaves the run alone"
    page.check_quiet()
    print(f"breaks: what the page says about {len(SWITCHES)} mistakes holds")
