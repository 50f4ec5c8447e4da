; crash: function(loop(loop-bound-split))
; An inner loop compares the counter of the outer one with a number.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @f() {
.lr.ph2:
  br label %.lr.ph

.lr.ph:                                           ; preds = %._crit_edge, %.lr.ph2
  %.036 = phi i32 [ 0, %.lr.ph2 ], [ %0, %._crit_edge ]
  br label %1

._crit_edge:                                      ; preds = %4
  %0 = add i32 %.036, 1
  br label %.lr.ph

1:                                                ; preds = %4, %.lr.ph
  %.035 = phi i32 [ 0, %.lr.ph ], [ %5, %4 ]
  %2 = icmp eq i32 %.036, 0
  br i1 %2, label %4, label %3

3:                                                ; preds = %1
  br label %4

4:                                                ; preds = %3, %1
  %5 = add i32 %.035, 1
  %6 = icmp eq i32 %.035, 0
  br i1 %6, label %1, label %._crit_edge
}
