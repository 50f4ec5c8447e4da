// The maximum of each row and what is there.
#element = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @kernel(%a: memref<2048x2048xf32>, %r: memref<2048xf32>) {
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<2048x2048xf32>)
    outs(%r : memref<2048xf32>) {
  ^bb0(%x: f32, %so_far: f32):
    %next = arith.maximumf %so_far, %x : f32
    linalg.yield %next : f32
  }
  return
}
