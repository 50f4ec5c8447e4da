; crash: function(select-optimize)
; It asks for a profile summary that nobody has computed.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i64 @_ZN7DepsLog4DepsC2Eli(i64 %0) {
  %2 = select i1 false, i64 0, i64 %0
  ret i64 %2
}
