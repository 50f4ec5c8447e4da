"""The explorer's page for the state of an environment."""

import sys
import types
import urllib.parse
from pathlib import Path

import pytest

from compiler_gym.cli.optimize_program import Product
from compiler_gym.compiler_env_state import CompilerEnvState
from compiler_gym.envs.llvm import LlvmEnv, make_benchmark_from_source
from compiler_gym.errors import SessionNotFound
from compiler_gym.explorer import notebook
from compiler_gym.tuning.size.inputs import Input
from tests.explorer.conftest import SOURCE, Client


@pytest.fixture(name="opened", autouse=True)
def fixture_opened(monkeypatch, tmp_path):
    (tmp_path / "index.html").write_text("the page")
    monkeypatch.setattr(notebook, "PAGE", tmp_path)
    urls = []
    monkeypatch.setattr(notebook.webbrowser, "open", urls.append)
    yield urls
    notebook._server.cache_clear()


@pytest.fixture(name="env")
def fixture_env():
    with LlvmEnv() as made:
        yield made


def shown_ir(url):
    """The IR of the state that an address names."""
    base, _, fragment = url.partition("#")
    fields = dict(urllib.parse.parse_qsl(fragment))
    client = Client(base)
    program = client.call("program", {"name": fields["program"]})["id"]
    actions = [each for each in fields["actions"].split(",") if each]
    return client.call("path", {"program": program, "actions": actions})["ir"]


def test_the_browser_shows_the_state_of_an_environment(env, opened):
    with pytest.raises(SessionNotFound):
        env.explore()
    env.reset(benchmark=make_benchmark_from_source(SOURCE, lang="c"))
    env.multistep([env.action_space[name] for name in ("sroa", "inline")])
    page = env.explore()
    assert opened == [page.url]
    assert shown_ir(page.url) == env.ir
    env.step(env.action_space["instcombine"])
    assert shown_ir(env.explore().url) == env.ir
    env.reset(benchmark="benchmark://kernels-v0/bitops", action_space="Pipelines")
    env.step(env.action_space["default<Oz>"])
    assert shown_ir(env.explore().url) == env.ir
    assert len({url.partition("#")[0] for url in opened}) == 1


def test_a_notebook_shows_the_page_in_the_cell(env, opened, monkeypatch):
    shell = types.SimpleNamespace(kernel=object())
    fake = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    env.reset(benchmark="benchmark://kernels-v0/bitops")
    page = env.explore(height=500)
    assert opened == []
    assert page._repr_html_().startswith(f'<iframe src="{page.url.replace("&", "&amp;")}"')
    assert 'height="500"' in page._repr_html_()


def test_states_that_cannot_be_repeated(opened):
    with LlvmEnv(target_triple="riscv64-linux-gnu") as env:
        env.reset(benchmark="benchmark://kernels-v0/bitops")
        with pytest.raises(ValueError, match="explorer"):
            env.explore()
    assert opened == []


def test_results_of_optimize_as_tables():
    product = Product(
        program=Input("a&b", Path("a&b.c")),
        target=Path("a&b.o"),
        seconds=1.25,
        is_finished=False,
        summary="12 bytes, 3 fewer",
        command=["clang", "-Oz", "a&b.c"],
        is_repeatable=True,
    )
    text = product._repr_html_()
    for part in ("a&amp;b.c", "a&amp;b.o", "12 bytes, 3 fewer", "1.2 s, interrupted", "clang -Oz"):
        assert part in text


def test_states_as_tables():
    state = CompilerEnvState(benchmark="benchmark://a/b", commandline="opt <x>", walltime=1.5)
    text = state._repr_html_()
    assert "opt &lt;x&gt;" in text and "benchmark://a/b" in text and "none" in text
