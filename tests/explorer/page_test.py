"""The explorer's page in a browser: clicks and keys, as its users make them."""

import re

import pytest
from playwright.sync_api import expect, sync_playwright

from compiler_gym.explorer.server import PAGE
from tests.explorer.browser import FLAGS
from tests.explorer.conftest import serving

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def client():
    with serving(program="benchmark://kernels-v0/bitops", page=PAGE) as made:
        yield made


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def page(browser, client):
    """The page with its program open; nothing on it may have gone wrong at the end."""
    made = browser.new_page(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    problems = []
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda line: line.type == "error" and problems.append(line.text))
    made.goto(client.url)
    expect(made.get_by_role("button", name="Program: bitops")).to_be_visible()
    expect(made.locator(".ir .line").first).to_be_visible()
    yield made
    made.close()
    assert [text for text in problems if "status of 4" not in text] == []


def apply(page, text):
    page.keyboard.press("/")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.locator("h1").click()


def current(page):
    return page.locator(".tree [aria-current=true]")


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def test_play_undo_branch_and_link(page, browser):
    apply(page, "sroa")
    expect(current(page)).to_contain_text("sroa")
    expect(page.locator(".ir .removed").first).to_contain_text("alloca")
    apply(page, "gvn,adce")
    expect(current(page)).to_contain_text("adce")
    page.keyboard.press("u")
    expect(current(page)).to_contain_text("gvn")
    page.get_by_role("button", name="-Oz", exact=True).click()
    expect(current(page)).to_contain_text("default<Oz>")
    assert page.locator(".tree li").count() == 5
    page.go_back()
    expect(current(page)).to_contain_text("gvn")

    other = browser.new_page()
    other.goto(page.url)
    expect(current(other)).to_contain_text("gvn")
    assert other.locator(".tree li").count() == 3
    other.close()


def test_pipelines_with_mistakes_are_explained(page):
    apply(page, "sroa,srao")
    expect(page.get_by_role("alert")).to_contain_text("Did you mean")


def test_ranking_sorts_the_passes(page):
    page.keyboard.press("r")
    best = page.locator(".actions li").first
    expect(best.locator("em")).to_have_text(re.compile(r"^\u2212\d"))
    expect(page.get_by_role("button", name="Which pass next?")).to_be_visible()
    saved = best.locator("em").inner_text()
    best.locator("button").click()
    expect(current(page).locator("em")).to_have_text(saved)


def test_paste_a_program_and_see_its_errors(page):
    page.keyboard.press("p")
    source = page.get_by_label("Source", exact=True)
    source.fill("int f(int x) {\n  return y;\n}\n")
    page.get_by_role("button", name="Compile", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("line 2: use of undeclared identifier 'y'")
    expect(page.locator(".cm-lintRange-error")).to_be_visible()
    source.fill("int f(int x) {\n  return x + 1;\n}\n")
    page.get_by_role("button", name="Compile", exact=True).click()
    expect(page.get_by_role("button", name="Program: pasted")).to_be_visible()
    expect(page.locator(".ir")).to_contain_text("@f(")
    page.reload()
    expect(page.locator(".ir")).to_contain_text("@f(")


def test_the_tree_outlives_what_the_server_knows(page, client):
    page.keyboard.press("p")
    page.get_by_label("Source", exact=True).fill("int f(int x) { int y = x; return y + 1; }\n")
    page.get_by_role("button", name="Compile", exact=True).click()
    expect(page.get_by_role("button", name="Program: pasted")).to_be_visible()
    apply(page, "sroa")
    expect(current(page)).to_contain_text("sroa")
    client.bench.forget()
    apply(page, "adce")
    expect(current(page)).to_contain_text("adce")
    assert page.locator(".tree li").count() == 3


def test_blame_charts_features_causes_and_export(page):
    apply(page, "sroa,instcombine,simplifycfg")
    expect(current(page)).to_contain_text("simplifycfg")
    tab(page, "Blame")
    expect(page.locator(".ir .by").first).to_contain_text(re.compile(r"\d\. "))
    tab(page, "Charts")
    expect(page.locator(".chart").nth(1).locator("circle")).to_have_count(4)
    tab(page, "Features")
    expect(page.locator("tr", has_text="TotalInsts")).to_be_visible()
    tab(page, "Causes")
    expect(page.locator(".panel tbody tr")).to_have_count(2)
    tab(page, "Export")
    expect(page.locator(".panel pre").first).to_contain_text("-passes='module(function(sroa),")


def test_search_gives_a_branch(page):
    tab(page, "Search")
    page.get_by_role("button", name="Search", exact=True).click()
    take = page.get_by_role("button", name="Take the best as a branch")
    expect(take).to_be_enabled()
    page.get_by_role("button", name="Stop").click()
    take.click()
    expect(current(page)).not_to_contain_text("program")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 380, "height": 800})
    apply(page, "sroa")
    expect(page.locator(".ir.single .removed").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
