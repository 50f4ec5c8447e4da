import compiler_gym
from compiler_gym.tuning.policies.pieces_env import pieces

ID = "llvm-pieces-ic-v0"


def test_episodes_never_get_worse():
    with compiler_gym.make(ID, benchmark="benchmark://kernels-v0/sha256") as env:
        assert env.action_space.n == len(pieces()) + 1
        assert env.reset().shape == (56,)
        size, undone = env.observation["IrInstructionCount"], 0
        for action in range(len(pieces())):
            *_, done, info = env.step(action)
            after = env.observation["IrInstructionCount"]
            assert after <= size
            assert not done
            size, undone = after, undone + info["undone"]
        assert undone
        *_, done, info = env.step(env.action_space["end-of-episode"])
        assert done
        assert info["terminal_action"]
        assert env.validate().okay()
