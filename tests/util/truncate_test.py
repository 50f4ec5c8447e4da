"""Shortening of texts."""

import random

import pytest

from compiler_gym.util.truncate import filled, shortened, truncate


@pytest.mark.parametrize(
    ("text", "options", "result"),
    [
        ("abc", {}, "abc"),
        ("", {}, ""),
        ("abcdefghij", {"max_line_len": 5}, "ab..."),
        ("abcde", {"max_line_len": 5}, "abcde"),
        ("a\nb\nc", {"max_lines": 2}, "a\nb..."),
        ("a\nb\n", {"max_lines": 2}, "a\nb"),
        ("a\nb\nc", {"max_lines": 3}, "a\nb\nc"),
        ("a\nb\nc", {"max_lines": 2, "tail": True}, "...b\nc"),
        ("a\nbcdefg\nh", {"max_lines": 2, "max_line_len": 5}, "a\nbc..."),
        ("a\nbcdef\nh", {"max_lines": 2, "max_line_len": 5, "tail": True}, "...ef\nh"),
        ("abcd\nefgh", {"max_line_len": 3}, "..."),
        ("abcd\nefgh", {"max_line_len": 3, "tail": True}, "..."),
    ],
)
def test_truncate(text, options, result):
    assert truncate(text, **options) == result


def test_limits_always_hold():
    rng = random.Random(0)
    for _ in range(500):
        text = "".join(rng.choice("ab.\n") for _ in range(rng.randrange(60)))
        length, count = rng.randint(3, 12), rng.randint(1, 5)
        for tail in (False, True):
            lines = truncate(text, length, count, tail).split("\n")
            assert len(lines) <= count
            assert max(map(len, lines)) <= length


def test_text_for_a_table():
    assert shortened("123456", 6) == "123456"
    assert shortened("1234567", 6) == "12345…"
    assert shortened("f(1234567)", 6, "…)") == "f(12…)"


def test_words_stay_whole():
    text = "a long-word /and/a/path/longer/than/a/line b"
    assert filled(text, 12, "  ") == "a long-word\n  /and/a/path/longer/than/a/line\n  b"
