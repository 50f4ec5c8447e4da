import dataclasses
import json
import pickle

import pytest

from compiler_gym import errors
from compiler_gym.errors import ValidationError

EXCEPTIONS = [
    value for name in errors.__all__ if issubclass(value := getattr(errors, name), BaseException)
]


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (errors.ServiceError, [Exception]),
        (errors.SessionDied, [errors.ServiceError]),
        (errors.SessionNotFound, [errors.ServiceError]),
        (errors.ServiceOSError, [errors.ServiceError, OSError]),
        (errors.ServiceInitError, [errors.ServiceError, OSError]),
        (errors.EnvironmentNotSupported, [errors.ServiceInitError, OSError]),
        (errors.ServiceTransportError, [errors.ServiceError, OSError]),
        (errors.ServiceIsClosed, [errors.ServiceError, TypeError]),
        (errors.BenchmarkInitError, [OSError, ValueError]),
        (errors.DatasetInitError, [OSError]),
        (errors.DownloadFailed, [IOError]),
        (errors.TooManyRequests, [errors.DownloadFailed]),
        (errors.MinimizationError, [OSError]),
    ],
)
def test_caught_as_each_base(error, bases):
    for base in bases:
        with pytest.raises(base, match="the text"):
            raise error("the text")


def test_service_errors_are_not_all_alike():
    assert not issubclass(errors.ServiceError, OSError)
    assert not issubclass(errors.SessionNotFound, OSError)
    assert not issubclass(errors.ServiceInitError, errors.ServiceTransportError)
    assert not issubclass(errors.BenchmarkInitError, errors.ServiceError)


@pytest.mark.parametrize("error", EXCEPTIONS)
def test_picklable(error):
    copy = pickle.loads(pickle.dumps(error("the text")))
    assert type(copy) is error
    assert str(copy) == "the text"


def test_validation_errors_compare():
    assert not issubclass(ValidationError, BaseException)
    one = ValidationError(type="Wrong output", data={"got": 1, "want": 2})
    same = ValidationError("Wrong output", {"want": 2, "got": 1})
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, same, ValidationError("Wrong output")}) == 2
    assert one != "Wrong output"
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.type = "other"

    a = ValidationError("a", {"x": 2})
    a0 = ValidationError("a", {"x": 1})
    b = ValidationError("b")
    assert sorted([b, a, a0]) == [a0, a, b]
    assert a0 <= a0 <= a < b
    with pytest.raises(TypeError):
        assert a < "b"


def test_validation_error_data_of_unhashable_and_foreign_kinds():
    nested = ValidationError("t", {"files": ["a", {"b": None}], "raw": b"\0"})
    assert nested == ValidationError("t", {"raw": b"\0", "files": ["a", {"b": None}]})
    assert hash(nested) == hash(pickle.loads(pickle.dumps(nested)))
    assert nested != ValidationError("t", {"files": ["a"], "raw": b"\0"})


def test_validation_error_as_text():
    error = ValidationError("t", {"b": 1, "a": b"x"})
    assert error.dict() == {"type": "t", "data": {"b": 1, "a": b"x"}}
    assert json.loads(error.json()) == {"type": "t", "data": {"b": 1, "a": "b'x'"}}
    assert json.loads(json.dumps(dataclasses.asdict(ValidationError("t")))) == {
        "type": "t",
        "data": {},
    }
    assert str(ValidationError("Wrong output")) == "Wrong output"
    assert str(ValidationError("Wrong output", {"line": 3})) == "Wrong output (line: 3)"
    assert "ValidationError(type='t'" in repr(ValidationError("t"))
