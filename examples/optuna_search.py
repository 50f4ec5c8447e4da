"""Search by Optuna: it samples each pass of a sequence, and gives up sequences that fall behind."""

from typing import Annotated

import optuna
import typer

import compiler_gym


def total_reward(env, trial: optuna.Trial, length: int) -> float:
    """Plays a sequence, pass by pass, in the order in which Optuna chooses them."""
    env.reset()
    for step in range(length):
        name = trial.suggest_categorical(f"pass {step}", env.action_space.names)
        _, _, done, _ = env.step(env.action_space[name])
        trial.report(env.episode_reward, step)
        if done or trial.should_prune():
            raise optuna.TrialPruned
    return env.episode_reward


def main(
    benchmark: Annotated[str, typer.Option(help="Its URI.")] = "benchmark://kernels-v0/sha256",
    trials: Annotated[int, typer.Option(help="How many sequences to try.")] = 500,
    length: Annotated[int, typer.Option(help="Of the sequences.")] = 20,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
) -> None:
    """Search for passes that save IR instructions; a reward of 1 in total is what -Oz saves."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.PercentilePruner(50, n_warmup_steps=length // 2),
        direction="maximize",
    )

    def print_progress(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if trial.state is optuna.trial.TrialState.COMPLETE and study.best_trial == trial:
            print(f"sequence {trial.number}: {trial.value:.4f}")

    with compiler_gym.make("llvm-ic-v0", benchmark=benchmark) as env:
        study.optimize(
            lambda trial: total_reward(env, trial, length), trials, callbacks=[print_progress]
        )
        names = [study.best_params[f"pass {step}"] for step in range(length)]
        actions = [env.action_space[name] for name in names]
        print(f"{study.best_value:.2%} of what -Oz saves: {env.action_space.to_string(actions)}")


if __name__ == "__main__":
    typer.run(main)
