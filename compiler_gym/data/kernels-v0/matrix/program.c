// matrix: dense linear algebra on up to 26 named integer matrices (A..Z):
// three multiplication kernels, modular powers, exact and floating-point
// determinants, LU with partial pivoting, linear solves and Cholesky.
// Input: one command per line, '#' starts a comment; see kCommands below.

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxDim = 128,
  kSlots = 26,
  kLineMax = 2048,
  kMaxTokens = 160,
  kBlock = 24,
  kMaxReps = 1000
};

static const int64_t kPrime = 1000000007;

typedef struct {
  size_t rows, cols;
  int64_t* at;  // row-major; NULL while the slot is empty
} IntMatrix;

typedef struct {
  size_t n;
  double* at;
} RealMatrix;

typedef struct {
  IntMatrix slot[kSlots];
  uint64_t hash;  // of everything computed, printed at the end
  int errors;
} Machine;

typedef struct {
  char* word[kMaxTokens];
  size_t count;
} Tokens;

// ---------------------------------------------------------------------------
// Small helpers.

static void* MustAlloc(size_t count, size_t size) {
  void* p = calloc(count ? count : 1, size);
  if (!p) {
    printf("out of memory\n");
    exit(0);
  }
  return p;
}

static uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value;
  hash *= 0x100000001b3ULL;
  return hash ^ (hash >> 29);
}

static uint64_t NextRandom(uint64_t* state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  *state = x;
  return x * 0x2545f4914f6cdd1dULL;
}

static int64_t Abs64(int64_t v) { return v < 0 ? -v : v; }

static IntMatrix NewInt(size_t rows, size_t cols) {
  IntMatrix m = {rows, cols, MustAlloc(rows * cols, sizeof(int64_t))};
  return m;
}

static IntMatrix CopyInt(const IntMatrix* src) {
  IntMatrix m = NewInt(src->rows, src->cols);
  memcpy(m.at, src->at, src->rows * src->cols * sizeof(int64_t));
  return m;
}

static void FreeInt(IntMatrix* m) {
  free(m->at);
  m->at = NULL;
  m->rows = m->cols = 0;
}

static void Replace(IntMatrix* slot, IntMatrix value) {
  FreeInt(slot);
  *slot = value;
}

static int64_t MaxAbs(const IntMatrix* m) {
  int64_t best = 0;
  for (size_t i = 0; i < m->rows * m->cols; i++) {
    int64_t v = Abs64(m->at[i]);
    if (v > best) best = v;
  }
  return best;
}

static uint64_t HashInt(const IntMatrix* m, uint64_t hash) {
  for (size_t i = 0; i < m->rows * m->cols; i++) {
    hash = Mix(hash, (uint64_t)m->at[i]);
  }
  return hash;
}

static int64_t Trace(const IntMatrix* m) {
  int64_t sum = 0;
  size_t n = m->rows < m->cols ? m->rows : m->cols;
  for (size_t i = 0; i < n; i++) sum += m->at[i * m->cols + i];
  return sum;
}

static bool SameInt(const IntMatrix* a, const IntMatrix* b) {
  return a->rows == b->rows && a->cols == b->cols &&
         memcmp(a->at, b->at, a->rows * a->cols * sizeof(int64_t)) == 0;
}

static IntMatrix Transposed(const IntMatrix* m) {
  IntMatrix t = NewInt(m->cols, m->rows);
  for (size_t i = 0; i < m->rows; i++) {
    for (size_t j = 0; j < m->cols; j++) t.at[j * t.cols + i] = m->at[i * m->cols + j];
  }
  return t;
}

// ---------------------------------------------------------------------------
// Integer multiplication kernels; all compute c = a * b for a fitting c.

typedef void (*MulKernel)(const IntMatrix* a, const IntMatrix* b, IntMatrix* c);

