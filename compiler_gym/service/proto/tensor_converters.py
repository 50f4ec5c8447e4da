"""Conversion of tensor messages to numpy arrays and back."""

from typing import Any

import numpy as np

from compiler_gym.service.proto import (
    BooleanTensor,
    ByteTensor,
    DoubleTensor,
    Event,
    FloatTensor,
    Int64Tensor,
    StringTensor,
)
from compiler_gym.service.proto.conversion_error import ConversionError

_DTYPES = {
    BooleanTensor: np.dtype(np.bool_),
    Int64Tensor: np.dtype(np.int64),
    FloatTensor: np.dtype(np.float32),
    DoubleTensor: np.dtype(np.float64),
    StringTensor: np.dtype(object),
}


def tensor_to_array(tensor: Any) -> np.ndarray:
    """Returns the array that a tensor message holds.

    It has the shape of the tensor, and the dtype bool, int64, float32, float64, object (of
    ``str``) or, for bytes, int8. One of bytes is a view of the message and cannot be written to;
    copy it to change it. All others are copies.

    Raises:
        ValueError: Shape and number of values do not fit.
    """
    values = tensor.value
    if type(values) is bytes:
        array = np.frombuffer(values, dtype=np.int8)
    else:
        # Values of messages create a new array themselves. np.array() would copy it again. This
        # takes about 2 us for 50 and for 1,000 values; np.fromiter() and lists are slower.
        array = np.asarray(values, dtype=_DTYPES[type(tensor)])
    shape = tensor.shape
    if shape == [array.size]:
        return array
    if not shape and not array.size:
        return array  # An empty message is an empty sequence.
    try:
        return array.reshape(tuple(shape))
    except ValueError:
        raise ValueError(
            f"Malformed {type(tensor).__name__}: it has the shape {tuple(shape)} but {array.size} "
            "values"
        ) from None


def bytes_to_event(value: bytes | bytearray | memoryview | np.ndarray) -> Event:
    """Returns the event that holds bytes, or an array of 8-bit integers, as a byte tensor."""
    if isinstance(value, np.ndarray):
        return Event(byte_tensor=ByteTensor(shape=value.shape, value=value.tobytes()))
    data = bytes(value)
    return Event(byte_tensor=ByteTensor(shape=[len(data)], value=data))


def array_to_event(array: np.ndarray) -> Event:
    """Returns the event that holds an array as a tensor.

    Truth values become a boolean tensor, int8 a byte tensor, other integers an int64 tensor,
    float64 a double tensor, shorter floats a float tensor, and texts a string tensor.

    Raises:
        ConversionError: The array is of another dtype.
        ValueError: An integer is too big for int64.
    """
    shape, kind = array.shape, array.dtype.kind
    if array.dtype == np.int8:
        return bytes_to_event(array)
    # Lists of Python's own numbers are faster to copy into messages than arrays.
    values = array.ravel().tolist()
    if kind == "b":
        return Event(boolean_tensor=BooleanTensor(shape=shape, value=values))
    if kind in "iu":
        return Event(int64_tensor=Int64Tensor(shape=shape, value=values))
    if kind == "f" and array.dtype.itemsize <= 4:
        return Event(float_tensor=FloatTensor(shape=shape, value=values))
    if array.dtype == np.float64:
        return Event(double_tensor=DoubleTensor(shape=shape, value=values))
    if kind in "OUT" and all(isinstance(value, str) for value in values):
        return Event(string_tensor=StringTensor(shape=shape, value=values))
    raise ConversionError(
        f"There is no tensor of {array.dtype}. Use an array of truth values, integers, floats of "
        "at most 64 bits, or texts"
    )
