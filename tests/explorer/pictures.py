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


def main() -> None:
    folder = Path(sys.argv[1])
    with serving(page=PAGE) as client, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        take(browser, client.url, folder / "explorer-wide.png", 1280, 800, "light")
        take(browser, client.url, folder / "explorer-phone.png", 380, 1200, "dark")
        browser.close()


if __name__ == "__main__":
    main()
