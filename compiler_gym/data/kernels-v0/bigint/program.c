// bigint: a calculator for integers of any size (sign and 32-bit limbs).
// Input, one statement per line ('#' comments):  [NAME =] OPERATION OPERAND...
// Operands are decimal numbers or the names (one lower-case letter) of results;
// kOperations lists the operations. Also: hex OPERAND, and the self-check
//   stress BITS SEED REPEAT

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kKaratsubaLimbs = 20,  // below this, schoolbook multiplication is faster
  kMaxLimbs = 8192,      // results are refused beyond this size
  kMaxOperands = 3,
  kVariables = 26,
  kShownDigits = 120  // longer results are abbreviated
};

// The value zero has no limbs and is never negative; the top limb is not 0.
typedef struct {
  uint32_t* limb;  // least significant first
  size_t size;
  bool negative;
} Big;

typedef const char* (*Operation)(const Big* arg, Big* result);

// ---------------------------------------------------------------------------
// Limb arrays. Results may overlap operands only where it is said so.

static void* Allocate(size_t count, size_t size) {
  void* p = calloc(count ? count : 1, size);
  if (!p) {
    printf("out of memory\n");
    exit(0);
  }
  return p;
}

// r[0..na) = a + b with na >= nb; returns the carry. r may be a or b.
static uint32_t AddLimbs(uint32_t* r, const uint32_t* a, size_t na, const uint32_t* b, size_t nb) {
  uint64_t carry = 0;
  for (size_t i = 0; i < nb; i++) {
    carry += (uint64_t)a[i] + b[i];
    r[i] = (uint32_t)carry;
    carry >>= 32;
  }
  for (size_t i = nb; i < na; i++) {
    carry += a[i];
    r[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return (uint32_t)carry;
}

// r[0..na) = a - b with a >= b; r may be a or b.
static void SubLimbs(uint32_t* r, const uint32_t* a, size_t na, const uint32_t* b, size_t nb) {
  uint32_t borrow = 0;
  for (size_t i = 0; i < na; i++) {
    uint64_t take = (i < nb ? (uint64_t)b[i] : 0) + borrow;
    borrow = a[i] < take;
    r[i] = (uint32_t)(a[i] - take);
  }
}

static int CompareLimbs(const uint32_t* a, size_t na, const uint32_t* b, size_t nb) {
  if (na != nb) return na < nb ? -1 : 1;
  for (size_t i = na; i-- > 0;) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

// r[0..n] += a * factor, where r has n + 1 limbs and the sum fits.
static void AddMul(uint32_t* r, const uint32_t* a, size_t n, uint32_t factor) {
  uint64_t carry = 0;
  for (size_t i = 0; i < n; i++) {
    carry += (uint64_t)a[i] * factor + r[i];
    r[i] = (uint32_t)carry;
    carry >>= 32;
  }
  r[n] += (uint32_t)carry;
}

static void MulSchoolbook(uint32_t* r, const uint32_t* a, size_t na, const uint32_t* b, size_t nb) {
  memset(r, 0, (na + nb) * sizeof(uint32_t));
  for (size_t j = 0; j < nb; j++) AddMul(r + j, a, na, b[j]);
}

// r[0..2n) = a * b for equally long operands. Scratch needs 6 n + 128 limbs.
static void MulKaratsuba(uint32_t* r, const uint32_t* a, const uint32_t* b, size_t n,
                         uint32_t* scratch) {
  if (n < kKaratsubaLimbs) {
    MulSchoolbook(r, a, n, b, n);
    return;
  }
  size_t low = n / 2, high = n - low, wide = high + 1;
  uint32_t *sum_a = scratch, *sum_b = sum_a + wide, *middle = sum_b + wide;
  uint32_t* rest = middle + 2 * wide;
  MulKaratsuba(r, a, b, low, rest);
  MulKaratsuba(r + 2 * low, a + low, b + low, high, rest);
  sum_a[high] = AddLimbs(sum_a, a + low, high, a, low);
  sum_b[high] = AddLimbs(sum_b, b + low, high, b, low);
  MulKaratsuba(middle, sum_a, sum_b, wide, rest);
  SubLimbs(middle, middle, 2 * wide, r, 2 * low);
  SubLimbs(middle, middle, 2 * wide, r + 2 * low, 2 * high);
  // The middle part is less than B^(2 high + 1); drop its leading zeros so
  // that it fits into what remains of r above the low half.
  size_t size = 2 * wide;
  while (size > 0 && middle[size - 1] == 0) size--;
  AddLimbs(r + low, r + low, 2 * n - low, middle, size);
}

// In place; returns the remainder.
static uint32_t DivideSmall(uint32_t* a, size_t n, uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = n; i-- > 0;) {
    rest = rest << 32 | a[i];
    a[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
  return (uint32_t)rest;
}

// Shifts by less than one limb; returns the bits that fall out at the end.
static uint32_t ShiftLeft(uint32_t* r, const uint32_t* a, size_t n, unsigned bits) {
  uint64_t carry = 0;
  for (size_t i = 0; i < n; i++) {
    carry |= (uint64_t)a[i] << bits;
    r[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return (uint32_t)carry;
}

static void ShiftRight(uint32_t* a, size_t n, unsigned bits) {
  for (size_t i = 0; i < n; i++) {
    uint64_t pair = (uint64_t)(i + 1 < n ? a[i + 1] : 0) << 32 | a[i];
    a[i] = (uint32_t)(pair >> bits);
  }
}

// Long division: u has n + m + 1 limbs, v has n >= 2 and its top bit set. The
// quotient goes to q[0..m], the remainder stays in u[0..n).
static void DivideLong(uint32_t* q, uint32_t* u, size_t m, const uint32_t* v, size_t n) {
  for (size_t j = m + 1; j-- > 0;) {
    uint64_t top = (uint64_t)u[j + n] << 32 | u[j + n - 1];
    uint64_t guess = top / v[n - 1], rest = top % v[n - 1];
    while (guess >> 32 != 0 || guess * v[n - 2] > (rest << 32 | u[j + n - 2])) {
      guess--;
      rest += v[n - 1];
      if (rest >> 32 != 0) break;
    }
    uint64_t product = 0;
    uint32_t borrow = 0;
    for (size_t i = 0; i < n; i++) {
      product += guess * v[i];
      uint64_t take = (product & 0xffffffffu) + borrow;
      product >>= 32;
      borrow = u[i + j] < take;
      u[i + j] = (uint32_t)(u[i + j] - take);
    }
    uint64_t take = product + borrow;
    borrow = u[j + n] < take;
    u[j + n] = (uint32_t)(u[j + n] - take);
    if (borrow) {
      // The guess was one too large, which is rare: add the divisor back.
      guess--;
      u[j + n] += AddLimbs(u + j, u + j, n, v, n);
    }
    q[j] = (uint32_t)guess;
  }
}

// ---------------------------------------------------------------------------
// Signed integers. Functions return new values, which the caller releases.

static Big NewBig(size_t limbs) {
  Big b = {Allocate(limbs, sizeof(uint32_t)), limbs, false};
  return b;
}

static void Release(Big* b) {
  free(b->limb);
  b->limb = NULL;
  b->size = 0;
  b->negative = false;
}

static void Assign(Big* to, Big value) {
  free(to->limb);
  *to = value;
}

static Big Trim(Big b) {
  while (b.size > 0 && b.limb[b.size - 1] == 0) b.size--;
  if (b.size == 0) b.negative = false;
  return b;
}

static Big FromUnsigned(uint64_t v) {
  Big b = NewBig(2);
  b.limb[0] = (uint32_t)v;
  b.limb[1] = (uint32_t)(v >> 32);
  return Trim(b);
}

static Big Copy(const Big* a) {
  Big b = NewBig(a->size);
  if (a->size > 0) memcpy(b.limb, a->limb, a->size * sizeof(uint32_t));
  b.negative = a->negative;
  return b;
}

static bool IsZero(const Big* a) { return a->size == 0; }

static bool IsOdd(const Big* a) { return a->size > 0 && (a->limb[0] & 1u) != 0; }

static size_t BitLength(const Big* a) {
  if (a->size == 0) return 0;
  size_t bits = (a->size - 1) * 32;
  for (uint32_t top = a->limb[a->size - 1]; top != 0; top >>= 1) bits++;
  return bits;
}

static bool TestBit(const Big* a, size_t bit) {
  return bit / 32 < a->size && (a->limb[bit / 32] >> (bit % 32) & 1u) != 0;
}

static int CompareMagnitude(const Big* a, const Big* b) {
  return CompareLimbs(a->limb, a->size, b->limb, b->size);
}

static int Compare(const Big* a, const Big* b) {
  if (a->negative != b->negative) return a->negative ? -1 : 1;
  int order = CompareMagnitude(a, b);
  return a->negative ? -order : order;
}

static Big AddSigned(const Big* a, const Big* b, bool flip_b) {
  bool b_negative = b->negative != flip_b;
  if (a->negative == b_negative) {
    const Big *large = a->size >= b->size ? a : b, *small = large == a ? b : a;
    Big r = NewBig(large->size + 1);
    r.limb[large->size] = AddLimbs(r.limb, large->limb, large->size, small->limb, small->size);
    r.negative = a->negative;
    return Trim(r);
  }
  bool a_larger = CompareMagnitude(a, b) >= 0;
  const Big *large = a_larger ? a : b, *small = a_larger ? b : a;
  Big r = NewBig(large->size);
  SubLimbs(r.limb, large->limb, large->size, small->limb, small->size);
  r.negative = a_larger ? a->negative : b_negative;
  return Trim(r);
}

static Big Add(const Big* a, const Big* b) { return AddSigned(a, b, false); }

static Big Sub(const Big* a, const Big* b) { return AddSigned(a, b, true); }

// Unbalanced products are cut into pieces as long as the shorter operand.
static Big Mul(const Big* a, const Big* b) {
  const Big *large = a->size >= b->size ? a : b, *small = large == a ? b : a;
  size_t n = small->size;
  Big r = NewBig(a->size + b->size);
  if (n < kKaratsubaLimbs) {
    MulSchoolbook(r.limb, large->limb, large->size, small->limb, n);
  } else {
    uint32_t* scratch = Allocate(6 * n + 128, sizeof(uint32_t));
    uint32_t* piece = Allocate(2 * n, sizeof(uint32_t));
    for (size_t at = 0; at < large->size; at += n) {
      size_t length = large->size - at < n ? large->size - at : n;
      if (length == n) {
        MulKaratsuba(piece, large->limb + at, small->limb, n, scratch);
      } else {
        MulSchoolbook(piece, small->limb, n, large->limb + at, length);
      }
      AddLimbs(r.limb + at, r.limb + at, r.size - at, piece, n + length);
    }
    free(scratch);
    free(piece);
  }
  r.negative = a->negative != b->negative;
  return Trim(r);
}

// Truncating division like C's; the divisor must not be zero. Either result
// pointer may be NULL.
static void DivMod(const Big* a, const Big* b, Big* quotient, Big* remainder) {
  Big q, r;
  if (CompareMagnitude(a, b) < 0) {
    q = NewBig(0);
    r = Copy(a);
  } else if (b->size == 1) {
    q = Copy(a);
    r = FromUnsigned(DivideSmall(q.limb, q.size, b->limb[0]));
  } else {
    size_t n = b->size, m = a->size - n;
    unsigned shift = 0;
    while ((b->limb[n - 1] << shift & 0x80000000u) == 0) shift++;
    uint32_t* v = Allocate(n, sizeof(uint32_t));
    ShiftLeft(v, b->limb, n, shift);
    q = NewBig(m + 1);
    r = NewBig(a->size + 1);
    r.limb[a->size] = ShiftLeft(r.limb, a->limb, a->size, shift);
    DivideLong(q.limb, r.limb, m, v, n);
    ShiftRight(r.limb, n, shift);
    r.size = n;
    free(v);
  }
  q.negative = a->negative != b->negative;
  r.negative = a->negative;
  q = Trim(q);
  r = Trim(r);
  if (quotient) {
    Assign(quotient, q);
  } else {
    Release(&q);
  }
  if (remainder) {
    Assign(remainder, r);
  } else {
    Release(&r);
  }
}

// ---------------------------------------------------------------------------
// Decimal and hexadecimal text.

static bool ParseDecimal(const char* text, Big* out) {
  bool negative = *text == '-';
  if (negative) text++;
  size_t length = strlen(text);
  if (length == 0 || strspn(text, "0123456789") != length) return false;
  Big b = NewBig(length / 9 + 1);
  size_t used = 0;
  // Nine digits at a time, the first group being the incomplete one.
  for (size_t at = 0; at < length;) {
    size_t group = (length - at) % 9 == 0 ? 9 : (length - at) % 9;
    uint32_t value = 0, scale = 1;
    for (size_t i = 0; i < group; i++) {
      value = value * 10 + (uint32_t)(text[at + i] - '0');
      scale *= 10;
    }
    uint64_t carry = value;
    for (size_t i = 0; i < used; i++) {
      carry += (uint64_t)b.limb[i] * scale;
      b.limb[i] = (uint32_t)carry;
      carry >>= 32;
    }
    if (carry != 0) b.limb[used++] = (uint32_t)carry;
    at += group;
  }
  b.negative = negative;
  *out = Trim(b);
  return true;
}

static char* ToDecimal(const Big* a) {
  size_t capacity = a->size * 10 + 12, at = capacity;
  char* text = Allocate(capacity, 1);
  Big rest = Copy(a);
  text[--at] = '\0';
  do {
    uint32_t group = DivideSmall(rest.limb, rest.size, 1000000000u);
    rest = Trim(rest);
    // Leading zeros only inside the number.
    for (int i = 0; i < 9 && (i == 0 || rest.size > 0 || group > 0); i++) {
      text[--at] = (char)('0' + group % 10);
      group /= 10;
    }
  } while (rest.size > 0);
  if (a->negative) text[--at] = '-';
  memmove(text, text + at, capacity - at);
  Release(&rest);
  return text;
}

static void PrintHex(const Big* a) {
  printf("%s0x%" PRIx32, a->negative ? "-" : "", a->size ? a->limb[a->size - 1] : 0);
  for (size_t i = a->size; i-- > 1;) printf("%08" PRIx32, a->limb[i - 1]);
}

// ---------------------------------------------------------------------------
// Number theory.

static Big Power(const Big* base, uint32_t exponent) {
  Big result = FromUnsigned(1);
  for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    // Squaring one costs next to nothing while no bit was found yet.
    Assign(&result, Mul(&result, &result));
    if (exponent & bit) Assign(&result, Mul(&result, base));
  }
  return result;
}

// base^exponent mod modulus for exponent >= 0, modulus > 0; never negative.
static Big PowerMod(const Big* base, const Big* exponent, const Big* modulus) {
  Big result = FromUnsigned(1), factor = NewBig(0);
  DivMod(base, modulus, NULL, &factor);
  if (factor.negative) Assign(&factor, Add(&factor, modulus));
  for (size_t bit = BitLength(exponent); bit-- > 0;) {
    Assign(&result, Mul(&result, &result));
    DivMod(&result, modulus, NULL, &result);
    if (TestBit(exponent, bit)) {
      Assign(&result, Mul(&result, &factor));
      DivMod(&result, modulus, NULL, &result);
    }
  }
  DivMod(&result, modulus, NULL, &result);  // for the modulus one
  Release(&factor);
  return result;
}

static Big Gcd(const Big* a, const Big* b) {
  Big x = Copy(a), y = Copy(b);
  x.negative = y.negative = false;
  while (!IsZero(&y)) {
    Big r = NewBig(0);
    DivMod(&x, &y, NULL, &r);
    Assign(&x, y);
    y = r;
  }
  Release(&y);
  return x;
}

// The inverse of a modulo m > 0 by the extended Euclidean algorithm, or false.
static bool InverseMod(const Big* a, const Big* m, Big* inverse) {
  Big r0 = Copy(m), r1 = NewBig(0), t0 = NewBig(0), t1 = FromUnsigned(1);
  DivMod(a, m, NULL, &r1);
  if (r1.negative) Assign(&r1, Add(&r1, m));
  while (!IsZero(&r1)) {
    Big q = NewBig(0), r = NewBig(0);
    DivMod(&r0, &r1, &q, &r);
    Big product = Mul(&q, &t1);
    Big t = Sub(&t0, &product);
    Release(&product);
    Release(&q);
    Assign(&r0, r1);
    r1 = r;
    Assign(&t0, t1);
    t1 = t;
  }
  bool coprime = r0.size == 1 && r0.limb[0] == 1;
  DivMod(&t0, m, NULL, inverse);  // the inverse modulo one must be zero
  if (inverse->negative) Assign(inverse, Add(inverse, m));
  Release(&r0);
  Release(&r1);
  Release(&t0);
  Release(&t1);
  return coprime;
}

// Newton's method from above; stops when the estimate no longer falls.
static Big SquareRoot(const Big* a) {
  if (IsZero(a)) return NewBig(0);
  size_t bits = (BitLength(a) + 1) / 2;
  Big x = NewBig(bits / 32 + 1);
  x.limb[bits / 32] = 1u << (bits % 32);
  for (;;) {
    Big next = NewBig(0);
    DivMod(a, &x, &next, NULL);
    Assign(&next, Add(&next, &x));
    ShiftRight(next.limb, next.size, 1);
    next = Trim(next);
    if (CompareMagnitude(&next, &x) >= 0) {
      Release(&next);
      return x;
    }
    Assign(&x, next);
  }
}

// The product low * (low + 1) * ... * high, split evenly so that operands of
// similar size meet.
static Big RangeProduct(uint32_t low, uint32_t high) {
  if (low > high) return FromUnsigned(1);
  if (high - low < 2) return FromUnsigned(low == high ? low : (uint64_t)low * high);
  uint32_t middle = low + (high - low) / 2;
  Big left = RangeProduct(low, middle), right = RangeProduct(middle + 1, high);
  Big product = Mul(&left, &right);
  Release(&left);
  Release(&right);
  return product;
}

// F(n) and F(n + 1) by doubling: F(2k) = F(k) (2 F(k+1) - F(k)).
static void FibonacciPair(uint32_t n, Big* f0, Big* f1) {
  if (n == 0) {
    Assign(f0, NewBig(0));
    Assign(f1, FromUnsigned(1));
    return;
  }
  FibonacciPair(n / 2, f0, f1);
  Big twice = Add(f1, f1);
  Big difference = Sub(&twice, f0);
  Big even = Mul(f0, &difference);
  Big square0 = Mul(f0, f0), square1 = Mul(f1, f1);
  Big odd = Add(&square0, &square1);
  if (n % 2 == 0) {
    Assign(f0, even);
    Assign(f1, odd);
  } else {
    Assign(f1, Add(&even, &odd));
    Assign(f0, odd);
    Release(&even);
  }
  Release(&twice);
  Release(&difference);
  Release(&square0);
  Release(&square1);
}

// Miller-Rabin with the first sixteen primes as bases: exact below 3.3 * 10^24
// (where thirteen are known to suffice), and beyond that wrong only for numbers
// that nobody has met by accident.
static bool IsPrime(const Big* n) {
  static const uint32_t kBases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
  const size_t count = sizeof(kBases) / sizeof(kBases[0]);
  if (n->negative || IsZero(n) || (n->size == 1 && n->limb[0] == 1)) return false;
  for (size_t i = 0; i < count; i++) {
    Big copy = Copy(n);
    uint32_t rest = DivideSmall(copy.limb, copy.size, kBases[i]);
    Release(&copy);
    if (rest == 0) return n->size == 1 && n->limb[0] == kBases[i];
  }
  Big one = FromUnsigned(1), last = Sub(n, &one), odd = Copy(&last);
  int twos = 0;
  while (!IsOdd(&odd)) {
    ShiftRight(odd.limb, odd.size, 1);
    odd = Trim(odd);
    twos++;
  }
  bool prime = true;
  for (size_t i = 0; i < count && prime; i++) {
    Big base = FromUnsigned(kBases[i]);
    Big x = PowerMod(&base, &odd, n);
    bool passed = CompareMagnitude(&x, &one) == 0 || CompareMagnitude(&x, &last) == 0;
    for (int k = 1; k < twos && !passed; k++) {
      Assign(&x, Mul(&x, &x));
      DivMod(&x, n, NULL, &x);
      passed = CompareMagnitude(&x, &last) == 0;
    }
    prime = passed;
    Release(&base);
    Release(&x);
  }
  Release(&one);
  Release(&last);
  Release(&odd);
  return prime;
}

// scale * arctan(1 / x), truncated term by term.
static Big ArctanInverse(uint32_t x, const Big* scale) {
  Big power = Copy(scale), sum = NewBig(0);
  DivideSmall(power.limb, power.size, x);
  power = Trim(power);
  for (uint32_t k = 1; !IsZero(&power); k += 2) {
    Big term = Copy(&power);
    DivideSmall(term.limb, term.size, k);
    term = Trim(term);
    Assign(&sum, k % 4 == 1 ? Add(&sum, &term) : Sub(&sum, &term));
    DivideSmall(power.limb, power.size, x * x);
    power = Trim(power);
    Release(&term);
  }
  Release(&power);
  return sum;
}

// ---------------------------------------------------------------------------
// Operations.

static bool SmallValue(const Big* a, uint32_t most, uint32_t* value) {
  if (a->negative || a->size > 1) return false;
  *value = a->size ? a->limb[0] : 0;
  return *value <= most;
}

static const char* OpAdd(const Big* arg, Big* result) {
  Assign(result, Add(&arg[0], &arg[1]));
  return NULL;
}

static const char* OpSub(const Big* arg, Big* result) {
  Assign(result, Sub(&arg[0], &arg[1]));
  return NULL;
}

static const char* OpMul(const Big* arg, Big* result) {
  if (arg[0].size + arg[1].size > kMaxLimbs) return "result too large";
  Assign(result, Mul(&arg[0], &arg[1]));
  return NULL;
}

static const char* OpDiv(const Big* arg, Big* result) {
  if (IsZero(&arg[1])) return "division by zero";
  DivMod(&arg[0], &arg[1], result, NULL);
  return NULL;
}

static const char* OpMod(const Big* arg, Big* result) {
  if (IsZero(&arg[1])) return "division by zero";
  DivMod(&arg[0], &arg[1], NULL, result);
  return NULL;
}

static const char* OpPow(const Big* arg, Big* result) {
  uint32_t exponent;
  if (!SmallValue(&arg[1], 1000000, &exponent)) return "bad exponent";
  if ((uint64_t)BitLength(&arg[0]) * exponent > 32u * (uint64_t)kMaxLimbs) {
    return "result too large";
  }
  Assign(result, Power(&arg[0], exponent));
  return NULL;
}

static const char* OpPowMod(const Big* arg, Big* result) {
  if (arg[1].negative) return "bad exponent";
  if (arg[2].negative || IsZero(&arg[2])) return "bad modulus";
  Assign(result, PowerMod(&arg[0], &arg[1], &arg[2]));
  return NULL;
}

static const char* OpInvMod(const Big* arg, Big* result) {
  if (arg[1].negative || IsZero(&arg[1])) return "bad modulus";
  return InverseMod(&arg[0], &arg[1], result) ? NULL : "no inverse";
}

static const char* OpGcd(const Big* arg, Big* result) {
  Assign(result, Gcd(&arg[0], &arg[1]));
  return NULL;
}

static const char* OpLcm(const Big* arg, Big* result) {
  Big divisor = Gcd(&arg[0], &arg[1]);
  if (!IsZero(&divisor)) {
    DivMod(&arg[0], &divisor, result, NULL);
    Assign(result, Mul(result, &arg[1]));
    result->negative = false;
  }
  Release(&divisor);
  return NULL;
}

static const char* OpSqrt(const Big* arg, Big* result) {
  if (arg[0].negative) return "negative operand";
  Assign(result, SquareRoot(&arg[0]));
  return NULL;
}

static const char* OpCompare(const Big* arg, Big* result) {
  int order = Compare(&arg[0], &arg[1]);
  Assign(result, FromUnsigned(order != 0));
  result->negative = order < 0;
  return NULL;
}

static const char* OpFactorial(const Big* arg, Big* result) {
  uint32_t n;
  if (!SmallValue(&arg[0], 10000, &n)) return "operand out of range";
  Assign(result, RangeProduct(1, n));
  return NULL;
}

static const char* OpBinomial(const Big* arg, Big* result) {
  uint32_t n, k;
  if (!SmallValue(&arg[0], 10000, &n) || !SmallValue(&arg[1], 10000, &k)) {
    return "operand out of range";
  }
  if (k > n) return NULL;  // zero
  if (k > n - k) k = n - k;
  Big top = RangeProduct(n - k + 1, n), bottom = RangeProduct(1, k);
  DivMod(&top, &bottom, result, NULL);
  Release(&top);
  Release(&bottom);
  return NULL;
}

static const char* OpFibonacci(const Big* arg, Big* result) {
  uint32_t n;
  Big next = NewBig(0);
  if (!SmallValue(&arg[0], 100000, &n)) {
    Release(&next);
    return "operand out of range";
  }
  FibonacciPair(n, result, &next);
  Release(&next);
  return NULL;
}

static const char* OpPrime(const Big* arg, Big* result) {
  Assign(result, FromUnsigned(IsPrime(&arg[0])));
  return NULL;
}

// Lucas-Lehmer: is 2^p - 1 prime, for an odd p?
static const char* OpMersenne(const Big* arg, Big* result) {
  uint32_t p;
  if (!SmallValue(&arg[0], 5000, &p) || p < 3 || p % 2 == 0) return "operand out of range";
  Big one = FromUnsigned(1), two = FromUnsigned(2);
  Big power = Power(&two, p), m = Sub(&power, &one), s = FromUnsigned(4);
  for (uint32_t i = 2; i < p; i++) {
    Assign(&s, Mul(&s, &s));
    Assign(&s, Sub(&s, &two));
    DivMod(&s, &m, NULL, &s);
  }
  Assign(result, FromUnsigned(IsZero(&s)));
  Release(&one);
  Release(&two);
  Release(&power);
  Release(&m);
  Release(&s);
  return NULL;
}

// The first n decimals of pi by pi / 4 = 4 arctan(1/5) - arctan(1/239), with
// ten guard digits against the truncation errors.
static const char* OpPi(const Big* arg, Big* result) {
  uint32_t digits;
  if (!SmallValue(&arg[0], 5000, &digits)) return "operand out of range";
  Big ten = FromUnsigned(10), four = FromUnsigned(4), guard = Power(&ten, 10);
  Big scale = Power(&ten, digits + 10);
  Big a = ArctanInverse(5, &scale), b = ArctanInverse(239, &scale);
  Assign(&a, Mul(&a, &four));
  Assign(&a, Sub(&a, &b));
  Assign(&a, Mul(&a, &four));
  DivMod(&a, &guard, result, NULL);
  Release(&ten);
  Release(&four);
  Release(&guard);
  Release(&scale);
  Release(&a);
  Release(&b);
  return NULL;
}

static const struct {
  const char* name;
  size_t operands;
  Operation run;
} kOperations[] = {
    {"add", 2, OpAdd},        {"sub", 2, OpSub},           {"mul", 2, OpMul},
    {"div", 2, OpDiv},        {"mod", 2, OpMod},           {"pow", 2, OpPow},
    {"powmod", 3, OpPowMod},  {"invmod", 2, OpInvMod},     {"gcd", 2, OpGcd},
    {"lcm", 2, OpLcm},        {"sqrt", 1, OpSqrt},         {"cmp", 2, OpCompare},
    {"fact", 1, OpFactorial}, {"binom", 2, OpBinomial},    {"fib", 1, OpFibonacci},
    {"prime", 1, OpPrime},    {"mersenne", 1, OpMersenne}, {"pi", 1, OpPi},
};

// ---------------------------------------------------------------------------
// Statements.

typedef struct {
  Big variable[kVariables];
  uint64_t hash;
} Calculator;

static uint64_t HashLimbs(uint64_t hash, const Big* a) {
  hash = (hash ^ (a->negative ? 1u : 0u)) * 1099511628211ULL;
  for (size_t i = 0; i < a->size; i++) hash = (hash ^ a->limb[i]) * 1099511628211ULL;
  return hash;
}

static Big RandomBig(uint64_t* state, size_t bits) {
  Big b = NewBig((bits + 31) / 32);
  for (size_t i = 0; i < b.size; i++) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    b.limb[i] = (uint32_t)(*state >> 32);
    // Long runs of equal bits are what carries and quotient guesses trip over.
    if (*state >> 29 & 1u) b.limb[i] = (*state >> 30 & 1u) ? 0xffffffffu : 0u;
  }
  if (bits % 32 != 0) b.limb[b.size - 1] &= (1u << (bits % 32)) - 1u;
  b.negative = (*state >> 31 & 1u) != 0;
  return Trim(b);
}

// Checks identities on random operands; returns NULL or the one that failed.
static const char* StressOnce(uint64_t* state, size_t bits, uint64_t* hash) {
  const char* problem = NULL;
  Big a = RandomBig(state, bits), b = RandomBig(state, bits), c = RandomBig(state, bits / 2);
  Big sum = Add(&a, &b), difference = Sub(&a, &b);
  Big product = Mul(&sum, &difference);
  Big square_a = Mul(&a, &a), square_b = Mul(&b, &b);
  Big expected = Sub(&square_a, &square_b);
  if (Compare(&product, &expected) != 0) problem = "difference of squares";
  *hash = HashLimbs(*hash, &product);
  if (!IsZero(&c)) {
    Big quotient = NewBig(0), rest = NewBig(0);
    DivMod(&product, &c, &quotient, &rest);
    if (CompareMagnitude(&rest, &c) >= 0) problem = "remainder too large";
    *hash = HashLimbs(HashLimbs(*hash, &quotient), &rest);
    Assign(&quotient, Mul(&quotient, &c));
    Assign(&quotient, Add(&quotient, &rest));
    if (Compare(&quotient, &product) != 0) problem = "division";
    Release(&quotient);
    Release(&rest);
  }
  Big root = SquareRoot(&square_a);
  if (CompareMagnitude(&root, &a) != 0) problem = "square root";
  char* text = ToDecimal(&expected);
  Big parsed;
  if (!ParseDecimal(text, &parsed)) {
    problem = "parsing";
  } else {
    if (Compare(&parsed, &expected) != 0) problem = "decimal conversion";
    Release(&parsed);
  }
  free(text);
  Release(&a);
  Release(&b);
  Release(&c);
  Release(&sum);
  Release(&difference);
  Release(&product);
  Release(&square_a);
  Release(&square_b);
  Release(&expected);
  Release(&root);
  return problem;
}

static const char* Stress(const Big* arg, uint64_t* hash) {
  uint32_t bits, seed, repeat;
  if (!SmallValue(&arg[0], 100000, &bits) || !SmallValue(&arg[1], UINT32_MAX, &seed) ||
      !SmallValue(&arg[2], 100000, &repeat)) {
    return "operand out of range";
  }
  uint64_t state = seed, local = 14695981039346656037ULL;
  for (uint32_t i = 0; i < repeat; i++) {
    const char* problem = StressOnce(&state, bits, &local);
    if (problem) {
      printf("stress: FAILED at %" PRIu32 ": %s\n", i, problem);
      return NULL;
    }
  }
  printf("stress %" PRIu32 " bits: ok, hash %016" PRIx64 "\n", bits, local);
  *hash ^= local;
  return NULL;
}

static void PrintResult(const char* label, const Big* value) {
  char* text = ToDecimal(value);
  size_t length = strlen(text);
  uint32_t check = 0;
  for (size_t i = 0; i < length; i++) check = check * 31u + (uint32_t)(text[i] - '-');
  if (length <= kShownDigits) {
    printf("%s = %s\n", label, text);
  } else {
    printf("%s = %.30s...%s (%zu characters, check %08" PRIx32 ")\n", label, text,
           text + length - 30, length, check);
  }
  free(text);
}

static bool IsVariable(const char* word) {
  return word[0] >= 'a' && word[0] <= 'z' && word[1] == '\0';
}

static bool ParseOperand(const Calculator* calc, const char* word, Big* out) {
  if (IsVariable(word)) {
    *out = Copy(&calc->variable[word[0] - 'a']);
    return true;
  }
  return strlen(word) < kMaxLimbs && ParseDecimal(word, out);
}

static const char* Apply(Calculator* calc, const char* name, const Big* arg, size_t count,
                         const char* target) {
  if (strcmp(name, "stress") == 0) {
    return count == 3 ? Stress(arg, &calc->hash) : "wrong number of operands";
  }
  if (strcmp(name, "hex") == 0) {
    if (count != 1) return "wrong number of operands";
    printf("hex = ");
    PrintHex(&arg[0]);
    printf("\n");
    return NULL;
  }
  for (size_t i = 0; i < sizeof(kOperations) / sizeof(kOperations[0]); i++) {
    if (strcmp(kOperations[i].name, name) != 0) continue;
    if (kOperations[i].operands != count) return "wrong number of operands";
    Big result = NewBig(0);
    const char* problem = kOperations[i].run(arg, &result);
    if (problem) {
      Release(&result);
      return problem;
    }
    PrintResult(target ? target : name, &result);
    calc->hash = HashLimbs(calc->hash, &result);
    if (target) {
      Assign(&calc->variable[target[0] - 'a'], result);
    } else {
      Release(&result);
    }
    return NULL;
  }
  return "unknown operation";
}

static const char* Execute(Calculator* calc, char** word, size_t words) {
  const char *target = NULL, *problem = NULL;
  if (words >= 3 && strcmp(word[1], "=") == 0) {
    if (!IsVariable(word[0])) return "bad variable";
    target = word[0];
    word += 2;
    words -= 2;
  }
  Big arg[kMaxOperands];
  size_t count = 0;
  if (words - 1 > kMaxOperands) return "wrong number of operands";
  while (count + 1 < words && !problem) {
    if (ParseOperand(calc, word[count + 1], &arg[count])) {
      count++;
    } else {
      problem = "bad operand";
    }
  }
  if (!problem) problem = Apply(calc, word[0], arg, count, target);
  while (count > 0) Release(&arg[--count]);
  return problem;
}

// Reads a line of any length; NULL at the end of the input.
static char* ReadLine(void) {
  size_t length = 0, capacity = 128;
  char* line = Allocate(capacity, 1);
  int c;
  while ((c = getchar()) != EOF && c != '\n') {
    if (length + 1 == capacity) {
      capacity *= 2;
      char* grown = realloc(line, capacity);
      if (!grown) {
        printf("out of memory\n");
        exit(0);
      }
      line = grown;
    }
    line[length++] = (char)c;
  }
  line[length] = '\0';
  if (c == EOF && length == 0) {
    free(line);
    return NULL;
  }
  return line;
}

int main(void) {
  Calculator calc;
  char* line;
  int number = 0, errors = 0;
  memset(&calc, 0, sizeof(calc));
  calc.hash = 14695981039346656037ULL;
  while ((line = ReadLine()) != NULL) {
    char* word[8];
    size_t words = 0;
    number++;
    line[strcspn(line, "#")] = '\0';
    for (char* w = strtok(line, " \t\r"); w && words < 8; w = strtok(NULL, " \t\r")) {
      word[words++] = w;
    }
    const char* problem = words > 0 ? Execute(&calc, word, words) : NULL;
    if (problem) {
      printf("line %d: error: %s\n", number, problem);
      errors++;
    }
    free(line);
  }
  printf("%d lines, %d errors, hash %016" PRIx64 "\n", number, errors, calc.hash);
  for (size_t i = 0; i < kVariables; i++) Release(&calc.variable[i]);
  return 0;
}
