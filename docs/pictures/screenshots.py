"""Takes the pictures of a report and of the page, in headless Chromium.

    python3 docs/pictures/screenshots.py REPORT.html ATTENTION.html FOLDER
"""

import base64
import os
import shutil
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service


def start(width, height):
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    return driver


def save(driver, path):
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 60})
    with open(path, "wb") as file:
        file.write(base64.b64decode(shot["data"]))


def take_report(path, folder):
    """Two curves and the attention of one head, late in training."""
    driver = start(1000, 900)
    driver.get("file://" + os.path.abspath(path))
    driver.execute_script("""[...document.querySelectorAll("#charts figure")].slice(2).forEach((e) => e.remove());
        document.querySelectorAll("#texts, #settings").forEach((e) => e.remove());""")
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 1000, "height": driver.execute_script("return document.documentElement.scrollHeight"),
        "deviceScaleFactor": 1, "mobile": False})
    save(driver, os.path.join(folder, "report.webp"))
    driver.quit()


def take_page(path, folder):
    """The first screen of the story, once the reader has pressed "pizza"; and a line of the class, trained."""
    driver = start(1200, 600)
    driver.get("file://" + os.path.abspath(path) + "#lang=en&embed=story:1")
    time.sleep(2)
    driver.execute_script("""document.querySelector(".story-page .answer, .story-page [role=button]").dispatchEvent(
        new MouseEvent("click", { bubbles: true }))""")
    time.sleep(3)
    save(driver, os.path.join(folder, "it.webp"))
    driver.set_window_size(1366, 768)
    driver.get("about:blank")
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": 1366, "height": 768, "deviceScaleFactor": 1, "mobile": False})
    driver.get("file://" + os.path.abspath(path) + "#lang=en&tab=class&example=pizza&line=9&step=500&cell=attention_scores:8:4")
    time.sleep(8)
    save(driver, os.path.join(folder, "page.webp"))
    driver.quit()


def main():
    report, page, folder = sys.argv[1:]
    if report != "-":
        take_report(report, folder)
    take_page(page, folder)


main()
