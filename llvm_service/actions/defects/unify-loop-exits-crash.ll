; crash: function(unify-loop-exits)
; A switch that leaves a loop.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i8 @func_1() {
  br label %1

1:                                                ; preds = %1, %0
  switch i32 0, label %1 [
    i32 0, label %2
  ]

2:                                                ; preds = %1
  ret i8 0
}
