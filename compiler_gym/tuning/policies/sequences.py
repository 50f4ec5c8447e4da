"""Sequences of passes that searches start with, and how they change them."""

import random

FIRST_SEQUENCE = (
    "sroa", "early-cse", "simplifycfg", "instcombine", "ipsccp", "globalopt", "deadargelim",
    "function-attrs", "argpromotion", "sroa", "early-cse", "correlated-propagation",
    "simplifycfg", "instcombine", "tailcallelim", "reassociate", "loop-simplifycfg", "licm",
    "indvars", "loop-idiom", "loop-deletion", "gvn", "sccp", "bdce", "instcombine", "dse", "adce",
    "simplifycfg", "instcombine", "globaldce", "constmerge", "mergefunc",
)  # fmt: skip
"""Passes that clean up after each other, in the order of most pipelines. Inlining is left to the
search, as it makes most programs larger."""


def mutate(actions: list[int], n_actions: int, rng: random.Random) -> list[int]:
    """Returns a copy of a sequence with one to three random edits."""
    actions = list(actions)
    for _ in range(rng.randint(1, 3)):
        position = rng.randrange(len(actions) + 1)
        edit = rng.random()
        if edit < 0.45 or not actions:
            actions.insert(position, rng.randrange(n_actions))
        elif edit < 0.65:
            actions[position % len(actions)] = rng.randrange(n_actions)
        elif edit < 0.85:
            del actions[position % len(actions)]
        else:
            actions.insert(position, actions.pop(rng.randrange(len(actions))))
    return actions
