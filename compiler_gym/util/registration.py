"""Environments by id.

Environments are registered here, and with ``gymnasium`` and ``gym`` once the program imports these.
This module imports neither: gymnasium is slow to import, and each call of ``compiler-gym-cc``
imports this module; gym prints a notice and may not be installed.

This needs two tricks, because gymnasium offers no other way:

- An import hook (:mod:`compiler_gym.util.import_hook`). Entry points of packages would do the same,
  but gymnasium dropped them in version 1.0, and gym 0.26 loads those of all packages whenever it is
  imported. Not to wait for the import would cost all programs that of gymnasium.
- A tuple of length 0 with an element (:class:`_WrappersOfSingleEnvs`). ``gymnasium.make_vec()``
  refuses an id that has both a vector environment of its own and wrappers. The wrapper is needed
  because ``gymnasium.make(id, max_episode_steps=...)`` puts its own around the environment, without
  a word to it; outside of that, nothing but ``additional_wrappers`` reaches the attributes.
"""

import sys
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.util.env_spec import EnvSpec
from compiler_gym.util.import_hook import by_name, when_imported

if TYPE_CHECKING:
    from compiler_gym.datasets.dataset import BenchmarkChoice
    from compiler_gym.envs.compiler_env import CompilerEnv

#: The ids of all registered environments, in the order of their registration.
COMPILER_GYM_ENVS: list[str] = []

_CLASSIC = "compiler_gym.compat.classic_gym"
_ADAPTER = "compiler_gym.envs.gymnasium_adapter:GymnasiumEnv"
_VECTOR_ADAPTER = "compiler_gym.vector.making:make_for_gymnasium"
_OUTERMOST = "compiler_gym.envs.gymnasium_adapter:made_transparent"


# Arguments of register() that only one library has.
_GYM_OPTIONS = ("apply_api_compatibility", "autoreset", "disable_env_checker")
_GYMNASIUM_OPTIONS = ("additional_wrappers", "disable_env_checker", "vector_entry_point")

_specs: dict[str, EnvSpec] = {}


def register(
    id: str,
    entry_point: str | Callable[..., "CompilerEnv"],
    kwargs: dict[str, Any] | None = None,
    order_enforce: bool = False,
    reward_threshold: float | None = None,
    nondeterministic: bool = False,
    max_episode_steps: int | None = None,
    gymnasium_kwargs: dict[str, Any] | None = None,
    **library_options: Any,
) -> None:
    """Makes an environment available by an id.

    ``compiler_gym.make(id)`` and ``gym.make(id)`` then make the environment with the classic
    interface, ``gymnasium.make(id)`` one with the interface of gymnasium. A new environment
    replaces an old one with the same id.

    Args:
        id: The id, in gym's form ``name-v0``.
        entry_point: What to call to make the environment, a class or function, or
            ``"module:name"`` of one, which is then imported only when needed.
        kwargs: Its arguments. Those of ``make()`` override them.
        order_enforce: Whether gym and gymnasium shall insist on ``reset()`` before ``step()``.
            Their wrapper for it hides the extended interface, which insists by itself.
        reward_threshold: The sum of rewards that counts as success.
        nondeterministic: True if the same actions may give different results.
        max_episode_steps: How many actions an episode has at most; None for any number.
        gymnasium_kwargs: Further arguments, with which ``gymnasium.make()`` alone makes the
            environment: the observation and the reward, which its users count on.
        **library_options: What else ``gym.register()`` takes (``apply_api_compatibility``,
            ``autoreset``, ``disable_env_checker``), and ``gymnasium.register()``
            (``additional_wrappers``, ``disable_env_checker``, ``vector_entry_point``): for these
            alone. Their checkers are disabled by default.

    Raises:
        TypeError: If an argument does not exist.
    """
    known = sorted({*_GYM_OPTIONS, *_GYMNASIUM_OPTIONS})
    if unknown := sorted(library_options.keys() - known):
        raise TypeError(
            f"register() has no arguments {', '.join(unknown)}. For gym and gymnasium there are: "
            f"{', '.join(known)}"
        )
    spec = EnvSpec(
        id,
        entry_point,
        dict(kwargs or {}),
        reward_threshold,
        nondeterministic,
        order_enforce,
        max_episode_steps,
        library_options,
        dict(gymnasium_kwargs or {}),
    )
    if id not in _specs:
        COMPILER_GYM_ENVS.append(id)
    _specs[id] = spec
    for library in _LIBRARIES:
        library.register_if_imported(spec)


