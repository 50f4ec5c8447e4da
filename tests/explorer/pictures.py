"""Makes the pictures of docs/guides/explorer.md: python -m tests.explorer.pictures FOLDER."""

import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from compiler_gym.explorer.server import PAGE
from tests.explorer.browser import FLAGS
from tests.explorer.conftest import serving


def take(browser: Browser, url: str, path: Path, width: int, height: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(f"{url}#program=sha256&actions=function(sroa)")
    page.locator(".ir .removed, .ir .added").first.wait_for()
    page.keyboard.press("r")
    page.get_by_role("button", name="Ranking…").wait_for()
    page.get_by_role("button", name="Which pass next?").wait_for()
    page.screenshot(path=path)
    page.close()


def take_view(browser: Browser, url: str, path: Path, tab: str, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    page.goto(f"{url}#program=sha256&actions=function(sroa),function(simplifycfg)")
    page.get_by_role("tab", name=tab).click()
    page.locator(".node.changed, .column-IR .item").first.wait_for()
    if tab == "Source":
        page.locator(".column-Ma .item").nth(9).click()
        page.locator(".column-So .near").wait_for()
    page.screenshot(path=path)
    page.close()


def main() -> None:
    folder = Path(sys.argv[1])
    with serving(page=PAGE) as client, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        take(browser, client.url, folder / "explorer-wide.png", 1280, 800, "light")
        take(browser, client.url, folder / "explorer-phone.png", 380, 1200, "dark")
        take_view(browser, client.url, folder / "explorer-graphs.png", "Graphs", "light")
        take_view(browser, client.url, folder / "explorer-source.png", "Source", "dark")
        browser.close()


if __name__ == "__main__":
    main()
