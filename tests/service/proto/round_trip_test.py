"""Properties of converters that hold for any space."""

import random

import numpy as np
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage

from compiler_gym.service.proto import (
    BooleanRange,
    BooleanSequenceSpace,
    ByteSequenceSpace,
    BytesSequenceSpace,
    CommandlineSpace,
    DictSpace,
    DiscreteSpace,
    DoubleRange,
    DoubleSequenceSpace,
    Event,
    FloatRange,
    FloatSequenceSpace,
    Int64Range,
    Int64SequenceSpace,
    ListSpace,
    NamedDiscreteSpace,
    Space,
    SpaceSequenceSpace,
    StringSequenceSpace,
    StringSpace,
)
from compiler_gym.service.proto.py_converters import (
    event_encoder,
    event_to_value,
    space_from_proto,
    value_to_event,
)


class SpaceGenerator:
    """Makes up descriptions of spaces."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def range(self, message_class: type, low: float, high: float):
        """Makes a range that has each bound with a chance of two thirds."""
        draw = self.rng.randint if isinstance(low, int) else self.rng.uniform
        least, greatest = sorted([draw(low, high), draw(low, high)])
        bounds = {"min": least, "max": greatest}
        return message_class(**{k: v for k, v in bounds.items() if self.rng.random() < 2 / 3})

    def int64_range(self):
        return self.range(Int64Range, *self.rng.choice([(-5, 5), (-(2**63), 2**63 - 1)]))

    def length(self):
        return self.range(Int64Range, 0, 5)

    def leaf(self) -> Space:
        length = self.length()
        int64s, bytes_ = self.int64_range(), self.range(Int64Range, -128, 127)
        floats, doubles = self.range(FloatRange, -9.0, 9.0), self.range(DoubleRange, -1e9, 1e9)
        flags = AnyMessage()
        flags.Pack(CommandlineSpace(name=[f"-f{i}" for i in range(self.rng.randint(1, 4))]))
        return self.rng.choice(
            [
                Space(discrete=DiscreteSpace(n=self.rng.randint(1, 9))),
                Space(named_discrete=NamedDiscreteSpace(name=["a", "b", "c"])),
                Space(any_value=flags),
                Space(boolean_value=self.rng.choice([BooleanRange(), BooleanRange(min=True)])),
                Space(int64_value=int64s),
                Space(float_value=floats),
                Space(double_value=doubles),
                Space(string_value=StringSpace(length_range=length)),
                Space(boolean_sequence=BooleanSequenceSpace(length_range=length)),
                Space(byte_sequence=ByteSequenceSpace(length_range=length, scalar_range=bytes_)),
                Space(bytes_sequence=BytesSequenceSpace(length_range=length)),
                Space(int64_sequence=Int64SequenceSpace(length_range=length, scalar_range=int64s)),
                Space(float_sequence=FloatSequenceSpace(length_range=length, scalar_range=floats)),
                Space(
                    double_sequence=DoubleSequenceSpace(length_range=length, scalar_range=doubles)
                ),
                Space(string_sequence=StringSequenceSpace(length_range=length)),
                self.box(),
                self.permutation(),
            ]
        )

    def box(self) -> Space:
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
        high = np.full(shape, limit, dtype)
        is_positive = dtype is np.bool_ or self.rng.random() < 0.5
        low = np.full(shape, 0 if is_positive else -limit, dtype)
        message = Space()
        box = getattr(message, kind)
        for tensor, array in ((box.low, low), (box.high, high)):
            event = value_to_event(array)
            tensor.CopyFrom(getattr(event, event.WhichOneof("value")))
        return message

    def permutation(self) -> Space:
        first, size = self.rng.randint(-3, 3), self.rng.randint(1, 6)
        return Space(
            type_id="permutation",
            int64_sequence=Int64SequenceSpace(
                length_range=Int64Range(min=size, max=size),
                scalar_range=Int64Range(min=first, max=first + size - 1),
            ),
        )

    def space(self, depth: int = 3) -> Space:
        if depth == 0 or self.rng.random() < 0.4:
            return self.leaf()
        children = [self.space(depth - 1) for _ in range(self.rng.randint(1, 3))]
        return self.rng.choice(
            [
                Space(space_list=ListSpace(space=children)),
                Space(space_dict=DictSpace(space={f"k{i}": c for i, c in enumerate(children)})),
                Space(space_union=ListSpace(space=children)),
                Space(
                    space_sequence=SpaceSequenceSpace(length_range=self.length(), space=children[0])
                ),
            ]
        )


@pytest.mark.parametrize("seed", range(200))
def test_samples_survive_the_wire(seed):
    message = SpaceGenerator(seed).space()
    space = space_from_proto(message, "x")
    assert space == space_from_proto(Space.FromString(message.SerializeToString()), "x")
    space.seed(seed)
    encode = event_encoder(space)
    for _ in range(5):
        sample = space.sample()
        assert space.contains(sample), (space, sample)
        event = Event.FromString(encode(sample).SerializeToString())
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
    made = {SpaceGenerator(seed).space().WhichOneof("value") for seed in range(500)}
    assert made == {field.name for field in Space.DESCRIPTOR.oneofs_by_name["value"].fields}
