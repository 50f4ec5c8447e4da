"""The system that a build is for, where it is not this one. See target_system.py."""

MACHINE = select({
    "@llvm//:is_arm64": "aarch64",
    "//conditions:default": "x86_64",
})

# A file about the libraries of another processor.
SYSROOT = select({
    "@llvm//:is_arm64": "@arm64//:sysroot.txt",
    "//conditions:default": None,
})
