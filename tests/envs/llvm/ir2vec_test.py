"""The Ir2vec observations and their setting, where LLVM has the analysis and where it does not."""

import gymnasium
import numpy as np
import pytest

from compiler_gym.envs.llvm import LlvmEnv, compute_observation
from compiler_gym.errors import ServiceError
from compiler_gym.util import llvm_tools

VOCABULARY = '{"Opcodes": {"Add": [1, 2]}, "Types": {"VoidTy": [3, 4]}, "Arguments": {}}'
SPACES = ("Ir2vec", "Ir2vecFunctions", "Ir2vecBlocks", "Ir2vecInstructions")
KEY = "llvm.set_ir2vec_vocabulary"


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocabulary.json"
    path.write_text(VOCABULARY)
    return path


def test_spaces_are_listed(env):
    assert set(SPACES) < set(env.observation.spaces)


# LLVM's own tool for the analysis comes with it.
if llvm_tools.opt_path().with_name("llvm-ir2vec").exists():

    def test_vectors_of_an_environment(shared_env, vocabulary):
        service = shared_env.service
        with LlvmEnv(service_connection=service, ir2vec_vocabulary=vocabulary) as env:
            env.reset()
            program = env.observation["Ir2vec"]
            assert program.shape == (2,)
            functions = env.observation["Ir2vecFunctions"]
            assert env.observation.spaces["Ir2vecFunctions"].space.contains(functions)
            assert len(functions) == len(env.observation["FunctionProperties"]["Function"])
            assert np.allclose(np.sum(functions, axis=0), program)
            assert (
                len(env.observation["Ir2vecBlocks"])
                == env.observation["InstCountDict"]["TotalBlocksCount"]
            )
            instructions = env.observation["Ir2vecInstructions"]
            assert len(instructions) == env.observation["IrInstructionCount"]
            with env.fork() as fork:
                assert np.array_equal(fork.observation["Ir2vec"], program)

    def test_spaces_for_learners(shared_env, vocabulary):
        with LlvmEnv(service_connection=shared_env.service, ir2vec_vocabulary=vocabulary) as env:
            spaces = {name: env.observation.spaces[name].space for name in SPACES}
            box = spaces["Ir2vec"]
            assert isinstance(box, gymnasium.spaces.Box)
            assert (box.shape, box.dtype, box.is_bounded()) == ((2,), np.float64, False)
            env.observation_space = "Ir2vec"
            assert env.reset() in env.observation_space
            for name in SPACES:
                assert spaces[name].contains(env.observation[name])
            vocabulary.write_text(VOCABULARY.replace("1, 2", "1, 2, 9").replace("3, 4", "3, 4, 5"))
            with env.fork() as fork:
                fork.send_param(KEY, str(vocabulary))
                assert fork.observation_space.shape == (3,)
                assert fork.multistep([])[0] in fork.observation_space
            assert env.multistep([])[0] in env.observation_space
            env.send_param(KEY, str(vocabulary))
            assert env.observation_space.shape == (3,)
            assert env.observation["Ir2vec"] in env.observation_space

    @pytest.mark.parametrize("variable", ["COMPILER_GYM_IR2VEC_VOCABULARY", None])
    def test_vocabulary_of_the_user(vocabulary, variable, monkeypatch, small):
        if variable:
            monkeypatch.setenv(variable, str(vocabulary))
        else:
            monkeypatch.setenv("COMPILER_GYM_SITE_DATA", str(vocabulary.parent))
            (vocabulary.parent / "ir2vec").mkdir()
            vocabulary.rename(vocabulary.parent / "ir2vec" / "vocabulary.json")
        with gymnasium.make("llvm-ic-v0", observation_space="Ir2vec", benchmark=small) as env:
            observation, _ = env.reset()
            assert observation.shape == env.observation_space.shape == (2,)
            assert observation in env.observation_space
            # Also after a lost step, and in environments that share the service.
            assert np.array_equal(env.step(0, timeout=1e-6)[0], observation)
            with LlvmEnv(service_connection=env.service) as other:
                assert other.observation.spaces["Ir2vec"].space.shape == (2,)
                other.reset(benchmark=small)
                bitcode = other.write_bitcode(vocabulary.parent / "program.bc")
                expected = other.observation["Ir2vec"]
            assert np.array_equal(compute_observation("Ir2vec", bitcode), expected)

    def test_vocabulary_can_be_changed(env, vocabulary):
        env.reset()
        shipped = env.observation["Ir2vec"]
        assert shipped.shape == (75,)
        assert shipped.any()
        # A service that nobody has given a vocabulary says what to do.
        env.send_param(KEY, "")
        with pytest.raises(TypeError, match=r"llvm\.set_ir2vec_vocabulary"):
            _ = env.observation["Ir2vec"]
        env.send_param(KEY, str(vocabulary))
        first = env.observation["Ir2vec"]
        vocabulary.write_text(VOCABULARY.replace("1, 2", "1, 2, 9").replace("3, 4", "3, 4, 5"))
        env.send_param(KEY, str(vocabulary))
        second = env.observation["Ir2vec"]
        assert np.allclose(second[:2], first)
        assert len(second) == 3
        assert env.send_param("llvm.get_ir2vec_vocabulary", "") == str(vocabulary)

    def test_bad_vocabularies(env, vocabulary):
        env.reset()
        with pytest.raises(FileNotFoundError, match="nosuch"):
            env.send_param(KEY, "/nosuch/file.json")
        vocabulary.write_text("{}")
        with pytest.raises(ValueError, match="IR2Vec vocabulary"):
            env.send_param(KEY, str(vocabulary))
        assert env.in_episode

    def test_compute_observation(env, small, vocabulary, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        env.reset(benchmark=small)
        env.send_param(KEY, str(vocabulary))
        bitcode = env.write_bitcode(tmp_path / "program.bc")
        place = f"~/{vocabulary.name}"
        value = compute_observation("Ir2vec", bitcode, ir2vec_vocabulary=place)
        assert np.array_equal(value, env.observation["Ir2vec"])

else:
    MESSAGE = "Ir2vec needs the IR2Vec analysis of LLVM 22, and this service is built with LLVM"

    @pytest.mark.parametrize("name", SPACES)
    def test_observations_are_not_implemented(env, name):
        env.reset()
        with pytest.raises(NotImplementedError, match=MESSAGE):
            _ = env.observation[name]
        assert env.in_episode

    def test_vocabulary_cannot_be_set(env, vocabulary):
        env.reset()
        for path in (vocabulary, "/nosuch/file.json"):
            with pytest.raises(NotImplementedError, match=MESSAGE):
                env.send_param(KEY, str(path))
        assert env.send_param("llvm.get_ir2vec_vocabulary", "") == ""

    def test_vocabulary_of_an_environment_is_refused(shared_env, vocabulary):
        service = shared_env.service
        with (
            LlvmEnv(service_connection=service, ir2vec_vocabulary=vocabulary) as env,
            pytest.raises(NotImplementedError, match=MESSAGE),
        ):
            env.reset()

    def test_compute_observation(env, small, tmp_path):
        env.reset(benchmark=small)
        bitcode = env.write_bitcode(tmp_path / "program.bc")
        with pytest.raises(ServiceError, match=MESSAGE):
            compute_observation("Ir2vec", bitcode)
