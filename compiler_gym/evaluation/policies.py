"""Forms of policies that can be evaluated, and how each is loaded from a name or a file."""

import json
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from compiler_gym.util.optional_packages import require


@runtime_checkable
class PredictingPolicy(Protocol):
    """A policy that maps an observation to an action, as models of Stable-Baselines3 do."""

    def predict(self, observation: Any, deterministic: bool = ...) -> Any:
        """Returns the action, or a tuple of the action and the next state of a recurrent policy.

        Further arguments are passed to a method that names them: ``state``, the last state, None
        at first; ``episode_start``, an array that holds whether the episode begins; and
        ``action_masks``, the value of the environment's ``action_masks()``.
        """
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

# Algorithms of sb3-contrib by a part of the module of their policy class. They have the settings
# of the algorithms above, too.
_CONTRIBUTED = {"maskable": "MaskablePPO", "recurrent": "RecurrentPPO", "qrdqn": "QRDQN"}


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
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ImportError(
            f"expected a module that is installed or in {Path.cwd()}, got {module!r}"
        ) from error
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
        library, name = _algorithm_of(settings)
    except (
        *(zipfile.BadZipFile, AttributeError, KeyError, StopIteration, TypeError, ValueError),
    ) as error:
        raise ValueError(
            f"expected a model of {', '.join(_ALGORITHMS.values())} saved by Stable-Baselines3, "
            f"got {path}; try module:function"
        ) from error
    algorithms = require(library, ImportError)
    model: Policy = getattr(algorithms, name).load(path, device="cpu")
    return model


def _algorithm_of(settings: Any) -> tuple[str, str]:
    """Returns the library of a model and the class of its algorithm.

    Raises:
        StopIteration: If it is not known.
    """
    policy = settings.get("policy_class", {})
    module = policy.get("__module__", "") if isinstance(policy, dict) else ""
    if "cg_max_steps" in settings:
        return "sb3_contrib", "TRPO"
    if module.startswith("sb3_contrib."):
        return "sb3_contrib", next(name for key, name in _CONTRIBUTED.items() if key in module)
    return "stable_baselines3", next(name for key, name in _ALGORITHMS.items() if key in settings)
