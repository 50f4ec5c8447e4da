// C += A B, for eight pairs of matrices.
func.func @kernel(%a: memref<8x96x96xf32>, %b: memref<8x96x96xf32>, %c: memref<8x96x96xf32>) {
  linalg.batch_matmul
    ins(%a, %b : memref<8x96x96xf32>, memref<8x96x96xf32>)
    outs(%c : memref<8x96x96xf32>)
  return
}
