"""Rules about steps: actions and their results."""

from collections.abc import Iterator

from compiler_gym.compliance.rule import NotChecked, require, rule
from compiler_gym.compliance.subject import Subject
from compiler_gym.compliance.values import Action, action_count, exact, in_a_line
from compiler_gym.service.proto import Event, Int64Tensor

_LARGEST = 2**63 - 1
_LARGEST_INDEX = 2**31 - 1

# The share of a rule's time that is kept in reserve.
_SPARE = 0.2


@rule(
    "step.empty",
    "A step without actions returns observations, changes nothing, and reports no effect",
    "Begin a step with action_had_no_effect=true, and accept steps without actions",
)
def empty(subject: Subject) -> None:
    session = subject.start()
    before = session.state()
    reply = session.step((), session.state_spaces)
    require(reply.action_had_no_effect, "action_had_no_effect is false after a step of no action")
    require(not reply.end_of_session, "a new session is at its end")
    require([exact(event) for event in reply.observation] == before, "observations have changed")


@rule(
    "step.observations",
    "A step returns the requested observations in order, including repeated ones",
    "Compute StepRequest.observation_space one by one, in order, after all actions",
)
def observations(subject: Subject) -> None:
    numbers = subject.state_spaces[:2]
    if not numbers:
        raise NotChecked("no deterministic observation can be computed")
    asked = [*numbers, *reversed(numbers)]
    session = subject.start()
    got = [exact(event) for event in session.step(subject.walk()[:2], asked).observation]
    require(len(got) == len(asked), f"{len(asked)} observations were asked for, {len(got)} came")
    require(got == got[::-1], "the observations have not come in the order of the request")
    state = dict(zip(session.state_spaces, session.state(), strict=True))
    alone = [state[number] for number in asked]
    require(got == alone, "the observations are not those of the program after the actions")


@rule(
    "step.bad-observation",
    "A step with an unknown observation is INVALID_ARGUMENT",
    "Check StepRequest.observation_space before applying an action; keep the session",
)
def bad_observation(subject: Subject) -> None:
    session = subject.start()
    before = session.state()
    for index in (-1, len(subject.observation_spaces), _LARGEST_INDEX):
        answer = session.try_step((), [index])
        answer.expect("INVALID_ARGUMENT", about=f"with observation_space={index}")
    require(session.state() == before, "the refused steps have changed the program")


def _wrong_events(subject: Subject, number: int) -> Iterator[Event]:
    """Returns events that are in no action space of the same kind."""
    space = subject.spaces.action_space_list[number].space
    yield Event()
    count = action_count(space)
    if count is not None:
        for index in (-1, count, _LARGEST, -_LARGEST - 1):
            yield Event(int64_value=index)
        yield Event(string_value="no action")
        yield Event(double_value=0.5)
    elif space.WhichOneof("value") != "int64_value":
        yield Event(int64_value=_LARGEST)


@rule(
    "step.bad-action",
    "An action outside the space is INVALID_ARGUMENT, and the session stays usable",
    "Check kind and value of each event, including negative numbers; raise ValueError in Python",
)
def bad_action(subject: Subject) -> None:
    for number in range(len(subject.spaces.action_space_list)):
        session = subject.start(action_space=number)
        before = session.state()
        for event in _wrong_events(subject, number):
            answer = session.try_step([event])
            text = in_a_line(str(event)) or "an event that is not set"
            answer.expect("INVALID_ARGUMENT", about=f"with the action {text}")
        require(session.state() == before, "refused actions have changed the program")


@rule(
    "step.malformed-tensor",
    "An action with a tensor that does not fit its shape is INVALID_ARGUMENT",
    "Never allocate by a received shape; compare it with the number of values first",
)
def malformed_tensor(subject: Subject) -> None:
    session = subject.start()
    for shape in ([2**62], [2**32, 2**32, 2**32], [3], [2**63]):
        event = Event(int64_tensor=Int64Tensor(shape=shape, value=[0]))
        answer = session.try_step([event])
        answer.expect("INVALID_ARGUMENT", about=f"with a tensor of shape {shape} and one value")
    session.state()


@rule(
    "step.accepts",
    "Every action of the space is accepted",
    "Accept the action, or remove it from the space",
)
def accepts(subject: Subject) -> str | None:
    survey = subject.survey
    require(not survey.refused, f"{len(survey.refused)} refused: {'; '.join(survey.refused[:3])}")
    notes = []
    if survey.failed:
        notes.append(f"{len(survey.failed)} failed on this program: {'; '.join(survey.failed[:3])}")
    if survey.ignored:
        notes.append(f"{survey.ignored} were not tried for lack of time")
    return "; ".join(notes) or None


