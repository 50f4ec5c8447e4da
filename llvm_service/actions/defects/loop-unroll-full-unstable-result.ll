; unstable result: function(loop(loop-unroll-full))
; It goes through the exits of a loop in the order of their addresses, and phis behind them show that.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @f() {
entry:
  br label %header

header:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %c0 = icmp eq i32 %i, 2
  br i1 %c0, label %exit, label %b1

b1:
  %c1 = icmp eq i32 %i, 3
  br i1 %c1, label %exit, label %b2

b2:
  %c2 = icmp eq i32 %i, 4
  br i1 %c2, label %exit, label %b3

b3:
  %c3 = icmp eq i32 %i, 5
  br i1 %c3, label %exit, label %latch

latch:
  %next = add i32 %i, 1
  br label %header

exit:
  %r = phi i32 [ 0, %header ], [ 1, %b1 ], [ 2, %b2 ], [ 3, %b3 ]
  ret i32 %r
}
