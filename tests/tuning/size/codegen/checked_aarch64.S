// u64 checked(u64 (*function)(u64), u64 argument): calls a function with a known value in each
// register that it has to keep, and sets checked_wrong if one comes back changed.
  .data
  .balign 8
  .globl checked_wrong, checked_stack
checked_wrong: .quad 0
checked_stack: .quad 0
  .section .rodata
  .balign 8
  .globl checked_values
checked_values:
  .quad 0x1111222233334401, 0x1111222233334402, 0x1111222233334403, 0x1111222233334404
  .quad 0x1111222233334405, 0x1111222233334406, 0x1111222233334407, 0x1111222233334408
  .quad 0x1111222233334409, 0x111122223333440a
  .quad 0x3ff1222233334401, 0x3ff1222233334402, 0x3ff1222233334403, 0x3ff1222233334404
  .quad 0x3ff1222233334405, 0x3ff1222233334406, 0x3ff1222233334407, 0x3ff1222233334408

  .macro address register, name
  adrp \register, \name
  add \register, \register, :lo12:\name
  .endm

  .macro difference kept, expected
  eor \kept, \kept, \expected
  orr x12, x12, \kept
  .endm

  .text
  .globl checked, checked_return, checked_end
  .type checked, %function
checked:
  .cfi_startproc
  stp x29, x30, [sp, -160]!
  .cfi_def_cfa_offset 160
  .cfi_offset x29, -160
  .cfi_offset x30, -152
  stp x19, x20, [sp, 16]
  .cfi_offset x19, -144
  .cfi_offset x20, -136
  stp x21, x22, [sp, 32]
  .cfi_offset x21, -128
  .cfi_offset x22, -120
  stp x23, x24, [sp, 48]
  .cfi_offset x23, -112
  .cfi_offset x24, -104
  stp x25, x26, [sp, 64]
  .cfi_offset x25, -96
  .cfi_offset x26, -88
  stp x27, x28, [sp, 80]
  .cfi_offset x27, -80
  .cfi_offset x28, -72
  stp d8, d9, [sp, 96]
  .cfi_offset b8, -64
  .cfi_offset b9, -56
  stp d10, d11, [sp, 112]
  .cfi_offset b10, -48
  .cfi_offset b11, -40
  stp d12, d13, [sp, 128]
  .cfi_offset b12, -32
  .cfi_offset b13, -24
  stp d14, d15, [sp, 144]
  .cfi_offset b14, -16
  .cfi_offset b15, -8
  address x9, checked_stack
  mov x10, sp
  str x10, [x9]
  mov x11, x0
  mov x0, x1
  address x9, checked_values
  ldp x19, x20, [x9]
  ldp x21, x22, [x9, 16]
  ldp x23, x24, [x9, 32]
  ldp x25, x26, [x9, 48]
  ldp x27, x28, [x9, 64]
  ldp d8, d9, [x9, 80]
  ldp d10, d11, [x9, 96]
  ldp d12, d13, [x9, 112]
  ldp d14, d15, [x9, 128]
  blr x11
checked_return:
  mov x12, 0
  address x9, checked_values
  .irp number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
  ldr x10, [x9], 8
  difference x\number, x10
  .endr
  .irp number, 8, 9, 10, 11, 12, 13, 14, 15
  ldr x10, [x9], 8
  fmov x11, d\number
  difference x11, x10
  .endr
  address x9, checked_wrong
  ldr x10, [x9]
  orr x10, x10, x12
  str x10, [x9]
  address x9, checked_stack
  str xzr, [x9]
  ldp x19, x20, [sp, 16]
  ldp x21, x22, [sp, 32]
  ldp x23, x24, [sp, 48]
  ldp x25, x26, [sp, 64]
  ldp x27, x28, [sp, 80]
  ldp d8, d9, [sp, 96]
  ldp d10, d11, [sp, 112]
  ldp d12, d13, [sp, 128]
  ldp d14, d15, [sp, 144]
  ldp x29, x30, [sp], 160
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
checked_end:
  .size checked, . - checked
  .section .note.GNU-stack, "", %progbits