static void MulNaive(const IntMatrix* a, const IntMatrix* b, IntMatrix* c) {
  for (size_t i = 0; i < a->rows; i++) {
    for (size_t j = 0; j < b->cols; j++) {
      int64_t sum = 0;
      for (size_t k = 0; k < a->cols; k++) {
        sum += a->at[i * a->cols + k] * b->at[k * b->cols + j];
      }
      c->at[i * c->cols + j] = sum;
    }
  }
}

static size_t MinSize(size_t a, size_t b) { return a < b ? a : b; }

static void MulBlocked(const IntMatrix* a, const IntMatrix* b, IntMatrix* c) {
  memset(c->at, 0, c->rows * c->cols * sizeof(int64_t));
  for (size_t ii = 0; ii < a->rows; ii += kBlock) {
    size_t i_end = MinSize(ii + kBlock, a->rows);
    for (size_t kk = 0; kk < a->cols; kk += kBlock) {
      size_t k_end = MinSize(kk + kBlock, a->cols);
      for (size_t i = ii; i < i_end; i++) {
        int64_t* out = c->at + i * c->cols;
        for (size_t k = kk; k < k_end; k++) {
          int64_t factor = a->at[i * a->cols + k];
          const int64_t* in = b->at + k * b->cols;
          for (size_t j = 0; j < b->cols; j++) out[j] += factor * in[j];
        }
      }
    }
  }
}

static int64_t Dot(const int64_t* x, const int64_t* y, size_t n) {
  int64_t sum = 0;
  for (size_t k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

static void MulTransposed(const IntMatrix* a, const IntMatrix* b, IntMatrix* c) {
  IntMatrix t = Transposed(b);
  for (size_t i = 0; i < a->rows; i++) {
    for (size_t j = 0; j < b->cols; j++) {
      c->at[i * c->cols + j] = Dot(a->at + i * a->cols, t.at + j * t.cols, a->cols);
    }
  }
  FreeInt(&t);
}

static const struct {
  const char* name;
  MulKernel run;
} kKernels[] = {{"naive", MulNaive}, {"blocked", MulBlocked}, {"transposed", MulTransposed}};

// True if every entry of a * b (and every partial sum) stays below 2^62.
static bool ProductFits(const IntMatrix* a, const IntMatrix* b) {
  int64_t x = MaxAbs(a), y = MaxAbs(b);
  if (x == 0 || y == 0) return true;
  return x <= (INT64_C(1) << 62) / y / (int64_t)a->cols;
}

// ---------------------------------------------------------------------------
// Modular arithmetic.

static int64_t ModReduce(int64_t v, int64_t mod) {
  int64_t r = v % mod;
  return r < 0 ? r + mod : r;
}

static int64_t ModPow(int64_t base, int64_t exponent, int64_t mod) {
  int64_t result = 1 % mod;
  base = ModReduce(base, mod);
  while (exponent > 0) {
    if (exponent & 1) result = result * base % mod;
    base = base * base % mod;
    exponent >>= 1;
  }
  return result;
}

static void ReduceAll(IntMatrix* m, int64_t mod) {
  for (size_t i = 0; i < m->rows * m->cols; i++) m->at[i] = ModReduce(m->at[i], mod);
}

// Square-and-multiply; mod <= 2^25 keeps n * mod^2 far below 2^62.
static IntMatrix MatrixPower(const IntMatrix* base, int64_t exponent, int64_t mod) {
  size_t n = base->rows;
  IntMatrix result = NewInt(n, n), square = CopyInt(base), scratch = NewInt(n, n);
  for (size_t i = 0; i < n; i++) result.at[i * n + i] = 1 % mod;
  ReduceAll(&square, mod);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) {
      MulBlocked(&result, &square, &scratch);
      ReduceAll(&scratch, mod);
      memcpy(result.at, scratch.at, n * n * sizeof(int64_t));
    }
    MulTransposed(&square, &square, &scratch);
    ReduceAll(&scratch, mod);
    memcpy(square.at, scratch.at, n * n * sizeof(int64_t));
  }
  FreeInt(&square);
  FreeInt(&scratch);
  return result;
}

