"""The interface of gym 0.26: its spaces, wrappers and registry. Does not import gym."""
