"""Measures the steps per second of the trainers in examples/, judging left out.

PyTorch and RLlib are needed: ``.venv-learning/bin/python benchmarks/trainer_steps.py``, after
``tools/test_examples.sh``.
"""

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "examples"))
# Processes of Ray find the modules there too.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)

import judging

TRAINERS = {
    "sb3_ppo": ("sb3_ppo", {}),
    "cleanrl_ppo": ("cleanrl_ppo", {}),
    "rllib_ppo, 0 runners": ("rllib_ppo", {"runners": 0}),
    "rllib_ppo, 2 runners": ("rllib_ppo", {"runners": 2}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--steps",
        type=int,
        default=2 * judging.SHOWN_EVERY,
        help="measured steps of each trainer, after half as many: a multiple of 960",
    )
    measured = parser.parse_args().steps
    begin = measured // 2
    end = begin + measured
    judging.SHOWN_EVERY = begin
    times: dict[int, float] = {}
    judging.show = lambda made, policy: times.update({made: time.perf_counter()})
    for title, (name, arguments) in TRAINERS.items():
        importlib.import_module(name).train(end, **arguments)
        rate = measured / (times[end] - times[begin])
        print(f"{title:22} {rate:6.0f} steps/s", flush=True)
        if name == "rllib_ppo":
            importlib.import_module("ray").shutdown()


if __name__ == "__main__":
    main()
