"""Properties of spaces and of their converters that hold for any space."""

import copy
import pickle
import random

import numpy as np
import pytest
from google.protobuf import text_format

from compiler_gym.service.proto import Space
from compiler_gym.service.proto.py_converters import (
    event_encoder,
    event_to_value,
    space_from_proto,
    space_to_proto,
    value_to_event,
)
from compiler_gym.spaces.conversions import neutral_value


class SpaceGenerator:
    """Makes up descriptions of spaces."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def range(self, low: float, high: float) -> str:
        """Makes a range that has each bound with a chance of two thirds."""
        draw = self.rng.randint if isinstance(low, int) else self.rng.uniform
        bounds = zip(("min", "max"), sorted([draw(low, high), draw(low, high)]), strict=True)
        return " ".join(f"{name}: {bound}" for name, bound in bounds if self.rng.random() < 2 / 3)

    def sequence(self, scalars: str = "") -> str:
        scalar_range = f"scalar_range {{ {scalars} }}" if scalars else ""
        return f"{{ length_range {{ {self.range(0, 5)} }} {scalar_range} }}"

    def leaf(self) -> str:
        int64s = self.range(*self.rng.choice([(-5, 5), (-(2**63), 2**63 - 1)]))
        floats, doubles = self.range(-9.0, 9.0), self.range(-1e9, 1e9)
        flags = [f"-f{i}" for i in range(self.rng.randint(1, 4))]
        return self.rng.choice(
            [
                f"discrete {{ n: {self.rng.randint(1, 9)} }}",
                "named_discrete { name: ['a', 'b', 'c'] }",
                f"any_value {{ [x/compiler_gym.CommandlineSpace] {{ name: {flags} }} }}",
                self.rng.choice(["boolean_value {}", "boolean_value { min: true }"]),
                f"int64_value {{ {int64s} }}",
                f"float_value {{ {floats} }}",
                f"double_value {{ {doubles} }}",
                f"string_value {self.sequence()}",
                f"boolean_sequence {self.sequence()}",
                f"byte_sequence {self.sequence(self.range(-128, 127))}",
                f"bytes_sequence {self.sequence()}",
                f"int64_sequence {self.sequence(int64s)}",
                f"float_sequence {self.sequence(floats)}",
                f"double_sequence {self.sequence(doubles)}",
                f"string_sequence {self.sequence()}",
                self.box(),
                self.permutation(),
            ]
        )

    def box(self) -> str:
        kind, dtype, limit = self.rng.choice(
            [
                ("boolean_box", np.bool_, 1),
                ("byte_box", np.int8, 127),
                ("int64_box", np.int64, 2**40),
                ("float_box", np.float32, 1e30),
                ("double_box", np.float64, np.inf),
            ]
        )
        shape = tuple(self.rng.randint(1, 3) for _ in range(self.rng.randint(0, 3)))
        is_positive = dtype is np.bool_ or self.rng.random() < 0.5
        message = Space()
        box = getattr(message, kind)
        for tensor, bound in ((box.low, 0 if is_positive else -limit), (box.high, limit)):
            event = value_to_event(np.full(shape, bound, dtype))
            tensor.CopyFrom(getattr(event, event.WhichOneof("value")))
        return str(message)

    def permutation(self) -> str:
        first, size = self.rng.randint(-3, 3), self.rng.randint(1, 6)
        return (
            f"type_id: 'permutation' int64_sequence {{ length_range {{ min: {size} max: {size} }} "
            f"scalar_range {{ min: {first} max: {first + size - 1} }} }}"
        )

    def space(self, depth: int = 3) -> str:
        if depth == 0 or self.rng.random() < 0.4:
            return self.leaf()
        children = [self.space(depth - 1) for _ in range(self.rng.randint(1, 3))]
        listed = " ".join(f"space {{ {child} }}" for child in children)
        named = (f"key: 'k{i}' value {{ {child} }}" for i, child in enumerate(children))
        length = f"length_range {{ {self.range(0, 5)} }}"
        return self.rng.choice(
            [
                f"space_list {{ {listed} }}",
                f"space_dict {{ {' '.join(f'space {{ {item} }}' for item in named)} }}",
                f"space_union {{ {listed} }}",
                f"space_sequence {{ {length} space {{ {children[0]} }} }}",
            ]
        )

    def message(self) -> Space:
        return text_format.Parse(self.space(), Space())


def arrived(message):
    """Returns a message as it arrives."""
    return type(message).FromString(message.SerializeToString())


@pytest.mark.parametrize("seed", range(100))
def test_spaces(seed):
    message = SpaceGenerator(seed).message()
    space = space_from_proto(message, "x")
    assert space.name == "x"
    assert "x" in repr(space)
    assert space == space_from_proto(arrived(message), "x")
    assert space == space_from_proto(arrived(space_to_proto(space)), "x")
    assert space == copy.deepcopy(space) == pickle.loads(pickle.dumps(space))
    assert space != space_from_proto(message, "y")
    assert space != "x"
    space.seed(seed)
    first = space.sample()
    space.seed(seed)
    neutral = neutral_value(space)
    assert space.contains(neutral)
    np.testing.assert_equal(neutral_value(space), neutral)
    # The neutral value took no random number.
    np.testing.assert_equal(space.sample(), first)


@pytest.mark.parametrize("seed", range(200))
def test_samples_survive_the_wire(seed):
    message = SpaceGenerator(seed).message()
    space = space_from_proto(message, "x")
    space.seed(seed)
    encode = event_encoder(space)
    for _ in range(5):
        sample = space.sample()
        assert space.contains(sample), (space, sample)
        event = arrived(encode(sample))
        value = event_to_value(event)
        assert space.contains(value), (space, value)
        # Without the space, the event has the same meaning, if maybe another kind.
        by_type = event_to_value(value_to_event(sample))
        if "space_union" in str(message):
            # The first of several spaces that fit may be one of other numbers.
            assert as_plain(by_type, np.float32) == as_plain(value, np.float32)
        else:
            assert as_plain(by_type, np.float64) == as_plain(value, np.float64)
            # What was decoded can be sent again, and is the same message.
            assert encode(value) == event


def as_plain(value, precision):
    """Returns a value with lists for tuples and arrays, and floats of a precision."""
    if isinstance(value, dict):
        return {key: as_plain(item, precision) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [as_plain(item, precision) for item in value]
    return precision(value) if isinstance(value, float) else value


def test_the_generator_makes_all_kinds():
    made = {SpaceGenerator(seed).message().WhichOneof("value") for seed in range(500)}
    assert made == {field.name for field in Space.DESCRIPTOR.oneofs_by_name["value"].fields}
