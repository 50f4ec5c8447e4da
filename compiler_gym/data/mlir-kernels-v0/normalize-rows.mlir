// Each row less its maximum, in halves, divided by one more than its sum of squares.
#element = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @kernel(%a: memref<512x1024xf32>, %r: memref<512x1024xf32>) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %least = arith.constant -1024.0 : f32
  %max = memref.alloc() : memref<512xf32>
  %sum = memref.alloc() : memref<512xf32>
  linalg.fill ins(%least : f32) outs(%max : memref<512xf32>)
  linalg.fill ins(%one : f32) outs(%sum : memref<512xf32>)
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<512x1024xf32>) outs(%max : memref<512xf32>) {
  ^bb0(%x: f32, %so_far: f32):
    %next = arith.maximumf %so_far, %x : f32
    linalg.yield %next : f32
  }
  linalg.generic {
      indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]}
    ins(%a, %max : memref<512x1024xf32>, memref<512xf32>) outs(%r : memref<512x1024xf32>) {
  ^bb0(%x: f32, %most: f32, %old: f32):
    %less = arith.subf %x, %most : f32
    %halved = arith.mulf %less, %half : f32
    linalg.yield %halved : f32
  }
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
    ins(%r : memref<512x1024xf32>) outs(%sum : memref<512xf32>) {
  ^bb0(%x: f32, %so_far: f32):
    %square = arith.mulf %x, %x : f32
    %next = arith.addf %so_far, %square : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [#row, #element], iterator_types = ["parallel", "parallel"]}
    ins(%sum : memref<512xf32>) outs(%r : memref<512x1024xf32>) {
  ^bb0(%all: f32, %x: f32):
    %share = arith.divf %x, %all : f32
    linalg.yield %share : f32
  }
  memref.dealloc %max : memref<512xf32>
  memref.dealloc %sum : memref<512xf32>
  return
}
