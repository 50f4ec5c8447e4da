import copy
import pickle

import numpy as np
import pytest

from compiler_gym.service.proto import (
    DoubleRange,
    Event,
    Int64Box,
    Int64Tensor,
    ObservationSpace,
    Space,
    StringSpace,
)
from compiler_gym.spaces import Box, Scalar
from compiler_gym.views import ObservationSpaceSpec


def int64_tensor(*values):
    return Int64Tensor(shape=[len(values)], value=values)


@pytest.fixture
def box():
    return ObservationSpaceSpec.from_proto(
        3,
        ObservationSpace(
            name="Features",
            space=Space(
                int64_box=Int64Box(low=int64_tensor(0, 0, 0), high=int64_tensor(9, 99, 999))
            ),
            deterministic=True,
            platform_dependent=False,
            default_observation=Event(int64_tensor=int64_tensor(1, 2, 3)),
        ),
    )


def total(values):
    return int(sum(values))


def test_from_proto(box):
    assert box.id == "Features"
    assert box.index == 3
    assert box.space == Box(
        name="Features", low=np.array([0, 0, 0]), high=np.array([9, 99, 999]), dtype=np.int64
    )
    assert box.deterministic
    assert not box.platform_dependent
    np.testing.assert_array_equal(box.default_value, [1, 2, 3])
    value = box.translate(Event(int64_tensor=int64_tensor(4, 5, 6)))
    np.testing.assert_array_equal(value, [4, 5, 6])
    assert value.dtype == np.int64
    assert box.space.contains(value)
    assert box.to_string(value) == "[4 5 6]"


def test_default_of_zero_is_kept():
    spec = ObservationSpaceSpec.from_proto(
        0,
        ObservationSpace(
            name="Cost",
            space=Space(double_value=DoubleRange(min=0)),
            default_observation=Event(double_value=0),
        ),
    )
    assert spec.default_value == 0
    assert spec.space == Scalar(name="Cost", min=0, max=np.inf, dtype=np.float64)


def test_works_as_its_id(box):
    assert box == "Features"
    assert box != "Other"
    assert box != 3
    assert {"Features": 1}[box] == 1
    assert repr(box) == "ObservationSpaceSpec(Features)"


def test_derived_spaces(box):
    derived = [box.make_derived_space(id=f"D{i}", translate=total) for i in range(3)]
    assert len({box, *derived}) == 4
    assert len({hash(spec) for spec in (box, *derived)}) == 4

    derived = box.make_derived_space(id="Total", translate=total)
    assert derived.id == "Total"
    assert derived.index == box.index
    assert derived.space is box.space
    assert derived.deterministic and not derived.platform_dependent
    assert derived.default_value == 6
    assert derived.to_string is box.to_string
    assert derived.translate(Event(int64_tensor=int64_tensor(4, 5, 6))) == 15
    twice = box.make_derived_space(id="Total", translate=total).make_derived_space(
        id="Double", translate=lambda value: 2 * value
    )
    assert twice.translate(Event(int64_tensor=int64_tensor(4, 5, 6))) == 30
    assert twice.default_value == 12


def test_derived_space_overrides(box):
    space = Scalar(name="Total", min=0, max=9999, dtype=np.int64)
    derived = box.make_derived_space(
        id="Total",
        translate=total,
        space=space,
        deterministic=False,
        default_value=0,
        platform_dependent=True,
        to_string=lambda value: f"total {value}",
    )
    assert derived.space is space
    assert not derived.deterministic and derived.platform_dependent
    assert derived.default_value == 0
    assert derived.to_string(5) == "total 5"


def test_derived_from_space_without_default():
    base = ObservationSpaceSpec.from_proto(
        0, ObservationSpace(name="Ir", space=Space(string_value=StringSpace()))
    )
    assert base.make_derived_space(id="Length", translate=len).default_value is None
    assert base.make_derived_space(id="Length", translate=len, default_value=0).default_value == 0


def test_copies(box):
    derived = box.make_derived_space(id="Total", translate=total)
    event = Event(int64_tensor=int64_tensor(4, 5, 6))
    for spec in (copy.deepcopy(derived), pickle.loads(pickle.dumps(derived))):
        assert spec == derived
        assert spec.translate(event) == 15
