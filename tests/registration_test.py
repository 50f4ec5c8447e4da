"""Registered environments, with and without gym and gymnasium."""

import functools
import os
import sys
import textwrap
import warnings
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import compiler_gym
from compiler_gym.envs.registration import LlvmId
from compiler_gym.util import registration
from compiler_gym.util.registration import COMPILER_GYM_ENVS, EnvSpec, register
from compiler_gym.wrappers import TimeLimit
from tests.prepared import LIBRARIES, PreparedInterpreter
from tests.service.toy_service import HELLO, ToyDataset, make_toy_env, toy_service

TOY = "tests.service.toy_service:make_toy_env"


@pytest.fixture
def toy_id():
    """The id of a registered environment, which is forgotten afterwards."""
    register(id="toy-v0", entry_point=TOY, kwargs={"observation_space": "text"})
    yield "toy-v0"
    COMPILER_GYM_ENVS.remove("toy-v0")
    del registration._specs["toy-v0"]


@functools.cache
def _interpreter() -> PreparedInterpreter:
    """Returns an interpreter that has loaded neither gym nor gymnasium nor the package."""
    return PreparedInterpreter(
        libraries=[each for each in LIBRARIES if each != "gymnasium"],
        PYTHONWARNINGS="error::UserWarning:compiler_gym",
    )


