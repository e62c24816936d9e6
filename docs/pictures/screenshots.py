"""Takes the pictures of a report, in headless Chromium.

    python3 docs/pictures/screenshots.py REPORT.html FOLDER
"""

import os
import shutil
import sys

from selenium import webdriver
from selenium.webdriver.chrome.service import Service


def main():
    report, folder = sys.argv[1:]
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,920"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.get("file://" + os.path.abspath(report))
    driver.save_screenshot(os.path.join(folder, "report.png"))
    driver.find_element("id", "attention").screenshot(os.path.join(folder, "report_attention.png"))
    driver.quit()


main()
