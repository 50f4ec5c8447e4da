"""Makes gym 0.26 work with environments whose steps have four results.

The wrappers of gym, some of which ``gym.make()`` applies, expect five results of a step and spaces
of gym's own classes. Around an environment of ours, a wrapper is either replaced by one of
``compiler_gym.wrappers``, or it sees an environment with five results, and its own result is
converted back to four. In the vectors of gym, environments of ours have five results. Other
environments are not affected. The wrappers of gym stay as they are until the program uses an
environment of ours.
"""

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from compiler_gym.util.import_hook import when_imported

_CLASSIC = "compiler_gym.compat.classic_gym.wrappers"

# Classes of gym, and their replacements.
_STAND_INS = {
    "AutoResetWrapper": (_CLASSIC, "AutoReset"),
    "HumanRendering": (_CLASSIC, "refuse_pictures"),
    "PassiveEnvChecker": (_CLASSIC, "refuse_checker"),
    "PixelObservationWrapper": (_CLASSIC, "refuse_pictures"),
    "RecordVideo": (_CLASSIC, "refuse_pictures"),
    "TimeLimit": ("compiler_gym.wrappers.time_limit", "TimeLimit"),
}

# Classes whose code expects five results, or spaces of gym, from the environment inside.
_FOR_FIVE_RESULTS = (
    "AutoResetWrapper",
    "ClipAction",
    "FilterObservation",
    "FlattenObservation",
    "FrameStack",
    "NormalizeObservation",
    "NormalizeReward",
    "ObservationWrapper",
    "RecordEpisodeStatistics",
    "RescaleAction",
    "RewardWrapper",
    "TimeAwareObservation",
    "TimeLimit",
)

# Modules of gym, and their vectors of environments, which expect five results.
_VECTORS = {
    "gym.vector.async_vector_env": "AsyncVectorEnv",
    "gym.vector.sync_vector_env": "SyncVectorEnv",
}

# The module without which there is no environment of ours.
_ENV = "compiler_gym.envs.compiler_env"

# Classes of ours, and the classes of gym that they belong to as well once gym is imported.
_SAME_AS = {
    (_ENV, "CompilerEnv"): ("gym.core", "Env"),
    ("compiler_gym.spaces.action_space", "ActionSpace"): ("gym.spaces", "Space"),
    ("compiler_gym.spaces.box", "Box"): ("gym.spaces", "Box"),
    ("compiler_gym.spaces.dict", "Dict"): ("gym.spaces", "Space"),
    ("compiler_gym.spaces.discrete", "Discrete"): ("gym.spaces", "Discrete"),
    ("compiler_gym.spaces.scalar", "Scalar"): ("gym.spaces", "Box"),
    ("compiler_gym.spaces.sequence", "Sequence"): ("gym.spaces", "Space"),
    ("compiler_gym.spaces.space_sequence", "SpaceSequence"): ("gym.spaces", "Space"),
    ("compiler_gym.spaces.space_sequence", "SpaceUnion"): ("gym.spaces", "Space"),
    ("compiler_gym.spaces.tuple", "Tuple"): ("gym.spaces", "Space"),
}
# Abstract classes of gym, whose base classes are in another order than those of gymnasium.
_REGISTERED_AS = {
    ("compiler_gym.spaces.dict", "Dict"): ("gym.spaces", "Dict"),
    ("compiler_gym.spaces.tuple", "Tuple"): ("gym.spaces", "Tuple"),
}


class ClassicEntryPoint:
    """An entry point for gym that accepts ``render_mode``.

    Args:
        load: Returns the entry point without ``render_mode``.
    """

    def __init__(self, load: Callable[[], Callable[..., Any]]):
        self._load = load

    @property
    def metadata(self) -> Any:
        """The metadata of the environment's class, where gym finds the render modes."""
        return getattr(self._load(), "metadata")  # noqa: B009 - a function may have none.

    def __call__(self, render_mode: str | None = None, **kwargs: Any) -> Any:
        """Makes the environment. Raises ValueError for an unknown render mode."""
        env = self._load()(**kwargs)
        if render_mode is None:
            return env
        try:
            return importlib.import_module(_CLASSIC).RenderMode(env, render_mode)
        except BaseException:
            env.close()
            raise


def adapt_when_used(registration: ModuleType) -> None:
    """Adapts gym and our classes to each other, when both are imported. Idempotent.

    Programs test ``isinstance(env.observation_space, gym.spaces.Box)``, and gym tests that the
    parts of its ``Dict`` are spaces. So our spaces and environments become instances of gym's
    classes, as in 0.2.5. Our own methods come first.

    Args:
        registration: The module ``gym.envs.registration``.
    """
    if registration in _adapted:
        return
    _adapted.add(registration)
    for module in dict.fromkeys(module for module, _ in (*_SAME_AS, *_REGISTERED_AS)):
        when_imported(module, _join_classes)
    when_imported(_ENV, lambda _: _adapt_wrappers(registration))
    if hasattr(registration, "EnvCompatibility"):  # Older versions have four results.
        for module, name in _VECTORS.items():
            when_imported(module, functools.partial(_adapt_vector, name))


_adapted: set[ModuleType] = set()


