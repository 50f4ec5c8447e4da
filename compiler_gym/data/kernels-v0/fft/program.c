// fft: Fourier transforms. Radix-2 complex FFT (iterative and recursive), real
// FFT by packing, windowed power spectra, exact integer convolution by remainders
// modulo a 64-bit prime, and decimal multiplication through the FFT.
// Input, one command per line ('#' comments):
//   tone N REPEAT (BIN AMPLITUDE PHASE)...   noise N SEED REPEAT WINDOW
//   poly LEN COEFFS... LEN COEFFS...         conv LEN LEN SEED REPEAT
//   bigmul DIGITS DIGITS

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxSize = 8192, kWordMax = 1024, kMaxTones = 16, kMaxPoly = 64, kBands = 6 };

static const double kPi = 3.14159265358979323846;

typedef struct {
  double re, im;
} Complex;

// Everything that depends only on the transform size.
typedef struct {
  size_t n;
  int log2n;
  Complex* root;      // root[k] = exp(-2 pi i k / n) for k < n / 2
  uint32_t* reverse;  // bit-reversal permutation
} Plan;

typedef struct {
  bool line_ended;  // the newline that ends the current command was consumed
  bool at_eof;
  char word[kWordMax + 1];
} Scanner;

// ---------------------------------------------------------------------------
// Utilities.

static void* Allocate(size_t count, size_t size) {
  void* p = calloc(count ? count : 1, size);
  if (p == NULL) {
    printf("out of memory\n");
    exit(0);
  }
  return p;
}

