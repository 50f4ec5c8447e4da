// What generated programs need of libraries on a machine without one, with system calls of Linux.

typedef unsigned long Word;
typedef unsigned long long Wide;

#ifdef __riscv
#define NUMBER "a7"
#define FIRST "a0"
#define SECOND "a1"
#define THIRD "a2"
#define CALL "ecall"
enum { kWrite = 64, kExit = 93 };
#else
#define NUMBER "r7"
#define FIRST "r0"
#define SECOND "r1"
#define THIRD "r2"
#define CALL "svc #0"
enum { kWrite = 4, kExit = 1 };
#endif

static void call(Word what, Word a, Word b, Word c) {
  register Word number __asm__(NUMBER) = what;
  register Word first __asm__(FIRST) = a;
  register Word second __asm__(SECOND) = b;
  register Word third __asm__(THIRD) = c;
  __asm__ volatile(CALL : "+r"(first) : "r"(number), "r"(second), "r"(third) : "memory");
}

int main(int count, char** words);

void _start(void) {
  call(kExit, main(0, 0) & 255, 0, 0);
  __builtin_unreachable();
}

int strcmp(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *(const unsigned char*)a - *(const unsigned char*)b;
}

void* memcpy(void* to, const void* from, Word count) {
  for (volatile char* byte = to; count; --count) *byte++ = *(*(const char**)&from)++;
  return to;
}

void* memmove(void* to, const void* from, Word count) {
  if (to <= from) return memcpy(to, from, count);
  while (count--) ((volatile char*)to)[count] = ((const char*)from)[count];
  return to;
}

void* memset(void* to, int value, Word count) {
  for (volatile char* byte = to; count; --count) *byte++ = value;
  return to;
}

static Wide divide(Wide a, Wide b, Wide* rest) {
  Wide quotient = 0, part = 0;
  for (int bit = 63; bit >= 0; --bit) {
    part = part << 1 | (a >> bit & 1);
    if (part >= b) part -= b, quotient |= 1ull << bit;
  }
  *rest = part;
  return quotient;
}

static Wide divideSigned(long long a, long long b, Wide* rest) {
  const Wide quotient = divide(a < 0 ? -(Wide)a : a, b < 0 ? -(Wide)b : b, rest);
  if (a < 0) *rest = -*rest;
  return (a < 0) != (b < 0) ? -quotient : quotient;
}

#ifdef __riscv
Wide __udivdi3(Wide a, Wide b) { return divide(a, b, &(Wide){0}); }
Wide __divdi3(Wide a, Wide b) { return divideSigned(a, b, &(Wide){0}); }
Wide __umoddi3(Wide a, Wide b) {
  Wide rest;
  divide(a, b, &rest);
  return rest;
}
Wide __moddi3(Wide a, Wide b) {
  Wide rest;
  divideSigned(a, b, &rest);
  return rest;
}
#else
// Pairs of quotient and remainder are returned in registers, as vectors are.
typedef Wide Pair __attribute__((vector_size(16)));

Pair __aeabi_uldivmod(Wide a, Wide b) {
  Wide rest, quotient = divide(a, b, &rest);
  return (Pair){quotient, rest};
}
Pair __aeabi_ldivmod(Wide a, Wide b) {
  Wide rest, quotient = divideSigned(a, b, &rest);
  return (Pair){quotient, rest};
}
Wide __aeabi_uidivmod(Word a, Word b) {
  Wide rest;
  const Word quotient = divide(a, b, &rest);
  return rest << 32 | quotient;
}
Wide __aeabi_idivmod(long a, long b) {
  Wide rest;
  const Word quotient = divideSigned(a, b, &rest);
  return rest << 32 | quotient;
}
Word __aeabi_uidiv(Word a, Word b) { return __aeabi_uidivmod(a, b); }
long __aeabi_idiv(long a, long b) { return __aeabi_idivmod(a, b); }
void __aeabi_memcpy(void* to, const void* from, Word count) { memcpy(to, from, count); }
void __aeabi_memcpy4(void* to, const void* from, Word count) { memcpy(to, from, count); }
void __aeabi_memcpy8(void* to, const void* from, Word count) { memcpy(to, from, count); }
void __aeabi_memmove(void* to, const void* from, Word count) { memmove(to, from, count); }
void __aeabi_memmove4(void* to, const void* from, Word count) { memmove(to, from, count); }
void __aeabi_memmove8(void* to, const void* from, Word count) { memmove(to, from, count); }
void __aeabi_memset(void* to, Word count, int value) { memset(to, value, count); }
void __aeabi_memset4(void* to, Word count, int value) { memset(to, value, count); }
void __aeabi_memset8(void* to, Word count, int value) { memset(to, value, count); }
void __aeabi_memclr(void* to, Word count) { memset(to, 0, count); }
void __aeabi_memclr4(void* to, Word count) { memset(to, 0, count); }
void __aeabi_memclr8(void* to, Word count) { memset(to, 0, count); }
#endif

