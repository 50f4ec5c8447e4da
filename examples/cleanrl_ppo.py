"""PPO in one file, as in CleanRL, on PyTorch; all environments are stepped at once."""

import held_back
import judging
import numpy as np
import torch
import typer
from torch import nn
from torch.distributions import Categorical

ENVS, STEPS, EPOCHS, BATCH = 8, 2 * held_back.EPISODE_STEPS, 4, 120
DISCOUNT, LAMBDA, CLIP, ENTROPY = 0.99, 0.95, 0.2, 0.01


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Returns two hidden layers, and outputs that the gain makes small at first."""
    layers: list[nn.Module] = []
    for size, scale in ((inputs, 64), 2**0.5), ((64, 64), 2**0.5), ((64, outputs), gain):
        layers += [nn.Linear(*size), nn.Tanh()]
        nn.init.orthogonal_(layers[-2].weight, scale)
        nn.init.zeros_(layers[-2].bias)
    return nn.Sequential(*layers[:-1])


def train(steps: int = 48_000, seed: int = 0) -> None:
    """Learn from some programs to save IR instructions, and show it on others."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    envs = held_back.LimitIsAnEnd(held_back.training_envs(ENVS))
    seen = envs.reset(seed=seed)[0][None]
    sizes = (int(envs.single_action_space.n), 0.01), (1, 1.0)
    actor, critic = networks = nn.ModuleList(network(seen.shape[2], *size) for size in sizes)
    optimiser = torch.optim.Adam(networks.parameters(), lr=5e-4, eps=1e-5)
    policy = judging.drawing(lambda x: actor(torch.from_numpy(x)).detach().numpy(), rng)
    for made in range(STEPS * ENVS, steps + 1, STEPS * ENVS):
        seen, *played = judging.play(envs, policy, seen[-1], STEPS)
        states, actions, rewards, ends = map(torch.from_numpy, (seen, *played))
        values = critic(states).squeeze(-1).detach()
        old = Categorical(logits=actor(states[:-1])).log_prob(actions).detach()
        gains = rewards.float() + DISCOUNT * ~ends * values[1:] - values[:-1]
        for t in reversed(range(STEPS - 1)):
            gains[t] += DISCOUNT * LAMBDA * ~ends[t] * gains[t + 1]
        data = states[:-1], actions, old, gains, gains + values[:-1]
        for rows in rng.permuted([range(STEPS * ENVS)] * EPOCHS, axis=1).reshape(-1, BATCH):
            x, action, before, gain, target = (each.flatten(0, 1)[rows] for each in data)
            chances = Categorical(logits=actor(x))
            ratio = (chances.log_prob(action) - before).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            losses = torch.max(-gain * ratio, -gain * ratio.clamp(1 - CLIP, 1 + CLIP))
            losses += (critic(x).squeeze(-1) - target) ** 2 / 4
            optimiser.zero_grad()
            (losses - ENTROPY * chances.entropy()).mean().backward()
            nn.utils.clip_grad_norm_(networks.parameters(), 0.5)
            optimiser.step()
        judging.show(made, policy)
    envs.close()


if __name__ == "__main__":
    typer.run(train)
