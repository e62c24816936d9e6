"""What "Break it" says, held against the numbers of the models that it trains. page.py calls check(); by hand, for all
switches with ten seeds, which takes a few minutes:

    python3 tests/page/breaks.py PAGE.html [SEEDS]
"""

import sys

from selenium.webdriver.support.select import Select

from browser import start
from helpers import number, open_page

SWITCHES = ("no_scale", "wrong_dim", "mask_inverted", "mask_after", "no_positions", "same_keys", "no_zero_grad", "lr_100",
            "split_view", "merge_view", "scale_d_model")
TRAINED = ("no_scale", "mask_inverted", "no_zero_grad", "merge_view")  # by check; all others by main
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


def learnt(x):
    return x["accuracy"] >= LEARNT


def badly(x):
    """Writes the wrong word after *it* in most sentences."""
    return x["right"] <= x["prompts"] / 2


def columns_are_one(x):
    return all(abs(total - 1) < 1e-3 for total in x["columnSums"])


def swapped(values, x):
    return percents(values[:2], x["onSubject"], x["movedTo"])


def lowest(b):
    """(step from 1, loss) of the lowest loss of the first 100 steps."""
    loss = min(b["losses"][:100])
    return b["losses"].index(loss) + 1, loss


# For each sentence: does what it says hold? a: the healthy result, b: the broken one, v: the values in the sentence.
HOLDS = {
    "no_scale.start": lambda a, b, v: percents(v, max(b["row0"]), max(a["row0"])),
    "no_scale.when": lambda a, b, v: at_step(v[0], b) and at_step(v[1], a),
    "wrong_dim.rows": lambda a, b, v: percents(v, min(b["rowSums"]), max(b["rowSums"])) and columns_are_one(b),
    "mask_inverted.later": lambda a, b, v: percents(v, sum(b["row"][b["it"] + 1:]), b["row"][b["subject"]]),
    "mask_after.sum": lambda a, b, v: percents(v, sum(b["row0"]), sum(a["row0"])) and sum(b["row0"]) < sum(a["row0"]),
    "mask_after.leak": lambda a, b, v: percents(v, b["leak"]) and b["leak"] > 1e-3 and a["leak"] < 1e-4,
    "no_positions.moves": lambda a, b, v: swapped(v, b),
    "no_positions.healthy.stays": lambda a, b, v: swapped(v, a) and learnt(a) and a["onSubject"] > 0.5 and
    a["movedTo"] < min(a["stayed"], a["onSubject"] / 2),
    "no_positions.healthy.follows": lambda a, b, v: swapped(v, a) and learnt(a) and
    a["movedTo"] >= a["onSubject"] / 2 >= 0.25 and v[0] != v[1],
    "no_positions.healthy.exactly": lambda a, b, v: swapped(v, a) and learnt(a) and abs(a["onSubject"] - a["movedTo"]) < 0.01,
    "no_positions.healthy.elsewhere": lambda a, b, v: swapped(v, a) and learnt(a) and a["onSubject"] < 0.5 and not badly(a),
    "no_positions.healthy.plain": lambda a, b, v: swapped(v, a),
    "same_keys.self": lambda a, b, v: percents(v, b["row0"][b["it"]], a["row0"][a["it"]]),
    "same_keys.pair": lambda a, b, v: v[0] == v[1] and v[2] != v[3] and
    all(shows(text, x, 0.01) for text, x in zip(v, b["simPair"] + a["simPair"])),
    "same_keys.when": lambda a, b, v: at_step(v[0], b) and at_step(v[1], a),
    "no_zero_grad.course": lambda a, b, v: shows(v[0], b["losses"][0], 0.01) and lowest(b)[1] < b["losses"][0] and
    int(v[2]) == lowest(b)[0] and shows(v[1], lowest(b)[1], 0.01) and
    shows(v[3], max(b["losses"][lowest(b)[0]:]), 1) and shows(v[4], sum(b["losses"][-100:]) / 100, 1),
    "no_zero_grad.end": lambda a, b, v: percents(v[:1], b["accuracy"]) and shows(v[1], a["loss"], 1e-3),
    "lr_100.course": lambda a, b, v: shows(v[0], max(b["losses"]), 1) and max(b["losses"]) > 2 * b["losses"][0] and
    shows(v[1], b["loss"], 0.01) and shows(v[2], a["loss"], 1e-3),
    "lr_100.end": lambda a, b, v: percents(v, b["accuracy"], b["attention"]),
    "told": lambda a, b, v: percents(v, b["told"]) and b["told"] > 1e-3 and a["told"] < 1e-4,
    "scale_d_model.start": lambda a, b, v: percents(v, max(b["row0"]), max(a["row0"])),
    "scale_d_model.when": lambda a, b, v: at_step(v[0], b) and at_step(v[1], a) and int(v[2]) == 32 // b["heads"],
    "loss.below": lambda a, b, v: b["loss"] < b["limit"] and number(v[0]) < number(v[1]) and
    shows(v[0], b["loss"], 1e-3) and shows(v[1], b["limit"], 1e-3),
    "loss.above": lambda a, b, v: shows(v[0], b["loss"], 1e-3) and shows(v[1], b["limit"], 1e-3),
    "scores.contrast": lambda a, b, v: scored(v, b) and learnt(b) and badly(b),  # "But"
    "scores.bad": lambda a, b, v: scored(v, b) and not learnt(b) and badly(b),   # "is not learnt"
    "scores.both": lambda a, b, v: scored(v, b) and not badly(b),
    "outcome.learnt": lambda a, b, v: scored(v, b) and learnt(b) and not badly(b),
    "outcome.failed": lambda a, b, v: scored(v, b) and not learnt(b) and b["learntAt"] is None,
    "outcome.lost": lambda a, b, v: scored(v, b) and not learnt(b) and b["learntAt"] is not None,
    "outcome.healthy": lambda a, b, v: percents(v, a["accuracy"]) and not learnt(a),
    "hidden": lambda a, b, v: True,
}


