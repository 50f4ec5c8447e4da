"""Options of command lines that programs have in common, for those that use absl.

To import a module defines its flags.
"""
