"""Rules about the spaces that a service declares."""

from typing import Any

from compiler_gym.compliance.rule import NotChecked, Violation, require, rule
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.values import mismatch
from compiler_gym.service.proto import GetSpacesRequest, GetVersionRequest
from compiler_gym.service.proto.py_converters import event_encoder, message_to_python


@rule(
    "version.reply",
    "GetVersion gives the version of the service, always the same",
    "Set GetVersionReply.service_version; compiler_version is free-form",
)
def version(subject: Subject) -> None:
    first = subject.client.call("GetVersion", GetVersionRequest()).ok()
    require(first.service_version, "service_version is empty")
    second = subject.client.call("GetVersion", GetVersionRequest()).ok()
    require(first == second, "GetVersion has answered twice, and not the same")


@rule(
    "spaces.names",
    "There is an action space, and spaces have names, each its own",
    "Set the name of each ActionSpace and ObservationSpace; clients choose by it",
)
def names(subject: Subject) -> None:
    require(subject.spaces.action_space_list, "action_space_list is empty")
    for kind in ("action_space_list", "observation_space_list"):
        found = [space.name for space in getattr(subject.spaces, kind)]
        require(all(found), f"{kind} has a space without a name")
        twice = sorted({name for name in found if found.count(name) > 1})
        require(not twice, f"{kind} has several spaces with the name {', '.join(twice)}")


@rule(
    "spaces.readable",
    "Each space can be understood by the Python package",
    "Set Space.value; a type_id of one's own needs a converter in the client",
)
def readable(subject: Subject) -> None:
    spaces: list[Any] = [*subject.spaces.action_space_list, *subject.observation_spaces]
    for space in spaces:
        try:
            message_to_python(space)
        except Exception as error:  # Whatever the converters think of what a service sends.
            raise Violation(f"the space {space.name!r} cannot be read: {error}") from None


@rule(
    "spaces.actions",
    "There are actions in each action space",
    "Give the space at least one action, of a kind that clients can send",
)
def actions(subject: Subject) -> None:
    for space in subject.spaces.action_space_list:
        try:
            value = message_to_python(space)
            event_encoder(value)(value.sample())
        except Exception as error:  # Likewise.
            raise Violation(f"the action space {space.name!r} gives no action: {error}") from None


@rule(
    "spaces.fixed",
    "GetSpaces gives the same spaces at any time",
    "Make the spaces once; indices in requests refer to them for the life of the service",
)
def fixed(subject: Subject) -> None:
    before = subject.client.call("GetSpaces", GetSpacesRequest()).ok()
    if subject.target.benchmarks:
        subject.start()
    after = subject.client.call("GetSpaces", GetSpacesRequest()).ok()
    require(before == after, "GetSpaces has answered twice, and not the same")


@rule(
    "spaces.defaults",
    "Each default observation is in its space",
    "Make ObservationSpace.default_observation a value of the space, or leave it unset",
)
def defaults(subject: Subject) -> None:
    checked = 0
    for space in subject.observation_spaces:
        if space.HasField("default_observation"):
            checked += 1
            reason = mismatch(space, space.default_observation)
            require(reason is None, f"the default of {space.name!r} is not in its space: {reason}")
    if not checked:
        raise NotChecked("no observation has a default")