def stays_above(a, b):
    """From the leap to the end, every 100 steps cost the broken model more."""
    leap = b["losses"].index(max(b["losses"]))
    return all(sum(b["losses"][i:i + 100]) > sum(a["losses"][i:i + 100]) for i in range(leap, len(b["losses"]) - 99))


# The answer that the page calls right.
ANSWERS = {
    "no_scale": lambda a, b: max(b["row0"]) > max(a["row0"]),
    "wrong_dim": lambda a, b: max(b["rowSums"]) - min(b["rowSums"]) > 0.05 and columns_are_one(b),
    "mask_inverted": lambda a, b: sum(b["row"][b["it"] + 1:]) > 0.99,
    "mask_after": lambda a, b: sum(b["row0"]) < 0.99,
    "no_positions": lambda a, b: abs(b["onSubject"] - b["movedTo"]) < 1e-3 and b["written"][0] == b["movedWritten"][0],
    "same_keys": lambda a, b: abs(b["simPair"][0] - b["simPair"][1]) < 1e-3 * abs(b["simPair"][0]),
    "no_zero_grad": lambda a, b: b["loss"] > 10 * b["losses"][0],
    "lr_100": lambda a, b: max(b["losses"]) > 10 * b["losses"][0] and stays_above(a, b),
    "split_view": lambda a, b: b["loss"] < b["limit"] - 0.05,
    "merge_view": lambda a, b: b["told"] > 1e-3 and a["told"] < 1e-4,
    "scale_d_model": lambda a, b: max(b["row0"]) < max(a["row0"]) and abs(sum(b["row0"]) - 1) < 1e-4,
}

