"""The error of messages and values that have no counterpart."""


class ConversionError(TypeError, KeyError):
    """There is no message for a value, or no value for a message.

    Raised when a service uses a ``type_id`` or an encoding without a registered converter, or when
    a Python service sends a value of an unsupported type.
    """

    __str__ = Exception.__str__  # The text of a KeyError would be the repr.
