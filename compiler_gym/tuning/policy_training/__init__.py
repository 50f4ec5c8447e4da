"""Training of the policies that come with the package.

``python -m compiler_gym.tuning.policy_training`` writes their files, which
``compiler_gym.tuning.policies`` reads.
"""
