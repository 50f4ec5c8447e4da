"""Inlining decisions in a program that may differ from LLVM's, for learners."""

import numpy as np


def candidates(env, program: str) -> tuple[list[int], np.ndarray]:
    """Returns what decides otherwise than LLVM about all calls of a function, and features."""
    env.reset(benchmark=program)
    sites = {name: np.asarray(column) for name, column in env.observation["InlineSites"].items()}
    columns = env.observation["InlineSiteFeatures"]
    about = np.array([columns["callee_TotalInstructionCount"], *columns.values()], dtype=float)
    actions, rows, asked = [], [], sites["open"] * (sites["inlined"] + sites["kept"])
    for callee in np.unique(sites["callee_number"]):
        calls = np.flatnonzero((sites["callee_number"] == callee) * asked)
        for kind, answer in (("kept", "inline"), ("inlined", "keep")):
            name = f"callee-{callee}-{answer}"
            if sites[kind][calls].any() and name in env.action_space.names:
                counts = [answer == "inline", len(calls), sites["inlined"][calls].sum()]
                row = [*about[:, calls].max(axis=1), *about[:, calls].mean(axis=1), *counts]
                actions.append(env.action_space[name])
                rows.append(np.sign(row) * np.log1p(np.abs(row)))
    return actions, np.array(rows)


def gain(env, action: int) -> float:
    """Returns what share of the code an action saves, without taking it."""
    with env.fork() as fork:
        return fork.step(action)[1]
