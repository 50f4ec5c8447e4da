// Statements with which compilers must be careful. Each macro changes an integer variable, and
// breaks if a register, the stack or memory is not what its contract says.

#if defined(__x86_64__)

#define ALL_VECTORS                                                                        \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
// Only the stack pointer can lead to "kept", which is a variable of the function.
#define OVERWRITE_FRAME(x, kept)                                    \
  __asm__ volatile("movq $7, %%rbp; addq %1, %%rbp; movq %%rbp, %0" \
                   : "=r"(x)                                        \
                   : "m"(kept)                                      \
                   : "rbp", "cc")
#define OVERWRITE_FRAME_AND_MORE(x, kept)                   \
  __asm__ volatile(                                         \
      "movq $7, %%rbp; xorl %%ebx, %%ebx; subq %1, %%rbp; " \
      "leaq 9(%%rbp,%%rbx), %0"                             \
      : "=r"(x)                                             \
      : "m"(kept)                                           \
      : "rbx", "rbp", "r12", "r13", "memory", "cc")
#define BORROW_FRAME(x, kept)                               \
  __asm__ volatile(                                         \
      "movq %%rbp, %%r11; movq $5, %%rbp; addq %1, %%rbp; " \
      "movq %%rbp, %0; movq %%r11, %%rbp"                   \
      : "=&a"(x)                                            \
      : "m"(kept)                                           \
      : "r11", "cc")
#define PUSH_FRAME(x)                                               \
  __asm__ volatile(                                                 \
      "leaq -128(%%rsp), %%rsp; pushq %%rbp; movq %0, %%rbp; "      \
      "leaq 3(%%rbp,%%rbp), %0; popq %%rbp; leaq 128(%%rsp), %%rsp" \
      : "+a"(x)                                                     \
      :                                                             \
      : "memory", "cc")
#define OVERWRITE_BASE(x) \
  __asm__ volatile("leaq 5(%0), %%rbx; leaq (%%rbx,%%rbx,2), %0" : "+r"(x) : : "rbx", "cc")
#define CHANGE_BY_FLAGS(x)                                                        \
  do {                                                                            \
    unsigned char carry, zero;                                                    \
    __asm__("addq %3, %0" : "+r"(x), "=@ccc"(carry), "=@ccz"(zero) : "r"(x * 3)); \
    x += carry + 2 * zero;                                                        \
  } while (0)
#define CHANGE_IN_MEMORY(x)                                            \
  do {                                                                 \
    static u64 cell;                                                   \
    cell = x;                                                          \
    __asm__ volatile("addq $5, (%0)" : : "r"(&cell) : "memory", "cc"); \
    x ^= cell * 3;                                                     \
  } while (0)
#define READ_STACK_POINTER(to) __asm__ volatile("movq %%rsp, %0" : "=r"(to))
#define OVERWRITE_EARLY(x)                                                           \
  do {                                                                               \
    u64 to;                                                                          \
    __asm__("leaq 1(%1), %0; addq %2, %0" : "=&r"(to) : "r"(x), "r"(x >> 7) : "cc"); \
    x ^= to;                                                                         \
  } while (0)
#define TIED(x) __asm__("imulq $7, %0, %0" : "=r"(x) : "0"(x) : "cc")
#define IMMEDIATES(x)                                          \
  __asm__("addq %1, %0; xorq %2, %0; shlq %3, %0; addq %4, %0" \
          : "+r"(x)                                            \
          : "i"(123), "e"(-77), "J"(3), "n"(sizeof(int))       \
          : "cc")
#define ANYWHERE(x, y) __asm__("xorq %1, %0; addq %2, %0" : "+r"(x) : "g"(y), "rm"(y * 5) : "cc")
#define IN_PLACE(x)                                                          \
  do {                                                                       \
    u64 local = x;                                                           \
    __asm__("addq $9, %0; rolq $3, %1" : "+m"(local), "+o"(local) : : "cc"); \
    x ^= local;                                                              \
  } while (0)
