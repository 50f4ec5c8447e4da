#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"

namespace compiler_gym::mlir_service {

constexpr int64_t kLoopFeatures = 24;

/// Features of a module's loops, kLoopFeatures integers:
///   0       loops of scf and affine
///   1       the depth of the deepest nest of these
///   2       innermost loops
///   3       linalg operations
///   4       rounds of the largest linalg operation, if its loops are static, else 0
///   5       operations with vectors
///   6       elements of the largest vector
///   7       loads and stores of single elements
///   8       transfers, loads and stores of vectors
///   9       contractions and reductions of vectors, outer products, and fused multiplications
///   10      allocations
///   11      all operations
///   12..17  rounds of the first six loops of the deepest nest, from the outside; -1 if not known
///           before the loop runs, 0 if there are fewer
///   18..23  the first six loops of the linalg operation with the most rounds, likewise
std::vector<int64_t> loopNest(mlir::ModuleOp module);

/// The dialects that countOps() tells apart, and "other".
const std::vector<std::string>& countedDialects();

/// The number of a module's operations in each dialect.
std::map<std::string, int64_t> countOps(mlir::ModuleOp module);

}  // namespace compiler_gym::mlir_service
