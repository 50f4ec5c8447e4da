; broken module: module(attributor-light)
; It says that the function touches no memory, and leaves the attribute writable on its parameter.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr writable %0) {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  ret void
}
