; crash: module(attributor)
; It asks for the callee of a call through a null pointer.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @deflateInit2_() {
  %1 = tail call ptr null(ptr null, i32 0, i32 0)
  %2 = load i32, ptr %1, align 8
  ret i32 %2
}
