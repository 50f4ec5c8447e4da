"""The C++ rules of this folder, which use its precompiled header."""

load("@rules_cc//cc:defs.bzl", _cc_library = "cc_library", _cc_test = "cc_test")
load("//tools:precompiled_header.bzl", "with_precompiled_header")

def cc_library(**kwargs):
    """cc_library with the headers of gRPC and GoogleTest."""
    _cc_library(**with_precompiled_header("//tests/service/runtime:Precompiled", kwargs))

def cc_test(**kwargs):
    """cc_test with the headers of gRPC and GoogleTest."""
    _cc_test(**with_precompiled_header("//tests/service/runtime:Precompiled", kwargs))