static void SwapRows(int64_t* at, size_t n, size_t r, size_t s) {
  for (size_t j = 0; j < n; j++) {
    int64_t t = at[r * n + j];
    at[r * n + j] = at[s * n + j];
    at[s * n + j] = t;
  }
}

static int64_t DetModPrime(const IntMatrix* m) {
  size_t n = m->rows;
  IntMatrix w = CopyInt(m);
  int64_t det = 1;
  ReduceAll(&w, kPrime);
  for (size_t col = 0; col < n && det != 0; col++) {
    size_t pivot = col;
    while (pivot < n && w.at[pivot * n + col] == 0) pivot++;
    if (pivot == n) {
      det = 0;
      break;
    }
    if (pivot != col) {
      SwapRows(w.at, n, pivot, col);
      det = kPrime - det;
    }
    int64_t diagonal = w.at[col * n + col];
    int64_t inverse = ModPow(diagonal, kPrime - 2, kPrime);
    det = det * diagonal % kPrime;
    for (size_t i = col + 1; i < n; i++) {
      int64_t factor = w.at[i * n + col] * inverse % kPrime;
      if (factor == 0) continue;
      for (size_t j = col; j < n; j++) {
        int64_t v = w.at[i * n + j] - factor * w.at[col * n + j] % kPrime;
        w.at[i * n + j] = v < 0 ? v + kPrime : v;
      }
    }
  }
  FreeInt(&w);
  return det;
}

// Fraction-free (Bareiss) elimination. Every intermediate value is a minor of
// the matrix, so refusing values of 2^31 and more keeps all products in range.
static bool DetExact(const IntMatrix* m, int64_t* det) {
  const int64_t limit = INT64_C(1) << 31;
  size_t n = m->rows;
  IntMatrix w = CopyInt(m);
  int64_t previous = 1, sign = 1;
  bool ok = MaxAbs(m) < limit;
  *det = n ? 0 : 1;
  for (size_t k = 0; ok && k + 1 < n; k++) {
    size_t pivot = k;
    while (pivot < n && w.at[pivot * n + k] == 0) pivot++;
    if (pivot == n) {
      FreeInt(&w);
      return true;  // a zero column: the determinant is zero
    }
    if (pivot != k) {
      SwapRows(w.at, n, pivot, k);
      sign = -sign;
    }
    for (size_t i = k + 1; i < n && ok; i++) {
      for (size_t j = k + 1; j < n; j++) {
        int64_t v = w.at[i * n + j] * w.at[k * n + k] - w.at[i * n + k] * w.at[k * n + j];
        v /= previous;
        if (Abs64(v) >= limit) ok = false;
        w.at[i * n + j] = v;
        if (!ok) break;
      }
    }
    previous = w.at[k * n + k];
  }
  if (ok && n > 0) *det = sign * w.at[n * n - 1];
  FreeInt(&w);
  return ok;
}

// ---------------------------------------------------------------------------
// Floating point: LU with partial pivoting and Cholesky.

static RealMatrix ToReal(const IntMatrix* m) {
  RealMatrix r = {m->rows, MustAlloc(m->rows * m->rows, sizeof(double))};
  for (size_t i = 0; i < r.n * r.n; i++) r.at[i] = (double)m->at[i];
  return r;
}

