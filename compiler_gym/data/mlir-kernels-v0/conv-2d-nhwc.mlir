// A convolution of an image whose channels come last.
func.func @kernel(%a: memref<1x34x34x32xf32>, %b: memref<3x3x32x32xf32>, %c: memref<1x32x32x32xf32>) {
  linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
    ins(%a, %b : memref<1x34x34x32xf32>, memref<3x3x32x32xf32>)
    outs(%c : memref<1x32x32x32xf32>)
  return
}
