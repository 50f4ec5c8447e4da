// C += A B, with dimensions that tiles do not divide.
func.func @kernel(%a: memref<210x190xf32>, %b: memref<190x250xf32>, %c: memref<210x250xf32>) {
  linalg.matmul
    ins(%a, %b : memref<210x190xf32>, memref<190x250xf32>)
    outs(%c : memref<210x250xf32>)
  return
}