#define BYTES(x)                                   \
  do {                                             \
    unsigned to;                                   \
    __asm__("movzbl %h1, %0" : "=Q"(to) : "Q"(x)); \
    x = x * 3 + to;                                \
    __asm__("addb $3, %b0" : "+q"(x) : : "cc");    \
  } while (0)
#define FIXED(x)                                                            \
  do {                                                                      \
    u64 low, high;                                                          \
    __asm__("mulq %3" : "=a"(low), "=d"(high) : "a"(x), "r"(x | 5) : "cc"); \
    __asm__("shlq %%cl, %0" : "+r"(low) : "c"(x & 31) : "cc");              \
    x = low ^ high;                                                         \
  } while (0)
#define STRINGS(x)                                                                                \
  do {                                                                                            \
    u64 from[3] = {x, x + 1, x + 2}, to[3];                                                       \
    void *source = from, *end = to;                                                               \
    u64 count = sizeof from;                                                                      \
    __asm__ volatile("cld; rep movsb" : "+S"(source), "+D"(end), "+c"(count) : : "memory", "cc"); \
    x = to[2] * 3 + to[0] + count;                                                                \
  } while (0)
#define VECTORS(x)                                                              \
  do {                                                                          \
    double some = (double)(x & 0xffff), other = 3;                              \
    __asm__ volatile("addsd %1, %0; pxor %%xmm15, %%xmm15; pxor %%xmm3, %%xmm3" \
                     : "+x"(some)                                               \
                     : "xm"(other)                                              \
                     : "xmm15", "xmm3");                                        \
    x += (u64)some + (u64)other;                                                \
  } while (0)
#define X87(x)                                               \
  do {                                                       \
    long double some = (long double)(x & 0xffff), other = 5; \
    __asm__("fadd %%st(1), %%st" : "+t"(some) : "u"(other)); \
    x += (u64)some;                                          \
  } while (0)
#define NAMED_REGISTERS(x)                                                           \
  do {                                                                               \
    register u64 some __asm__("r13") = x;                                            \
    register u64 other __asm__("r8") = x >> 3;                                       \
    __asm__ volatile("addq %1, %0; movq $1, %1" : "+r"(some), "+r"(other) : : "cc"); \
    x ^= some + other;                                                               \
  } while (0)
#define MANY_REGISTERS(x)                                                                  \
  do {                                                                                     \
    u64 to;                                                                                \
    __asm__(                                                                               \
        "movq %1, %0; addq %2, %0; rolq $5, %0; addq %3, %0; rolq $5, %0; addq %4, %0; "   \
        "rolq $5, %0; xorq %5, %0; addq %6, %0; rolq $5, %0; addq %7, %0; xorq %8, %0; "   \
        "addq %9, %0; rolq $5, %0; xorq %10, %0"                                           \
        : "=&r"(to)                                                                        \
        : "r"(x), "r"(x + 1), "r"(x ^ 2), "r"(x * 3), "r"(x >> 4), "r"(x + 5), "r"(x ^ 6), \
          "r"(x * 7), "r"(x >> 8), "r"(x + 9)                                              \
        : "cc");                                                                           \
    x = to;                                                                                \
  } while (0)
#define JUMP(x)                                                               \
  do {                                                                        \
    __label__ is_odd, end;                                                    \
    __asm__ goto("testb $1, %b0; jne %l[is_odd]" : : "r"(x) : "cc" : is_odd); \
    x += 3;                                                                   \
    goto end;                                                                 \
  is_odd:                                                                     \
    x ^= 0x55;                                                                \
  end:;                                                                       \
  } while (0)
#define JUMP_WITH_RESULT(x)                                                                 \
  do {                                                                                      \
    __label__ is_odd, end;                                                                  \
    __asm__ goto("addq $7, %0; testb $2, %b0; jne %l[is_odd]" : "+r"(x) : : "cc" : is_odd); \
    x += 3;                                                                                 \
    goto end;                                                                               \
  is_odd:                                                                                   \
    x ^= 0x56;                                                                              \
  end:;                                                                                     \
  } while (0)
