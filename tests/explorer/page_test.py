"""The explorer's page in a browser: clicks and keys, as its users make them."""

import functools
import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from playwright.sync_api import expect, sync_playwright

from compiler_gym.explorer.server import PAGE
from tests.explorer.browser import FLAGS
from tests.explorer.conftest import serving

AXE = Path(os.environ.get("AXE", "web/node_modules/axe-core/axe.min.js"))

VIEWS = (
    "Change", "Blame", "Source", "Code", "Sizes", "Graphs", "Remarks", "Charts", "Features",
    "Causes", "Search", "Export",
)  # fmt: skip

CELL = """\
import compiler_gym
env = compiler_gym.make("llvm-v0", benchmark="kernels-v0/bitops")
env.reset()
env.step(env.action_space["sroa"])
env.explore(height=640)
"""


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
    # Busy machines take their time.
    made.set_default_timeout(100_000)
    expect.set_options(timeout=100_000)
    problems = []
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda line: line.type == "error" and problems.append(line.text))
    made.goto(client.url)
    expect(made.get_by_role("button", name="Program: bitops")).to_be_visible()
    expect(made.locator(".ir .line").first).to_be_visible()
    yield made
    made.close()
    expected = re.compile("status of 4|ERR_INTERNET_DISCONNECTED")
    assert [text for text in problems if not expected.search(text)] == []


def apply(page, text):
    page.keyboard.press("/")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.locator("h1").click()


def current(page):
    return page.locator(".tree [aria-current=true]")


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def check_accessibility(page):
    """Nothing of the page may be hard to use for somebody who cannot see or point."""
    page.evaluate(AXE.read_text())  # Not a script element: the page allows none of others.
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []


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


