"""Proximal policy optimisation (Schulman et al. 2017) in one file: learns to choose passes."""

import held_back
import jax
import jax.numpy as jnp
import judging
import numpy as np
import optax
import typer

ENVS, STEPS, EPOCHS, BATCH = 8, 2 * held_back.EPISODE_STEPS, 4, 120
DISCOUNT, LAMBDA, CLIP, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 5e-4


def network(layers, inputs):
    """Returns the logarithms of the probabilities of all actions, and the rewards expected."""
    for weights, biases in layers:
        outputs = inputs @ weights + biases
        inputs = jnp.tanh(outputs)
    return jax.nn.log_softmax(outputs[..., 1:]), outputs[..., 0]


@jax.jit
@jax.grad
def gradient(layers, observations, actions, old, advantages, returns):
    """Returns the gradient of the loss: errors, and lost gains, clipped far from the old policy."""
    logs, values = network(layers, observations)
    ratios = jnp.exp(logs - old)[jnp.arange(len(actions)), actions]
    gains = jnp.minimum(ratios * advantages, ratios.clip(1 - CLIP, 1 + CLIP) * advantages)
    return ((values - returns) ** 2 / 2 - gains + ENTROPY * (jnp.exp(logs) * logs).sum(1)).mean()


def learn(envs, steps, seed, rollout=STEPS, epochs=EPOCHS, batch=BATCH, rate=RATE):
    """Yields the number of steps made, the weights, and the policy after each update."""
    rng, count = np.random.default_rng(seed), rollout * envs.num_envs
    seen = envs.reset(seed=seed)[0][None]
    sizes = (seen.shape[2], 128), (128, 128), (128, envs.single_action_space.n + 1)
    layers = [(rng.normal(scale=0.1, size=size), np.zeros(size[1])) for size in sizes]
    optimiser = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate))
    state = optimiser.init(layers)
    policy = judging.drawing(lambda observations: network(layers, observations)[0], rng)
    for made in range(count, steps + 1, count):
        seen, actions, rewards, ends = judging.play(envs, policy, seen[-1], rollout)
        logs, values = map(np.asarray, network(layers, seen))
        advantages = rewards + DISCOUNT * ~ends * values[1:] - values[:-1]
        for t in reversed(range(rollout - 1)):
            advantages[t] += DISCOUNT * LAMBDA * ~ends[t] * advantages[t + 1]
        returns = advantages + values[:-1]
        advantages = (advantages - advantages.mean()) / advantages.std()
        data = [np.concatenate(x) for x in (seen[:-1], actions, logs[:-1], advantages, returns)]
        for rows in rng.permuted([range(count)] * epochs, axis=1).reshape(-1, batch):
            slopes = gradient(layers, *(each[rows] for each in data))
            changes, state = optimiser.update(slopes, state)
            layers = optax.apply_updates(layers, changes)
        yield made, layers, policy


def train(steps: int = 48_000, seed: int = 0) -> None:
    """Learn from some programs to save IR instructions, and show it on others."""
    with held_back.training_envs(ENVS) as envs:
        for made, _, policy in learn(envs, steps, seed):
            judging.show(made, policy)


if __name__ == "__main__":
    typer.run(train)
