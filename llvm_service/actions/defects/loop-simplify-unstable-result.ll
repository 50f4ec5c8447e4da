; unstable result: function(loop-simplify)
; It cuts off blocks that cannot be reached in the order of their addresses, and phis show that.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(i32 %n) {
entry:
  br label %header

header:
  switch i32 %n, label %exit [
    i32 0, label %b0
    i32 1, label %b1
    i32 2, label %b2
  ]

b0:
  br label %body

b1:
  br label %body

b2:
  br label %body

u0:
  br label %body

u1:
  br label %body

u2:
  br label %body

u3:
  br label %body

u4:
  br label %body

u5:
  br label %body

body:
  %p = phi i32 [ 9, %u0 ], [ 9, %u1 ], [ 9, %u2 ], [ 9, %u3 ], [ 9, %u4 ], [ 9, %u5 ], [ 0, %b0 ], [ 1, %b1 ], [ 2, %b2 ]
  br label %header

exit:
  ret void
}
