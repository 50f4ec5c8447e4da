; unstable order of uses: function(dfa-jump-threading)
; Some of twenty runs make other bitcode, as values list their users in the order of addresses.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @f(ptr %0, i1 %again) {
entry:
  br label %header

header:
  br i1 false, label %join, label %other

other:
  br label %join

join:
  %state = phi i32 [ 1, %other ], [ 0, %header ]
  br label %next

next:
  %unused = phi ptr [ %0, %join ]
  br label %choice

choice:
  switch i32 %state, label %b6 [
    i32 0, label %latch
    i32 4, label %exit
    i32 5, label %latch
    i32 2, label %b1
    i32 3, label %b2
    i32 11, label %b5
    i32 28, label %b3
    i32 16, label %b4
  ]

latch:
  br i1 %again, label %header, label %exit

exit:
  ret i32 0

b1:
  ret i32 0

b2:
  ret i32 0

b3:
  ret i32 0

b4:
  ret i32 0

b5:
  ret i32 0

b6:
  ret i32 0
}
