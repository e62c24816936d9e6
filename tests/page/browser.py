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


def start():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


class Page:
    """A page in the browser, opened from a file. Under reduced motion everything is drawn at once."""

    opened = set()

    def __init__(self, driver, path, width=1000, theme="light", fragment="", height=900, motion="reduce"):
        self.driver, self.url = driver, "file://" + os.path.abspath(path)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [
            {"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": motion}]})
        self.opened.add(self.url)
        driver.get("about:blank")  # a change of the fragment alone would not load the page again
        driver.get(self.url + fragment)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).get_attribute("textContent")

    def style(self, selector, name):
        return self.find(selector).value_of_css_property(name)

    def run(self, script, *arguments):
        return self.driver.execute_script("return " + script, *arguments)

    def wait(self, script, *arguments, seconds=30):
        """Waits until an expression is true."""
        WebDriverWait(self.driver, seconds, 0.02).until(lambda _: self.run(script, *arguments), script)

    def press(self, selector, *keys):
        self.driver.execute_script("arguments[0].focus()", self.find(selector))
        ActionChains(self.driver).send_keys(*keys).perform()

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
                url = message["params"]["request"]["url"]
                assert url in self.opened or url.startswith(("data:", "blob:", "about:")), url


def skip(reason):
    """Something cannot be checked here; with HEED_STRICT=1, as in .ci/run, that is an error."""
    print(reason + "; skipped")
    assert os.environ.get("HEED_STRICT") != "1", reason


def check_axe(page):
    try:
        from axe_core_python.selenium import Axe
    except ImportError:
        skip("axe-core is not installed")
        return
    found = [(v["id"], v["impact"], [n["html"][:200] for n in v["nodes"][:3]])
             for v in Axe().run(page.driver)["violations"]]
    assert not any(impact in ("serious", "critical") for _, impact, _ in found), found
    if found:
        print("axe:", found)
