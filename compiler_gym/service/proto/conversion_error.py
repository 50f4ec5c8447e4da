"""The error of messages and values that have no counterpart."""


class ConversionError(TypeError, KeyError):
    """There is no message for a value, or no value for a message.

    Users meet it when a service uses a ``type_id`` or an encoding that no converter is
    registered for, or when a Python service sends a value of a type that messages do not have.
    """

    __str__ = Exception.__str__  # That of KeyError is the repr of the text.
