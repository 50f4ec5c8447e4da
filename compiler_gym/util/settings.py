"""The settable attributes of an environment, for adapters around it."""


def is_setting(env: object, name: str) -> bool:
    """Returns true if an attribute belongs to an environment, not to a wrapper.

    These are the public properties of its class and its public attributes. For a wrapper, they are
    those of the environment inside and the properties of wrappers. Plain attributes of wrappers are
    their own. No property is evaluated.

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
