// Each point becomes the mean of its six neighbours and twice itself, to and fro, twice.
#id = affine_map<(i, j, k) -> (i, j, k)>
func.func @kernel(%a: memref<130x130x130xf32>, %b: memref<130x130x130xf32>) {
  %first = arith.constant 0 : index
  %one = arith.constant 1 : index
  %steps = arith.constant 2 : index
  %share = arith.constant 0.125 : f32
  scf.for %step = %first to %steps step %one {
    %p0 = memref.subview %a[0, 1, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 131>>
    %p1 = memref.subview %a[2, 1, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 33931>>
    %p2 = memref.subview %a[1, 0, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 16901>>
    %p3 = memref.subview %a[1, 2, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17161>>
    %p4 = memref.subview %a[1, 1, 0] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17030>>
    %p5 = memref.subview %a[1, 1, 2] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17032>>
    %p6 = memref.subview %a[1, 1, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17031>>
    %pout = memref.subview %b[1, 1, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17031>>
    linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p0, %p1, %p2, %p3, %p4, %p5, %p6
        : memref<128x128x128xf32, strided<[16900, 130, 1], offset: 131>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 33931>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 16901>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17161>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17030>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17032>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17031>>)
      outs(%pout : memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17031>>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32, %x3: f32, %x4: f32, %x5: f32, %x6: f32, %old: f32):
      %s1 = arith.addf %x0, %x1 : f32
      %s2 = arith.addf %s1, %x2 : f32
      %s3 = arith.addf %s2, %x3 : f32
      %s4 = arith.addf %s3, %x4 : f32
      %s5 = arith.addf %s4, %x5 : f32
      %twice = arith.addf %x6, %x6 : f32
      %all = arith.addf %s5, %twice : f32
      %mean = arith.mulf %all, %share : f32
      linalg.yield %mean : f32
    }
    %q0 = memref.subview %b[0, 1, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 131>>
    %q1 = memref.subview %b[2, 1, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 33931>>
    %q2 = memref.subview %b[1, 0, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 16901>>
    %q3 = memref.subview %b[1, 2, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17161>>
    %q4 = memref.subview %b[1, 1, 0] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17030>>
    %q5 = memref.subview %b[1, 1, 2] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17032>>
    %q6 = memref.subview %b[1, 1, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17031>>
    %qout = memref.subview %a[1, 1, 1] [128, 128, 128] [1, 1, 1]
      : memref<130x130x130xf32> to memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17031>>
    linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q0, %q1, %q2, %q3, %q4, %q5, %q6
        : memref<128x128x128xf32, strided<[16900, 130, 1], offset: 131>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 33931>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 16901>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17161>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17030>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17032>>,
          memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17031>>)
      outs(%qout : memref<128x128x128xf32, strided<[16900, 130, 1], offset: 17031>>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32, %x3: f32, %x4: f32, %x5: f32, %x6: f32, %old: f32):
      %s1 = arith.addf %x0, %x1 : f32
      %s2 = arith.addf %s1, %x2 : f32
      %s3 = arith.addf %s2, %x3 : f32
      %s4 = arith.addf %s3, %x4 : f32
      %s5 = arith.addf %s4, %x5 : f32
      %twice = arith.addf %x6, %x6 : f32
      %all = arith.addf %s5, %twice : f32
      %mean = arith.mulf %all, %share : f32
      linalg.yield %mean : f32
    }
  }
  return
}