def run(script: str) -> str:
    """Runs a script in an interpreter that has seen neither library; returns its output."""
    environment = {**os.environ, "TOY_SERVICE": str(toy_service())}
    done = _interpreter().run_code(textwrap.dedent(script), Path.cwd(), environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_type_checkers_know_the_ids_of_llvm():
    made_of = {id: registration.spec_of(id).entry_point for id in get_args(LlvmId)}
    assert {*made_of.values()} == {made_of["llvm-v0"]}
    others = [id for id in COMPILER_GYM_ENVS if id not in made_of]
    assert made_of["llvm-v0"] not in [registration.spec_of(id).entry_point for id in others]


def test_packages_of_environments_are_attributes():
    """Programs may write ``compiler_gym.envs.llvm`` without an import of it."""
    script = "import compiler_gym; print(compiler_gym.envs.llvm.LlvmEnv.__name__)"
    assert run(script) == "LlvmEnv\n"


class TestMake:
    def test_spec(self, toy_id):
        with compiler_gym.make(toy_id) as env:
            assert env.spec == EnvSpec(
                id=toy_id, entry_point=TOY, kwargs={"observation_space": "text"}
            )
            assert env.spec.max_episode_steps is None
            with env.spec.make(reward_space="length") as other:
                assert other.reward_space == "length"
                assert other.observation_space_spec == "text"
            with env.fork() as fork:
                assert fork.spec is env.spec

    def test_entry_point_that_is_a_function(self):
        register(id="function-v0", entry_point=lambda: make_toy_env(datasets=[ToyDataset()]))
        try:
            with compiler_gym.make("function-v0") as env:
                assert env.reset(benchmark=HELLO, observation_space="text") == "hello"
        finally:
            COMPILER_GYM_ENVS.remove("function-v0")
            del registration._specs["function-v0"]

    def test_registered_again(self, toy_id):
        count = COMPILER_GYM_ENVS.count(toy_id)
        register(id=toy_id, entry_point=TOY, kwargs={"observation_space": "length"})
        assert COMPILER_GYM_ENVS.count(toy_id) == count == 1
        with compiler_gym.make(toy_id) as env:
            assert env.reset(benchmark=HELLO) == 5

    def test_arguments_are_not_shared(self, toy_id):
        kwargs = {"observation_space": "text"}
        register(id=toy_id, entry_point=TOY, kwargs=kwargs)
        kwargs["observation_space"] = "length"
        with compiler_gym.make(toy_id) as env:
            assert env.observation_space_spec == "text"


class TestLimit:
    def test_make(self, toy_id):
        with compiler_gym.make(toy_id, max_episode_steps=2) as env:
            assert isinstance(env, TimeLimit)
            assert env.spec.max_episode_steps == 2
            env.reset(benchmark=HELLO)
            assert not env.step(0)[2]
            *_, done, info = env.step(0)
            assert done
            assert info["TimeLimit.truncated"]
        with compiler_gym.make(toy_id) as env:
            assert env.spec.max_episode_steps is None

    @pytest.mark.parametrize("wrappers", [TimeLimit, "TimeLimit", [3]])
    def test_wrappers_are_several(self, toy_id, wrappers):
        for make, arguments in ((compiler_gym.make, ()), (compiler_gym.make_vec, (2,))):
            with pytest.raises(TypeError, match="expected a list of wrappers"):
                make(toy_id, *arguments, wrappers=wrappers)

    def test_register(self, toy_id):
        register(id=toy_id, entry_point=TOY, max_episode_steps=3)
        with compiler_gym.make(toy_id) as env:
            env.reset(benchmark=HELLO)
            assert [env.step(0)[2] for _ in range(3)] == [False, False, True]
            with env.spec.make() as other:
                assert isinstance(other, TimeLimit)
        with compiler_gym.make(toy_id, max_episode_steps=-1) as env:
            assert not isinstance(env, TimeLimit)
            assert env.spec.max_episode_steps is None

    @pytest.mark.parametrize(
        ("imports", "make"),
        [
            ("gym, compiler_gym", "gym.make('toy-v0', max_episode_steps=2, benchmark=HELLO)"),
            ("compiler_gym, gym", "gym.wrappers.TimeLimit(gym.make('toy-v0', benchmark=HELLO), 2)"),
            (
                "gym, compiler_gym",
                "gym.wrappers.TimeLimit(compiler_gym.make('toy-v0', benchmark=HELLO), 2)",
            ),
            ("compiler_gym, gym", "gym.make('limited-v0', benchmark=HELLO)"),
        ],
    )
    def test_gym(self, imports, make):
        script = f"""
        import {imports}
        from compiler_gym.util.registration import register
        HELLO = {HELLO!r}
        register(id="toy-v0", entry_point={TOY!r})
        register(id="limited-v0", entry_point={TOY!r}, max_episode_steps=2)
        env = {make}
        env.reset()
        print(env.step(0)[2], env.step(0)[2], type(env).__module__)
        env.close()
        """
        assert run(script) == "False True compiler_gym.wrappers.time_limit\n"

    @pytest.mark.parametrize("imports", ["compiler_gym, gym", "gym, compiler_gym"])
    def test_other_environments_of_gym(self, imports):
        """Also, the classes of gym stay as they are until an environment of ours is used."""
        script = f"""
        import {imports}
        def contents():
            classes = [*vars(gym.wrappers).values(), gym.core.RewardWrapper]
            return [dict(vars(each)) for each in classes if isinstance(each, type)]
        import gym.wrappers.env_checker, sys
        before = contents()
        env = gym.make("CartPole-v1", max_episode_steps=2, disable_env_checker=True)
        env.reset(seed=0)
        print(env.step(0)[2:4], env.step(0)[2:4], type(env).__module__)
        print(contents() == before, "compiler_gym.compat.classic_gym.wrappers" in sys.modules)
        compiler_gym.make("llvm-v0").close()
        print(contents() == before)
        """
        printed = "(False, False) (False, True) gym.wrappers.time_limit\nTrue False\nFalse\n"
        assert run(script) == printed


class TestGymnasiumArguments:
    def test_for_gymnasium_alone(self):
        script = f"""
        import compiler_gym, gymnasium
        from compiler_gym.util.registration import register
        register(id="toy-v0", entry_point={TOY!r}, kwargs={{"benchmark": {HELLO!r}}},
                 gymnasium_kwargs={{"observation_space": "histogram", "reward_space": "length"}})
        for env in (
            gymnasium.make("toy-v0"),
            gymnasium.make("toy-v0", observation_space="text"),
            compiler_gym.make("toy-v0"),
        ):
            env = env.unwrapped
            print(env.observation_space_spec, env.reward_space and env.reward_space.name)
            env.close()
        """
        expected = ["ObservationSpaceSpec(histogram) length", "ObservationSpaceSpec(text) length"]
        assert run(script).splitlines() == [*expected, "None None"]


class TestLibraryOptions:
    def test_unknown(self):
        with pytest.raises(TypeError, match=r"wrapers.*additional_wrappers"):
            register(id="toy-v1", entry_point=TOY, wrapers=())
        assert "toy-v1" not in COMPILER_GYM_ENVS

    def test_gym(self):
        script = f"""
        import compiler_gym, gym
        from compiler_gym.util.registration import register
        register(id="toy-v0", entry_point={TOY!r}, apply_api_compatibility=True, autoreset=True,
                 disable_env_checker=False, additional_wrappers=())
        spec = gym.spec("toy-v0")
        print(spec.apply_api_compatibility, spec.autoreset, spec.disable_env_checker)
        env = gym.make("toy-v0", benchmark={HELLO!r}, disable_env_checker=True)
        env.reset()
        print(len(env.step(0)))
        env.close()
        """
        assert run(script) == "True True False\n5\n"

    def test_gymnasium(self):
        script = f"""
        import compiler_gym, gymnasium
        from gymnasium.wrappers import RecordEpisodeStatistics
        from compiler_gym.util.registration import register
        counting = RecordEpisodeStatistics.wrapper_spec()
        register(id="toy-v0", entry_point={TOY!r}, autoreset=True,
                 kwargs={{"reward_space": "length"}},
                 additional_wrappers=(counting,), vector_entry_point="mine:make")
        print(gymnasium.spec("toy-v0").vector_entry_point)
        env = gymnasium.make("toy-v0", benchmark={HELLO!r}, max_episode_steps=1)
        env.reset()
        print(type(env).__name__, env.step(3)[4]["episode"]["l"], env.compiler_env.actions)
        env.close()
        """
        assert run(script) == "mine:make\nTransparentWrapper 1 [3]\n"


REGISTER = f"""
import compiler_gym
from compiler_gym.util.registration import register
register(id="toy-v0", entry_point="{TOY}", kwargs={{"observation_space": "text"}})
"""

PLAY = """
env = LIBRARY.make("toy-v0", benchmark="benchmark://toy-v0/hello")
print(type(env).__name__, env.reset(), env.step(3)[0], len(env.step(3)))
env.close()
"""


class TestLibraries:
    @pytest.mark.parametrize(
        "imports",
        [
            f"import LIBRARY\n{REGISTER}",
            f"{REGISTER}import LIBRARY\n",
            f"import compiler_gym, LIBRARY\n{REGISTER}",
            f"import OTHER\n{REGISTER}import LIBRARY\n",
        ],
    )
    @pytest.mark.parametrize(
        ("library", "other", "printed"),
        [
            ("gym", "gymnasium", "ClientServiceCompilerEnv hello helloa 4\n"),
            ("gymnasium", "gym", f"GymnasiumEnv ('hello', {{'benchmark': {HELLO!r}}}) helloa 5\n"),
        ],
    )
    def test_order_of_imports(self, library, other, printed, imports):
        script = (imports + PLAY).replace("LIBRARY", library).replace("OTHER", other)
        assert run(script) == printed

    def test_gym_is_not_imported_by_an_environment(self):
        script = f"{REGISTER}import sys; compiler_gym.make('toy-v0').close()"
        assert run(f"{script}; print('gym' in sys.modules)") == "False\n"

    @pytest.mark.parametrize("library", ["gym", "gymnasium"])
    def test_id_with_the_module_that_registers(self, library, tmp_path):
        (tmp_path / "mine.py").write_text(REGISTER)
        script = f"""
        import sys, {library}
        sys.path.insert(0, {str(tmp_path)!r})
        env = {library}.make("mine:toy-v0", benchmark="benchmark://toy-v0/hello")
        print("llvm-v0" in {library}.envs.registration.registry, env.spec.id)
        env.close()
        """
        assert run(script) == "True toy-v0\n"

    def test_registries_are_complete(self):
        script = """
        import compiler_gym, gym, gymnasium
        for library in (gym, gymnasium):
            print(all(id in library.envs.registry for id in compiler_gym.COMPILER_GYM_ENVS))
        """
        assert run(script) == "True\nTrue\n"

    def test_reloaded_library(self):
        script = """
        import compiler_gym, gymnasium, importlib
        importlib.reload(gymnasium.envs.registration)
        print("llvm-v0" in gymnasium.envs.registration.registry)
        """
        assert run(script) == "True\n"

    def test_library_of_another_version(self, tmp_path):
        """A gym that refuses the arguments must not make imports fail."""
        package = tmp_path / "gym" / "envs"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package.parent / "__init__.py").write_text("from gym.envs import registration\n")
        (package / "registration.py").write_text("def register(id, **kwargs): EnvSpec\n")
        script = f"""
        import sys, warnings
        sys.path.insert(0, {str(tmp_path)!r})
        import compiler_gym
        warnings.simplefilter("always")
        with warnings.catch_warnings(record=True) as recorded:
            import gym
        print(len(recorded) == len(compiler_gym.COMPILER_GYM_ENVS), recorded[0].message)
        """
        output = run(script)
        assert output.startswith("True Cannot register llvm-v0 with gym")
        assert "compiler_gym.make()" in output

    def test_library_that_is_being_imported(self, toy_id, monkeypatch):
        """Its module exists, but has no functions yet."""
        monkeypatch.setitem(sys.modules, "gym.envs.registration", ModuleType("registration"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            register(id=toy_id, entry_point=TOY)

    @pytest.mark.parametrize("first", ["import gym", "import compiler_gym.spaces", ""])
    def test_classes_of_gym_by_any_order_of_imports(self, first):
        script = """
        import gym
        with compiler_gym.make("toy-v0", observation_space="histogram") as env:
            print(isinstance(env, gym.Env), isinstance(env.observation_space, gym.spaces.Box))
        """
        assert run(f"{first}\n{REGISTER}{textwrap.dedent(script)}") == "True True\n"

    @pytest.mark.parametrize("first", ["stable_baselines3.base_class", "compiler_gym"])
    def test_stable_baselines(self, first, tmp_path):
        """Its error for a classic environment names the way out, also after its own import."""
        package = tmp_path / "stable_baselines3"
        converter = package / "common" / "vec_env" / "patch_gym.py"
        converter.parent.mkdir(parents=True)
        converter.write_text("def _patch_env(env):\n    return f'converted {env}'\n")
        (package / "base_class.py").write_text(
            "from stable_baselines3.common.vec_env.patch_gym import _patch_env\n"
        )
        script = """
        from stable_baselines3.base_class import _patch_env
        print(_patch_env("another"))
        env = compiler_gym.make("toy-v0")
        try:
            _patch_env(env)
        except TypeError as error:
            print("compiler_gym.envs.GymnasiumEnv(env)" in str(error))
        print(_patch_env(compiler_gym.envs.GymnasiumEnv(env))[:23])
        env.close()
        """
        path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
        output = run(f"{path}\nimport {first}\n{REGISTER}{textwrap.dedent(script)}")
        assert output == "converted another\nTrue\nconverted <GymnasiumEnv\n"
