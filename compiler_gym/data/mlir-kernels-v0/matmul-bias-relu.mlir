// A layer of a network: max(0, A B + bias).
#element = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @kernel(%a: memref<192x256xf32>, %b: memref<256x192xf32>, %bias: memref<192xf32>,
                  %c: memref<192x192xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<192x192xf32>)
  linalg.matmul
    ins(%a, %b : memref<192x256xf32>, memref<256x192xf32>)
    outs(%c : memref<192x192xf32>)
  linalg.generic {indexing_maps = [#column, #element], iterator_types = ["parallel", "parallel"]}
    ins(%bias : memref<192xf32>)
    outs(%c : memref<192x192xf32>) {
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %y, %x : f32
    linalg.yield %sum : f32
  }
  linalg.generic {indexing_maps = [#element], iterator_types = ["parallel", "parallel"]}
    outs(%c : memref<192x192xf32>) {
  ^bb0(%y: f32):
    %positive = arith.maximumf %y, %zero : f32
    linalg.yield %positive : f32
  }
  return
}