static uint32_t NextLcg(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static uint64_t HashStep(uint64_t h, uint64_t v) {
  h = (h + v) * 0x9e3779b97f4a7c15ULL;
  return h ^ (h >> 32);
}

static bool IsPowerOfTwo(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

static int Log2Floor(size_t n) {
  int log = 0;
  while (n > 1) {
    n >>= 1;
    log++;
  }
  return log;
}

static size_t RoundUpToPowerOfTwo(size_t n) {
  size_t p = 1;
  while (p < n) p <<= 1;
  return p;
}

static uint32_t ReverseBits(uint32_t v, int bits) {
  uint32_t r = 0;
  for (int i = 0; i < bits; i++) {
    r = (r << 1) | (v & 1u);
    v >>= 1;
  }
  return r;
}

static Complex CAdd(Complex a, Complex b) { return (Complex){a.re + b.re, a.im + b.im}; }

static Complex CSub(Complex a, Complex b) { return (Complex){a.re - b.re, a.im - b.im}; }

static Complex CMul(Complex a, Complex b) {
  return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static Complex CScale(Complex a, double s) { return (Complex){a.re * s, a.im * s}; }

static Complex Conjugate(Complex a) { return (Complex){a.re, -a.im}; }

static double NormSquared(Complex a) { return a.re * a.re + a.im * a.im; }

// ---------------------------------------------------------------------------
// Complex and real transforms.

static Plan MakePlan(size_t n) {
  Plan plan = {n, Log2Floor(n), NULL, NULL};
  plan.root = Allocate(n / 2 + 1, sizeof(Complex));
  plan.reverse = Allocate(n, sizeof(uint32_t));
  for (size_t k = 0; k < n / 2; k++) {
    double angle = -2.0 * kPi * (double)k / (double)n;
    plan.root[k] = (Complex){cos(angle), sin(angle)};
  }
  for (size_t i = 0; i < n; i++) plan.reverse[i] = ReverseBits((uint32_t)i, plan.log2n);
  return plan;
}

static void FreePlan(Plan* plan) {
  free(plan->root);
  free(plan->reverse);
}

static void FftIterative(const Plan* plan, Complex* x) {
  for (size_t i = 0; i < plan->n; i++) {
    size_t j = plan->reverse[i];
    if (i < j) {
      Complex t = x[i];
      x[i] = x[j];
      x[j] = t;
    }
  }
  for (size_t half = 1; half < plan->n; half *= 2) {
    size_t stride = plan->n / (2 * half);
    for (size_t base = 0; base < plan->n; base += 2 * half) {
      for (size_t k = 0; k < half; k++) {
        Complex odd = CMul(x[base + half + k], plan->root[k * stride]);
        Complex even = x[base + k];
        x[base + k] = CAdd(even, odd);
        x[base + half + k] = CSub(even, odd);
      }
    }
  }
}

// Decimation in time over a strided input; out[] needs no initial contents.
static void FftRecursive(const Plan* plan, const Complex* in, Complex* out, size_t n,
                         size_t stride) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  size_t half = n / 2;
  FftRecursive(plan, in, out, half, 2 * stride);
  FftRecursive(plan, in + stride, out + half, half, 2 * stride);
  for (size_t k = 0; k < half; k++) {
    Complex odd = CMul(out[half + k], plan->root[k * stride]);
    Complex even = out[k];
    out[k] = CAdd(even, odd);
    out[half + k] = CSub(even, odd);
  }
}

static void FftInverse(const Plan* plan, Complex* x) {
  for (size_t i = 0; i < plan->n; i++) x[i] = Conjugate(x[i]);
  FftIterative(plan, x);
  for (size_t i = 0; i < plan->n; i++) {
    x[i] = CScale(Conjugate(x[i]), 1.0 / (double)plan->n);
  }
}

// Spectrum bins 0..n/2 of n real samples through one transform of half size.
// `full` supplies the roots of order n, `half` does the transform.
static void FftReal(const Plan* full, const Plan* half, const double* x, Complex* out) {
  size_t h = half->n;
  for (size_t i = 0; i < h; i++) out[i] = (Complex){x[2 * i], x[2 * i + 1]};
  FftIterative(half, out);
  Complex first = out[0];
  out[0] = (Complex){first.re + first.im, 0.0};
  out[h] = (Complex){first.re - first.im, 0.0};
  for (size_t k = 1; k <= h / 2; k++) {
    Complex a = out[k], b = Conjugate(out[h - k]);
    Complex even = CScale(CAdd(a, b), 0.5);
    Complex diff = CScale(CSub(a, b), 0.5);
    Complex odd = {diff.im, -diff.re};  // diff / i
    Complex turned = CMul(odd, full->root[k]);
    out[k] = CAdd(even, turned);
    out[h - k] = Conjugate(CSub(even, turned));
  }
}

static double MaxDistance(const Complex* a, const Complex* b, size_t n) {
  double worst = 0.0;
  for (size_t i = 0; i < n; i++) worst = fmax(worst, NormSquared(CSub(a[i], b[i])));
  return sqrt(worst);
}

// ---------------------------------------------------------------------------
// Windows, chosen by name. Each maps a position in [0, 1) to a weight.

typedef double (*WindowFn)(double);

static double WindowRect(double t) {
  (void)t;
  return 1.0;
}

static double WindowHann(double t) { return 0.5 - 0.5 * cos(2.0 * kPi * t); }

static double WindowTriangle(double t) { return 1.0 - fabs(2.0 * t - 1.0); }

static double WindowBlackman(double t) {
  return 0.42 - 0.5 * cos(2.0 * kPi * t) + 0.08 * cos(4.0 * kPi * t);
}

static const struct {
  const char* name;
  WindowFn fn;
} kWindows[] = {{"rect", WindowRect},
                {"hann", WindowHann},
                {"triangle", WindowTriangle},
                {"blackman", WindowBlackman}};

static WindowFn FindWindow(const char* name) {
  for (size_t i = 0; i < sizeof(kWindows) / sizeof(kWindows[0]); i++) {
    if (strcmp(kWindows[i].name, name) == 0) return kWindows[i].fn;
  }
  return NULL;
}

// ---------------------------------------------------------------------------
// Exact convolution, modulo the prime P = 2^64 - 2^32 + 1. As 2^64 = 2^32 - 1
// and 2^96 = -1 there, a product is reduced without a division. All arguments
// and results are below P.

static const uint64_t kPrime = 0xffffffff00000001u;
static const uint64_t kGenerator = 7;
static const uint64_t kLow32 = 0xffffffffu;

static uint64_t SubP(uint64_t a, uint64_t b) { return a >= b ? a - b : a + (kPrime - b); }

static uint64_t AddP(uint64_t a, uint64_t b) { return b == 0 ? a : SubP(a, kPrime - b); }

static uint64_t MulP(uint64_t a, uint64_t b) {
  uint64_t a0 = a & kLow32, a1 = a >> 32, b0 = b & kLow32, b1 = b >> 32;
  uint64_t first = a0 * b0;
  uint64_t second = a1 * b0 + (first >> 32);
  uint64_t third = a0 * b1 + (second & kLow32);
  uint64_t high = a1 * b1 + (second >> 32) + (third >> 32);
  uint64_t low = third << 32 | (first & kLow32);
  if (low >= kPrime) low -= kPrime;
  return AddP(SubP(low, high >> 32), (high & kLow32) * kLow32);
}

static uint64_t PowP(uint64_t base, uint64_t exponent) {
  if (exponent == 0) return 1;
  uint64_t root = PowP(base, exponent / 2), square = MulP(root, root);
  return exponent % 2 == 0 ? square : MulP(square, base);
}

// What n coefficients need to be taken apart into n remainders and back. A
// polynomial modulo x^2h - r^2 falls apart into those modulo x^h - r and
// x^h + r; from x^n - 1 down to single numbers. Piece j of 2^k pieces has the
// same r for every k: root[1] is the square root of -1, and every power of two
// adds a root of double order.
typedef struct {
  size_t n;
  uint64_t* root;
  uint64_t* inverse;
} Divider;

static void FillRoots(uint64_t* root, size_t count, uint64_t generator) {
  root[0] = 1;
  for (size_t known = 1; known < count; known *= 2) {
    uint64_t next = PowP(generator, (kPrime - 1) / (4 * known));
    for (size_t j = 0; j < known; j++) root[known + j] = MulP(root[j], next);
  }
}

static Divider MakeDivider(size_t n) {
  size_t count = n / 2 + 1;  // One, if there is nothing to take apart.
  Divider d = {n, Allocate(count, sizeof(uint64_t)), Allocate(count, sizeof(uint64_t))};
  FillRoots(d.root, n / 2, kGenerator);
  FillRoots(d.inverse, n / 2, PowP(kGenerator, kPrime - 2));
  return d;
}

static void FreeDivider(Divider* d) {
  free(d->root);
  free(d->inverse);
}

static void TakeApart(const Divider* d, uint64_t* x) {
  for (size_t pieces = 1; pieces < d->n; pieces *= 2) {
    size_t h = d->n / pieces / 2;
    for (size_t j = 0; j < pieces; j++) {
      uint64_t *low = x + 2 * j * h, *high = low + h;
      for (size_t k = 0; k < h; k++) {
        uint64_t whole = low[k], part = MulP(high[k], d->root[j]);
        low[k] = AddP(whole, part);
        high[k] = SubP(whole, part);
      }
    }
  }
}

// Also multiplies by n.
static void PutTogether(const Divider* d, uint64_t* x) {
  for (size_t h = 1; h < d->n; h *= 2) {
    for (size_t j = 0; j < d->n / h / 2; j++) {
      uint64_t *low = x + 2 * j * h, *high = low + h;
      for (size_t k = 0; k < h; k++) {
        uint64_t plus = low[k], minus = high[k];
        low[k] = AddP(plus, minus);
        high[k] = MulP(SubP(plus, minus), d->inverse[j]);
      }
    }
  }
}

// Product of polynomials with coefficients below P; exact if those of the
// product are, too.
static void ConvolveExact(const uint64_t* a, size_t na, const uint64_t* b, size_t nb,
                          uint64_t* out) {
  Divider d = MakeDivider(RoundUpToPowerOfTwo(na + nb - 1));
  uint64_t *x = Allocate(d.n, sizeof(uint64_t)), *y = Allocate(d.n, sizeof(uint64_t));
  memcpy(x, a, na * sizeof(uint64_t));
  memcpy(y, b, nb * sizeof(uint64_t));
  TakeApart(&d, x);
  TakeApart(&d, y);
  for (size_t i = 0; i < d.n; i++) x[i] = MulP(x[i], y[i]);
  PutTogether(&d, x);
  uint64_t nth = kPrime - (kPrime - 1) / d.n;  // Times n it is 1 more than n - 1 times P.
  for (size_t i = 0; i < na + nb - 1; i++) out[i] = MulP(x[i], nth);
  free(x);
  free(y);
  FreeDivider(&d);
}

static void ConvolveNaive(const uint64_t* a, size_t na, const uint64_t* b, size_t nb,
                          uint64_t* out) {
  memset(out, 0, (na + nb - 1) * sizeof(uint64_t));
  for (size_t i = 0; i < na; i++) {
    for (size_t j = 0; j < nb; j++) out[i + j] += a[i] * b[j];
  }
}

static uint64_t EvaluateMod(const uint64_t* c, size_t n, uint64_t at, uint64_t p) {
  uint64_t value = 0;
  for (size_t i = n; i-- > 0;) value = (value * at + c[i] % p) % p;
  return value;
}

// ---------------------------------------------------------------------------
// Input.

// Reads the next word of the current line; false at the end of the line.
static bool NextWord(Scanner* s) {
  size_t length = 0;
  int c;
  if (s->line_ended) return false;
  do c = getchar();
  while (c == ' ' || c == '\t' || c == '\r');
  while (c != EOF && c != '\n' && c != ' ' && c != '\t' && c != '\r' && c != '#') {
    if (length < kWordMax) s->word[length++] = (char)c;
    c = getchar();
  }
  s->word[length] = '\0';
  if (c == '#') {
    do c = getchar();
    while (c != EOF && c != '\n');
  }
  if (c == '\n' || c == EOF) s->line_ended = true;
  if (c == EOF) s->at_eof = true;
  return length > 0;
}

static bool ParseNumber(const char* word, long low, long high, long* value) {
  char* end;
  // Ten digits at most, so that strtol can never overflow.
  if (strlen(word) > 10) return false;
  *value = strtol(word, &end, 10);
  return end != word && *end == '\0' && *value >= low && *value <= high;
}

static bool NextNumber(Scanner* s, long low, long high, long* value) {
  return NextWord(s) && ParseNumber(s->word, low, high, value);
}

static bool NextSize(Scanner* s, size_t low, size_t high, size_t* value) {
  long v;
  if (!NextNumber(s, (long)low, (long)high, &v)) return false;
  *value = (size_t)v;
  return true;
}

static void SkipLine(Scanner* s) {
  while (NextWord(s)) continue;
}

// ---------------------------------------------------------------------------
// Commands. Each returns NULL on success or an error message.

static double WithoutNegativeZero(double v, double resolution) {
  return fabs(v) < resolution ? 0.0 : v;
}

static const char* CmdTone(Scanner* s, uint64_t* hash) {
  struct {
    long bin, amplitude, phase;
  } tone[kMaxTones];
  size_t n, repeat, tones = 0;
  if (!NextSize(s, 2, kMaxSize, &n) || !IsPowerOfTwo(n)) return "bad transform size";
  if (!NextSize(s, 1, 10000, &repeat)) return "bad repeat count";
  while (NextWord(s)) {
    if (tones == kMaxTones) return "too many tones";
    if (!ParseNumber(s->word, 0, (long)(n / 2), &tone[tones].bin)) return "bad bin";
    if (!NextNumber(s, 1, 1000, &tone[tones].amplitude)) return "bad amplitude";
    if (!NextNumber(s, 0, 7, &tone[tones].phase)) return "bad phase";
    tones++;
  }

  Plan plan = MakePlan(n);
  Complex* signal = Allocate(n, sizeof(Complex));
  Complex* spectrum = Allocate(n, sizeof(Complex));
  Complex* other = Allocate(n, sizeof(Complex));
  double worst = 0.0;
  for (size_t i = 0; i < tones; i++) {
    double offset = (double)tone[i].phase * kPi / 4.0;
    for (size_t t = 0; t < n; t++) {
      // Reduce before multiplying so that the angle stays accurate.
      double turn = (double)((size_t)tone[i].bin * t % n) / (double)n;
      signal[t].re += (double)tone[i].amplitude * cos(2.0 * kPi * turn + offset);
    }
  }
  for (size_t r = 0; r < repeat; r++) {
    memcpy(spectrum, signal, n * sizeof(Complex));
    FftIterative(&plan, spectrum);
    FftRecursive(&plan, signal, other, n, 1);
    worst = fmax(worst, MaxDistance(spectrum, other, n));
    FftInverse(&plan, other);
    worst = fmax(worst, MaxDistance(signal, other, n));
  }
  printf("tone %zu: %s\n", n, worst < 1e-7 ? "transforms agree" : "MISMATCH");
  size_t shown = 0;
  for (size_t k = 0; k <= n / 2; k++) {
    double fold = k == 0 || k == n / 2 ? 1.0 : 2.0;
    double amplitude = fold * sqrt(NormSquared(spectrum[k])) / (double)n;
    if (amplitude < 1e-6) continue;
    double degrees = atan2(spectrum[k].im, spectrum[k].re) * 180.0 / kPi;
    if (degrees < -179.99) degrees += 360.0;
    printf("  bin %zu amplitude %.4f phase %.2f\n", k, amplitude,
           WithoutNegativeZero(degrees, 1e-3));
    *hash = HashStep(*hash, k);
    shown++;
  }
  if (shown == 0) printf("  silence\n");
  FreePlan(&plan);
  free(signal);
  free(spectrum);
  free(other);
  return NULL;
}

// Averaged, windowed power spectrum of pseudo-random noise with one hidden
// square wave; the energy is reported per octave band.
static const char* CmdNoise(Scanner* s, uint64_t* hash) {
  size_t n, seed, repeat;
  if (!NextSize(s, 8, kMaxSize, &n) || !IsPowerOfTwo(n)) return "bad transform size";
  if (!NextSize(s, 0, UINT32_MAX >> 1, &seed)) return "bad seed";
  if (!NextSize(s, 1, 10000, &repeat)) return "bad repeat count";
  if (!NextWord(s)) return "missing window";
  WindowFn window = FindWindow(s->word);
  if (window == NULL) return "unknown window";

  Plan full = MakePlan(n), half = MakePlan(n / 2);
  double *weight = Allocate(n, sizeof(double)), *x = Allocate(n, sizeof(double));
  double* power = Allocate(n / 2 + 1, sizeof(double));
  Complex* bins = Allocate(n / 2 + 1, sizeof(Complex));
  uint32_t state = (uint32_t)seed;
  double parseval = 0.0;
  for (size_t i = 0; i < n; i++) weight[i] = window((double)i / (double)n);
  for (size_t r = 0; r < repeat; r++) {
    double energy = 0.0, total = 0.0;
    for (size_t i = 0; i < n; i++) {
      double noise = (double)(NextLcg(&state) & 0xffffu) / 32768.0 - 1.0;
      double square = (i / (n / 8)) & 1u ? -0.75 : 0.75;
      x[i] = (noise + square) * weight[i];
      energy += x[i] * x[i];
    }
    FftReal(&full, &half, x, bins);
    for (size_t k = 0; k <= n / 2; k++) {
      double p = NormSquared(bins[k]) * (k == 0 || k == n / 2 ? 1.0 : 2.0);
      power[k] += p;
      total += p;
    }
    parseval = fmax(parseval, fabs(total / (double)n - energy));
  }
  size_t peak = 0;
  double total = 0.0, band[kBands] = {0.0};
  for (size_t k = 0; k <= n / 2; k++) {
    int octave = k == 0 ? 0 : Log2Floor(k) - (full.log2n - kBands);
    if (octave < 0) octave = 0;
    if (octave >= kBands) octave = kBands - 1;
    band[octave] += power[k];
    total += power[k];
    if (power[k] > power[peak]) peak = k;
  }
  printf("noise %zu %s: peak bin %zu, bands", n, s->word, peak);
  for (int i = 0; i < kBands; i++) printf(" %.4f", band[i] / total);
  printf(", %s\n", parseval < 1e-6 ? "energy preserved" : "ENERGY LOST");
  *hash = HashStep(*hash, state ^ (uint64_t)peak << 32);
  FreePlan(&full);
  FreePlan(&half);
  free(weight);
  free(x);
  free(power);
  free(bins);
  return NULL;
}

static bool ReadPoly(Scanner* s, uint64_t* coeff, size_t* length) {
  if (!NextSize(s, 1, kMaxPoly, length)) return false;
  for (size_t i = 0; i < *length; i++) {
    long v;
    if (!NextNumber(s, 0, 99999999, &v)) return false;
    coeff[i] = (uint64_t)v;
  }
  return true;
}

static const char* CmdPoly(Scanner* s, uint64_t* hash) {
  uint64_t a[kMaxPoly], b[kMaxPoly], exact[2 * kMaxPoly], naive[2 * kMaxPoly];
  size_t na, nb;
  if (!ReadPoly(s, a, &na) || !ReadPoly(s, b, &nb)) return "bad polynomial";
  ConvolveExact(a, na, b, nb, exact);
  ConvolveNaive(a, na, b, nb, naive);
  bool same = memcmp(exact, naive, (na + nb - 1) * sizeof(uint64_t)) == 0;
  printf("poly %s:", same ? "ok" : "MISMATCH");
  for (size_t i = 0; i < na + nb - 1; i++) {
    printf(" %" PRIu64, exact[i]);
    *hash = HashStep(*hash, exact[i]);
  }
  printf("\n");
  return NULL;
}

static const char* CmdConv(Scanner* s, uint64_t* hash) {
  size_t na, nb, seed, repeat;
  if (!NextSize(s, 1, kMaxSize / 2, &na) || !NextSize(s, 1, kMaxSize / 2, &nb)) {
    return "bad length";
  }
  if (!NextSize(s, 0, UINT32_MAX >> 1, &seed)) return "bad seed";
  if (!NextSize(s, 1, 10000, &repeat)) return "bad repeat count";
  uint64_t *a = Allocate(na, sizeof(uint64_t)), *b = Allocate(nb, sizeof(uint64_t));
  uint64_t* c = Allocate(na + nb, sizeof(uint64_t));
  uint32_t state = (uint32_t)seed;
  uint64_t largest = 0, sum = 0;
  bool ok = true;
  for (size_t r = 0; r < repeat; r++) {
    for (size_t i = 0; i < na; i++) a[i] = NextLcg(&state) % 1000000u;
    for (size_t i = 0; i < nb; i++) b[i] = NextLcg(&state) % 1000000u;
    ConvolveExact(a, na, b, nb, c);
    // Compare values at one point instead of redoing the product naively.
    uint64_t at = NextLcg(&state), p = 1000000007;
    uint64_t left = EvaluateMod(a, na, at, p) * EvaluateMod(b, nb, at, p) % p;
    if (left != EvaluateMod(c, na + nb - 1, at, p)) ok = false;
    for (size_t i = 0; i < na + nb - 1; i++) {
      if (c[i] > largest) largest = c[i];
      sum ^= c[i];
      *hash = HashStep(*hash, c[i]);
    }
  }
  printf("conv %zu x %zu: largest %" PRIu64 " xor %" PRIu64 " %s\n", na, nb, largest, sum,
         ok ? "ok" : "MISMATCH");
  free(a);
  free(b);
  free(c);
  return NULL;
}

// Splits decimal digits into groups of four, least significant first, stored
// in the real (slot 0) or imaginary (slot 1) parts of x.
static void LoadDigits(const char* digits, Complex* x, int slot) {
  size_t length = strlen(digits), group = 0;
  for (size_t end = length; end > 0; group++) {
    size_t start = end > 4 ? end - 4 : 0;
    double value = 0.0;
    for (size_t i = start; i < end; i++) value = value * 10.0 + (double)(digits[i] - '0');
    if (slot == 0) {
      x[group].re = value;
    } else {
      x[group].im = value;
    }
    end = start;
  }
}

// One transform squares a + i b; the imaginary part of the square is 2 a b.
static const char* CmdBigmul(Scanner* s, uint64_t* hash) {
  char left[kWordMax + 1];
  if (!NextWord(s) || strspn(s->word, "0123456789") != strlen(s->word)) return "bad number";
  memcpy(left, s->word, sizeof(left));
  if (!NextWord(s) || strspn(s->word, "0123456789") != strlen(s->word)) return "bad number";
  size_t n = RoundUpToPowerOfTwo((strlen(left) + strlen(s->word)) / 4 + 3);
  Plan plan = MakePlan(n);
  Complex* x = Allocate(n, sizeof(Complex));
  LoadDigits(left, x, 0);
  LoadDigits(s->word, x, 1);
  FftIterative(&plan, x);
  for (size_t i = 0; i < n; i++) x[i] = CMul(x[i], x[i]);
  FftInverse(&plan, x);
  uint32_t* group = Allocate(n, sizeof(uint32_t));
  uint64_t carry = 0;
  for (size_t i = 0; i < n; i++) {
    carry += (uint64_t)floor(fmax(x[i].im, 0.0) * 0.5 + 0.5);
    group[i] = (uint32_t)(carry % 10000);
    carry /= 10000;
    *hash = HashStep(*hash, group[i]);
  }
  size_t top = n - 1;
  while (top > 0 && group[top] == 0) top--;
  printf("bigmul %" PRIu32, group[top]);
  while (top-- > 0) printf("%04" PRIu32, group[top]);
  printf("\n");
  free(group);
  free(x);
  FreePlan(&plan);
  return NULL;
}

static const char* Dispatch(Scanner* s, uint64_t* hash) {
  if (strcmp(s->word, "tone") == 0) return CmdTone(s, hash);
  if (strcmp(s->word, "noise") == 0) return CmdNoise(s, hash);
  if (strcmp(s->word, "poly") == 0) return CmdPoly(s, hash);
  if (strcmp(s->word, "conv") == 0) return CmdConv(s, hash);
  if (strcmp(s->word, "bigmul") == 0) return CmdBigmul(s, hash);
  return "unknown command";
}

int main(void) {
  Scanner scanner = {false, false, ""};
  uint64_t hash = 1;
  int commands = 0, errors = 0;
  while (!scanner.at_eof) {
    scanner.line_ended = false;
    if (NextWord(&scanner)) {
      const char* problem = Dispatch(&scanner, &hash);
      commands++;
      if (problem != NULL) {
        printf("error in command %d: %s\n", commands, problem);
        errors++;
      }
    }
    SkipLine(&scanner);
  }
  printf("commands %d errors %d hash %016" PRIx64 "\n", commands, errors, hash);
  return 0;
}
