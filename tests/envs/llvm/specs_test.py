import pickle

import pytest

from compiler_gym.envs.llvm import specs


def test_spaces_are_those_of_the_environment(env):
    assert [space.value for space in specs.observation_spaces] == list(env.observation.spaces)
    assert [space.name for space in specs.observation_spaces] == list(env.observation.spaces)
    assert [space.value for space in specs.reward_spaces] == list(env.reward.spaces)
    assert pickle.loads(pickle.dumps(specs.observation_spaces.Ir)) is specs.observation_spaces.Ir
    env.observation_space = specs.observation_spaces.Autophase.value
    env.reward_space = specs.reward_spaces.IrInstructionCountOz.value


def test_actions_are_those_of_the_former_release(env):
    env.reset(action_space="Legacy124")
    assert [action.value for action in specs.actions] == env.action_space.names
    assert specs.actions.Mem2reg.value == "-mem2reg"
    assert specs.actions.AddDiscriminators.value == "-add-discriminators"
    assert specs.actions.EarlyCseMemssa.value == "-early-cse-memssa"
    env.step(env.action_space.flags.index(specs.actions.Mem2reg.value))
    assert len(specs.actions) == 124


def test_descriptions_of_actions(env):
    env.reset(action_space="Legacy124")
    descriptions = specs.action_descriptions.__members__
    assert list(descriptions) == [action.name for action in specs.actions]
    assert [member.value for member in descriptions.values()] == env.action_space.descriptions
    assert specs.action_descriptions is specs.action_descriptions
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = specs.no_such_name
