"""Takes pictures of the site: screenshots.py SITE OUTPUT. Needs Playwright and Chromium."""

import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import sync_playwright


class Shot(NamedTuple):
    """A page as a reader sees it."""

    name: str
    page: str
    width: int = 1280
    height: int = 900
    colours: str = "light"


SHOTS = (
    Shot("start", "index.html"),
    Shot("start-dark", "index.html", colours="dark"),
    Shot("start-phone", "index.html", 390, 844),
    Shot("environment", "environments/llvm.html"),
    Shot("environment-phone", "environments/gcc.html", 390, 844, "dark"),
    Shot("api", "reference/compiler_gym.wrappers.html"),
    Shot("cpp-dark", "reference/CompilationSession.html", colours="dark"),
    Shot("command-line", "command-line.html"),
    Shot("search", "search.html?q=reward"),
    Shot("learning-dark", "guides/learning.html", colours="dark"),
    Shot("notebook", "notebooks/train-a-policy.html"),
    Shot("performance", "performance.html"),
)


def main() -> None:
    """Takes all pictures. Fails if a page is wider than its window."""
    site, output = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for shot in SHOTS:
            window = {"width": shot.width, "height": shot.height}
            page = browser.new_page(viewport=window, color_scheme=shot.colours)
            page.goto(f"file://{site}/{shot.page}")
            if shot.name == "search":
                page.wait_for_selector("ul.search li")
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= shot.width, f"{shot.page} is {width} pixels wide, not {shot.width}"
            page.screenshot(path=output / f"{shot.name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
