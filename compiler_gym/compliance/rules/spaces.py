"""Rules about the spaces that a service declares."""

from typing import Any

from compiler_gym.compliance.rule import NotChecked, Violation, require, rule
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.values import mismatch
from compiler_gym.service.proto import GetSpacesRequest, GetVersionRequest
from compiler_gym.service.proto.py_converters import event_encoder, message_to_python


@rule(
    "version.reply",
    "GetVersion returns the version of the service, which does not change",
    "Set GetVersionReply.service_version; compiler_version is free-form",
)
def version(subject: Subject) -> None:
    first = subject.client.call("GetVersion", GetVersionRequest()).ok()
    require(first.service_version, "service_version is empty")
    second = subject.client.call("GetVersion", GetVersionRequest()).ok()
    require(first == second, "GetVersion has answered twice, and not the same")


@rule(
    "spaces.names",
    "There is an action space, and all spaces have unique names",
    "Set the name of each ActionSpace and ObservationSpace; clients select by name",
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
    "The Python package can read each space",
    "Set Space.value; a new type_id needs a converter in the client",
)
def readable(subject: Subject) -> None:
    spaces: list[Any] = [*subject.spaces.action_space_list, *subject.observation_spaces]
    for space in spaces:
        try:
            message_to_python(space)
        except Exception as error:  # Converters raise various exceptions for malformed spaces.
            raise Violation(f"the space {space.name!r} cannot be read: {error}") from None


@rule(
    "spaces.actions",
    "Each action space has actions",
    "Add at least one action of a kind that clients can send",
)
def actions(subject: Subject) -> None:
    for space in subject.spaces.action_space_list:
        try:
            value = message_to_python(space)
            event_encoder(value)(value.sample())
        except Exception as error:  # Sampling raises various exceptions for malformed spaces.
            raise Violation(f"the action space {space.name!r} gives no action: {error}") from None


@rule(
    "spaces.fixed",
    "GetSpaces always returns the same spaces",
    "Create the spaces once, because requests refer to them by index",
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
