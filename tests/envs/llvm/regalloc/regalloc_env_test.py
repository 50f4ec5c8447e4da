import pickle
import re
import subprocess

import numpy as np
import pytest

import compiler_gym
from compiler_gym.util import llvm_tools
from tests.envs.llvm.game_program import game_program

ID = "llvm-regalloc-v0"


pytestmark = pytest.mark.usefixtures("shared_env")


@pytest.fixture
def priorities(shared_env):
    with shared_env.sibling() as env:
        env.reset(action_space="Priorities", observation_space="PriorityFeatures")
        yield env


@pytest.fixture(params=["env", "priorities"])
def game(request):
    return request.getfixturevalue(request.param)


def play(env, seed, count=6):
    """Takes random steps among those that are possible."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        if env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))[2]:
            return


def test_default_is_clang_oz(env, tmp_path):
    asked = len(env.observation["Evictions"]["default"])
    assert asked > 10
    *_, done, info = env.multistep(["default"] * asked)
    assert done
    assert env.observation["EvictionQuestion"]["number"] == -1
    assert info["action_mask"].tolist() == [False] * 33 + [True]
    assert env.episode_reward == 0
    source = env.write_input(tmp_path / "input.bc")
    options = ["-c", "-Oz", "-Xclang", "-disable-llvm-passes", "-fno-addrsig"]
    command = [llvm_tools.clang_path(), *options, source, "-o", tmp_path / "clang.o"]
    subprocess.run(command, check=True)
    made = env.write_object(tmp_path / "made.o")
    assert made.read_bytes() == (tmp_path / "clang.o").read_bytes()


def test_questions(env):
    evictions = env.observation["Evictions"]
    names = env.observation["EvictionFeatureNames"]
    assert names["name"][0] == "mask"
    for number in range(3):
        question = env.observation["EvictionQuestion"]
        assert question["number"] == number
        assert question["function"] == evictions["function"][number]
        assert question["default"] == evictions["default"][number]
        features = env.observation["EvictionFeatures"]
        assert features.shape == (sum(names["size"]),)
        assert features in env.observation_space
        assert (features[:33] == env.observation["EvictionMask"]).all()
        assert env.action_masks().tolist() == [*features[:33].astype(bool), True]
        env.step("default")


def test_questions_about_priorities(priorities):
    env = priorities
    assert env.action_space.names == ["first", "last", "sooner", "later", "default"]
    table = env.observation["Priorities"]
    assert len(table["default"]) > 100
    for number in range(3):
        question = env.observation["PriorityQuestion"]
        assert question["number"] == number
        assert question["function"] == table["function"][number]
        assert question["default"] == table["default"][number]
        assert env.observation["PriorityFeatures"][0] == table["size"][number]
        features, reward, done, info = env.step("default")
        assert features in env.observation_space
        assert (reward, done) == (0, False)
        assert info["action_mask"].tolist() == [True] * 5
    assert env.observation["PriorityFeatureNames"]["name"].tolist() == [
        "li_size",
        "stage",
        "weight",
    ]


def test_priorities_of_llvm_are_clang_oz(priorities, env):
    *_, done, info = priorities.multistep(
        ["default"] * len(priorities.observation["Priorities"]["default"])
    )
    assert done
    assert priorities.observation["PriorityQuestion"]["number"] == -1
    assert info["action_mask"].tolist() == [False] * 4 + [True]
    assert priorities.observation["ObjectFile"].tobytes() == env.observation["ObjectFile"].tobytes()


def test_observations_of_other_decisions_are_those_of_no_question(priorities, env):
    for other, kind in ((priorities, "Eviction"), (env, "Priority")):
        question = {"number": -1, "function": "", "default": -1}
        assert other.observation[f"{kind}Question"] == question
        assert not other.observation[f"{kind}Features"].any()
    assert not priorities.observation["EvictionMask"].any()
    assert len(priorities.observation["Evictions"]["default"]) == 0
    assert len(env.observation["Priorities"]["default"]) == 0


def test_rewards_add_up_to_the_saving(env):
    for cost, default in (
        ("ObjectTextSizeBytes", "ObjectTextSizeOz"),
        ("SpillCount", "SpillCountDefault"),
        ("SpillCost", "SpillCostDefault"),
    ):
        env.reset(reward_space=cost)
        play(env, seed=1, count=12)
        assert env.episode_reward == env.observation[default] - env.observation[cost]


def test_illegal_candidate(env):
    illegal = int(np.flatnonzero(~env.action_masks())[0])
    message = f"got candidate-{illegal} for question 0 about "
    for action in (illegal, env.action_space.names[illegal]):
        for step in (lambda action=action: env.step(action), lambda: env.multistep([illegal])):
            with pytest.raises(ValueError, match=message):
                step()
    assert env.actions == []
    assert not env.step("default")[2]
    with (  # x86 has fewer registers.
        env.fork() as fork,
        pytest.raises(ValueError, match=r"Candidate 31.*question 2"),
    ):
        fork.multistep(["default", "candidate-31"])


def test_one_function():
    with compiler_gym.make(ID, benchmark=game_program()) as everything:
        everything.reset()
        name = everything.observation["Evictions"]["function"][0]
    with compiler_gym.make(ID, benchmark=game_program(), function=name) as env:
        env.reset()
        assert set(env.observation["Evictions"]["function"]) == {name}
    with (
        compiler_gym.make(ID, benchmark=game_program(), function="nowhere") as env,
        pytest.raises(ValueError, match='got "nowhere"'),
    ):
        env.reset()


def test_forks_states_and_replays_are_the_same(game):
    play(game, seed=1)
    with game.fork() as fork:
        assert fork.actions == game.actions
        play(fork, seed=11, count=2)
        assert len(fork.actions) > len(game.actions)
        state = pickle.loads(pickle.dumps(fork.state))
        object_file = fork.observation["ObjectFile"].tobytes()
    assert re.match("(evictions|priorities)<", state.commandline)
    game.reset()
    game.multistep(game.commandline_to_actions(state.commandline))
    assert game.observation["ObjectFile"].tobytes() == object_file
    result = game.validate(state)
    assert result.okay(), result
    assert result.benchmark_semantics_validated


def test_texts_of_decisions(env):
    space = env.action_space
    answers = [space["default"], space["default"], space["candidate-0"], space["none"]]
    assert space.to_string(answers) == "evictions<default*2;candidate-0;none>"
    with pytest.raises(LookupError, match="candidate-99"):
        env.commandline_to_actions("evictions<candidate-99>")
    for text in ("sroa", "evictions", "evictions<default*two>", "priorities<default>"):
        with pytest.raises(ValueError, match="expected"):
            env.commandline_to_actions(text)


def test_runs(env):
    env.runtime_observation_count = 2
    env.reset()
    play(env, seed=5, count=3)
    assert len(env.observation["Runtime"]) == 2
    # Then an observation of the program before allocation, which has no build.
    assert env.observation["IrInstructionCount"] > 0
    with env.fork() as fork:
        assert len(fork.observation["Runtime"]) == 2
    # The build is not the one that the fork has removed.
    assert len(env.observation["Runtime"]) == 2
