"""Makes the MLIR environment known by its id."""

from compiler_gym.util.registration import register


def register_environments() -> None:
    """Registers ``mlir-v0``."""
    register(
        id="mlir-v0",
        entry_point="compiler_gym.envs.mlir.mlir_env:MlirEnv",
        nondeterministic=True,  # The reward is from measured times.
        # The observation and reward that gymnasium users get by default.
        gymnasium_kwargs={"observation_space": "LoopNest", "reward_space": "SpeedUp"},
    )