# What the explanations say about several seeds; pairs: (healthy, broken) of each.
WHY = {
    "no_scale: it recovers with some seeds and stays stuck with others":
        ("no_scale", lambda pairs: 0 < sum(learnt(b) for _, b in pairs) < len(pairs)),
    "no_scale: attention is sharp at the first step": ("no_scale", lambda pairs: all(max(b["row0"]) > max(a["row0"]) for a, b in pairs)),
    "wrong_dim: the loss falls below the limit, and the model is lost when it writes":
        ("wrong_dim", lambda pairs: all(b["loss"] < b["limit"] and badly(b) for _, b in pairs)),
    "mask_inverted: loss far better than the healthy one, accuracy wonderful, nothing of use learnt":
        ("mask_inverted", lambda pairs: all(b["loss"] < a["loss"] / 10 and b["accuracy"] >= 0.99 and badly(b) for a, b in pairs)),
    "mask_after: most learn the word after it": ("mask_after", lambda pairs: sum(learnt(b) for _, b in pairs) > len(pairs) / 2),
    "mask_after: the loss is below the limit": ("mask_after", lambda pairs: all(b["loss"] < b["limit"] for _, b in pairs)),
    "no_positions: the toy is learnt": ("no_positions", lambda pairs: all(learnt(b) for _, b in pairs)),
    "same_keys: at first it mostly looks at itself":
        ("same_keys", lambda pairs: sum(b["row0"][b["it"]] == max(b["row0"]) for _, b in pairs) > len(pairs) / 2),
    "same_keys: the toy can be learnt": ("same_keys", lambda pairs: any(learnt(b) for _, b in pairs)),
    "split_view: the loss is better than the best possible one, and predictions know later words":
        ("split_view", lambda pairs: all(b["loss"] < b["limit"] - 0.05 and b["told"] > 0.1 for _, b in pairs)),
    "merge_view: the percentages never see the future, the loss is far below the limit":
        ("merge_view", lambda pairs: all(b["leak"] < 1e-4 and b["loss"] < b["limit"] / 10 and b["told"] > 0.1 for _, b in pairs)),
    "both: there is nothing to copy when the model writes":
        ("merge_view", lambda pairs: all(badly(b) for _, b in pairs)),
    "scale_d_model: harmless, the loss is as good":
        ("scale_d_model", lambda pairs: all(learnt(b) and abs(b["loss"] - a["loss"]) < 0.02 and b["told"] < 1e-4 for a, b in pairs)),
    "no_zero_grad: the loss first falls": ("no_zero_grad", lambda pairs: all(lowest(b)[1] < 0.7 * b["losses"][0] for _, b in pairs)),
    "no_zero_grad: it fails": ("no_zero_grad", lambda pairs: all(b["accuracy"] < 0.5 for _, b in pairs)),
    "lr_100: the loss at the end looks small after the leap, and attention does not recover":
        ("lr_100", lambda pairs: all(b["loss"] < max(b["losses"]) / 100 and b["attention"] < 0.5 and b["accuracy"] < 0.5 for _, b in pairs)),
}


def verdict(page, name, seed=None, heads=None):
    """(seconds, {sentences, text, healthy, broken}) of a switch, with its own seed and heads or others."""
    found = page.driver.execute_async_script("""const [name, seed, heads, done] = arguments, began = performance.now();
        const plain = ({ language, first, last, ...rest }) => ({ ...rest, written: last.written });
        page.sections.breaks.verdict(name, seed ?? undefined, heads ?? undefined).then(({ healthy, broken, ...rest }) => done(
            [(performance.now() - began) / 1000, { ...rest, healthy: plain(healthy), broken: plain(broken) }]), (e) => done(e.message))""", name, seed, heads)
    assert isinstance(found, list), (name, found)
    return found


def hold(page, name, seed=None, heads=None):
    """Checks each sentence about a switch. Returns (seconds, healthy, broken, keys of the sentences)."""
    seconds, found = verdict(page, name, seed, heads)
    a, b = found["healthy"], found["broken"]
    keys = [sentence["key"].removeprefix("breaks.") for sentence in found["sentences"]]
    for key, sentence in zip(keys, found["sentences"]):
        assert HOLDS[key](a, b, [str(value) for value in sentence["values"]]), (name, b["seed"], key, sentence, found["text"])
    assert "hidden" in keys or ANSWERS[name](a, b), (name, b["seed"], found["text"])
    return seconds, a, b, keys