def make(
    id: str,
    max_episode_steps: int | None = None,
    benchmarks: "BenchmarkChoice | None" = None,
    random_benchmarks: bool = False,
    wrappers: Iterable[Callable[["CompilerEnv"], "CompilerEnv"]] = (),
    part: str | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    balance: str | None = None,
    **kwargs: Any,
) -> "CompilerEnv":
    """Makes a registered environment.

    Args:
        id: One of ``COMPILER_GYM_ENVS``.
        max_episode_steps: How many actions an episode has at most, see
            :class:`compiler_gym.wrappers.TimeLimit`; -1 for any number, None for that with which
            the environment was registered.
        benchmarks: The programs that episodes are about, one after the other: a dataset or its
            name, or some benchmarks or their URIs. After the last comes the first again; if it is
            an iterator, ``reset()`` then raises StopIteration. ``reset()`` takes no ``benchmark``.
        random_benchmarks: Whether each episode is about a random one of these, as determined by
            ``env.seed()``. A dataset may have no end; of all else, all is remembered.
        wrappers: What to put around the environment, in this order and inside of the limit of
            steps: classes of ``compiler_gym.wrappers`` or functions.
        part: ``"train"``, ``"validation"`` or ``"test"``, of the dataset given as ``benchmarks``.
            See :meth:`compiler_gym.datasets.Dataset.part_of`.
        min_size: The minimum size of its programs in bytes, as the compiler gets them: of
            unoptimised bitcode, for LLVM. Programs of another size are left out.
        max_size: The maximum size.
        balance: ``"package"``: packages count the same, however many programs they have. Random
            programs are of a random package; else packages take turns.
        **kwargs: Arguments of the environment, e.g. ``benchmark``, ``observation_space`` and
            ``reward_space``.

    Returns:
        The environment, with the classic interface: ``step()`` returns a tuple of four.

    Raises:
        LookupError: If there is no environment of that id, or no dataset of that name.
        ValueError: If ``max_episode_steps`` is zero, or there are no ``benchmarks``.
        TypeError: If both ``benchmark`` and ``benchmarks`` are given.
        Exception: Any error of the environment's constructor.
    """
    return spec_of(id).make(
        max_episode_steps,
        benchmarks,
        random_benchmarks,
        wrappers,
        part,
        min_size,
        max_size,
        balance,
        **kwargs,
    )


def spec_of(id: str) -> EnvSpec:
    """Returns the specification of an environment. Raises LookupError if it does not exist."""
    spec = _specs.get(id)
    if spec is None:
        raise unknown_name("environment", id, COMPILER_GYM_ENVS)
    return spec


class _Library:
    """A library that has a registry of environments, and may not have been imported yet.

    Args:
        module_name: The module with the registry.
        arguments_of: Given that module and an environment, returns arguments of ``register()``
            other than the id.
    """

    def __init__(
        self, module_name: str, arguments_of: Callable[[ModuleType, EnvSpec], dict[str, Any]]
    ):
        self.module_name = module_name
        self._arguments_of = arguments_of

    def register_if_imported(self, spec: EnvSpec) -> None:
        """Registers an environment, unless that has to wait for the import of the library."""
        module = sys.modules.get(self.module_name)
        # A module exists before it is complete.
        if module and hasattr(module, "register"):
            self._register(module, spec)

    def on_import(self, module: ModuleType) -> None:
        """Registers all environments."""
        for spec in _specs.values():
            self._register(module, spec)

    def _register(self, module: ModuleType, spec: EnvSpec) -> None:
        try:
            # Replaced without the library's warning.
            getattr(module, "registry", {}).pop(spec.id, None)
            module.register(
                id=spec.id,
                order_enforce=spec.order_enforce,
                reward_threshold=spec.reward_threshold,
                nondeterministic=spec.nondeterministic,
                max_episode_steps=spec.max_episode_steps,
                **self._arguments_of(module, spec),
            )
        except Exception as error:
            # Whatever version of the library this is, importing it must not fail.
            warnings.warn(
                f"Cannot register {spec.id} with {self.module_name.partition('.')[0]}: {error}. "
                "Use compiler_gym.make()",
                stacklevel=2,
            )


def _classic_arguments(gym: ModuleType, spec: EnvSpec) -> dict[str, Any]:
    adaptation = import_module(f"{_CLASSIC}.adaptation")
    adaptation.adapt_when_used(gym)
    options = _options_for(_GYM_OPTIONS, spec)
    entry_point = adaptation.ClassicEntryPoint(spec.load)
    return {**options, "entry_point": entry_point, "kwargs": spec.kwargs}


def _adapter_arguments(gymnasium: ModuleType, spec: EnvSpec) -> dict[str, Any]:
    options = _options_for(_GYMNASIUM_OPTIONS, spec)
    # Comes last, and so around the wrappers of gymnasium.make().
    outermost = gymnasium.WrapperSpec("TransparentWrapper", _OUTERMOST, {})
    if options.get("additional_wrappers"):
        options["additional_wrappers"] = (*options["additional_wrappers"], outermost)
    else:
        options["additional_wrappers"] = _WrappersOfSingleEnvs([outermost])
        options.setdefault("vector_entry_point", _VECTOR_ADAPTER)
    # Episodes are limited by gymnasium, whose make() may be given another limit.
    limit = {} if spec.max_episode_steps is None else {"max_episode_steps": -1}
    kwargs = {"env": spec.id, **limit, **spec.gymnasium_kwargs}
    return {**options, "entry_point": _ADAPTER, "kwargs": kwargs}


class _WrappersOfSingleEnvs(tuple[Any, ...]):
    """Wrappers that vector environments do not have.

    ``gymnasium.make_vec()`` refuses to make vector environments of an id whose environments have
    wrappers, by looking how many there are.
    """

    __slots__ = ()

    def __len__(self) -> int:
        return 0


def _options_for(names: Iterable[str], spec: EnvSpec) -> dict[str, Any]:
    """Returns the library options with given names."""
    options = {"disable_env_checker": True, **spec.library_options}
    return {name: options[name] for name in names if name in options}


_LIBRARIES = (
    _Library("gym.envs.registration", _classic_arguments),
    _Library("gymnasium.envs.registration", _adapter_arguments),
)

for _library in _LIBRARIES:
    when_imported(_library.module_name, _library.on_import)
when_imported(
    "stable_baselines3.common.vec_env.patch_gym",
    by_name(f"{_CLASSIC}.stable_baselines", "on_import"),
)
