"""Forms of policies that can be evaluated, and how each is loaded from a name or a file."""

import json
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable


@runtime_checkable
class PredictingPolicy(Protocol):
    """A policy that maps an observation to an action, as models of Stable-Baselines3 do."""

    def predict(self, observation: Any, deterministic: bool = ...) -> Any:
        """Returns the action, or a tuple that begins with it."""
        ...


@runtime_checkable
class PlayingPolicy(Protocol):
    """A policy that plays a whole episode of an environment with the classic interface."""

    def play(self, env: Any) -> Any:
        """Plays the episode; the state in which it leaves the environment counts."""
        ...


Policy: TypeAlias = PredictingPolicy | PlayingPolicy | Callable[[Any], Any]
"""Any of these, or a function from an observation to an action."""


# By a setting that no algorithm before it has.
_ALGORITHMS = {"exploration_fraction": "DQN", "n_epochs": "PPO", "gae_lambda": "A2C"}


def load_policy(name: str) -> Policy:
    """Loads a policy by its name.

    Args:
        name: ``module:attribute`` of an importable module or one in the working directory, a model
            saved by Stable-Baselines3 (``.zip``), or a policy of this project: the name of a
            shipped one, or a JSON file.

    Raises:
        OSError: There is no such file.
        ValueError: The file or the attribute is not a policy.
        ImportError: The module, or Stable-Baselines3, is not installed.
    """
    if name.endswith(".zip"):
        return _stable_baselines_model(Path(name))
    module, colon, attribute = name.partition(":")
    if colon and module and attribute:
        return _function_or_object(name)
    from compiler_gym.tuning.policies.policy import Policy as ShippedPolicy

    return ShippedPolicy.load(name)


def imported(name: str) -> Any:
    """Returns ``module:attribute`` of an importable module or one in the working directory.

    Returns:
        The attribute; None if the module has none of this name.

    Raises:
        ImportError: There is no such module.
        ValueError: The name of the module is empty.
    """
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(import_module(module), attribute, None)
    finally:
        sys.path.pop(0)


def _function_or_object(name: str) -> Policy:
    found = imported(name)
    if not isinstance(found, PredictingPolicy | PlayingPolicy) and not callable(found):
        raise ValueError(
            f"expected a function or an object with predict() or play() as {name}, got "
            f"{type(found).__name__}"
        )
    return found


def _stable_baselines_model(path: Path) -> Policy:
    """Loads a model of the algorithm that the settings in its file belong to."""
    try:
        with zipfile.ZipFile(path) as archive:
            settings = json.loads(archive.read("data"))
        name = next(name for key, name in _ALGORITHMS.items() if key in settings)
    except (zipfile.BadZipFile, KeyError, StopIteration, TypeError, ValueError) as error:
        raise ValueError(
            f"expected a model of {', '.join(_ALGORITHMS.values())} saved by Stable-Baselines3, "
            f"got {path}; try module:function"
        ) from error
    try:
        algorithms = import_module("stable_baselines3")
    except ImportError as error:
        raise ImportError(
            f"{path} is a model of Stable-Baselines3: pip install 'compiler_gym[sb3]'"
        ) from error
    model: Policy = getattr(algorithms, name).load(path, device="cpu")
    return model
