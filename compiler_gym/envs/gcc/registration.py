"""Makes the GCC environment known by its id."""

from compiler_gym.util.registration import register


def register_environments() -> None:
    """Registers ``gcc-v0``."""
    register(
        id="gcc-v0",
        entry_point="compiler_gym.envs.gcc.gcc_env:GccEnv",
        # The observation and reward that gymnasium users get by default.
        gymnasium_kwargs={"observation_space": "choices", "reward_space": "obj_size"},
    )
