; crash: function(fix-irreducible)
; A switch enters a loop at two places.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @base64_stream_encode_plain() {
  switch i32 0, label %1 [
    i32 2, label %1
    i32 1, label %2
  ]

1:                                                ; preds = %2, %0, %0
  br label %2

2:                                                ; preds = %1, %0
  br label %1
}