@rule(
    "step.no-effect",
    "An action reported as without effect changes no deterministic observation",
    "Set action_had_no_effect only if it is certain, or declare the observation of_last_action",
)
def no_effect(subject: Subject) -> str | None:
    spaces = subject.observation_spaces
    numbers = [each for each in subject.deterministic if not spaces[each].of_last_action]
    idle = [action for action in subject.survey.idle if action not in subject.survey.ending]
    if not idle:
        raise NotChecked("no action is said to have no effect on the program")
    session = subject.start()
    before = session.observe(numbers)
    for tried, action in enumerate(idle):
        if subject.clock.left() < subject.clock.seconds * _SPARE:
            return f"{len(idle) - tried} of {len(idle)} actions were not tried for lack of time"
        answer = session.try_step([action], numbers)
        if not answer.is_ok:
            return f"after {tried} actions {action.name} failed: {answer}"
        reply = answer.reply
        after = [exact(event) for event in reply.observation]
        changed = [
            spaces[number].name
            for number, one, other in zip(numbers, before, after, strict=True)
            if one != other
        ]
        require(
            not (changed and reply.action_had_no_effect),
            f"{action.name} is said to have no effect, and has changed {', '.join(changed[:3])}",
        )
        before = after
    return None


@rule(
    "step.several",
    "Several actions in one step have the same effect as one by one",
    "Apply all of StepRequest.action in order",
)
def several(subject: Subject) -> None:
    together, alone = subject.start(), subject.start()
    together.step(subject.walk())
    for action in subject.walk():
        alone.step([action])
    require(together.state() == alone.state(), "the same actions lead to other observations")


@rule(
    "step.several-effect",
    "A step has an effect if one of its actions has",
    "Set action_had_no_effect only if it holds for all actions of the step",
)
def several_effect(subject: Subject) -> None:
    effective, harmless = subject.effective_action(), _idle_action(subject)
    session = subject.start()
    for order in ([harmless, effective], [effective, harmless]):
        reply = subject.start().step(order)
        names = ", ".join(action.name for action in order)
        require(not reply.action_had_no_effect, f"a step of {names} is said to have no effect")
    reply = session.step([harmless, harmless])
    require(
        reply.action_had_no_effect,
        f"{harmless.name} has no effect, twice in a step it is said to have one",
    )


def _idle_action(subject: Subject) -> Action:
    """Returns an action reported as without effect, also twice in a row."""
    for action in subject.survey.harmless:
        session = subject.start()
        if all(session.step([action]).action_had_no_effect for _ in range(2)):
            return action
        session.end()
    raise NotChecked("no action is said to have no effect on the program")


@rule(
    "step.before-a-bad-one",
    "Actions before a refused one stay applied",
    "Apply actions one by one, and stop at the first that fails",
)
def before_a_bad_one(subject: Subject) -> None:
    good = subject.effective_action()
    wanted = subject.start()
    wanted.step([good])
    session = subject.start()
    session.try_step([good, Event(), good]).expect("INVALID_ARGUMENT", about="with a bad action")
    require(
        session.state() == wanted.state(),
        "after a good and a bad action the program is not as after the good one",
    )


@rule(
    "step.end-of-session",
    "After the end of a session actions are INVALID_ARGUMENT, and observations still work",
    "Remember the end; then refuse actions, and set end_of_session again",
)
def end_of_session(subject: Subject) -> None:
    if not subject.survey.ending:
        raise NotChecked("no action ends a session on the program")
    ending = subject.survey.ending[0]
    session = subject.start()
    session.step([ending])
    session.try_step([ending]).expect("INVALID_ARGUMENT", about="after the end of the session")
    reply = session.step((), session.state_spaces)
    require(reply.end_of_session, "a step without actions takes the end of the session back")


@rule(
    "step.stops-at-end",
    "Actions of a step after one that ends the session are not applied",
    "Leave the loop over StepRequest.action at the end of the session",
)
def stops_at_end(subject: Subject) -> None:
    if not subject.survey.ending:
        raise NotChecked("no action ends a session on the program")
    ending, effective = subject.survey.ending[0], subject.effective_action()
    session, wanted = subject.start(), subject.start()
    wanted.step([ending])
    reply = session.step([ending, effective])
    require(reply.end_of_session, "the end is not told when an action comes after it")
    require(session.state() == wanted.state(), "an action was applied after the end of the session")
