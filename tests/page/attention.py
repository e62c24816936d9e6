"""Shared by the tests of attention.html: its state, its engine, and the numbers that it shows."""

from browser import Page

TABS = ("story", "class", "training", "breaks", "gpt", "quiz", "teachers")


class Attention(Page):
    """attention.html, loaded."""

    def load(self, fragment=""):
        super().load(fragment)
        self.wait("window.page !== undefined")


def engine(page, call):
    """The result of a method of the run's engine, such as goTo(5)."""
    return page.settle(f"await page.run.engine.{call}")


def set_state(page, **changes):
    page.driver.execute_script("page.setState(arguments[0])", changes)


def show(page, tab, **changes):
    """Shows a tab with these changes; returns when it has been computed and drawn."""
    set_state(page, tab=tab, **changes)
    page.settle("""await page.panels.find(({ root }) => root.id === "panel-" + arguments[0]).section.show()
        .then(() => new Promise(requestAnimationFrame)).then(() => new Promise(requestAnimationFrame)).then(() => null)""", tab)


def begin_run(page, **of):
    """A run of these seeds and heads, at step 0."""
    set_state(page, step=0, **of)
    page.wait("Object.entries(arguments[0]).every(([key, value]) => page.run.of[key] === value) && page.run.step === 0 && page.run.measures.has(0)", of)


def go_to(page, step):
    set_state(page, step=step)
    page.wait("page.run.step === arguments[0] && page.state.step === arguments[0] && !page.run.busy && page.run.measures.has(arguments[0])", step)


def number(text):
    """The number that a text of the page shows."""
    return float(text.replace("−", "-").replace("∞", "inf").replace("NaN", "nan"))


def half_a_unit(text):
    """Half a unit of the last decimal of a number."""
    digits, _, exponent = text.partition("e")
    decimals = len(digits.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent.replace("−", "-") or 0) - decimals)
