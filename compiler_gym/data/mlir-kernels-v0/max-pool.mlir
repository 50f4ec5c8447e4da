// The maximum of each window of 3 by 3.
func.func @kernel(%a: memref<1x66x66x128xf32>, %b: memref<3x3xf32>, %c: memref<1x64x64x128xf32>) {
  linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
    ins(%a, %b : memref<1x66x66x128xf32>, memref<3x3xf32>)
    outs(%c : memref<1x64x64x128xf32>)
  return
}
