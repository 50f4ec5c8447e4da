#pragma once

#include <string>

namespace compiler_gym::mlir_service {

/// A kernel of two buffers, which begins with b = 2 a + b, elementwise.
inline std::string twiceAnd(const std::string& more) {
  return R"(
func.func @kernel(%a: memref<4x8xf32>, %b: memref<4x8xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
    ins(%a : memref<4x8xf32>) outs(%b : memref<4x8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %twice = arith.addf %x, %x : f32
    %sum = arith.addf %twice, %y : f32
    linalg.yield %sum : f32
  }
)" + more +
         "  return\n}\n";
}

const std::string kTwice = twiceAnd("");

/// The same, but for an element.
const std::string kAlmostTwice = twiceAnd(R"(
  %other = arith.constant 99.0 : f32
  %row = arith.constant 2 : index
  %column = arith.constant 5 : index
  memref.store %other, %b[%row, %column] : memref<4x8xf32>
)");

}  // namespace compiler_gym::mlir_service
