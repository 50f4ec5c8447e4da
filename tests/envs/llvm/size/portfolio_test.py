"""The order of what is tried first, and its parts."""

from compiler_gym.envs.llvm.size.compilation import Change
from compiler_gym.envs.llvm.size.portfolio import (
    Portfolio,
    experimental_options,
    is_experimental,
    shipped_portfolio,
    toggles,
)
from compiler_gym.envs.llvm.speed.portfolio import moves


def names(portfolio):
    return [each.name for each in portfolio.changes()]


def test_the_shipped_order_is_by_gain():
    shipped = shipped_portfolio(with_experimental=True)
    assert len({each.name for each in shipped}) == len({each.change for each in shipped}) >= 8
    gains = [each.gain for each in shipped]
    assert gains == sorted(gains, reverse=True)
    assert 0.01 < gains[-1] < gains[0] < 0.1


def test_what_helped_before_comes_first(tmp_path):
    path = tmp_path / "folder" / "learned.json"
    before = names(Portfolio(path))
    for _ in range(100):
        Portfolio(path).learn({before[-1]: 0.5, before[0]: -0.5})
    after = names(Portfolio(path))
    assert (after[0], after[-1]) == (before[-1], before[0])
    assert after[1:-1] == before[1:-1]


def test_a_broken_file_is_no_reason_to_stop(tmp_path):
    path = tmp_path / "learned.json"
    for text in ("", "[]", '{"four": 3}', '{"four": [1, "x"]}', "{"):
        path.write_text(text)
        assert names(Portfolio(path)) == [each.name for each in shipped_portfolio()]
    path.unlink()
    path.mkdir()
    Portfolio(path).learn({"four": 1.0})
    assert path.is_dir()


def test_toggles_add_and_take_away():
    assert len(toggles(with_passes=True)) > len(toggles(with_passes=False)) > 5
    start = Change(("-inline-threshold=7", "-disable-lsr"))
    results = [toggle(start) for toggle in toggles(with_passes=True)]
    assert len({*results}) == len(results) and start not in results
    assert Change(("-inline-threshold=7",)) in results
    assert Change(("-disable-lsr", "-inline-threshold=-50")) in results
    for toggle in toggles(with_passes=True):
        assert toggle(toggle(Change())) == Change()


def test_experimental_options_are_left_out_unless_asked_for():
    outliner = "-enable-machine-outliner=always"
    everything = shipped_portfolio(with_experimental=True)
    assert {*shipped_portfolio()} < {*everything}
    (known,) = {*everything} - {*shipped_portfolio()}
    assert experimental_options(known.change) == [outliner]
    for asked in (False, True):
        changes = [each.change for each in Portfolio(with_experimental=asked).changes()]
        changes += [toggle(Change()) for toggle in toggles(True, asked)]
        changes += [move(Change()) for move in moves(True, asked)]
        assert any(map(is_experimental, changes)) is asked
