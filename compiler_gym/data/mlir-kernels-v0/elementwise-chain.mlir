// Four operations on each element of three matrices, one after the other.
#element = affine_map<(i, j) -> (i, j)>
func.func @kernel(%a: memref<1536x1536xf32>, %b: memref<1536x1536xf32>, %c: memref<1536x1536xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.add ins(%a, %b : memref<1536x1536xf32>, memref<1536x1536xf32>)
    outs(%c : memref<1536x1536xf32>)
  linalg.mul ins(%c, %b : memref<1536x1536xf32>, memref<1536x1536xf32>)
    outs(%c : memref<1536x1536xf32>)
  linalg.generic {indexing_maps = [#element], iterator_types = ["parallel", "parallel"]}
    outs(%c : memref<1536x1536xf32>) {
  ^bb0(%y: f32):
    %positive = arith.maximumf %y, %zero : f32
    linalg.yield %positive : f32
  }
  linalg.sub ins(%c, %a : memref<1536x1536xf32>, memref<1536x1536xf32>)
    outs(%c : memref<1536x1536xf32>)
  return
}
