"""The settable attributes of an environment, for adapters around it."""


def is_setting(env: object, name: str) -> bool:
    """Says whether an attribute is one of an environment, rather than of what is around it.

    These are the public properties of its class and its public attributes. If it is a wrapper,
    those of the environment inside, and the properties of wrappers, are meant; what wrappers
    remember in plain attributes is their own. No property is asked for its value.

    Args:
        env: The environment. Wrappers have the one inside as their attribute ``env``.
        name: The name of the attribute.
    """
    if name.startswith("_"):
        return False
    while not isinstance(getattr(type(env), name, None), property):
        attributes = vars(env)
        if "env" not in attributes:
            return name in attributes
        env = attributes["env"]
    return True
