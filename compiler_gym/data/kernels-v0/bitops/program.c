// Bit tricks: counting, reversing, scanning, Gray and Morton codes, subsets, bit sets and
// matrices. Reads one command per line from stdin: a name (see the table of commands at the
// end) followed by numbers, decimal or 0x hexadecimal; several methods for one task are checked
// against each other.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxLine = 512,
  kMaxNumbers = 8,
  kMaxWords = 4096,
  kMaxSieve = 4000000,
  kMaxQueens = 12,
  kMaxDeBruijn = 14,
};

#define DE_BRUIJN_64 0x03f79d71b4cb0a89u

typedef struct {
  uint8_t popcount[256];
  uint8_t reversed[256];
  uint8_t index64[64];  // Position of the lowest bit, by its de Bruijn hash.
} Tables;

typedef struct {
  const Tables* tables;
  uint64_t numbers[kMaxNumbers];
  int count;
  unsigned commands;
  unsigned errors;
  unsigned differences;
  uint64_t sum;
} Session;

static uint64_t next_random(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void fill_random(uint64_t* words, size_t n, uint64_t seed) {
  // Every fourth word is sparse and every eighth dense, so that all methods see both.
  for (size_t i = 0; i < n; i++) {
    uint64_t word = next_random(&seed);
    if (i % 4 == 1) word &= next_random(&seed) & next_random(&seed);
    if (i % 8 == 3) word |= next_random(&seed) | next_random(&seed);
    words[i] = word;
  }
}

// ---- Counting ones ----

static unsigned popcount_loop(const Tables* tables, uint64_t x) {
  (void)tables;
  unsigned n = 0;
  for (; x != 0; x >>= 1) n += (unsigned)(x & 1u);
  return n;
}

static unsigned popcount_clear(const Tables* tables, uint64_t x) {
  (void)tables;
  unsigned n = 0;
  for (; x != 0; x &= x - 1) n++;
  return n;
}

static unsigned popcount_parallel(const Tables* tables, uint64_t x) {
  (void)tables;
  x = x - ((x >> 1) & 0x5555555555555555u);
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (unsigned)((x * 0x0101010101010101u) >> 56);
}

static unsigned popcount_table(const Tables* tables, uint64_t x) {
  unsigned n = 0;
  for (int i = 0; i < 8; i++) n += tables->popcount[(x >> (8 * i)) & 0xffu];
  return n;
}

static const struct {
  const char* name;
  unsigned (*count)(const Tables* tables, uint64_t x);
} kPopcounts[] = {
    {"loop", popcount_loop},
    {"clear", popcount_clear},
    {"parallel", popcount_parallel},
    {"table", popcount_table},
};

enum { kPopcountCount = sizeof kPopcounts / sizeof kPopcounts[0] };

static unsigned popcount(uint64_t x) { return popcount_parallel(NULL, x); }

// Adds three words bit by bit; `*high` gets the carries.
static uint64_t full_add(uint64_t* high, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t u = a ^ b;
  *high = (a & b) | (u & c);
  return u ^ c;
}

// Counts the ones of eight words at a time with bitwise adders.
static uint64_t popcount_array(const uint64_t* words, size_t n) {
  uint64_t total = 0, ones = 0, twos = 0, fours = 0;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t two_a, two_b, four_a, four_b, eights;
    ones = full_add(&two_a, ones, words[i], words[i + 1]);
    ones = full_add(&two_b, ones, words[i + 2], words[i + 3]);
    twos = full_add(&four_a, twos, two_a, two_b);
    ones = full_add(&two_a, ones, words[i + 4], words[i + 5]);
    ones = full_add(&two_b, ones, words[i + 6], words[i + 7]);
    twos = full_add(&four_b, twos, two_a, two_b);
    fours = full_add(&eights, fours, four_a, four_b);
    total += 8u * popcount(eights);
  }
  total += 4u * popcount(fours) + 2u * popcount(twos) + popcount(ones);
  for (; i < n; i++) total += popcount(words[i]);
  return total;
}

static unsigned parity(uint64_t x) {
  for (int shift = 32; shift >= 1; shift /= 2) x ^= x >> shift;
  return (unsigned)(x & 1u);
}

