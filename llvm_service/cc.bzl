"""The C++ rules of this folder, which use its precompiled header."""

load("@rules_cc//cc:defs.bzl", _cc_library = "cc_library")
load("//tools:precompiled_header.bzl", "with_precompiled_header")

def cc_library(**kwargs):
    """cc_library with the headers of LLVM and gRPC."""
    _cc_library(**with_precompiled_header("//llvm_service:Precompiled", kwargs))
