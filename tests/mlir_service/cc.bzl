"""The C++ rule of this folder, which uses its precompiled header."""

load("@rules_cc//cc:defs.bzl", _cc_test = "cc_test")
load("//tools:precompiled_header.bzl", "with_precompiled_header")

def cc_test(**kwargs):
    """cc_test with the headers of MLIR and GoogleTest."""
    _cc_test(**with_precompiled_header("//tests/mlir_service:Precompiled", kwargs))
