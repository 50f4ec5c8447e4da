// C += A B, of integers.
func.func @kernel(%a: memref<192x192xi32>, %b: memref<192x192xi32>, %c: memref<192x192xi32>) {
  linalg.matmul
    ins(%a, %b : memref<192x192xi32>, memref<192x192xi32>)
    outs(%c : memref<192x192xi32>)
  return
}
