; broken module: function(scalarizer<load-store>)
; The parts of a pointer that an invoke returns are computed behind the invoke, which ends its block.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define { ptr, i32 } @f() personality ptr null {
entry:
  %0 = invoke ptr null(i64 0)
          to label %1 unwind label %2

1:
  store <2 x i64> zeroinitializer, ptr %0, align 8
  ret { ptr, i32 } zeroinitializer

2:
  %3 = landingpad { ptr, i32 }
          cleanup
  ret { ptr, i32 } %3
}
