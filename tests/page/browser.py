"""Shared by the tests of pages in Chromium (report.py, page.py)."""

import json
import os
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 600  # seconds: only what never happens takes so long, on any processor


def start():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-ipc-flooding-protection"):  # the tests press faster than 200 times in 30 seconds
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(PATIENCE)
    driver.set_page_load_timeout(PATIENCE)
    return driver


class Page:
    """A page in the browser, opened from a file. Under reduced motion everything is drawn at once."""

    opened = set()

    def __init__(self, driver, path, width=1000, theme="light", fragment="", height=900):
        self.driver, self.url = driver, "file://" + os.path.abspath(path)
        self.resize(width, height)
        self.emulate(theme)
        self.opened.add(self.url)
        self.load(fragment)

    def load(self, fragment=""):
        self.driver.get("about:blank")  # a change of the fragment alone would not load the page again
        self.driver.get(self.url + fragment)

    def resize(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})

    def emulate(self, theme="light", media=""):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [
            {"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).get_attribute("textContent")

    def run(self, script, *arguments):
        return self.driver.execute_script("return " + script, *arguments)

    def settle(self, promise, *arguments):
        """The value of a promise: of JavaScript in which await can be used."""
        found = self.driver.execute_async_script("""const done = arguments[arguments.length - 1];
            (async (...arguments) => (PROMISE))(...arguments).then((x) => done([x]), (e) => done(e.message));""".replace("PROMISE", promise), *arguments)
        assert isinstance(found, list), found
        return found[0]

    def wait(self, script, *arguments):
        """Waits until an expression is true."""
        WebDriverWait(self.driver, PATIENCE, 0.05).until(lambda _: self.run(script, *arguments), script)

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def press(self, selector, *keys):
        self.driver.execute_script("arguments[0].focus()", self.find(selector))
        self.keys(*keys)

    def hover(self, selector, x=0, y=0):
        element = self.find(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.driver).move_to_element_with_offset(element, x, y).perform()

    def check_quiet(self):
        """No console messages, and no requests except for the pages."""
        # Chromium tells when a dialog's autofocus yields to an element that has the focus.
        messages = [m["message"] for m in self.driver.get_log("browser") if "Autofocus processing was blocked" not in m["message"]]
        assert messages == [], messages
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"].partition("#")[0]
                assert url in self.opened or url.startswith(("data:", "blob:", "about:")), url


def check_axe(page):
    """axe-core reports no serious problem. Without it, nothing is checked; with HEED_STRICT=1, as in .ci/run, that is an error."""
    try:
        from axe_core_python.selenium import Axe
    except ImportError:
        assert os.environ.get("HEED_STRICT") != "1", "axe-core is not installed"
        return
    found = [(v["id"], v["impact"], [n["html"][:200] for n in v["nodes"][:3]])
             for v in Axe().run(page.driver)["violations"]]
    assert not any(impact in ("serious", "critical") for _, impact, _ in found), found
