// A convolution of an image whose channels come first.
func.func @kernel(%a: memref<1x32x34x34xf32>, %b: memref<32x32x3x3xf32>, %c: memref<1x32x32x32xf32>) {
  linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
    ins(%a, %b : memref<1x32x34x34xf32>, memref<32x32x3x3xf32>)
    outs(%c : memref<1x32x32x32xf32>)
  return
}