def check(page):
    """Each switch changes a line, asks a question of its own, and what it says holds."""
    page.find("#tab-breaks").click()
    asked, lines, texts = set(), set(), set()
    page.driver.execute_async_script("""const [names, done] = arguments; // side by side, which is faster
        Promise.all(names.map((name) => page.sections.breaks.verdict(name))).then(() => done(), () => done());""", TRAINED[1:])
    for name in SWITCHES:
        page.find(f"#break-{name}").click()
        assert page.find(f"#break-{name}").get_attribute("aria-pressed") == "true"
        asked.add(page.text("#panel-breaks fieldset"))
        changed = page.run("[...document.querySelectorAll('#panel-breaks ins, #panel-breaks del')].map((x) => x.textContent)")
        assert len(changed) >= 2, (name, changed)
        lines.add("".join(changed))
        if name not in TRAINED:
            continue
        page.find("#panel-breaks fieldset input").click()
        page.find("#break-retrain").click()
        page.wait("document.querySelector('#break-seen') !== null", seconds=60)
        text = page.text("#break-seen")
        found = verdict(page, name)[1]
        assert page.run("document.querySelector('#break-seed').value") == str(found["broken"]["seed"])
        assert text == found["text"]
        keys = hold(page, name)[-1]
        assert "hidden" not in keys and "outcome.healthy" not in keys, (name, text)  # its own seed shows everything
        texts.add(text)
    assert len(lines) == len(asked) == len(SWITCHES) and len(texts) == len(TRAINED), (lines, texts, asked)
    assert "breaks.outcome.failed" in [s["key"] for s in verdict(page, "no_scale")[1]["sentences"]]
    for name, other in OF_HEADS.items():
        page.find(f"#break-{name}").click()
        before = page.text("#panel-breaks h3 + p")
        Select(page.find("#break-heads")).select_by_value(str(other))
        assert page.text("#panel-breaks h3 + p") != before, (name, "the text names the number of heads")
        places = page.run("document.querySelectorAll('#panel-breaks .places').length")
        assert places == (0 if name == "scale_d_model" else 1), (name, places)
    page.find("#break-no_scale").click()
    assert page.run("[page.state.broken_heads, document.querySelector('#break-heads')]") == ["", None]
    for key, texts in page.run("page.allStrings").items():
        places = [sorted(set(part[0] for part in text.split("{")[1:])) for text in texts]
        assert places.count(places[0]) == 3, (key, texts)
    assert page.run("page.state.seed") == 0, "Break it leaves the run alone"
    print(f"breaks: what the page says about {len(TRAINED)} holds")


def main():
    seeds = range(int(sys.argv[2]) if len(sys.argv) > 2 else 10)
    driver = start()
    driver.set_script_timeout(300)
    try:
        page = open_page(driver, sys.argv[1])
        pairs, slowest, said = {}, (0, None), {}
        for seed in seeds:
            for name in SWITCHES:
                for heads in {None, OF_HEADS.get(name)}:
                    seconds, a, b, keys = hold(page, name, seed, heads)
                    pairs.setdefault(name, []).append((a, b))
                    slowest = max(slowest, (seconds, (name, seed)))
                    for key in keys:
                        said[key] = said.get(key, 0) + 1
        for what, (name, holds) in WHY.items():
            assert holds(pairs[name]), what
    finally:
        driver.quit()
    print(f"breaks: every sentence holds, for {len(SWITCHES)} switches with {len(seeds)} seeds; the slowest took "
          f"{slowest[0]:.1f} s: {slowest[1]}")
    print("said:", ", ".join(f"{key} {count}" for key, count in sorted(said.items())))


if __name__ == "__main__":
    main()
