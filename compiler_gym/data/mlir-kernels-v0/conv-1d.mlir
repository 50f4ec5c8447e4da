// A convolution over a sequence with channels, as in audio.
func.func @kernel(%a: memref<1x514x32xf32>, %b: memref<3x32x64xf32>, %c: memref<1x512x64xf32>) {
  linalg.conv_1d_nwc_wcf {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}
    ins(%a, %b : memref<1x514x32xf32>, memref<3x32x64xf32>)
    outs(%c : memref<1x512x64xf32>)
  return
}
