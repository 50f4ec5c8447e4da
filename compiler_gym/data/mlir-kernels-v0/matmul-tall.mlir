// C += A B, with a tall and narrow A.
func.func @kernel(%a: memref<1024x64xf32>, %b: memref<64x96xf32>, %c: memref<1024x96xf32>) {
  linalg.matmul
    ins(%a, %b : memref<1024x64xf32>, memref<64x96xf32>)
    outs(%c : memref<1024x96xf32>)
  return
}