def test_keys_are_enough(page):
    press = page.keyboard.press

    def search(text):
        press("/")
        page.keyboard.type(text)

    def press_until(place, key="Tab"):
        for _ in range(400):
            press(key)
            if page.evaluate("place => document.activeElement.matches(place)", place):
                return
        raise AssertionError(f"{key} does not lead to {place}")

    search("mem2")
    press("ArrowDown")
    press("ArrowUp")
    press("Enter")
    expect(current(page)).to_contain_text("mem2reg")
    page.keyboard.type("gvn")
    press("Enter")
    expect(current(page)).to_contain_text("gvn")
    press("Escape")
    press("u")
    expect(current(page)).to_contain_text("mem2reg")
    press_until(".tree button")
    press("ArrowDown")
    press("ArrowDown")
    press("Enter")
    expect(current(page)).to_contain_text("gvn")
    press_until("[role=tab]")
    for key, name in zip("1234567890-=", VIEWS, strict=True):
        press(key)
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        press_until("[role=tabpanel]")
        press_until("[role=tab]", "Shift+Tab")
    press("ArrowRight")
    expect(page.get_by_role("tab", name="Change")).to_be_focused()
    press("p")
    expect(page.get_by_role("dialog")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    press("r")
    expect(page.locator(".actions em").first).to_be_visible()


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


DROP = """(dialog, [name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  dialog.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
}"""


def test_drop_and_open_files(page):
    page.keyboard.press("p")
    dialog = page.get_by_role("dialog", name="Program")
    dialog.evaluate(DROP, ["dropped.cc", "template <int N> int f() { return N; }\n"])
    expect(page.get_by_label("Source", exact=True)).to_contain_text("template <int N>")
    expect(page.get_by_label("Language", exact=True)).to_have_value("c++")
    file = {"name": "opened.ll", "mimeType": "", "buffer": b"define void @g() {\n  ret void\n}\n"}
    page.get_by_label("Open a file").set_input_files(file)
    expect(page.get_by_label("Language", exact=True)).to_have_value("ir")
    page.get_by_role("button", name="Compile", exact=True).click()
    expect(page.locator(".ir")).to_contain_text("@g(")


def test_the_tree_survives_a_server_that_forgot_it(page, client):
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


def test_the_tree_outlives_the_connection(page):
    apply(page, "sroa")
    expect(current(page)).to_contain_text("sroa")
    page.context.set_offline(True)
    apply(page, "adce")
    expect(page.get_by_role("alert")).to_contain_text("No connection to the server")
    page.locator("h1").click()
    page.keyboard.press("u")
    expect(current(page)).to_contain_text("program")
    page.locator(".tree button", has_text="sroa").click()
    expect(current(page)).to_contain_text("sroa")
    page.context.set_offline(False)
    apply(page, "gvn")
    expect(current(page)).to_contain_text("gvn")
    assert page.locator(".tree li").count() == 3


def test_blame_charts_features_causes_and_export(page):
    apply(page, "sroa,instcombine,simplifycfg")
    expect(current(page)).to_contain_text("simplifycfg")
    tab(page, "Blame")
    expect(page.locator(".ir .by").first).to_contain_text(re.compile(r"\d\. "))
    chain = page.locator(".ir .by", has_text=re.compile("program → .*→")).first
    expect(chain.locator("b")).to_contain_text(re.compile(r"^\d\. "))
    tab(page, "Charts")
    expect(page.locator(".chart").nth(1).locator("circle")).to_have_count(4)
    tab(page, "Features")
    expect(page.locator("tr", has_text="TotalInsts")).to_be_visible()
    check_accessibility(page)
    tab(page, "Causes")
    expect(page.locator(".panel tbody tr")).to_have_count(2)
    tab(page, "Export")
    expect(page.locator(".panel pre").first).to_contain_text("-passes='module(function(sroa),")


def test_source_ir_and_code_belong_together(page):
    apply(page, "inline")
    tab(page, "Source")
    near = page.locator(".column-IR .near")
    page.locator(".column-Ma .item").nth(9).click()
    expect(near.first).to_be_visible()
    line = page.locator(".column-So .near .offset").inner_text()
    assert {*page.locator(".column-Ma .near .offset").all_inner_texts()} == {line}
    assert {*near.locator(".offset").all_inner_texts()} == {line}
    page.keyboard.press("ArrowDown")
    expect(page.locator(".column-Ma [aria-selected=true]")).to_be_visible()
    near.first.click()
    expect(page.locator(".column-So [aria-selected=true]")).to_be_visible()
    check_accessibility(page)
    tab(page, "Remarks")
    page.get_by_label("Kind of remark").select_option("passed")
    remark = page.locator(
        ".reports .item", has_text=re.compile(r"inlined into[^$]*|, line \d+")
    ).first
    line = re.search(r", line (\d+)", remark.inner_text())[1]
    remark.click()
    expect(page.locator(".column-So [aria-selected=true] .offset")).to_have_text(line)
    expect(page.locator(".column-So [aria-selected=true] .remark")).to_contain_text("inline")


def test_graphs_and_sizes(page):
    apply(page, "sroa,simplifycfg")
    tab(page, "Graphs")
    before, after = page.locator(".graph").nth(0), page.locator(".graph").nth(1)
    expect(after.locator(".node.changed").first).to_be_visible()
    expect(before.locator(".node.removed").first).to_be_visible()
    assert before.locator(".node").count() > after.locator(".node").count()
    after.locator(".marked button").first.click()
    expect(after.locator(".node.chosen")).to_be_visible()
    expect(after.locator(".block")).to_contain_text("%")
    check_accessibility(page)
    page.get_by_label("Kind of graph").select_option("calls")
    expect(after.locator(".node", has_text="main").first).to_be_visible()
    tab(page, "Sizes")
    page.get_by_label("against").select_option("the program")
    expect(page.locator(".treemap").nth(1).locator(".area.better").first).to_be_visible()
    shrunk = page.locator(".functions .item", has=page.locator(".better")).first
    name = shrunk.locator(".name").inner_text()
    shrunk.click()
    expect(page.get_by_label("Function", exact=True)).to_have_value(name)
    expect(page.locator(".assembly .removed").first).to_be_visible()


def test_a_saved_branch_opens_without_a_server(page, browser, tmp_path):
    apply(page, "sroa")
    expect(current(page)).to_contain_text("sroa")
    tab(page, "Export")
    with page.expect_download() as download:
        page.locator(".text", has_text="as a page").get_by_role("button").click()
    download.value.save_as(tmp_path / "branch.html")
    context = browser.new_context(offline=True)
    saved = context.new_page()
    problems = []
    saved.on("pageerror", lambda error: problems.append(str(error)))
    saved.goto((tmp_path / "branch.html").as_uri())
    expect(current(saved)).to_contain_text("sroa")
    expect(saved.locator(".ir .removed").first).to_contain_text("alloca")
    for name, place in (
        ("Graphs", ".node.changed"),
        ("Sizes", ".area"),
        ("Source", ".column-Ma .item"),
    ):
        tab(saved, name)
        expect(saved.locator(place).first).to_be_visible()
    saved.locator(".tree button").first.click()
    expect(current(saved)).to_contain_text("program")
    assert problems == []
    context.close()


@pytest.fixture(name="package_path")
def fixture_package_path(monkeypatch):
    """Lets other processes find the package, in whatever folder they run."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(os.path.abspath, sys.path)))


@pytest.mark.usefixtures("package_path")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sha265"], "Did you mean benchmark://kernels-v0/sha256?"),
        (["bad.c"], "bad.c:1:23: error: use of undeclared identifier 'y'"),
        (["--host", "192.0.2.1"], "expected a free address of this machine, got 192.0.2.1, port 0"),
    ],
)
def test_the_command_refuses_unusable_programs(words, message, tmp_path):
    (tmp_path / "bad.c").write_text("int f(int x) { return y; }\n")
    command = [sys.executable, "-m", "compiler_gym", "explore", "--no-browser", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("compiler-gym: ") and message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("package_path")
def test_the_command_ends_by_an_interrupt(tmp_path):
    command = [sys.executable, "-m", "compiler_gym", "explore", "--no-browser", "bitops"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as running:
        address = running.stdout.readline()
        assert re.fullmatch(r"http://127.0.0.1:\d+/[\w-]{22}/\n", address)
        with urllib.request.urlopen(address.strip(), timeout=250) as reply:
            assert reply.status == 200
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=250)
    assert (running.returncode, said) == (130, "")


@contextmanager
def web_server(folder):
    """The address at which the files of a folder are served."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_cell_of_a_notebook_shows_the_page(browser, tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    # Sockets in the folder, so that nobody else can connect to the kernel.
    kernel = AsyncKernelManager(
        kernel_name="python3",
        transport="ipc",
        ip=f"{tmp_path}/kernel",
        connection_file=f"{tmp_path}/kernel.json",
    )
    runner = NotebookClient(notebook, km=kernel, timeout=200)
    with runner.setup_kernel(), web_server(tmp_path) as url:
        cell = runner.execute_cell(notebook.cells[0], 0)
        output = cell.outputs[-1].data["text/html"]
        assert 'height="640"' in output
        (tmp_path / "index.html").write_text(f"<!DOCTYPE html><title>cell</title>{output}")
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(url)
        frame = page.frame_locator("iframe")
        expect(current(frame)).to_contain_text("sroa")
        frame.locator(".actions button", has_text="simplifycfg").first.click()
        expect(current(frame)).to_contain_text("simplifycfg")
        page.close()


def test_phone(page):
    page.set_viewport_size({"width": 380, "height": 800})
    apply(page, "sroa")
    expect(page.locator(".ir.single .removed").first).to_be_visible()
    for name in ("Change", "Graphs", "Sizes", "Source"):
        tab(page, name)
        expect(page.locator(".item, .node, .line").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 380, name
    page.emulate_media(reduced_motion="reduce")
    style = page.locator("button").first.evaluate(
        "each => getComputedStyle(each).transitionDuration"
    )
    assert style == "0s"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        check_accessibility(page)
