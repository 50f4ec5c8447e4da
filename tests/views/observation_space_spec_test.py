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
from compiler_gym.spaces import Scalar
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
    derived = box.make_derived_space(id="Total", translate=total)
    assert len({box, derived, "Total"}) == 2
    assert (derived.id, derived.index) == ("Total", box.index)
    assert derived.space is box.space
    assert derived.deterministic and not derived.platform_dependent
    assert derived.to_string is box.to_string
    twice = derived.make_derived_space(id="Double", translate=lambda value: 2 * value)
    for spec, default, value in ((derived, 6, 15), (twice, 12, 30)):
        assert spec.default_value == default
        assert spec.translate(Event(int64_tensor=int64_tensor(4, 5, 6))) == value
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
    assert (derived.default_value, derived.to_string(5)) == (0, "total 5")


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