// ---- Reversing ----

static uint64_t reverse_loop(const Tables* tables, uint64_t x) {
  (void)tables;
  uint64_t r = 0;
  for (int i = 0; i < 64; i++) {
    r = (r << 1) | (x & 1u);
    x >>= 1;
  }
  return r;
}

static uint64_t swap_fields(uint64_t x, uint64_t mask, unsigned shift) {
  return ((x >> shift) & mask) | ((x & mask) << shift);
}

static uint64_t reverse_swaps(const Tables* tables, uint64_t x) {
  (void)tables;
  x = swap_fields(x, 0x5555555555555555u, 1);
  x = swap_fields(x, 0x3333333333333333u, 2);
  x = swap_fields(x, 0x0f0f0f0f0f0f0f0fu, 4);
  x = swap_fields(x, 0x00ff00ff00ff00ffu, 8);
  x = swap_fields(x, 0x0000ffff0000ffffu, 16);
  return (x >> 32) | (x << 32);
}

static uint64_t reverse_table(const Tables* tables, uint64_t x) {
  uint64_t r = 0;
  for (int i = 0; i < 64; i += 8) r |= (uint64_t)tables->reversed[(x >> i) & 0xffu] << (56 - i);
  return r;
}

// ---- Scanning ----

static int lowest_de_bruijn(const Tables* tables, uint64_t x) {
  if (x == 0) return -1;
  return tables->index64[((x & (0u - x)) * DE_BRUIJN_64) >> 58];
}

static int lowest_halving(const Tables* tables, uint64_t x) {
  (void)tables;
  if (x == 0) return -1;
  int n = 0;
  for (int width = 32; width > 0; width /= 2) {
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    if ((x & mask) == 0) {
      x >>= width;
      n += width;
    }
  }
  return n;
}

static int highest_smear(const Tables* tables, uint64_t x) {
  if (x == 0) return -1;
  for (int shift = 1; shift < 64; shift *= 2) x |= x >> shift;
  return lowest_de_bruijn(tables, x ^ (x >> 1));
}

static int highest_halving(const Tables* tables, uint64_t x) {
  (void)tables;
  if (x == 0) return -1;
  int n = 0;
  for (int width = 32; width > 0; width /= 2) {
    if ((x >> width) == 0) continue;
    x >>= width;
    n += width;
  }
  return n;
}

static bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