// The product and the shifts are made of halves, since LLVM calls these functions otherwise.
static Wide joined(Word high, Word low) {
  return (union {
           Word half[2];
           Wide all;
         }){{low, high}}
      .all;
}
static Word lowOf(Wide value) {
  return ((union {
           Wide all;
           Word half[2];
         }){value})
      .half[0];
}
static Word highOf(Wide value) {
  return ((union {
           Wide all;
           Word half[2];
         }){value})
      .half[1];
}

#ifdef __riscv
#define SHIFT_LEFT __ashldi3
#define SHIFT_RIGHT __lshrdi3
#define SHIFT_SIGNED __ashrdi3
#define PRODUCT __muldi3
#else
#define SHIFT_LEFT __aeabi_llsl
#define SHIFT_RIGHT __aeabi_llsr
#define SHIFT_SIGNED __aeabi_lasr
#define PRODUCT __aeabi_lmul
#endif

Wide SHIFT_LEFT(Wide value, int by) {
  const Word low = lowOf(value), high = highOf(value);
  if (by == 0) return value;
  if (by >= 32) return joined(low << (by - 32), 0);
  return joined(high << by | low >> (32 - by), low << by);
}

Wide SHIFT_RIGHT(Wide value, int by) {
  const Word low = lowOf(value), high = highOf(value);
  if (by == 0) return value;
  if (by >= 32) return joined(0, high >> (by - 32));
  return joined(high >> by, low >> by | high << (32 - by));
}

Wide SHIFT_SIGNED(Wide value, int by) {
  const Word low = lowOf(value), high = highOf(value);
  if (by == 0) return value;
  if (by >= 32) return joined((long)high >> 31, (long)high >> (by - 32));
  return joined((long)high >> by, low >> by | high << (32 - by));
}

Wide PRODUCT(Wide a, Wide b) {
  const Word x = lowOf(a), y = lowOf(b);
  const Word least = (x & 65535) * (y & 65535);
  const Word middle = (x >> 16) * (y & 65535) + (least >> 16);
  const Word other = (x & 65535) * (y >> 16) + (middle & 65535);
  const Word high = (x >> 16) * (y >> 16) + (middle >> 16) + (other >> 16);
  return joined(high + x * highOf(b) + highOf(a) * y, other << 16 | (least & 65535));
}

static void put(char byte) { call(kWrite, 1, (Word)&byte, 1); }

static void putNumber(Wide value, int base, char ten) {
  Wide digit;
  const Wide rest = divide(value, base, &digit);
  if (rest) putNumber(rest, base, ten);
  put(digit < 10 ? '0' + digit : ten + digit - 10);
}

int printf(const char* format, ...) {
  __builtin_va_list values;
  __builtin_va_start(values, format);
  for (; *format; ++format) {
    if (*format != '%') {
      put(*format);
      continue;
    }
    int longs = 0;
    for (; *++format == 'l'; ++longs) {
    }
    if (*format == 's') {
      for (const char* text = __builtin_va_arg(values, const char*); *text; ++text) put(*text);
      continue;
    }
    Wide value = longs == 2 ? __builtin_va_arg(values, Wide) : __builtin_va_arg(values, Word);
    if (*format == 'd' && longs < 2) value = (long)value;
    if (*format == 'd' && (long long)value < 0) {
      put('-');
      value = -value;
    }
    putNumber(value, *format == 'd' || *format == 'u' ? 10 : 16, *format == 'X' ? 'A' : 'a');
  }
  __builtin_va_end(values);
  return 0;
}
