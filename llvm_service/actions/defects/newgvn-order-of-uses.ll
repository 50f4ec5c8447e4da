; unstable order of uses: function(newgvn)
; Some of twenty runs make other bitcode, as values list their users in the order of addresses.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i64 @compressBound(i64 noundef %0) {
  %2 = alloca i64, align 8
  store i64 %0, ptr %2, align 8
  %3 = load i64, ptr %2, align 8
  %4 = load i64, ptr %2, align 8
  %5 = lshr i64 %4, 1
  %6 = add i64 %3, %5
  %7 = load i64, ptr %2, align 8
  %8 = lshr i64 %7, 0
  %9 = add i64 %6, 0
  %10 = load i64, ptr %2, align 8
  %11 = lshr i64 %10, 0
  ret i64 0
}
