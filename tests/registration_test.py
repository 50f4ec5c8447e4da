"""Registered environments, with and without gym and gymnasium."""

import os
import subprocess
import sys
import textwrap

import pytest

import compiler_gym
from compiler_gym.envs import CompilerEnv
from compiler_gym.util import registration
from compiler_gym.util.registration import COMPILER_GYM_ENVS, EnvSpec, register
from tests.service.toy_service import HELLO, ToyDataset, make_toy_env, toy_service

TOY = "tests.service.toy_service:make_toy_env"


@pytest.fixture
def toy_id():
    """The id of a registered environment, which is forgotten afterwards."""
    register(id="toy-v0", entry_point=TOY, kwargs={"observation_space": "text"})
    yield "toy-v0"
    COMPILER_GYM_ENVS.remove("toy-v0")
    del registration._specs["toy-v0"]


def run(script: str) -> str:
    """Runs a script in a new interpreter that has seen neither library; returns its output."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TOY_SERVICE": str(toy_service()),
    }
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:compiler_gym", "-c", textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_llvm_environments_are_registered():
    assert set(compiler_gym.COMPILER_GYM_ENVS) >= {
        "llvm-v0",
        "llvm-ic-v0",
        "llvm-codesize-v0",
        "llvm-autophase-ic-v0",
        "llvm-autophase-codesize-v0",
        "llvm-ir-ic-v0",
        "llvm-ir-codesize-v0",
    }
    assert compiler_gym.COMPILER_GYM_ENVS is COMPILER_GYM_ENVS


class TestMake:
    def test_make(self, toy_id):
        with compiler_gym.make(toy_id) as env:
            assert isinstance(env, CompilerEnv)
            assert env.reset(benchmark=HELLO) == "hello"
            assert len(env.step(0)) == 4

    def test_arguments(self, toy_id):
        with compiler_gym.make(toy_id, observation_space="length", reward_space="length") as env:
            assert env.reset(benchmark=HELLO) == 5
            assert env.reward_space == "length"

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

    def test_unknown(self):
        with pytest.raises(LookupError, match=r"'llvm-vo'.*llvm-v0"):
            compiler_gym.make("llvm-vo")

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


REGISTER = f"""
import compiler_gym
from compiler_gym.util.registration import register
register(id="toy-v0", entry_point="{TOY}", kwargs={{"observation_space": "text"}})
"""

PLAY = """
env = gym.make("toy-v0", benchmark="benchmark://toy-v0/hello")
print(type(env).__name__, env.reset(), env.step(3)[0], len(env.step(3)))
env.close()
"""

PLAY_GYMNASIUM = """
env = gymnasium.make("toy-v0", benchmark="benchmark://toy-v0/hello")
print(type(env).__name__, env.reset(), env.step(3)[0], len(env.step(3)))
env.close()
"""


class TestLibraries:
    @pytest.mark.parametrize(
        "script",
        [
            f"import gym\n{REGISTER}{PLAY}",
            f"{REGISTER}import gym\n{PLAY}",
            f"import compiler_gym, gym\n{REGISTER}{PLAY}",
            f"import gymnasium\n{REGISTER}import gym\n{PLAY}",
        ],
    )
    def test_gym(self, script):
        assert run(script) == "ClientServiceCompilerEnv hello helloa 4\n"

    @pytest.mark.parametrize(
        "script",
        [
            f"import gymnasium\n{REGISTER}{PLAY_GYMNASIUM}",
            f"{REGISTER}import gymnasium\n{PLAY_GYMNASIUM}",
            f"import compiler_gym, gymnasium\n{REGISTER}{PLAY_GYMNASIUM}",
            f"import gym\n{REGISTER}import gymnasium\n{PLAY_GYMNASIUM}",
        ],
    )
    def test_gymnasium(self, script):
        assert run(script) == "GymnasiumEnv ('hello', {}) helloa 5\n"

    def test_neither_is_imported(self):
        script = "import compiler_gym, sys; print('gym' in sys.modules, 'gymnasium' in sys.modules)"
        assert run(script) == "False False\n"

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

    def test_sources_of_the_library_can_still_be_inspected(self):
        script = """
        import compiler_gym, gymnasium, inspect
        print("def register" in inspect.getsource(gymnasium.envs.registration))
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
