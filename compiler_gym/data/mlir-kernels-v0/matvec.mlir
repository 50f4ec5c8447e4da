// y += A x.
func.func @kernel(%a: memref<1024x1024xf32>, %b: memref<1024xf32>, %c: memref<1024xf32>) {
  linalg.matvec
    ins(%a, %b : memref<1024x1024xf32>, memref<1024xf32>)
    outs(%c : memref<1024xf32>)
  return
}
