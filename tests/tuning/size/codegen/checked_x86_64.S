# u64 checked(u64 (*function)(u64), u64 argument): calls a function with a known value in each
# register that it has to keep, and sets checked_wrong if one comes back changed.
  .data
  .balign 8
  .globl checked_wrong, checked_stack
checked_wrong: .quad 0
checked_stack: .quad 0
  .section .rodata
  .balign 8
  .globl checked_values
checked_values:
  .quad 0x1111222233334401, 0x1111222233334402, 0x1111222233334403
  .quad 0x1111222233334404, 0x1111222233334405, 0x1111222233334406

  .text
  .globl checked, checked_return, checked_end
  .type checked, @function
checked:
  .cfi_startproc
  .irp register, rbx, rbp, r12, r13, r14, r15
  pushq %\register
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %\register, 0
  .endr
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movq %rsp, checked_stack(%rip)
  movq %rdi, %rax
  movq %rsi, %rdi
  movq checked_values(%rip), %rbx
  movq checked_values+8(%rip), %rbp
  movq checked_values+16(%rip), %r12
  movq checked_values+24(%rip), %r13
  movq checked_values+32(%rip), %r14
  movq checked_values+40(%rip), %r15
  callq *%rax
checked_return:
  xorq checked_values(%rip), %rbx
  xorq checked_values+8(%rip), %rbp
  xorq checked_values+16(%rip), %r12
  xorq checked_values+24(%rip), %r13
  xorq checked_values+32(%rip), %r14
  xorq checked_values+40(%rip), %r15
  orq %rbp, %rbx
  orq %r12, %rbx
  orq %r13, %rbx
  orq %r14, %rbx
  orq %r15, %rbx
  orq %rbx, checked_wrong(%rip)
  movq $0, checked_stack(%rip)
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  .irp register, r15, r14, r13, r12, rbp, rbx
  popq %\register
  .cfi_adjust_cfa_offset -8
  .cfi_restore %\register
  .endr
  retq
  .cfi_endproc
checked_end:
  .size checked, . - checked
  .section .note.GNU-stack, "", @progbits