static uint32_t square_root(uint64_t x) {
  uint64_t root = 0, bit = (uint64_t)1 << 62;
  while (bit > x) bit >>= 2;
  for (; bit != 0; bit >>= 2) {
    if (x >= root + bit) {
      x -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return (uint32_t)root;
}

static void build_tables(Tables* t) {
  for (unsigned i = 0; i < 256; i++) {
    t->popcount[i] = (uint8_t)(t->popcount[i / 2] + (i & 1u));
    t->reversed[i] = (uint8_t)(t->reversed[i / 2] / 2 + (i & 1u) * 128u);
  }
  for (unsigned i = 0; i < 64; i++) {
    t->index64[(((uint64_t)1 << i) * DE_BRUIJN_64) >> 58] = (uint8_t)i;
  }
}

// ---- Codes ----

static uint64_t to_gray(uint64_t x) { return x ^ (x >> 1); }

static uint64_t from_gray(uint64_t x) {
  for (unsigned shift = 1; shift < 64; shift *= 2) x ^= x >> shift;
  return x;
}

// Puts a zero before every bit.
static uint64_t spread2(uint32_t x) {
  uint64_t v = x;
  v = (v | (v << 16)) & 0x0000ffff0000ffffu;
  v = (v | (v << 8)) & 0x00ff00ff00ff00ffu;
  v = (v | (v << 4)) & 0x0f0f0f0f0f0f0f0fu;
  v = (v | (v << 2)) & 0x3333333333333333u;
  return (v | (v << 1)) & 0x5555555555555555u;
}

static uint32_t gather2(uint64_t v) {
  v &= 0x5555555555555555u;
  v = (v | (v >> 1)) & 0x3333333333333333u;
  v = (v | (v >> 2)) & 0x0f0f0f0f0f0f0f0fu;
  v = (v | (v >> 4)) & 0x00ff00ff00ff00ffu;
  v = (v | (v >> 8)) & 0x0000ffff0000ffffu;
  return (uint32_t)((v | (v >> 16)) & 0xffffffffu);
}

static uint64_t morton2(uint32_t x, uint32_t y) { return spread2(x) | (spread2(y) << 1); }

static uint64_t morton3(uint32_t x, uint32_t y, uint32_t z) {
  uint64_t code = 0;
  for (unsigned i = 0; i < 21; i++) {
    const uint64_t group = ((x >> i) & 1u) | ((y >> i) & 1u) << 1 | ((z >> i) & 1u) << 2;
    code |= group << (3 * i);
  }
  return code;
}

// Moves the bits selected by `mask` to the low end.
static uint64_t extract_bits(uint64_t x, uint64_t mask) {
  uint64_t result = 0;
  for (unsigned at = 0; mask != 0; at++, mask &= mask - 1) {
    if ((x & mask & (0u - mask)) != 0) result |= (uint64_t)1 << at;
  }
  return result;
}

// The other way round.
static uint64_t deposit_bits(uint64_t x, uint64_t mask) {
  uint64_t result = 0;
  for (; mask != 0; mask &= mask - 1, x >>= 1) {
    if ((x & 1u) != 0) result |= mask & (0u - mask);
  }
  return result;
}

// The next larger number with as many ones; 0 after the last.
static uint64_t next_subset(uint64_t x) {
  const uint64_t low = x & (0u - x);
  const uint64_t ripple = x + low;
  if (low == 0 || ripple == 0) return 0;
  uint64_t ones = x ^ ripple;
  ones = (ones >> 2) / low;
  return ripple | ones;
}

// ---- Bit sets ----

typedef struct {
  uint64_t* words;
  size_t bits;
} BitSet;

static size_t words_for(size_t bits) { return (bits + 63) / 64; }

static bool set_create(BitSet* set, size_t bits) {
  set->bits = bits;
  set->words = calloc(words_for(bits) + 1, sizeof *set->words);
  return set->words != NULL;
}

static void set_destroy(BitSet* set) {
  free(set->words);
  set->words = NULL;
}

static void set_insert(BitSet* set, size_t i) { set->words[i / 64] |= (uint64_t)1 << (i % 64); }

static void set_remove(BitSet* set, size_t i) { set->words[i / 64] &= ~((uint64_t)1 << (i % 64)); }

static bool set_has(const BitSet* set, size_t i) {
  return (set->words[i / 64] >> (i % 64) & 1u) != 0;
}

static uint64_t set_size(const BitSet* set) {
  return popcount_array(set->words, words_for(set->bits));
}

// Makes all of [low, high) members, whole words at a time.
static void set_insert_range(BitSet* set, size_t low, size_t high) {
  while (low < high && low % 64 != 0) set_insert(set, low++);
  for (; high - low >= 64; low += 64) set->words[low / 64] = UINT64_MAX;
  while (low < high) set_insert(set, low++);
}

// The first member at or behind `from`; set->bits if there is none.
static size_t set_next(const BitSet* set, const Tables* tables, size_t from) {
  if (from >= set->bits) return set->bits;
  size_t w = from / 64;
  uint64_t word = set->words[w] & (UINT64_MAX << (from % 64));
  while (word == 0) {
    if (++w >= words_for(set->bits)) return set->bits;
    word = set->words[w];
  }
  return 64 * w + (size_t)lowest_de_bruijn(tables, word);
}

// Members below `i`.
static size_t set_rank(const BitSet* set, size_t i) {
  size_t rank = 0;
  for (size_t w = 0; w < i / 64; w++) rank += popcount(set->words[w]);
  if (i % 64 != 0) rank += popcount(set->words[i / 64] & (((uint64_t)1 << (i % 64)) - 1));
  return rank;
}

// Member number k, counted from 0; set->bits if there are not so many.
static size_t set_select(const BitSet* set, size_t k) {
  for (size_t w = 0; w < words_for(set->bits); w++) {
    uint64_t word = set->words[w];
    const unsigned here = popcount(word);
    if (k >= here) {
      k -= here;
      continue;
    }
    for (; k > 0; k--) word &= word - 1;
    return 64 * w + popcount((word & (0u - word)) - 1);
  }
  return set->bits;
}

// ---- Commands. Each finds its numbers checked against the limits in the table below. ----

static void expect(Session* s, bool condition, const char* what) {
  if (condition) return;
  printf("  DIFFERENT: %s\n", what);
  s->differences++;
}

static uint64_t mix(uint64_t sum, uint64_t value) { return (sum ^ value) * 0x100000001b3u; }

static void describe(Session* s) {
  const Tables* t = s->tables;
  const uint64_t x = s->numbers[0];
  printf("describe %016" PRIx64 ": ones %u, parity %u, lowest %d, highest %d, reversed %016" PRIx64
         ", gray %016" PRIx64 ", root %" PRIu32 "%s\n",
         x, popcount(x), parity(x), lowest_de_bruijn(t, x), highest_smear(t, x),
         reverse_swaps(t, x), to_gray(x), square_root(x),
         is_power_of_two(x) ? ", power of two" : "");
  expect(s, from_gray(to_gray(x)) == x, "gray");
  expect(s, lowest_halving(t, x) == lowest_de_bruijn(t, x), "lowest");
  expect(s, highest_halving(t, x) == highest_smear(t, x), "highest");
  expect(s, reverse_loop(t, x) == reverse_table(t, x), "reverse");
  s->sum = mix(s->sum, reverse_table(t, x));
}

static const char* run_describe(Session* s) {
  describe(s);
  return NULL;
}

// count SEED WORDS REPEAT
static const char* run_count(Session* s) {
  const size_t n = (size_t)s->numbers[1];
  uint64_t words[kMaxWords], totals[kPopcountCount + 1] = {0};
  fill_random(words, n, s->numbers[0]);
  for (uint64_t r = 0; r < s->numbers[2]; r++) {
    for (int k = 0; k < kPopcountCount; k++) {
      for (size_t i = 0; i < n; i++) totals[k] += kPopcounts[k].count(s->tables, words[i]);
    }
    totals[kPopcountCount] += popcount_array(words, n);
    words[r % n] ^= to_gray(totals[0]);
  }
  unsigned odd = 0;
  for (size_t i = 0; i < n; i++) odd += parity(words[i]);
  printf("count: %" PRIu64 " ones in %zu words, %u with odd parity\n", totals[0], n, odd);
  for (int k = 1; k < kPopcountCount; k++) {
    expect(s, totals[k] == totals[0], kPopcounts[k].name);
  }
  expect(s, totals[kPopcountCount] == totals[0], "array");
  s->sum = mix(s->sum, totals[0] + odd);
  return NULL;
}

// reverse SEED WORDS REPEAT
static const char* run_reverse(Session* s) {
  static uint64_t (*const kReversals[])(const Tables*, uint64_t) = {reverse_loop, reverse_swaps,
                                                                    reverse_table};
  const size_t n = (size_t)s->numbers[1];
  uint64_t words[kMaxWords], first = 0;
  for (size_t k = 0; k < sizeof kReversals / sizeof kReversals[0]; k++) {
    fill_random(words, n, s->numbers[0]);
    uint64_t sum = 0;
    for (uint64_t r = 0; r < s->numbers[2]; r++) {
      for (size_t i = 0; i < n; i++) words[i] = kReversals[k](s->tables, words[i]) + r;
    }
    for (size_t i = 0; i < n; i++) sum = mix(sum, words[i]);
    if (k == 0) first = sum;
    expect(s, sum == first, "reverse");
  }
  printf("reverse: %016" PRIx64 "\n", first);
  s->sum = mix(s->sum, first);
  return NULL;
}

// scan SEED WORDS REPEAT
static const char* run_scan(Session* s) {
  const Tables* t = s->tables;
  const size_t n = (size_t)s->numbers[1];
  uint64_t words[kMaxWords], low = 0, high = 0, roots = 0;
  fill_random(words, n, s->numbers[0]);
  for (uint64_t r = 0; r < s->numbers[2]; r++) {
    for (size_t i = 0; i < n; i++) {
      const uint64_t x = words[i] >> (i % 64) << (r % 64);
      const int a = lowest_de_bruijn(t, x), b = highest_smear(t, x);
      if (a != lowest_halving(t, x) || b != highest_halving(t, x)) {
        expect(s, false, "scan");
        return "methods disagree";
      }
      low += (uint64_t)(a + 1);
      high += (uint64_t)(b + 1);
      if (i % 16 == 0) roots += square_root(x);
    }
  }
  printf("scan: lowest %" PRIu64 ", highest %" PRIu64 ", roots %" PRIu64 "\n", low, high, roots);
  s->sum = mix(s->sum, low * 3 + high + roots);
  return NULL;
}

// gray BITS: walks through the code, checks that neighbours differ in one bit.
static const char* run_gray(Session* s) {
  const uint64_t n = (uint64_t)1 << s->numbers[0];
  uint64_t previous = to_gray(n - 1), sum = 0;
  unsigned wrong = 0;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t code = to_gray(i);
    wrong += !is_power_of_two(code ^ previous) || from_gray(code) != i;
    previous = code;
    sum = mix(sum, code);
  }
  printf("gray: %" PRIu64 " codes, %u wrong, %016" PRIx64 "\n", n, wrong, sum);
  s->differences += wrong;
  s->sum = mix(s->sum, sum);
  return NULL;
}

// morton SIDE: goes through a square along the curve and sums up the steps.
static const char* run_morton(Session* s) {
  const uint32_t side = (uint32_t)s->numbers[0];
  uint64_t largest = 0, sum = 0, jumps = 0;
  uint32_t px = 0, py = 0;
  for (uint32_t y = 0; y < side; y++) {
    for (uint32_t x = 0; x < side; x++) {
      const uint64_t code = morton2(x, y);
      if (gather2(code) != x || gather2(code >> 1) != y) return "not reversible";
      if (code > largest) largest = code;
      sum = mix(sum, code + morton3(x, y, x ^ y));
    }
  }
  const uint64_t cells = (uint64_t)side * side;
  for (uint64_t code = 1; code < cells; code++) {
    const uint32_t x = gather2(code), y = gather2(code >> 1);
    jumps += (x > px ? x - px : px - x) + (y > py ? y - py : py - y);
    px = x;
    py = y;
  }
  printf("morton: side %" PRIu32 ", largest %" PRIu64 ", steps %" PRIu64 ", %016" PRIx64 "\n", side,
         largest, jumps, sum);
  s->sum = mix(s->sum, sum + jumps);
  return NULL;
}

// pick X MASK
static const char* run_pick(Session* s) {
  const uint64_t x = s->numbers[0], mask = s->numbers[1];
  const uint64_t packed = extract_bits(x, mask);
  const uint64_t back = deposit_bits(packed, mask);
  printf("pick: %016" PRIx64 " from %016" PRIx64 " by %016" PRIx64 ", spread again %016" PRIx64
         "\n",
         packed, x, mask, back);
  expect(s, back == (x & mask), "deposit");
  s->sum = mix(s->sum, packed);
  return NULL;
}

// subsets N K: all ways to choose K of N.
static const char* run_subsets(Session* s) {
  const unsigned n = (unsigned)s->numbers[0], k = (unsigned)s->numbers[1];
  if (k > n) return "more chosen than there are";
  const uint64_t end = (uint64_t)1 << n;
  uint64_t count = 0, sum = 0;
  for (uint64_t x = ((uint64_t)1 << k) - 1; x < end; x = next_subset(x)) {
    count++;
    sum = mix(sum, x);
    if (x == 0) break;
  }
  printf("subsets: %" PRIu64 " of %u from %u, %016" PRIx64 "\n", count, k, n, sum);
  s->sum = mix(s->sum, sum);
  return NULL;
}

// Places queens row by row; the three masks hold the attacked columns and diagonals.
static uint64_t place_queens(unsigned all, unsigned columns, unsigned left, unsigned right) {
  if (columns == all) return 1;
  uint64_t solutions = 0;
  for (unsigned open = all & ~(columns | left | right); open != 0; open &= open - 1) {
    const unsigned queen = open & (0u - open);
    solutions +=
        place_queens(all, columns | queen, ((left | queen) << 1) & all, (right | queen) >> 1);
  }
  return solutions;
}

// queens N
static const char* run_queens(Session* s) {
  const unsigned all = (1u << s->numbers[0]) - 1u;
  const uint64_t solutions = place_queens(all, 0, 0, 0);
  printf("queens: %" PRIu64 " solutions for %" PRIu64 "\n", solutions, s->numbers[0]);
  s->sum = mix(s->sum, solutions);
  return NULL;
}

// sieve N: primes below N as a bit set of the odd numbers, and questions about it.
static const char* run_sieve(Session* s) {
  const size_t n = (size_t)s->numbers[0];
  const size_t half = n / 2;
  BitSet odd;
  if (!set_create(&odd, half)) return "out of memory";
  set_insert_range(&odd, 0, half);
  if (half > 0) set_remove(&odd, 0);
  for (size_t i = 1; (2 * i + 1) * (2 * i + 1) < n; i++) {
    if (!set_has(&odd, i)) continue;
    for (size_t k = 2 * i * (i + 1); k < half; k += 2 * i + 1) set_remove(&odd, k);
  }
  const uint64_t odd_primes = set_size(&odd);
  uint64_t twins = 0, gap_sum = 0;
  size_t largest_gap = 0, previous = set_next(&odd, s->tables, 0);
  size_t i = set_next(&odd, s->tables, previous + 1);
  for (; i < half; i = set_next(&odd, s->tables, i + 1)) {
    const size_t gap = 2 * (i - previous);
    twins += gap == 2;
    gap_sum += gap * gap;
    if (gap > largest_gap) largest_gap = gap;
    previous = i;
  }
  printf("sieve: %" PRIu64 " primes below %zu, %" PRIu64 " twins, largest gap %zu, squares %" PRIu64
         "\n",
         odd_primes + (n > 2), n, twins, largest_gap, gap_sum);
  size_t wrong = 0;
  for (size_t k = 0; k < odd_primes; k += 1 + (size_t)odd_primes / 16) {
    const size_t at = set_select(&odd, k);
    wrong += at >= half || !set_has(&odd, at) || set_rank(&odd, at) != k;
  }
  expect(s, wrong == 0, "rank and select");
  set_destroy(&odd);
  s->sum = mix(s->sum, odd_primes + gap_sum);
  return NULL;
}

// sets BITS SEED: unions, intersections and distances of two sets.
static const char* run_sets(Session* s) {
  const size_t bits = (size_t)s->numbers[0];
  BitSet a, b;
  const bool have_a = set_create(&a, bits), have_b = set_create(&b, bits);
  if (have_a && have_b) {
    uint64_t state = s->numbers[1];
    for (size_t i = 0; i < bits / 3; i++) {
      set_insert(&a, (size_t)(next_random(&state) % bits));
      set_insert(&b, (size_t)(next_random(&state) % bits));
    }
    set_insert_range(&b, bits / 4, bits / 2);
    uint64_t both = 0, either = 0, distance = 0;
    for (size_t w = 0; w < words_for(bits); w++) {
      both += popcount(a.words[w] & b.words[w]);
      either += popcount(a.words[w] | b.words[w]);
      distance += popcount(a.words[w] ^ b.words[w]);
    }
    const uint64_t size_a = set_size(&a), size_b = set_size(&b);
    const double likeness = either == 0 ? 1.0 : (double)both / (double)either;
    printf("sets: sizes %" PRIu64 " and %" PRIu64 ", both %" PRIu64 ", either %" PRIu64
           ", likeness %.4f\n",
           size_a, size_b, both, either, likeness);
    expect(s, both + either == size_a + size_b && distance == either - both, "sizes");
    s->sum = mix(s->sum, both * 7 + either);
  }
  set_destroy(&a);
  set_destroy(&b);
  return have_a && have_b ? NULL : "out of memory";
}

// One cycle that contains every N-bit string once: the Lyndon words whose length divides N, put
// one after the other.
typedef struct {
  uint8_t word[kMaxDeBruijn + 1];
  BitSet out;
  size_t size;
  unsigned n;
} Cycle;

static void extend_cycle(Cycle* c, unsigned t, unsigned p) {
  if (t > c->n) {
    if (c->n % p != 0) return;
    for (unsigned i = 1; i <= p; i++, c->size++) {
      if (c->word[i] != 0) set_insert(&c->out, c->size);
    }
    return;
  }
  c->word[t] = c->word[t - p];
  extend_cycle(c, t + 1, p);
  if (c->word[t - p] == 0) {
    c->word[t] = 1;
    extend_cycle(c, t + 1, t);
  }
}

// cycle N
static const char* run_cycle(Session* s) {
  Cycle c;
  memset(&c, 0, sizeof c);
  c.n = (unsigned)s->numbers[0];
  const size_t length = (size_t)1 << c.n;
  BitSet seen;
  const bool have_seen = set_create(&seen, length);
  const bool have_out = set_create(&c.out, length);
  if (have_seen && have_out) {
    extend_cycle(&c, 1, 1);
    size_t window = 0;
    for (size_t i = 0; i < length + c.n - 1; i++) {
      window = ((window << 1) | set_has(&c.out, i % length)) & (length - 1);
      if (i + 1 >= c.n) set_insert(&seen, window);
    }
    uint64_t sum = c.size;
    for (size_t w = 0; w < words_for(length); w++) sum = mix(sum, c.out.words[w]);
    printf("cycle: %zu bits, %" PRIu64 " different windows, %016" PRIx64, c.size, set_size(&seen),
           sum);
    if (c.n <= 6) {
      printf(", ");
      for (size_t i = 0; i < length; i++) putchar(set_has(&c.out, i) ? '1' : '0');
    }
    printf("\n");
    expect(s, c.size == length && set_size(&seen) == length, "cycle");
    s->sum = mix(s->sum, sum);
  }
  set_destroy(&seen);
  set_destroy(&c.out);
  return have_seen && have_out ? NULL : "out of memory";
}

// Transposes 64 rows of 64 bits. The numbers of a bit's row and column are twelve digits together;
// each round moves the last one to the front: even columns go to the upper half of the rows, odd
// ones to the lower half, and what was two rows becomes one. After six the numbers have changed
// places.
static void transpose(uint64_t* rows) {
  uint64_t turned[64];
  for (int round = 0; round < 6; round++) {
    for (size_t i = 0; i < 32; i++) {
      const uint64_t left = rows[2 * i], right = rows[2 * i + 1];
      turned[i] = gather2(left) | (uint64_t)gather2(right) << 32;
      turned[32 + i] = gather2(left >> 1) | (uint64_t)gather2(right >> 1) << 32;
    }
    memcpy(rows, turned, sizeof turned);
  }
}

// Rank over GF(2), by elimination.
static unsigned rank_of(const uint64_t* rows) {
  uint64_t work[64];
  unsigned rank = 0;
  memcpy(work, rows, sizeof work);
  for (int bit = 63; bit >= 0; bit--) {
    unsigned pivot = rank;
    while (pivot < 64 && (work[pivot] >> bit & 1u) == 0) pivot++;
    if (pivot == 64) continue;
    const uint64_t row = work[pivot];
    work[pivot] = work[rank];
    work[rank] = row;
    for (unsigned i = rank + 1; i < 64; i++) {
      if ((work[i] >> bit & 1u) != 0) work[i] ^= row;
    }
    rank++;
  }
  return rank;
}

// matrix SEED REPEAT
static const char* run_matrix(Session* s) {
  uint64_t rows[64], product[64], sum = 0, state = s->numbers[0];
  unsigned rank = 0;
  for (int i = 0; i < 64; i++) rows[i] = next_random(&state);
  for (uint64_t r = 0; r < s->numbers[1]; r++) {
    // Row i of the product adds up the rows that the bits of row i select.
    for (int i = 0; i < 64; i++) {
      product[i] = 0;
      for (uint64_t bits = rows[i]; bits != 0; bits &= bits - 1) {
        product[i] ^= rows[lowest_de_bruijn(s->tables, bits)];
      }
    }
    transpose(product);
    rank += rank_of(product);
    for (int i = 0; i < 64; i++) {
      rows[i] = product[i] ^ (next_random(&state) & next_random(&state));
      sum = mix(sum, product[i]);
    }
  }
  uint64_t twice[64];
  memcpy(twice, rows, sizeof twice);
  transpose(twice);
  unsigned wrong = rank_of(twice) != rank_of(rows);
  transpose(twice);
  wrong += memcmp(twice, rows, sizeof rows) != 0;
  printf("matrix: ranks add up to %u, %016" PRIx64 "\n", rank, sum);
  expect(s, wrong == 0, "transpose");
  s->sum = mix(s->sum, sum);
  return NULL;
}

static const struct {
  const char* name;
  const char* (*run)(Session* s);
  int count;
  uint64_t low[3];
  uint64_t high[3];
} kCommands[] = {
    {"describe", run_describe, 1, {0}, {UINT64_MAX}},
    {"count", run_count, 3, {0, 1, 1}, {UINT64_MAX, kMaxWords, 1000}},
    {"reverse", run_reverse, 3, {0, 1, 1}, {UINT64_MAX, kMaxWords, 1000}},
    {"scan", run_scan, 3, {0, 1, 1}, {UINT64_MAX, kMaxWords, 1000}},
    {"gray", run_gray, 1, {1}, {22}},
    {"morton", run_morton, 1, {1}, {2048}},
    {"pick", run_pick, 2, {0, 0}, {UINT64_MAX, UINT64_MAX}},
    {"subsets", run_subsets, 2, {0, 0}, {24, 24}},
    {"queens", run_queens, 1, {1}, {kMaxQueens}},
    {"sieve", run_sieve, 1, {0}, {kMaxSieve}},
    {"sets", run_sets, 2, {1, 0}, {kMaxSieve, UINT64_MAX}},
    {"cycle", run_cycle, 1, {1}, {kMaxDeBruijn}},
    {"matrix", run_matrix, 2, {0, 1}, {UINT64_MAX, 10000}},
};

// Decimal, or hexadecimal behind 0x.
static bool parse_number(const char* text, uint64_t* value) {
  uint64_t base = 10, v = 0;
  if (text[0] == '0' && text[1] == 'x') {
    base = 16;
    text += 2;
  }
  if (*text == '\0') return false;
  for (; *text != '\0'; text++) {
    uint64_t digit;
    if (*text >= '0' && *text <= '9') {
      digit = (uint64_t)(*text - '0');
    } else if (base == 16 && *text >= 'a' && *text <= 'f') {
      digit = (uint64_t)(*text - 'a') + 10;
    } else {
      return false;
    }
    if (v > (UINT64_MAX - digit) / base) return false;
    v = v * base + digit;
  }
  *value = v;
  return true;
}

static const char* run_line(Session* s, char* line) {
  const char* name = strtok(line, " \t\r\n");
  if (name == NULL || name[0] == '#') return NULL;
  s->count = 0;
  for (char* word; (word = strtok(NULL, " \t\r\n")) != NULL; s->count++) {
    if (s->count == kMaxNumbers) return "too many numbers";
    if (!parse_number(word, &s->numbers[s->count])) return "bad number";
  }
  for (size_t i = 0; i < sizeof kCommands / sizeof kCommands[0]; i++) {
    if (strcmp(name, kCommands[i].name) != 0) continue;
    if (s->count != kCommands[i].count) return "wrong number of numbers";
    for (int k = 0; k < s->count; k++) {
      const uint64_t v = s->numbers[k];
      if (v < kCommands[i].low[k] || v > kCommands[i].high[k]) return "number out of range";
    }
    s->commands++;
    return kCommands[i].run(s);
  }
  return "unknown command";
}

int main(void) {
  Tables tables;
  memset(&tables, 0, sizeof tables);
  build_tables(&tables);
  Session session;
  memset(&session, 0, sizeof session);
  session.tables = &tables;
  char line[kMaxLine];
  unsigned number = 0;
  while (fgets(line, sizeof line, stdin) != NULL) {
    number++;
    const char* error = run_line(&session, line);
    if (error == NULL) continue;
    printf("line %u: %s\n", number, error);
    session.errors++;
  }
  printf("%u commands, %u errors, %u differences, sum %016" PRIx64 "\n", session.commands,
         session.errors, session.differences, session.sum);
  return 0;
}
