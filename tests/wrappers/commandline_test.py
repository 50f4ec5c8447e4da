"""Action spaces with an action more, or with fewer."""

import pytest

from compiler_gym.wrappers import CommandlineWithTerminalAction, ConstrainedCommandline, Macros
from tests.service.toy_service import make_toy_env


class TestTerminalAction:
    def test_ends_the_episode(self, small):
        env = CommandlineWithTerminalAction(small)
        env.observation_space = "IrInstructionCount"
        before = env.reset()
        terminal = env.action_space["end-of-episode"]
        *_, done, info = env.step(env.action_space["mem2reg"])
        assert not done
        assert "terminal_action" not in info
        observation, _, done, info = env.step(terminal)
        assert done
        assert info["terminal_action"]
        assert observation < before
        assert env.actions == [env.action_space["mem2reg"]]
        assert env.reset() == before

    def test_another_action_space(self, small):
        env = CommandlineWithTerminalAction(small)
        env.reset(action_space="Legacy124")
        assert env.action_space.name == "CommandlineWithTerminalAction<Legacy124>"
        assert env.step(124)[2]
        env.action_space = None
        env.reset()
        assert env.action_space.name == "CommandlineWithTerminalAction<PassesAll>"
        assert env.step(small.action_space.n)[2]


class TestConstrained:
    FLAGS = ("-mem2reg", "-reg2mem")

    def test_steps(self, small):
        env = ConstrainedCommandline(small, self.FLAGS)
        env.reset()
        env.step(0)
        env.multistep([1, 1])
        assert env.actions == [0, 1, 1]
        assert small.actions == env.action([0, 1, 1])
        assert env.commandline_to_actions(env.commandline()) == [0, 1, 1]
        assert env.validate().okay()

    def test_unusable_flags(self, small):
        with pytest.raises(LookupError, match="no-such-pass"):
            ConstrainedCommandline(small, ["-no-such-pass"])
        with pytest.raises(ValueError, match="same action"):
            ConstrainedCommandline(small, ["-mem2reg", "mem2reg"])
        with pytest.raises(ValueError, match="at least one"):
            ConstrainedCommandline(small, [])
        with make_toy_env() as env, pytest.raises(TypeError, match=r"needs .* Commandline"):
            ConstrainedCommandline(env, ["append-a"])

    def test_another_action_space(self, small):
        env = ConstrainedCommandline(small, self.FLAGS)
        env.reset(action_space="Legacy124")
        assert env.action_space.name == "ConstrainedCommandline<Legacy124>"
        env.step(0)
        assert small.actions == [small.action_space["mem2reg"]]


@pytest.mark.parametrize("inside_out", [False, True])
def test_names_of_actions(small, inside_out):
    if inside_out:
        env = CommandlineWithTerminalAction(ConstrainedCommandline(small, ["dce", "mem2reg"]))
    else:
        small = CommandlineWithTerminalAction(small)
        env = ConstrainedCommandline(small, ["dce", "mem2reg", "end-of-episode"])
    env.reset()
    assert not env.step("mem2reg")[2]
    assert env.actions == [1]
    with pytest.raises(ValueError, match="gvn"):
        env.step("gvn")
    *_, done, info = env.multistep(["dce", "end-of-episode", "mem2reg"])
    assert done
    assert info["terminal_action"]
    assert env.actions == [1, 0]
    env.reset()
    *_, done, info = env.begin_multistep(["mem2reg", "end-of-episode", "dce"]).result()
    assert done
    assert info["terminal_action"]
    assert env.actions == [1]


class TestMacros:
    SEQUENCES = (["mem2reg", "dce"], ["simplifycfg"], ["mem2reg", "gvn"])

    def test_steps(self, small):
        env = Macros(small, self.SEQUENCES)
        env.reset(observation_space="IrSha1")
        assert env.action_space.names == ["mem2reg,dce", "function(simplifycfg)", "mem2reg,gvn"]
        with small.fork() as plain:
            expected = plain.multistep([plain.action_space[each] for each in self.SEQUENCES[0]])[0]
        assert env.step(0)[0] == expected
        env.step(env.action_space["simplifycfg"])
        assert env.actions == [0, 1]
        assert env.commandline().count("mem2reg") == 1

    @pytest.mark.parametrize(
        ("sequences", "message"),
        [([["mem2reg", "gnv"]], "gvn"), ([[]], "no action"), ([], "at least one")],
    )
    def test_wrong_sequences(self, small, sequences, message):
        with pytest.raises(ValueError, match=message):
            Macros(small, sequences)

    def test_a_string_is_no_sequence(self, small):
        with pytest.raises(TypeError, match=r"got 'mem2reg'; try \['mem2reg'\]"):
            Macros(small, ["mem2reg"])

    def test_around_wrappers_of_the_same_kind(self, small):
        for inside in (CommandlineWithTerminalAction(small), Macros(small, self.SEQUENCES)):
            with pytest.raises(TypeError, match=f"belongs inside of {type(inside).__name__}"):
                Macros(inside, self.SEQUENCES)
