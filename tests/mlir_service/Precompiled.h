// Headers that many sources of this folder include. They are compiled once, see
// tools/precompiled_header.bzl. Sources include what they use all the same: GCC compiles them
// without this.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