def _adapt_wrappers(registration: ModuleType) -> None:
    compatibility = getattr(registration, "EnvCompatibility", None)
    has_five_results = compatibility is not None  # Older versions have four.
    for name, wrapper in _wrappers_of_gym():
        if name in _FOR_FIVE_RESULTS and has_five_results:
            _adapt_methods(wrapper)
        if name in _STAND_INS and "__new__" not in vars(wrapper):
            wrapper.__new__ = _new_stand_in(*_STAND_INS[name])
    if compatibility is not None and compatibility.__init__.__module__ != __name__:
        compatibility.__init__ = _with_spaces_of_gym(compatibility.__init__)


def _join_classes(_: ModuleType) -> None:
    # An unknown version of gym may not fit.
    with contextlib.suppress(AttributeError, KeyError, TypeError):
        for ours, base in _imported(_SAME_AS):
            ours.__bases__ += (base,)
        for ours, base in _imported(_REGISTERED_AS):
            base.register(ours)


def _imported(pairs: Mapping[tuple[str, str], tuple[str, str]]) -> Iterator[tuple[Any, Any]]:
    """Yields the classes of ours and of gym that do not belong together yet."""
    for (module, name), (module_of_gym, name_of_gym) in pairs.items():
        ours = getattr(sys.modules.get(module), name, None)
        base = getattr(sys.modules[module_of_gym], name_of_gym)
        if ours is not None and not issubclass(ours, base):
            yield ours, base


def _wrappers_of_gym() -> Iterator[tuple[str, Any]]:
    """Yields the classes above that this version of gym has."""
    for module in ("gym.core", "gym.wrappers", "gym.wrappers.env_checker"):
        for name, value in vars(sys.modules.get(module, object)).items():
            if name in _STAND_INS or name in _FOR_FIVE_RESULTS:
                yield name, value


def _adapt_methods(wrapper: Any) -> None:
    for name, adapted in _ADAPTED_METHODS.items():
        former = vars(wrapper).get(name)
        if former is not None and former.__module__ != __name__:
            setattr(wrapper, name, _like(former)(adapted(former)))


def _adapt_vector(name: str, module: ModuleType) -> None:
    vector: Any = getattr(module, name)
    former = vector.__init__
    if former.__module__ != __name__:

        def init(self: Any, env_fns: Iterable[Callable[[], Any]], *args: Any, **kw: Any) -> None:
            former(self, [*map(_ForVector, env_fns)], *args, **kw)

        vector.__init__ = _like(former)(init)


class _ForVector:
    """Makes an environment with five results. Unlike a closure, this can be pickled.

    Args:
        make: Makes an environment.
    """

    def __init__(self, make: Callable[[], Any]):
        self._make = make

    def __call__(self) -> Any:
        """Returns the environment; one that is not ours as it is."""
        env = self._make()
        return _five_results(env) or env


def _like(former: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    # Adapted methods are recognised by their module, so it is not copied.
    return functools.wraps(former, assigned=("__name__", "__qualname__", "__doc__"))


def _initialising(former: Callable[..., None]) -> Callable[..., None]:
    def init(self: Any, env: Any, *args: Any, **kwargs: Any) -> None:
        former(self, _five_results(env) or env, *args, **kwargs)
        self.env = env

    return init


def _running(convert: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator for methods that call the environment inside.

    Args:
        convert: The method of ``FiveResults`` that converts the result.
    """

    def adapted(former: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            env, five = self.env, _five_results(self.env)
            if five is None:
                return former(self, *args, **kwargs)
            self.env = five
            try:
                return getattr(five, convert)(former(self, *args, **kwargs))
            finally:
                self.env = env

        return method

    return adapted


_ADAPTED_METHODS = {
    "__init__": _initialising,
    "step": _running("step_result"),
    "reset": _running("reset_result"),
}


def _five_results(env: Any) -> Any:
    """Wraps an environment of ours in FiveResults; None if it is not ours, or already wrapped."""
    if not _is_ours(getattr(env, "unwrapped", env)):
        return None
    five_results = importlib.import_module(_CLASSIC).FiveResults
    return None if isinstance(env, five_results) else five_results(env)


def _is_ours(env: Any) -> bool:
    # Before this module is imported, there is no environment of ours.
    module = sys.modules.get(_ENV)
    return module is not None and isinstance(env, module.CompilerEnv)


def _new_stand_in(module: str, name: str) -> Callable[..., Any]:
    def new(cls: type, env: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_ours(env):
            return getattr(importlib.import_module(module), name)(env, *args, **kwargs)
        return object.__new__(cls)

    return new


def _with_spaces_of_gym(former: Callable[..., None]) -> Callable[..., None]:
    """Converts the spaces of an environment with five results to spaces of gym."""

    def init(self: Any, old_env: Any, *args: Any, **kwargs: Any) -> None:
        former(self, old_env, *args, **kwargs)
        if _is_ours(old_env):
            spaces = importlib.import_module("compiler_gym.compat.classic_gym.spaces")
            self.observation_space = spaces.as_classic_gym(old_env.observation_space)
            self.action_space = spaces.as_classic_gym(old_env.action_space)

    return init
