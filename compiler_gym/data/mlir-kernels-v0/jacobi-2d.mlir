// Each point becomes the mean of its four neighbours, to and fro, four times.
#id = affine_map<(i, j) -> (i, j)>
func.func @kernel(%a: memref<1026x1026xf32>, %b: memref<1026x1026xf32>) {
  %first = arith.constant 0 : index
  %one = arith.constant 1 : index
  %steps = arith.constant 4 : index
  %share = arith.constant 0.25 : f32
  scf.for %step = %first to %steps step %one {
    %p0 = memref.subview %a[0, 1] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 1>>
    %p1 = memref.subview %a[2, 1] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 2053>>
    %p2 = memref.subview %a[1, 0] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 1026>>
    %p3 = memref.subview %a[1, 2] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 1028>>
    %pout = memref.subview %b[1, 1] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 1027>>
    linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p0, %p1, %p2, %p3
        : memref<1024x1024xf32, strided<[1026, 1], offset: 1>>,
          memref<1024x1024xf32, strided<[1026, 1], offset: 2053>>,
          memref<1024x1024xf32, strided<[1026, 1], offset: 1026>>,
          memref<1024x1024xf32, strided<[1026, 1], offset: 1028>>)
      outs(%pout : memref<1024x1024xf32, strided<[1026, 1], offset: 1027>>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32, %x3: f32, %old: f32):
      %s1 = arith.addf %x0, %x1 : f32
      %s2 = arith.addf %s1, %x2 : f32
      %s3 = arith.addf %s2, %x3 : f32
      %mean = arith.mulf %s3, %share : f32
      linalg.yield %mean : f32
    }
    %q0 = memref.subview %b[0, 1] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 1>>
    %q1 = memref.subview %b[2, 1] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 2053>>
    %q2 = memref.subview %b[1, 0] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 1026>>
    %q3 = memref.subview %b[1, 2] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 1028>>
    %qout = memref.subview %a[1, 1] [1024, 1024] [1, 1]
      : memref<1026x1026xf32> to memref<1024x1024xf32, strided<[1026, 1], offset: 1027>>
    linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q0, %q1, %q2, %q3
        : memref<1024x1024xf32, strided<[1026, 1], offset: 1>>,
          memref<1024x1024xf32, strided<[1026, 1], offset: 2053>>,
          memref<1024x1024xf32, strided<[1026, 1], offset: 1026>>,
          memref<1024x1024xf32, strided<[1026, 1], offset: 1028>>)
      outs(%qout : memref<1024x1024xf32, strided<[1026, 1], offset: 1027>>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32, %x3: f32, %old: f32):
      %s1 = arith.addf %x0, %x1 : f32
      %s2 = arith.addf %s1, %x2 : f32
      %s3 = arith.addf %s2, %x3 : f32
      %mean = arith.mulf %s3, %share : f32
      linalg.yield %mean : f32
    }
  }
  return
}