// Factors m in place; perm[i] is the source row of row i. Returns the sign of
// the permutation, or 0 if the matrix is numerically singular.
static int LuFactor(RealMatrix* m, size_t* perm) {
  size_t n = m->n;
  double* a = m->at;
  int sign = 1;
  for (size_t i = 0; i < n; i++) perm[i] = i;
  for (size_t k = 0; k < n; k++) {
    size_t best = k;
    for (size_t i = k + 1; i < n; i++) {
      if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
    }
    if (fabs(a[best * n + k]) < 1e-9) return 0;
    if (best != k) {
      for (size_t j = 0; j < n; j++) {
        double t = a[k * n + j];
        a[k * n + j] = a[best * n + j];
        a[best * n + j] = t;
      }
      size_t t = perm[k];
      perm[k] = perm[best];
      perm[best] = t;
      sign = -sign;
    }
    double inverse = 1.0 / a[k * n + k];
    for (size_t i = k + 1; i < n; i++) {
      double factor = a[i * n + k] * inverse;
      a[i * n + k] = factor;
      for (size_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return sign;
}

static void LuSolve(const RealMatrix* lu, const size_t* perm, const double* b, double* x) {
  size_t n = lu->n;
  for (size_t i = 0; i < n; i++) {
    double sum = b[perm[i]];
    for (size_t j = 0; j < i; j++) sum -= lu->at[i * n + j] * x[j];
    x[i] = sum;
  }
  for (size_t i = n; i-- > 0;) {
    double sum = x[i];
    for (size_t j = i + 1; j < n; j++) sum -= lu->at[i * n + j] * x[j];
    x[i] = sum / lu->at[i * n + i];
  }
}

// Replaces the lower triangle by L with L * L^T = m; false if m is not
// positive definite.
static bool Cholesky(RealMatrix* m) {
  size_t n = m->n;
  for (size_t j = 0; j < n; j++) {
    double* row_j = m->at + j * n;
    double diagonal = row_j[j];
    for (size_t k = 0; k < j; k++) diagonal -= row_j[k] * row_j[k];
    if (diagonal <= 1e-9) return false;
    row_j[j] = sqrt(diagonal);
    for (size_t i = j + 1; i < n; i++) {
      double* row_i = m->at + i * n;
      double sum = row_i[j];
      for (size_t k = 0; k < j; k++) sum -= row_i[k] * row_j[k];
      row_i[j] = sum / row_j[j];
    }
  }
  return true;
}

// ---------------------------------------------------------------------------
// Commands.

static bool ParseInt(const char* text, int64_t low, int64_t high, int64_t* out) {
  char* end = NULL;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || v < low || v > high) return false;
  *out = v;
  return true;
}

static IntMatrix* SlotOf(Machine* machine, const char* word) {
  if (word[0] < 'A' || word[0] > 'Z' || word[1] != '\0') return NULL;
  return &machine->slot[word[0] - 'A'];
}

static bool Fail(Machine* machine, const char* command, const char* why) {
  printf("%s: error: %s\n", command, why);
  machine->errors++;
  return false;
}

// The slot named by token `index` if it holds a matrix, else NULL.
static IntMatrix* Operand(Machine* machine, const Tokens* t, size_t index) {
  IntMatrix* m = SlotOf(machine, t->word[index]);
  if (m && !m->at) m = NULL;
  if (!m) Fail(machine, t->word[0], "no such matrix");
  return m;
}

static IntMatrix* SquareOperand(Machine* machine, const Tokens* t, size_t index) {
  IntMatrix* m = Operand(machine, t, index);
  if (m && m->rows != m->cols) {
    Fail(machine, t->word[0], "matrix is not square");
    return NULL;
  }
  return m;
}

static bool Dimensions(Machine* machine, const Tokens* t, size_t* rows, size_t* cols) {
  int64_t r, c;
  if (!ParseInt(t->word[2], 1, kMaxDim, &r) || !ParseInt(t->word[3], 1, kMaxDim, &c)) {
    return Fail(machine, t->word[0], "bad dimensions");
  }
  *rows = (size_t)r;
  *cols = (size_t)c;
  return true;
}

static bool CmdDefine(Machine* machine, const Tokens* t) {
  size_t rows, cols;
  IntMatrix* slot = SlotOf(machine, t->word[1]);
  if (!slot) return Fail(machine, "define", "bad name");
  if (!Dimensions(machine, t, &rows, &cols)) return false;
  if (t->count != 4 + rows * cols) return Fail(machine, "define", "wrong number of values");
  IntMatrix m = NewInt(rows, cols);
  for (size_t i = 0; i < rows * cols; i++) {
    if (!ParseInt(t->word[4 + i], -2000000000, 2000000000, &m.at[i])) {
      FreeInt(&m);
      return Fail(machine, "define", "bad value");
    }
  }
  Replace(slot, m);
  return true;
}

static bool CmdFill(Machine* machine, const Tokens* t) {
  size_t rows, cols;
  int64_t seed, range;
  IntMatrix* slot = SlotOf(machine, t->word[1]);
  if (!slot) return Fail(machine, "fill", "bad name");
  if (!Dimensions(machine, t, &rows, &cols)) return false;
  if (!ParseInt(t->word[4], 1, INT64_MAX, &seed) || !ParseInt(t->word[5], 0, 9999, &range)) {
    return Fail(machine, "fill", "bad seed or range");
  }
  IntMatrix m = NewInt(rows, cols);
  uint64_t state = (uint64_t)seed;
  uint64_t span = 2 * (uint64_t)range + 1;
  for (size_t i = 0; i < rows * cols; i++) {
    m.at[i] = (int64_t)((NextRandom(&state) >> 20) % span) - range;
  }
  Replace(slot, m);
  return true;
}

static bool CmdMul(Machine* machine, const Tokens* t) {
  int64_t reps;
  IntMatrix* target = SlotOf(machine, t->word[1]);
  if (!target) return Fail(machine, "mul", "bad name");
  const IntMatrix* a = Operand(machine, t, 2);
  const IntMatrix* b = a ? Operand(machine, t, 3) : NULL;
  if (!a || !b) return false;
  if (!ParseInt(t->word[4], 1, kMaxReps, &reps)) return Fail(machine, "mul", "bad repeat");
  if (a->cols != b->rows) return Fail(machine, "mul", "shapes do not match");
  IntMatrix x = CopyInt(a);
  IntMatrix reference = NewInt(a->rows, b->cols), out = NewInt(a->rows, b->cols);
  bool ok = true, agree = true;
  for (int64_t r = 0; r < reps && ok; r++) {
    ok = ProductFits(&x, b);
    if (!ok) break;
    for (size_t k = 0; k < sizeof(kKernels) / sizeof(kKernels[0]); k++) {
      IntMatrix* dest = k == 0 ? &reference : &out;
      kKernels[k].run(&x, b, dest);
      if (k > 0 && !SameInt(&reference, &out)) {
        printf("mul: kernel %s differs\n", kKernels[k].name);
        agree = false;
      }
    }
    machine->hash = HashInt(&reference, machine->hash);
    // A changing operand keeps the repetitions from being identical.
    if (r + 1 < reps) x.at[(size_t)r % (x.rows * x.cols)] += r + 1;
  }
  FreeInt(&out);
  FreeInt(&x);
  if (!ok) {
    FreeInt(&reference);
    return Fail(machine, "mul", "product would overflow");
  }
  printf("mul %s: %zux%zu trace %" PRId64 " max %" PRId64 " kernels %s\n", t->word[1],
         reference.rows, reference.cols, Trace(&reference), MaxAbs(&reference),
         agree ? "agree" : "DIFFER");
  Replace(target, reference);
  return true;
}

static bool CmdSpd(Machine* machine, const Tokens* t) {
  IntMatrix* target = SlotOf(machine, t->word[1]);
  if (!target) return Fail(machine, "spd", "bad name");
  const IntMatrix* a = Operand(machine, t, 2);
  if (!a) return false;
  IntMatrix left = Transposed(a);
  if (!ProductFits(&left, a)) {
    FreeInt(&left);
    return Fail(machine, "spd", "product would overflow");
  }
  IntMatrix result = NewInt(a->cols, a->cols);
  MulNaive(&left, a, &result);
  for (size_t i = 0; i < a->cols; i++) result.at[i * a->cols + i] += (int64_t)a->cols;
  FreeInt(&left);
  Replace(target, result);
  return true;
}

static bool CmdPow(Machine* machine, const Tokens* t) {
  int64_t exponent, mod;
  IntMatrix* target = SlotOf(machine, t->word[1]);
  if (!target) return Fail(machine, "pow", "bad name");
  const IntMatrix* a = SquareOperand(machine, t, 2);
  if (!a) return false;
  if (!ParseInt(t->word[3], 0, INT64_MAX, &exponent) || !ParseInt(t->word[4], 1, 1 << 25, &mod)) {
    return Fail(machine, "pow", "bad exponent or modulus");
  }
  IntMatrix result = MatrixPower(a, exponent, mod);
  machine->hash = HashInt(&result, machine->hash);
  printf("pow %s: first %" PRId64 " last %" PRId64 " trace %" PRId64 "\n", t->word[1], result.at[0],
         result.at[result.rows * result.cols - 1], Trace(&result) % mod);
  Replace(target, result);
  return true;
}

static bool CmdDet(Machine* machine, const Tokens* t) {
  const IntMatrix* a = SquareOperand(machine, t, 1);
  if (!a) return false;
  int64_t exact = 0;
  int64_t modular = DetModPrime(a);
  printf("det %s: mod p %" PRId64, t->word[1], modular);
  if (DetExact(a, &exact)) {
    printf(", exact %" PRId64 "%s", exact, ModReduce(exact, kPrime) == modular ? "" : " MISMATCH");
  } else {
    printf(", exact too large");
  }
  RealMatrix lu = ToReal(a);
  size_t* perm = MustAlloc(lu.n, sizeof(size_t));
  int sign = LuFactor(&lu, perm);
  if (sign == 0) {
    printf(", lu singular\n");
  } else {
    double log_abs = 0.0;
    for (size_t i = 0; i < lu.n; i++) {
      double d = lu.at[i * lu.n + i];
      if (d < 0) sign = -sign;
      log_abs += log10(fabs(d));
    }
    printf(", lu sign %d log10 %.4f\n", sign, fabs(log_abs) < 1e-6 ? 0.0 : log_abs);
  }
  free(perm);
  free(lu.at);
  machine->hash = Mix(machine->hash, (uint64_t)modular);
  return true;
}

// Solves A x = A * (1, 2, .., 7, 1, 2, ...) and reports how well x comes back.
static bool CmdSolve(Machine* machine, const Tokens* t) {
  int64_t reps;
  const IntMatrix* a = SquareOperand(machine, t, 1);
  if (!a) return false;
  if (!ParseInt(t->word[2], 1, kMaxReps, &reps)) return Fail(machine, "solve", "bad repeat");
  size_t n = a->rows;
  size_t* perm = MustAlloc(n, sizeof(size_t));
  double *b = MustAlloc(n, sizeof(double)), *x = MustAlloc(n, sizeof(double));
  double worst = 0.0, total = 0.0;
  int sign = 1;
  for (int64_t r = 0; r < reps && sign != 0; r++) {
    RealMatrix lu = ToReal(a);
    for (size_t i = 0; i < n; i++) {
      b[i] = 0.0;
      for (size_t j = 0; j < n; j++) {
        b[i] += lu.at[i * n + j] * (double)((j + (size_t)r) % 7 + 1);
      }
    }
    sign = LuFactor(&lu, perm);
    if (sign != 0) {
      LuSolve(&lu, perm, b, x);
      for (size_t j = 0; j < n; j++) {
        double error = fabs(x[j] - (double)((j + (size_t)r) % 7 + 1));
        if (error > worst) worst = error;
        total += x[j];
      }
    }
    free(lu.at);
  }
  if (sign == 0) {
    Fail(machine, "solve", "matrix is singular");
  } else {
    printf("solve %s: sum %.4f last %.4f %s\n", t->word[1], total, x[n - 1],
           worst < 1e-6 ? "accurate" : "INACCURATE");
  }
  free(perm);
  free(b);
  free(x);
  return sign != 0;
}

static bool CmdCholesky(Machine* machine, const Tokens* t) {
  int64_t reps;
  const IntMatrix* a = SquareOperand(machine, t, 1);
  if (!a) return false;
  if (!ParseInt(t->word[2], 1, kMaxReps, &reps)) return Fail(machine, "chol", "bad repeat");
  double log_det = 0.0, smallest = INFINITY, worst = 0.0;
  for (int64_t r = 0; r < reps; r++) {
    RealMatrix m = ToReal(a);
    size_t n = m.n;
    for (size_t i = 0; i < n; i++) m.at[i * n + i] += (double)r;
    if (!Cholesky(&m)) {
      free(m.at);
      return Fail(machine, "chol", "not positive definite");
    }
    for (size_t i = 0; i < n; i++) {
      double d = m.at[i * n + i];
      log_det += 2.0 * log(d);
      if (d < smallest) smallest = d;
    }
    // Rebuild the last row of the product as a residual check.
    for (size_t j = 0; j < n; j++) {
      double sum = 0.0;
      for (size_t k = 0; k <= j; k++) sum += m.at[(n - 1) * n + k] * m.at[j * n + k];
      double want = (double)a->at[(n - 1) * n + j] + (j == n - 1 ? (double)r : 0.0);
      worst = fmax(worst, fabs(sum - want));
    }
    free(m.at);
  }
  printf("chol %s: mean log det %.4f smallest pivot %.4f %s\n", t->word[1], log_det / (double)reps,
         smallest, worst < 1e-6 ? "accurate" : "INACCURATE");
  return true;
}

static bool CmdPrint(Machine* machine, const Tokens* t) {
  const IntMatrix* a = Operand(machine, t, 1);
  if (!a) return false;
  if (a->rows > 8 || a->cols > 8) return Fail(machine, "print", "too large to print");
  printf("%s =\n", t->word[1]);
  for (size_t i = 0; i < a->rows; i++) {
    for (size_t j = 0; j < a->cols; j++) printf(" %8" PRId64, a->at[i * a->cols + j]);
    printf("\n");
  }
  return true;
}

static const struct {
  const char* name;
  size_t min_tokens, max_tokens;
  bool (*run)(Machine*, const Tokens*);
  const char* usage;
} kCommands[] = {
    {"define", 5, kMaxTokens, CmdDefine, "define X ROWS COLS VALUES..."},
    {"fill", 6, 6, CmdFill, "fill X ROWS COLS SEED RANGE"},
    {"mul", 5, 5, CmdMul, "mul Z X Y REPEAT"},
    {"spd", 3, 3, CmdSpd, "spd Z X"},
    {"pow", 5, 5, CmdPow, "pow Z X EXPONENT MODULUS"},
    {"det", 2, 2, CmdDet, "det X"},
    {"solve", 3, 3, CmdSolve, "solve X REPEAT"},
    {"chol", 3, 3, CmdCholesky, "chol X REPEAT"},
    {"print", 2, 2, CmdPrint, "print X"},
};

static bool Execute(Machine* machine, const Tokens* t) {
  for (size_t i = 0; i < sizeof(kCommands) / sizeof(kCommands[0]); i++) {
    if (strcmp(kCommands[i].name, t->word[0]) != 0) continue;
    if (t->count < kCommands[i].min_tokens || t->count > kCommands[i].max_tokens) {
      return Fail(machine, "usage", kCommands[i].usage);
    }
    return kCommands[i].run(machine, t);
  }
  return Fail(machine, t->word[0], "unknown command");
}

static void Tokenize(char* line, Tokens* t) {
  t->count = 0;
  for (char* p = line; *p;) {
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') *p++ = '\0';
    if (*p == '\0' || *p == '#' || t->count == kMaxTokens) break;
    t->word[t->count++] = p;
    p += strcspn(p, " \t\r\n");
  }
}

int main(void) {
  char line[kLineMax];
  Machine machine;
  int done = 0;
  memset(&machine, 0, sizeof(machine));
  machine.hash = 0xcbf29ce484222325ULL;
  while (fgets(line, sizeof(line), stdin)) {
    Tokens tokens;
    Tokenize(line, &tokens);
    if (tokens.count > 0 && Execute(&machine, &tokens)) done++;
  }
  printf("%d commands done, %d errors, hash %016" PRIx64 "\n", done, machine.errors, machine.hash);
  for (size_t i = 0; i < kSlots; i++) FreeInt(&machine.slot[i]);
  return 0;
}
