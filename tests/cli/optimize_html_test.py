"""``compiler-gym optimize --html``: the page says what the result says."""

import json
import re
from html import unescape

import pytest

from tests.cli.conftest import LOOP


@pytest.fixture(name="source")
def fixture_source(environment):
    path = environment / "<b>&amp;'.c"
    path.write_text(LOOP)
    return path.name


def test_numbers_equal_the_result(run, environment, source):
    done = run("optimize", source, "--evaluations", "2", "--html", "page.html", "--json")
    (result,) = json.loads(done.stdout)
    page = (environment / "page.html").read_text(encoding="utf-8")
    text = unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.S))
    text = " ".join(text.replace("\N{MINUS SIGN}", "-").split())
    before, after = result["before"], result["after"]
    assert text.startswith("<b>&amp;'.o: code size <b>&amp;'.o: ")
    assert f"<b>&amp;'.o: {after['loaded']} bytes loaded, " in text
    assert f"{-100 * result['saved']:+.1f} % against the {before['loaded']} of clang -Oz" in text
    assert f"Bytes of code {before['text']} → {after['text']} " in text
    assert f"Bytes loaded {before['loaded']} → {after['loaded']} " in text
    assert f"Before: {before['loaded']} bytes " in text
    assert f"After: {after['loaded']} bytes " in text
    assert f"evaluations: {result['evaluations']} " in text
    for stage in result["stages"]:
        numbers = f"{stage['evaluations']} {stage['seconds']:.1f} {stage['size']}"
        assert f" {stage['name']} {numbers} " in text
    assert result["functions"]
    for each in result["functions"]:
        assert f" {each['name']}: {each['before']} → {each['after']} bytes " in text
    assert text.endswith(" -o '<b>&amp;'\"'\"'.o'")
