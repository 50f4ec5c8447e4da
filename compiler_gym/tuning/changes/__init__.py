"""Learns which changes make the object files of clang smaller.

``python -m compiler_gym.tuning.changes record`` tries changes on programs and keeps the results.
``train`` fits a model to them, and ``judge`` compares search orders on held-out programs.
"""
