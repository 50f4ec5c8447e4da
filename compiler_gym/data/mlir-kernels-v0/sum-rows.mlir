// The sum of each row, added to what is there.
#element = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @kernel(%a: memref<1024x2048xf32>, %r: memref<1024xf32>) {
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<1024x2048xf32>)
    outs(%r : memref<1024xf32>) {
  ^bb0(%x: f32, %so_far: f32):
    %next = arith.addf %so_far, %x : f32
    linalg.yield %next : f32
  }
  return
}
