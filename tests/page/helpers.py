"""Shared by the tests of attention.html (page.py, breaks.py, lines.py, shell.py)."""

from browser import Page

TABS = ("story", "class", "training", "gradients", "breaks", "own", "onward", "gpt", "quiz", "teachers")


def open_page(driver, path, fragment="", **how):
    page = Page(driver, path, fragment=fragment, **how)
    page.wait("window.page !== undefined", seconds=20)
    return page


def engine(page, call):
    """The result of a method of the run's engine, such as goTo(5)."""
    found = page.driver.execute_async_script(
        f"const done = arguments[0]; page.run.engine.{call}.then((x) => done([x]), (e) => done(e.message))")
    assert isinstance(found, list), found
    return found[0]


def set_state(page, **changes):
    page.driver.execute_script("page.setState(arguments[0])", changes)


def show(page, tab, **changes):
    """Shows a tab with these changes; returns when it has been computed and drawn."""
    set_state(page, tab=tab, **changes)
    found = page.driver.execute_async_script("""const [tab, done] = arguments;
        const { section } = page.panels.find(({ root }) => root.id === "panel-" + tab);
        Promise.resolve(section.show()).then(() => requestAnimationFrame(() => requestAnimationFrame(() => done(null))),
            (e) => done(e.message));""", tab)
    assert found is None, found


def number(text):
    """The number that a text of the page shows."""
    return float(text.replace("−", "-").replace("∞", "inf").replace("NaN", "nan"))


def half_a_unit(text):
    """Half a unit of the last decimal of a number."""
    digits, _, exponent = text.partition("e")
    decimals = len(digits.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent.replace("−", "-") or 0) - decimals)
