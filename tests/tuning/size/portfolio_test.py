"""The order of what is tried first, and its parts."""

from compiler_gym.tuning.size.compilation import Change
from compiler_gym.tuning.size.ranking import (
    is_experimental,
    shipped_portfolio,
    toggles,
)


def test_the_shipped_order_is_by_gain():
    shipped = shipped_portfolio(with_experimental=True)
    assert len({each.name for each in shipped}) == len({each.change for each in shipped}) >= 8
    gains = [each.gain for each in shipped]
    assert gains == sorted(gains, reverse=True)
    assert 0.01 < gains[-1] < gains[0] < 0.1


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
    everything = shipped_portfolio(with_experimental=True)
    assert {*shipped_portfolio()} < {*everything}
    for asked in (False, True):
        changes = [each.change for each in shipped_portfolio(asked)]
        changes += [toggle(Change()) for toggle in toggles(True, asked)]
        assert any(map(is_experimental, changes)) is asked