#define OTHER_SECTION(x)                                              \
  __asm__ volatile(                                                   \
      ".pushsection .data.assembly, \"aw\", @progbits; 1: .quad 42; " \
      ".popsection; addq 1b(%%rip), %0"                               \
      : "+r"(x)                                                       \
      :                                                               \
      : "cc")
#define LOOP(x)                                                                                  \
  __asm__ volatile("movl $3, %%ecx; .Lloop%=: addq %%rcx, %0; rolq %0; decl %%ecx; jnz .Lloop%=" \
                   : "+r"(x)                                                                     \
                   :                                                                             \
                   : "rcx", "cc")
#define CALL_FROM_ASSEMBLY(x, function)                                                     \
  __asm__ volatile("movq %%rsp, %%rbx; subq $128, %%rsp; andq $-16, %%rsp; callq " function \
                   "; "                                                                     \
                   "movq %%rbx, %%rsp"                                                      \
                   : "=a"(x)                                                                \
                   : "D"(x)                                                                 \
                   : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc",  \
                     ALL_VECTORS)
// Calls a function that preserves all registers but rax, and r11.
#define CALL_PRESERVING(x, function)                                              \
  __asm__ volatile(                                                               \
      "movq %%rsp, %%rbx; subq $128, %%rsp; andq $-16, %%rsp; movq $11, %%rsi; "  \
      "movq $12, %%rdx; movq $13, %%rcx; movq $14, %%r8; movq $15, %%r9; "        \
      "callq " function                                                           \
      "; movq %%rbx, %%rsp; "                                                     \
      "leaq (%%rax,%%rsi,2), %%rax; leaq (%%rax,%%rdx,4), %%rax; "                \
      "leaq (%%rax,%%rcx,8), %%rax; rolq $7, %%rax; leaq (%%rax,%%r8,2), %%rax; " \
      "leaq (%%rax,%%r9,4), %%rax"                                                \
      : "=a"(x)                                                                   \
      : "D"(x)                                                                    \
      : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", ALL_VECTORS)
#define IF_PRESERVED(x)                       \
  do {                                        \
    x += 11 * 2 + 12 * 4 + 13 * 8;            \
    x = (x << 7 | x >> 57) + 14 * 2 + 15 * 4; \
  } while (0)
// Enters a handler as the processor does; it returns with iretq.
#define INTERRUPT(x, handler)                                                   \
  __asm__ volatile(                                                             \
      "movq %%rsp, %%rdx; leaq -128(%%rsp), %%rsp; andq $-16, %%rsp; "          \
      "movl %%ss, %%ecx; pushq %%rcx; pushq %%rdx; pushfq; movl %%cs, %%ecx; "  \
      "pushq %%rcx; leaq 1f(%%rip), %%rcx; pushq %%rcx; "                       \
      "movq $21, %%r8; movq $22, %%r11; movq $23, %%rsi; jmp " handler          \
      "; 1: "                                                                   \
      "addq %%r8, %0; rolq $9, %0; xorq %%r11, %0; rolq $9, %0; addq %%rsi, %0" \
      : "+a"(x)                                                                 \
      :                                                                         \
      : "rcx", "rdx", "rsi", "r8", "r11", "memory", "cc")

#else

#define ALL_VECTORS                                                                                \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", \
      "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"
#define OVERWRITE_FRAME(x, kept)                             \
  __asm__ volatile("mov x28, 7; ldr x9, %1; add %0, x28, x9" \
                   : "=r"(x)                                 \
                   : "m"(kept)                               \
                   : "x9", "x28", "cc")
#define OVERWRITE_FRAME_AND_MORE(x, kept)                      \
  __asm__ volatile("mov x19, 7; ldr x30, %1; add %0, x19, x30" \
                   : "=r"(x)                                   \
                   : "m"(kept)                                 \
                   : "x19", "x20", "x28", "x30", "memory", "cc")
#define BORROW_FRAME(x, kept)                                                            \
  __asm__ volatile("mov x9, x29; ldr x10, %1; mov x29, 5; add %0, x29, x10; mov x29, x9" \
                   : "=&r"(x)                                                            \
                   : "m"(kept)                                                           \
                   : "x9", "x10", "cc")
#define PUSH_FRAME(x)                                                                \
  __asm__ volatile(                                                                  \
      "stp x29, x30, [sp, -16]!; mov x29, %0; mov x30, 3; add %0, x30, x29, lsl 1; " \
      "ldp x29, x30, [sp], 16"                                                       \
      : "+r"(x)                                                                      \
      :                                                                              \
      : "memory", "cc")
// Clang does not save x19 where it is the base of a frame with dynamic parts.
#define OVERWRITE_BASE(x) \
  __asm__ volatile("add x20, %0, 5; add %0, x20, x20, lsl 1" : "+r"(x) : : "x20", "cc")
#define CHANGE_BY_FLAGS(x)                                                              \
  do {                                                                                  \
    int carry, zero;                                                                    \
    __asm__("adds %0, %0, %3" : "+r"(x), "=@cccs"(carry), "=@cceq"(zero) : "r"(x * 3)); \
    x += (u64)(carry + 2 * zero);                                                       \
  } while (0)
#define CHANGE_IN_MEMORY(x)                                                                        \
  do {                                                                                             \
    static u64 cell;                                                                               \
    cell = x;                                                                                      \
    __asm__ volatile("ldr x9, [%0]; add x9, x9, 5; str x9, [%0]" : : "r"(&cell) : "memory", "x9"); \
    x ^= cell * 3;                                                                                 \
  } while (0)
#define READ_STACK_POINTER(to) __asm__ volatile("mov %0, sp" : "=r"(to))
#define OVERWRITE_EARLY(x)                                                      \
  do {                                                                          \
    u64 to;                                                                     \
    __asm__("add %0, %1, 1; add %0, %0, %2" : "=&r"(to) : "r"(x), "r"(x >> 7)); \
    x ^= to;                                                                    \
  } while (0)
#define TIED(x) __asm__("sub %0, %0, %0, lsl 3; neg %0, %0" : "=r"(x) : "0"(x))
#define IMMEDIATES(x)                                                      \
  __asm__("add %0, %0, %1; add %0, %0, %2; lsl %0, %0, %3; and %0, %0, %4" \
          : "+r"(x)                                                        \
          : "I"(123), "i"(77), "n"(3), "L"(0xffffffffffff00ffll))
#define ANYWHERE(x, y) __asm__("eor %0, %0, %1; add %0, %0, %2" : "+r"(x) : "r"(y), "r"(y * 5))
#define IN_PLACE(x)                                                           \
  do {                                                                        \
    u64 local = x;                                                            \
    __asm__("ldr x9, %0; add x9, x9, 9; str x9, %0" : "+m"(local) : : "x9");  \
    __asm__("ldr x9, %0; ror x9, x9, 61; str x9, %0" : "+Q"(local) : : "x9"); \
    x ^= local;                                                               \
  } while (0)
#define BYTES(x) __asm__("add %0, %0, %w0, uxtb 1" : "+r"(x))
#define FIXED(x) __asm__("madd %0, %x1, %2, %0" : "+r"(x) : "rZ"(0), "r"(x | 5))
#define STRINGS(x)                                                                              \
  do {                                                                                          \
    u64 from[3] = {x, x + 1, x + 2}, to[3];                                                     \
    __asm__ volatile("ldp x9, x10, [%0]; stp x10, x9, [%1]; ldr x9, [%0, 16]; str x9, [%1, 16]" \
                     :                                                                          \
                     : "r"(from), "r"(to)                                                       \
                     : "x9", "x10", "memory");                                                  \
    x = to[2] * 3 + to[0];                                                                      \
  } while (0)
#define VECTORS(x)                                                       \
  do {                                                                   \
    double some = (double)(x & 0xffff), other = 3;                       \
    __asm__ volatile("fadd %d0, %d0, %d1; movi v8.2d, 0; movi v31.2d, 0" \
                     : "+w"(some)                                        \
                     : "w"(other)                                        \
                     : "v8", "v31");                                     \
    x += (u64)some + (u64)other;                                         \
  } while (0)
#define X87(x) __asm__ volatile("fmov d9, %0; fmov %0, d9; add %0, %0, 1" : "+r"(x) : : "d9")
#define NAMED_REGISTERS(x)                                                   \
  do {                                                                       \
    register u64 some __asm__("x21") = x;                                    \
    register u64 other __asm__("x4") = x >> 3;                               \
    __asm__ volatile("add %0, %0, %1; mov %1, 1" : "+r"(some), "+r"(other)); \
    x ^= some + other;                                                       \
  } while (0)
#define MANY_REGISTERS(x)                                                                  \
  do {                                                                                     \
    u64 to;                                                                                \
    __asm__(                                                                               \
        "add %0, %1, %2; ror %0, %0, 5; add %0, %0, %3; ror %0, %0, 5; add %0, %0, %4; "   \
        "ror %0, %0, 5; eor %0, %0, %5; add %0, %0, %6; ror %0, %0, 5; add %0, %0, %7; "   \
        "eor %0, %0, %8; add %0, %0, %9; ror %0, %0, 5; eor %0, %0, %10"                   \
        : "=&r"(to)                                                                        \
        : "r"(x), "r"(x + 1), "r"(x ^ 2), "r"(x * 3), "r"(x >> 4), "r"(x + 5), "r"(x ^ 6), \
          "r"(x * 7), "r"(x >> 8), "r"(x + 9));                                            \
    x = to;                                                                                \
  } while (0)
#define JUMP(x)                                                   \
  do {                                                            \
    __label__ is_odd, end;                                        \
    __asm__ goto("tbnz %0, 0, %l[is_odd]" : : "r"(x) : : is_odd); \
    x += 3;                                                       \
    goto end;                                                     \
  is_odd:                                                         \
    x ^= 0x55;                                                    \
  end:;                                                           \
  } while (0)
#define JUMP_WITH_RESULT(x)                                                       \
  do {                                                                            \
    __label__ is_odd, end;                                                        \
    __asm__ goto("add %0, %0, 7; tbnz %0, 1, %l[is_odd]" : "+r"(x) : : : is_odd); \
    x += 3;                                                                       \
    goto end;                                                                     \
  is_odd:                                                                         \
    x ^= 0x56;                                                                    \
  end:;                                                                           \
  } while (0)
#define OTHER_SECTION(x)                                                         \
  __asm__ volatile(                                                              \
      ".pushsection .data.assembly, \"aw\", @progbits; .balign 8; 1: .quad 42; " \
      ".popsection; adrp x9, 1b; ldr x9, [x9, :lo12:1b]; add %0, %0, x9"         \
      : "+r"(x)                                                                  \
      :                                                                          \
      : "x9")
#define LOOP(x)                                                               \
  __asm__ volatile(                                                           \
      "mov x9, 3; .Lloop%=: add %0, %0, x9; ror %0, %0, 63; subs x9, x9, 1; " \
      "b.ne .Lloop%="                                                         \
      : "+r"(x)                                                               \
      :                                                                       \
      : "x9", "cc")
#define CALL_FROM_ASSEMBLY(x, function)                                                           \
  do {                                                                                            \
    register u64 argument __asm__("x0") = x;                                                      \
    __asm__ volatile("bl " function                                                               \
                     : "+r"(argument)                                                             \
                     :                                                                            \
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", \
                       "x13", "x14", "x15", "x16", "x17", "x18", "x30", "memory", "cc",           \
                       ALL_VECTORS);                                                              \
    x = argument;                                                                                 \
  } while (0)
// Calls a function that preserves x9 to x15, and the registers that all functions preserve.
#define CALL_PRESERVING(x, function)                                                               \
  do {                                                                                             \
    register u64 argument __asm__("x0") = x;                                                       \
    __asm__ volatile(                                                                              \
        "mov x9, 11; mov x10, 12; mov x11, 13; mov x12, 14; mov x13, 15; "                         \
        "bl " function                                                                             \
        "; add x0, x0, x9, lsl 1; add x0, x0, x10, lsl 2; "                                        \
        "add x0, x0, x11, lsl 3; ror x0, x0, 57; add x0, x0, x12, lsl 1; "                         \
        "add x0, x0, x13, lsl 2"                                                                   \
        : "+r"(argument)                                                                           \
        :                                                                                          \
        : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", \
          "x15", "x16", "x17", "x18", "x30", "memory", "cc", ALL_VECTORS);                         \
    x = argument;                                                                                  \
  } while (0)
#define IF_PRESERVED(x)                       \
  do {                                        \
    x += 11 * 2 + 12 * 4 + 13 * 8;            \
    x = (x << 7 | x >> 57) + 14 * 2 + 15 * 4; \
  } while (0)

#endif

#define CHECK_STACK_POINTER(x)                                     \
  do {                                                             \
    volatile u64 local = x;                                        \
    u64 pointer;                                                   \
    READ_STACK_POINTER(pointer);                                   \
    x = x * 3 + ((u64) & local + 128 - pointer < 1 << 20) + local; \
  } while (0)
#define CHECK_FRAME_ADDRESS(x)                                         \
  do {                                                                 \
    volatile u64 local = x;                                            \
    const u64 frame = (u64)__builtin_frame_address(0);                 \
    x = x * 3 + (frame - (u64) & local + (1 << 20) < 2 << 20) + local; \
  } while (0)
#define DYNAMIC(x)                                                   \
  do {                                                               \
    const u64 count = 2 + (x & 15);                                  \
    volatile u64* room = (volatile u64*)__builtin_alloca(8 * count); \
    for (u64 i = 0; i < count; i++) room[i] = x + i;                 \
    x = room[0] * 3 + room[count - 1] + room[x % count];             \
  } while (0)
#define DYNAMIC_ALIGNED(x)                                                   \
  do {                                                                       \
    const u64 size = 64 + (x & 127);                                         \
    volatile unsigned char* room =                                           \
        (volatile unsigned char*)__builtin_alloca_with_align(size, 512);     \
    for (u64 i = 0; i < size; i++) room[i] = (unsigned char)(x >> (i & 31)); \
    x = x * 3 + room[size - 1] + room[0] + ((u64)room & 63);                 \
  } while (0)
#define VARIABLE_ARRAYS(x)                        \
  for (u64 i = 1; i < 5; i++) {                   \
    volatile u64 some[i + (x & 3)], other[2 * i]; \
    some[0] = x, other[2 * i - 1] = x + i;        \
    x = some[0] * 3 ^ other[2 * i - 1];           \
  }
#define HUGE(x, size)                                                       \
  do {                                                                      \
    volatile unsigned char huge[size];                                      \
    huge[0] = (unsigned char)x, huge[x % (size)] = 7, huge[(size) - 1] = 9; \
    x = x * 3 + huge[x % (size)] + huge[(size) - 1];                        \
  } while (0)
#define ALIGNED(x)                                     \
  do {                                                 \
    volatile u64 room[5] __attribute__((aligned(64))); \
    for (int i = 0; i < 5; i++) room[i] = x + (u64)i;  \
    x = room[x % 5] * 3 + ((u64)room & 63);            \
  } while (0)
#define VOLATILES(x)                                  \
  do {                                                \
    static volatile unsigned char byte;               \
    static volatile struct {                          \
      unsigned a : 5, b : 11;                         \
      u64 c;                                          \
    } bits;                                           \
    byte = (unsigned char)x;                          \
    bits.a = byte, bits.b = byte * 5, bits.c += byte; \
    bits.c = bits.a + bits.b;                         \
    x = x * 3 + bits.c + byte;                        \
  } while (0)
#define ATOMICS(x)                                                                               \
  do {                                                                                           \
    static u64 wide;                                                                             \
    static unsigned char narrow;                                                                 \
    static unsigned short middle;                                                                \
    __atomic_store_n(&wide, x, __ATOMIC_RELEASE);                                                \
    __atomic_store_n(&narrow, (unsigned char)x, __ATOMIC_SEQ_CST);                               \
    __atomic_store_n(&middle, (unsigned short)(x >> 9), __ATOMIC_RELAXED);                       \
    u64 old = __atomic_fetch_add(&wide, 5, __ATOMIC_ACQ_REL);                                    \
    unsigned char other = 3;                                                                     \
    x += __atomic_compare_exchange_n(&narrow, &other, 9, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE); \
    x ^= __atomic_fetch_nand(&wide, x, __ATOMIC_SEQ_CST) + old + other;                          \
    x += __sync_val_compare_and_swap(&wide, wide, x) + __atomic_exchange_n(&middle, 4, 2);       \
    __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                     \
    x += __atomic_load_n(&narrow, __ATOMIC_ACQUIRE) + __atomic_or_fetch(&middle, 19, 5);         \
  } while (0)
#define COMPUTED_GOTO(x)                                                \
  do {                                                                  \
    __label__ add, flip, turn, end;                                     \
    static const void* const places[] = {&&add, &&flip, &&turn, &&end}; \
    u64 program = x | (u64)3 << 40;                                     \
    goto* places[program & 3];                                          \
  add:                                                                  \
    x += program, program >>= 2;                                        \
    goto* places[program & 3];                                          \
  flip:                                                                 \
    x ^= program * 5, program >>= 2;                                    \
    goto* places[program & 3];                                          \
  turn:                                                                 \
    x = x << 3 | x >> 61, program >>= 2;                                \
    goto* places[program & 3];                                          \
  end:;                                                                 \
  } while (0)
#define WIDE(x)                                                                                   \
  do {                                                                                            \
    const unsigned __int128 wide = (unsigned __int128)x * (x | 3) + ((unsigned __int128)x << 70); \
    x = (u64)(wide / ((x & 0xffff) + 3)) ^ (u64)(wide >> 64);                                     \
  } while (0)
typedef u64 four __attribute__((vector_size(32)));
#define FOUR(x)                                    \
  do {                                             \
    four some = {x, x + 1, x * 3, x >> 5};         \
    some = some * 5 + (some >> 7);                 \
    x = some[0] ^ some[1] ^ some[2] ^ some[x & 3]; \
  } while (0)

// Split stacks have no functions with variable arguments.
#if defined(__clang__)
#define NO_SPLIT_STACK __attribute__((no_split_stack))
#else
#define NO_SPLIT_STACK
#endif

// Calling conventions and kinds of functions, where the compiler has them.
#if defined(__clang__)
#define HAS_CONVENTION(name) HAS_##name
#define HAS_preserve_most 1
#define HAS_preserve_all 1
#define CONVENTION(name) CONVENTION_##name
#define CONVENTION_preserve_most __attribute__((preserve_most))
#define CONVENTION_preserve_all __attribute__((preserve_all))
#define CONVENTION_preserve_none __attribute__((preserve_none))
#define CONVENTION_vectorcall __attribute__((vectorcall))
#define CONVENTION_swiftcall __attribute__((swiftcall))
#if defined(__x86_64__)
#define CONVENTION_regcall __attribute__((regcall))
#define CONVENTION_ms_abi __attribute__((ms_abi))
#define CONVENTION_sysv_abi __attribute__((sysv_abi))
#define CONVENTION_aarch64_vector_pcs
#else
#define CONVENTION_regcall
#define CONVENTION_ms_abi
#define CONVENTION_sysv_abi
#define CONVENTION_aarch64_vector_pcs __attribute__((aarch64_vector_pcs))
#endif
#else
#define HAS_CONVENTION(name) 0
#define CONVENTION(name)
#endif

#if defined(__x86_64__)
#define NAKED_SUM(name)                                    \
  __attribute__((naked)) static NOINLINE u64 name(u64 x) { \
    __asm__("leaq 5(%rdi,%rdi,2), %rax; retq");            \
  }
#define NAKED_CALL(name)                                                                   \
  __attribute__((naked)) static NOINLINE u64 name(u64 x) {                                 \
    __asm__(                                                                               \
        "pushq %rbx; .cfi_adjust_cfa_offset 8; .cfi_rel_offset %rbx, 0; movq %rdi, %rbx; " \
        "callq back@PLT; addq %rbx, %rax; popq %rbx; .cfi_adjust_cfa_offset -8; "          \
        ".cfi_restore %rbx; retq");                                                        \
  }
struct interrupted {
  u64 place, segment, flags, stack, stack_segment;
};
#define HANDLER(name)                                                                            \
  static u64 name##_cell;                                                                        \
  __attribute__((interrupt, target("general-regs-only"), used, visibility("hidden"))) void name( \
      struct interrupted* frame) {                                                               \
    u64 some = name##_cell;                                                                      \
    for (int i = 0; i < 9; i++) some = some * 31 + (frame->flags & 0);                           \
    name##_cell = some + ((u64)frame & 7) + (frame->segment & 3);                                \
  }
#define ENTER_HANDLER(name, x) \
  do {                         \
    name##_cell = x;           \
    INTERRUPT(x, #name);       \
    x ^= name##_cell;          \
  } while (0)
#else
// GCC and clang have neither for C functions of aarch64.
#define NAKED_SUM(name) \
  static NOINLINE u64 name(u64 x) { return x * 3 + 5; }
#define NAKED_CALL(name) \
  static NOINLINE u64 name(u64 x) { return back(x) + x; }
#define HANDLER(name)
#define ENTER_HANDLER(name, x) (x += 21)
#endif

#if defined(__cplusplus) && defined(__cpp_impl_coroutine)
// The parts of the standard library that coroutines need.
namespace std {
template <class Result, class...>
struct coroutine_traits {
  using promise_type = typename Result::promise_type;
};
template <class Promise = void>
struct coroutine_handle;
template <>
struct coroutine_handle<void> {
  void* frame = nullptr;
  static coroutine_handle from_address(void* address) noexcept { return {address}; }
  void* address() const noexcept { return frame; }
  bool done() const noexcept { return __builtin_coro_done(frame); }
  void resume() const { __builtin_coro_resume(frame); }
  void destroy() const { __builtin_coro_destroy(frame); }
};
template <class Promise>
struct coroutine_handle : coroutine_handle<void> {
  static coroutine_handle from_address(void* address) noexcept {
    coroutine_handle made;
    made.frame = address;
    return made;
  }
  static coroutine_handle from_promise(Promise& promise) noexcept {
    return from_address(__builtin_coro_promise(&promise, alignof(Promise), true));
  }
  Promise& promise() const {
    return *static_cast<Promise*>(__builtin_coro_promise(frame, alignof(Promise), false));
  }
};
struct suspend_always {
  bool await_ready() const noexcept { return false; }
  void await_suspend(coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};
}  // namespace std

struct generator {
  struct promise_type {
    u64 value;
    generator get_return_object() {
      return generator{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(u64 x) noexcept {
      value = x;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
  explicit generator(std::coroutine_handle<promise_type> mine) : handle(mine) {}
  generator(const generator&) = delete;
  ~generator() { handle.destroy(); }
  bool next() const {
    handle.resume();
    return !handle.done();
  }
  u64 value() const { return handle.promise().value; }
};
#endif
