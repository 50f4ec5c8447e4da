// A convolution of each channel by itself.
func.func @kernel(%a: memref<1x130x130x128xf32>, %b: memref<3x3x128xf32>, %c: memref<1x128x128x128xf32>) {
  linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
    ins(%a, %b : memref<1x130x130x128xf32>, memref<3x3x128xf32>)
    outs(%c : memref<1x128x128x128xf32>)
  return
}
