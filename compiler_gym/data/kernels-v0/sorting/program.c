// A workout for sorting algorithms over integers, records and strings, with counted
// comparisons. Reads one command per line from stdin (ints, numbers, records, words, select,
// inversions; see the comment at each handler); generated arrays come from a seed and a named
// pattern.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxCount = 200000,
  kMaxQuadratic = 60000000,  // Largest n * n * repetitions given to the quadratic algorithms.
  kMaxLine = 4096,
  kMaxNumbers = 512,
  kMaxWords = 1024,
  kMaxWork = 20000000,  // Elements times repetitions of one command.
  kSmall = 16,          // Partitions up to this size are left to insertion sort.
  kNameSize = 12,
  kMaxElement = 64,
};

// What the algorithms did; every algorithm gets a fresh one.
typedef struct {
  uint64_t compares;
  uint64_t moves;
} Counts;

typedef struct {
  unsigned runs;
  unsigned failures;
  unsigned errors;
  uint64_t checksum;
} Totals;

// ---------------------------------------------------------------------------------------------
// Random numbers and patterns
// ---------------------------------------------------------------------------------------------

typedef struct {
  uint64_t state;
} Random;

static uint32_t random_next(Random* random) {
  random->state = random->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random->state >> 33);
}

static uint32_t random_below(Random* random, uint32_t limit) {
  return (uint32_t)(((uint64_t)random_next(random) * limit) >> 31);
}

typedef enum {
  kPatternRandom,
  kPatternSorted,
  kPatternReversed,
  kPatternFew,
  kPatternOrgan,
  kPatternSaw,
  kPatternNearly,
  kPatternEqual,
  kPatternCount,
} Pattern;

static const char* const kPatternNames[kPatternCount] = {
    "random", "sorted", "reversed", "few", "organ", "saw", "nearly", "equal",
};

static int find_pattern(const char* name) {
  for (int i = 0; i < kPatternCount; i++) {
    if (strcmp(name, kPatternNames[i]) == 0) return i;
  }
  return -1;
}

static int32_t pattern_value(Random* random, Pattern pattern, int32_t i, int32_t n) {
  switch (pattern) {
    case kPatternRandom:
      return (int32_t)random_next(random) - 0x40000000;
    case kPatternSorted:
      return 3 * i - n;
    case kPatternReversed:
      return n - 2 * i;
    case kPatternFew:
      return (int32_t)random_below(random, 7) - 3;
    case kPatternOrgan:
      return i < n / 2 ? i : n - i;
    case kPatternSaw:
      return i % 97 - 48;
    case kPatternNearly:
      return random_below(random, 50) == 0 ? (int32_t)random_below(random, (uint32_t)n) : i;
    default:
      return 42;
  }
}

static void fill_ints(int32_t* a, size_t n, Pattern pattern, uint32_t seed) {
  Random random = {seed};
  for (size_t i = 0; i < n; i++) {
    a[i] = pattern_value(&random, pattern, (int32_t)i, (int32_t)n);
  }
}

// ---------------------------------------------------------------------------------------------
// Integers
// ---------------------------------------------------------------------------------------------

static bool less(Counts* counts, int32_t a, int32_t b) {
  counts->compares++;
  return a < b;
}

static void swap_ints(Counts* counts, int32_t* a, int32_t* b) {
  const int32_t t = *a;
  *a = *b;
  *b = t;
  counts->moves += 3;
}

static void insertion_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  (void)scratch;
  for (size_t i = 1; i < n; i++) {
    const int32_t value = a[i];
    size_t j = i;
    while (j > 0 && less(counts, value, a[j - 1])) {
      a[j] = a[j - 1];
      j--;
    }
    a[j] = value;
    counts->moves += i - j + 1;
  }
}

static void selection_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  (void)scratch;
  for (size_t i = 0; i + 1 < n; i++) {
    size_t best = i;
    for (size_t j = i + 1; j < n; j++) {
      if (less(counts, a[j], a[best])) best = j;
    }
    if (best != i) swap_ints(counts, &a[i], &a[best]);
  }
}

// Bubbles in both directions, and never again beyond the last exchange.
static void cocktail_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  (void)scratch;
  size_t low = 0, high = n;
  while (high - low > 1) {
    size_t last = low;
    for (size_t i = low + 1; i < high; i++) {
      if (!less(counts, a[i], a[i - 1])) continue;
      swap_ints(counts, &a[i], &a[i - 1]);
      last = i;
    }
    high = last;
    if (high <= low) break;
    last = high;
    for (size_t i = high - 1; i > low; i--) {
      if (!less(counts, a[i], a[i - 1])) continue;
      swap_ints(counts, &a[i], &a[i - 1]);
      last = i;
    }
    low = last;
  }
}

static void shell_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  static const size_t kGaps[] = {145573, 64699, 28755, 12780, 5680, 2524, 1122, 499,
                                 222,    99,    44,    20,    9,    4,    1};
  (void)scratch;
  for (size_t g = 0; g < sizeof kGaps / sizeof kGaps[0]; g++) {
    const size_t gap = kGaps[g];
    for (size_t i = gap; i < n; i++) {
      const int32_t value = a[i];
      size_t j = i;
      for (; j >= gap && less(counts, value, a[j - gap]); j -= gap) a[j] = a[j - gap];
      a[j] = value;
      counts->moves += (i - j) / gap + 1;
    }
  }
}

static void sift_down(int32_t* a, size_t root, size_t n, Counts* counts) {
  const int32_t value = a[root];
  for (;;) {
    size_t child = 2 * root + 1;
    if (child >= n) break;
    if (child + 1 < n && less(counts, a[child], a[child + 1])) child++;
    if (!less(counts, value, a[child])) break;
    a[root] = a[child];
    counts->moves++;
    root = child;
  }
  a[root] = value;
  counts->moves++;
}

static void heap_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  (void)scratch;
  for (size_t i = n / 2; i-- > 0;) sift_down(a, i, n, counts);
  for (size_t last = n; last-- > 1;) {
    swap_ints(counts, &a[0], &a[last]);
    sift_down(a, 0, last, counts);
  }
}

static void merge_runs(const int32_t* from, int32_t* to, size_t low, size_t middle, size_t high,
                       Counts* counts) {
  size_t left = low, right = middle;
  for (size_t out = low; out < high; out++) {
    const bool take_right =
        left == middle || (right < high && less(counts, from[right], from[left]));
    to[out] = take_right ? from[right++] : from[left++];
  }
  counts->moves += high - low;
}

// Bottom up: runs of kSmall by insertion, then passes to and fro between the two arrays.
static void merge_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  for (size_t i = 0; i < n; i += kSmall) {
    insertion_ints(a + i, n - i < kSmall ? n - i : kSmall, NULL, counts);
  }
  int32_t *from = a, *to = scratch;
  for (size_t width = kSmall; width < n; width *= 2) {
    for (size_t low = 0; low < n; low += 2 * width) {
      const size_t middle = n - low < width ? n : low + width;
      const size_t high = n - middle < width ? n : middle + width;
      merge_runs(from, to, low, middle, high, counts);
    }
    int32_t* t = from;
    from = to;
    to = t;
  }
  if (from != a) memcpy(a, from, n * sizeof *a);
}

static int32_t median_of_three(const int32_t* a, size_t i, size_t j, size_t k, Counts* counts) {
  if (less(counts, a[i], a[j])) {
    if (less(counts, a[j], a[k])) return a[j];
    return less(counts, a[i], a[k]) ? a[k] : a[i];
  }
  if (less(counts, a[i], a[k])) return a[i];
  return less(counts, a[j], a[k]) ? a[k] : a[j];
}

// Splits so that nothing in [0, result) is larger than anything behind it; both parts are
// shorter than the whole because the pivot is one of the elements strictly before the last.
static size_t partition_ints(int32_t* a, size_t n, Counts* counts) {
  const int32_t pivot = median_of_three(a, 0, (n - 1) / 2, n - 2, counts);
  size_t i = 0, j = n - 1;
  for (;;) {
    while (less(counts, a[i], pivot)) i++;
    while (less(counts, pivot, a[j])) j--;
    if (i >= j) return j + 1;
    swap_ints(counts, &a[i++], &a[j--]);
  }
}

// Recurses into the shorter part only, so that the stack stays logarithmic.
static void quick_part(int32_t* a, size_t n, Counts* counts) {
  while (n > kSmall) {
    const size_t split = partition_ints(a, n, counts);
    if (split <= n - split) {
      quick_part(a, split, counts);
      a += split;
      n -= split;
    } else {
      quick_part(a + split, n - split, counts);
      n = split;
    }
  }
}

static void quick_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  quick_part(a, n, counts);
  // Every element is now fewer than kSmall places away from home.
  insertion_ints(a, n, scratch, counts);
}

// Three-way partition around a random element: fast when many elements are equal.
static void quick3_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  Random random = {n};
  while (n > kSmall) {
    const int32_t pivot = a[random_below(&random, (uint32_t)n)];
    size_t low = 0, i = 0, high = n;
    while (i < high) {
      if (less(counts, a[i], pivot)) {
        swap_ints(counts, &a[low++], &a[i++]);
      } else if (less(counts, pivot, a[i])) {
        swap_ints(counts, &a[i], &a[--high]);
      } else {
        i++;
      }
    }
    if (low < n - high) {
      quick3_ints(a, low, scratch, counts);
      a += high;
      n -= high;
    } else {
      quick3_ints(a + high, n - high, scratch, counts);
      n = low;
    }
  }
  insertion_ints(a, n, scratch, counts);
}

static unsigned floor_log2(size_t n) {
  unsigned log = 0;
  while (n > 1) {
    n /= 2;
    log++;
  }
  return log;
}

static void intro_part(int32_t* a, size_t n, unsigned depth, Counts* counts) {
  if (n <= kSmall) {
    insertion_ints(a, n, NULL, counts);
  } else if (depth == 0) {
    heap_ints(a, n, NULL, counts);
  } else {
    const size_t split = partition_ints(a, n, counts);
    intro_part(a, split, depth - 1, counts);
    intro_part(a + split, n - split, depth - 1, counts);
  }
}

static void intro_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  (void)scratch;
  intro_part(a, n, floor_log2(n) + 2, counts);
}

// Maps the order of signed numbers to that of unsigned ones.
static uint32_t ordered_bits(int32_t value) { return (uint32_t)value ^ 0x80000000u; }

// Least significant byte first; a pass whose bytes are all the same is skipped.
static void radix_ints(int32_t* a, size_t n, int32_t* scratch, Counts* counts) {
  size_t histogram[4][256] = {{0}};
  for (size_t i = 0; i < n; i++) {
    const uint32_t bits = ordered_bits(a[i]);
    for (int b = 0; b < 4; b++) histogram[b][(bits >> (8 * b)) & 0xffu]++;
  }
  int32_t *from = a, *to = scratch;
  for (int b = 0; b < 4 && n > 0; b++) {
    size_t* slots = histogram[b];
    if (slots[(ordered_bits(from[0]) >> (8 * b)) & 0xffu] == n) continue;
    size_t sum = 0;
    for (int d = 0; d < 256; d++) {
      const size_t here = slots[d];
      slots[d] = sum;
      sum += here;
    }
    for (size_t i = 0; i < n; i++) {
      to[slots[(ordered_bits(from[i]) >> (8 * b)) & 0xffu]++] = from[i];
    }
    counts->moves += n;
    int32_t* t = from;
    from = to;
    to = t;
  }
  if (from != a) memcpy(a, from, n * sizeof *a);
}

typedef struct {
  const char* name;
  void (*sort)(int32_t* a, size_t n, int32_t* scratch, Counts* counts);
  bool quadratic;
} IntSorter;

static const IntSorter kIntSorters[] = {
    {"insertion", insertion_ints, true}, {"selection", selection_ints, true},
    {"cocktail", cocktail_ints, true},   {"shell", shell_ints, false},
    {"heap", heap_ints, false},          {"merge", merge_ints, false},
    {"quick", quick_ints, false},        {"quick3", quick3_ints, false},
    {"intro", intro_ints, false},        {"radix", radix_ints, false},
};

enum { kIntSorterCount = sizeof kIntSorters / sizeof kIntSorters[0] };

static bool ints_sorted(const int32_t* a, size_t n) {
  for (size_t i = 1; i < n; i++) {
    if (a[i] < a[i - 1]) return false;
  }
  return true;
}

// Depends on the order of the elements.
static uint64_t ints_digest(const int32_t* a, size_t n) {
  uint64_t digest = n;
  for (size_t i = 0; i < n; i++) digest = digest * 1099511628211u + (uint32_t)a[i];
  return digest;
}

// Does not: tells whether two arrays hold the same elements.
static uint64_t ints_sum(const int32_t* a, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t value = (uint32_t)a[i];
    sum += value * value * value + 11u * value;
  }
  return sum;
}

// ---------------------------------------------------------------------------------------------
// Anything that has a comparison function
// ---------------------------------------------------------------------------------------------

typedef int (*CompareFn)(const void* a, const void* b);

typedef struct {
  unsigned char* base;
  size_t n;
  size_t size;
  CompareFn compare;
  unsigned char* scratch;  // As large as the array.
  Counts* counts;
} Sequence;

static unsigned char* element(const Sequence* s, size_t i) { return s->base + i * s->size; }

static int compare_at(const Sequence* s, size_t i, size_t j) {
  s->counts->compares++;
  return s->compare(element(s, i), element(s, j));
}

static void copy_element(const Sequence* s, void* to, const void* from) {
  memcpy(to, from, s->size);
  s->counts->moves++;
}

static void swap_at(const Sequence* s, size_t i, size_t j) {
  unsigned char saved[kMaxElement];
  if (i == j) return;
  copy_element(s, saved, element(s, i));
  copy_element(s, element(s, i), element(s, j));
  copy_element(s, element(s, j), saved);
}

static void generic_insertion(Sequence* s, size_t low, size_t high) {
  unsigned char value[kMaxElement];
  for (size_t i = low + 1; i < high; i++) {
    // Binary search for the place behind all elements that are not larger keeps it stable.
    size_t from = low, to = i;
    while (from < to) {
      const size_t middle = from + (to - from) / 2;
      if (compare_at(s, i, middle) < 0) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    if (from == i) continue;
    copy_element(s, value, element(s, i));
    memmove(element(s, from + 1), element(s, from), (i - from) * s->size);
    s->counts->moves += i - from;
    copy_element(s, element(s, from), value);
  }
}

static void generic_merge_part(Sequence* s, size_t low, size_t high) {
  if (high - low <= 8) {
    generic_insertion(s, low, high);
    return;
  }
  const size_t middle = low + (high - low) / 2;
  generic_merge_part(s, low, middle);
  generic_merge_part(s, middle, high);
  if (compare_at(s, middle, middle - 1) >= 0) return;  // Already in order.
  // Only the left half is copied away; the output never overtakes the right half.
  const size_t left_size = middle - low;
  memcpy(s->scratch, element(s, low), left_size * s->size);
  s->counts->moves += left_size;
  size_t left = 0, right = middle, out = low;
  while (left < left_size) {
    const unsigned char* candidate = s->scratch + left * s->size;
    s->counts->compares += right < high;
    if (right < high && s->compare(element(s, right), candidate) < 0) {
      copy_element(s, element(s, out++), element(s, right++));
    } else {
      copy_element(s, element(s, out++), candidate);
      left++;
    }
  }
}

static void generic_merge(Sequence* s) { generic_merge_part(s, 0, s->n); }

static void generic_heap(Sequence* s) {
  size_t start = s->n / 2, end = s->n;
  while (end > 1) {
    if (start > 0) {
      start--;
    } else {
      swap_at(s, 0, --end);
    }
    size_t root = start;
    for (size_t child = 2 * root + 1; child < end; child = 2 * root + 1) {
      if (child + 1 < end && compare_at(s, child, child + 1) < 0) child++;
      if (compare_at(s, root, child) >= 0) break;
      swap_at(s, root, child);
      root = child;
    }
  }
}

static void generic_quick_part(Sequence* s, size_t low, size_t high) {
  while (high - low > 8) {
    // The middle element becomes the pivot and waits at the front.
    swap_at(s, low, low + (high - low) / 2);
    size_t boundary = low;
    for (size_t i = low + 1; i < high; i++) {
      const int order = compare_at(s, i, low);
      // Equal elements go alternately to both sides, or arrays of equals would be quadratic.
      if (order < 0 || (order == 0 && (i & 1u) != 0)) swap_at(s, ++boundary, i);
    }
    swap_at(s, low, boundary);
    if (boundary - low < high - boundary) {
      generic_quick_part(s, low, boundary);
      low = boundary + 1;
    } else {
      generic_quick_part(s, boundary + 1, high);
      high = boundary;
    }
  }
  generic_insertion(s, low, high);
}

static void generic_quick(Sequence* s) { generic_quick_part(s, 0, s->n); }

static void generic_comb(Sequence* s) {
  size_t gap = s->n;
  bool swapped = true;
  while (gap > 1 || swapped) {
    gap = gap * 10 / 13;
    if (gap == 9 || gap == 10) gap = 11;
    if (gap == 0) gap = 1;
    swapped = false;
    for (size_t i = 0; i + gap < s->n; i++) {
      if (compare_at(s, i + gap, i) >= 0) continue;
      swap_at(s, i, i + gap);
      swapped = true;
    }
  }
}

typedef struct {
  const char* name;
  void (*sort)(Sequence* s);
  bool stable;
} GenericSorter;

static const GenericSorter kGenericSorters[] = {
    {"merge", generic_merge, true},
    {"heap", generic_heap, false},
    {"quick", generic_quick, false},
    {"comb", generic_comb, false},
};

enum { kGenericSorterCount = sizeof kGenericSorters / sizeof kGenericSorters[0] };

// Returns how many neighbours are in the wrong order.
static size_t count_disorder(const Sequence* s) {
  size_t wrong = 0;
  for (size_t i = 1; i < s->n; i++) wrong += s->compare(element(s, i - 1), element(s, i)) > 0;
  return wrong;
}

// ---------------------------------------------------------------------------------------------
// Records
// ---------------------------------------------------------------------------------------------

typedef struct {
  uint32_t id;
  int32_t key;
  double weight;
  char name[kNameSize];
  bool active;
} Record;

static int compare_ints(int32_t a, int32_t b) { return (a > b) - (a < b); }

static int by_key(const void* a, const void* b) {
  return compare_ints(((const Record*)a)->key, ((const Record*)b)->key);
}

static int by_name(const void* a, const void* b) {
  return strcmp(((const Record*)a)->name, ((const Record*)b)->name);
}

static int by_weight_down(const void* a, const void* b) {
  const double x = ((const Record*)a)->weight, y = ((const Record*)b)->weight;
  return (x < y) - (x > y);
}

// Active ones first, then the key, then the larger id.
static int by_all(const void* a, const void* b) {
  const Record *x = a, *y = b;
  if (x->active != y->active) return x->active ? -1 : 1;
  if (x->key != y->key) return compare_ints(x->key, y->key);
  return (x->id < y->id) - (x->id > y->id);
}

static const struct {
  const char* name;
  CompareFn compare;
} kRecordOrders[] = {
    {"key", by_key}, {"name", by_name}, {"weight", by_weight_down}, {"all", by_all}};

static void make_name(Random* random, char* name) {
  static const char kConsonants[] = "bdfgklmnprst";
  static const char kVowels[] = "aeiou";
  const uint32_t syllables = 1 + random_below(random, 4);
  size_t at = 0;
  for (uint32_t i = 0; i < syllables; i++) {
    name[at++] = kConsonants[random_below(random, sizeof kConsonants - 1)];
    name[at++] = kVowels[random_below(random, sizeof kVowels - 1)];
  }
  name[at] = '\0';
}

static void fill_records(Record* records, size_t n, Pattern pattern, uint32_t seed) {
  Random random = {seed};
  for (size_t i = 0; i < n; i++) {
    Record* r = &records[i];
    memset(r, 0, sizeof *r);
    r->id = (uint32_t)i;
    r->key = pattern_value(&random, pattern, (int32_t)i, (int32_t)n) % 1000;
    r->weight = (double)random_below(&random, 1000) / 8.0;
    r->active = (random_next(&random) & 4u) != 0;
    make_name(&random, r->name);
  }
}

static uint64_t records_digest(const Record* records, size_t n, bool with_ids) {
  uint64_t digest = n;
  for (size_t i = 0; i < n; i++) {
    const Record* r = &records[i];
    digest = digest * 31u + (uint32_t)r->key;
    if (with_ids) digest = digest * 31u + r->id;
  }
  return digest;
}

// ---------------------------------------------------------------------------------------------
// Strings
// ---------------------------------------------------------------------------------------------

static int by_string(const void* a, const void* b) {
  return strcmp(*(const char* const*)a, *(const char* const*)b);
}

static char fold_case(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static int by_folded(const void* a, const void* b) {
  const char *x = *(const char* const*)a, *y = *(const char* const*)b;
  while (*x != '\0' && fold_case(*x) == fold_case(*y)) {
    x++;
    y++;
  }
  const unsigned char cx = (unsigned char)fold_case(*x), cy = (unsigned char)fold_case(*y);
  return cx == cy ? by_string(a, b) : (int)cx - (int)cy;
}

static int by_length(const void* a, const void* b) {
  const size_t x = strlen(*(const char* const*)a), y = strlen(*(const char* const*)b);
  return x == y ? by_string(a, b) : (x > y) - (x < y);
}

static int character_at(const char* word, size_t depth, Counts* counts) {
  counts->compares++;
  return (unsigned char)word[depth];
}

static void swap_words(const char** a, const char** b, Counts* counts) {
  const char* t = *a;
  *a = *b;
  *b = t;
  counts->moves += 3;
}

// Quicksort on one character at a time: words below, at and above the pivot's character.
static void multikey_words(const char** words, size_t n, size_t depth, Counts* counts) {
  while (n > 1) {
    const int pivot = character_at(words[n / 2], depth, counts);
    size_t low = 0, i = 0, high = n;
    while (i < high) {
      const int c = character_at(words[i], depth, counts);
      if (c < pivot) {
        swap_words(&words[low++], &words[i++], counts);
      } else if (c > pivot) {
        swap_words(&words[i], &words[--high], counts);
      } else {
        i++;
      }
    }
    multikey_words(words, low, depth, counts);
    multikey_words(words + high, n - high, depth, counts);
    if (pivot == 0) return;
    words += low;
    n = high - low;
    depth++;
  }
}

static uint64_t words_digest(const char* const* words, size_t n) {
  uint64_t digest = n;
  for (size_t i = 0; i < n; i++) {
    for (const char* p = words[i]; *p != '\0'; p++) digest = digest * 131u + (unsigned char)*p;
    digest = digest * 131u + ' ';
  }
  return digest;
}

// ---------------------------------------------------------------------------------------------
// Selection and inversions
// ---------------------------------------------------------------------------------------------

static int32_t quick_select(int32_t* a, size_t n, size_t k, Counts* counts) {
  while (n > kSmall) {
    const size_t split = partition_ints(a, n, counts);
    if (k < split) {
      n = split;
    } else {
      a += split;
      n -= split;
      k -= split;
    }
  }
  insertion_ints(a, n, NULL, counts);
  return a[k];
}

// First position whose element is not smaller than `value`.
static size_t lower_bound(const int32_t* a, size_t n, int32_t value) {
  size_t low = 0;
  while (n > 0) {
    const size_t half = n / 2;
    if (a[low + half] < value) {
      low += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return low;
}

// Pairs in the wrong order, counted while merging; sorts the array.
static uint64_t count_inversions(int32_t* a, size_t n, int32_t* scratch) {
  if (n < 2) return 0;
  const size_t middle = n / 2;
  uint64_t inversions = count_inversions(a, middle, scratch);
  inversions += count_inversions(a + middle, n - middle, scratch);
  size_t left = 0, right = middle;
  for (size_t out = 0; out < n; out++) {
    if (right < n && (left == middle || a[right] < a[left])) {
      inversions += middle - left;
      scratch[out] = a[right++];
    } else {
      scratch[out] = a[left++];
    }
  }
  memcpy(a, scratch, n * sizeof *a);
  return inversions;
}

// ---------------------------------------------------------------------------------------------
// Commands
// ---------------------------------------------------------------------------------------------

static char* next_word(char** cursor) {
  char* start = *cursor + strspn(*cursor, " \t");
  if (*start == '\0') {
    *cursor = start;
    return NULL;
  }
  char* end = start + strcspn(start, " \t");
  if (*end != '\0') *end++ = '\0';
  *cursor = end;
  return start;
}

static bool parse_int32(const char* word, int32_t* value) {
  const bool negative = *word == '-';
  const int64_t limit = negative ? (int64_t)INT32_MAX + 1 : INT32_MAX;
  int64_t v = 0;
  if (negative) word++;
  if (*word == '\0') return false;
  for (; *word != '\0'; word++) {
    if (*word < '0' || *word > '9') return false;
    v = v * 10 + (*word - '0');
    if (v > limit) return false;
  }
  *value = (int32_t)(negative ? -v : v);
  return true;
}

static bool next_number(char** cursor, int32_t low, int32_t high, int32_t* value) {
  const char* word = next_word(cursor);
  return word != NULL && parse_int32(word, value) && *value >= low && *value <= high;
}

typedef struct {
  Pattern pattern;
  int32_t n;
  int32_t seed;
} Shape;

static bool next_shape(char** cursor, Shape* shape) {
  const char* name = next_word(cursor);
  const int pattern = name == NULL ? -1 : find_pattern(name);
  if (pattern < 0) return false;
  shape->pattern = (Pattern)pattern;
  return next_number(cursor, 0, kMaxCount, &shape->n) &&
         next_number(cursor, 0, INT32_MAX, &shape->seed);
}

static void print_run(Totals* totals, const char* name, const Counts* counts, uint64_t digest,
                      bool good) {
  const uint32_t folded = (uint32_t)(digest >> 32) ^ (uint32_t)(digest & 0xffffffffu);
  printf("  %-10s %9" PRIu64 " %9" PRIu64 "  %08" PRIx32 "%s\n", name, counts->compares,
         counts->moves, folded, good ? "" : " WRONG");
  totals->runs++;
  totals->failures += !good;
  totals->checksum = totals->checksum * 33u + digest;
}

static void run_int_sorters(Totals* totals, const int32_t* data, size_t n, int32_t* work,
                            int32_t* scratch, int32_t repeat) {
  const uint64_t sum = ints_sum(data, n);
  const bool small = (uint64_t)n * n * (uint64_t)repeat <= kMaxQuadratic;
  for (int i = 0; i < kIntSorterCount; i++) {
    const IntSorter* sorter = &kIntSorters[i];
    if (sorter->quadratic && !small) continue;
    Counts counts = {0, 0};
    for (int32_t r = 0; r < repeat; r++) {
      // Later repetitions sort the array turned by r places.
      const size_t turn = n == 0 ? 0 : (size_t)r % n;
      memcpy(work, data + turn, (n - turn) * sizeof *work);
      memcpy(work + (n - turn), data, turn * sizeof *work);
      sorter->sort(work, n, scratch, &counts);
    }
    const bool good = ints_sorted(work, n) && ints_sum(work, n) == sum;
    print_run(totals, sorter->name, &counts, ints_digest(work, n), good);
  }
}

static int32_t* allocate_ints(size_t arrays, size_t n) {
  return calloc(arrays * n + 1, sizeof(int32_t));
}

// ints PATTERN N SEED REPEAT: all algorithms on a generated array.
static const char* run_ints(Totals* totals, char* arguments) {
  Shape shape;
  int32_t repeat;
  if (!next_shape(&arguments, &shape) || !next_number(&arguments, 1, 1000, &repeat)) {
    return "expected: ints PATTERN N SEED REPEAT";
  }
  if ((int64_t)shape.n * repeat > kMaxWork) return "too much work";
  const size_t n = (size_t)shape.n;
  int32_t* data = allocate_ints(3, n);
  if (data == NULL) return "out of memory";
  fill_ints(data, n, shape.pattern, (uint32_t)shape.seed);
  printf("ints %s, %zu of them, %" PRId32 " times\n", kPatternNames[shape.pattern], n, repeat);
  run_int_sorters(totals, data, n, data + n, data + 2 * n, repeat);
  free(data);
  return NULL;
}

// numbers A B C ...: all algorithms on the given numbers, which are then printed in order.
static const char* run_numbers(Totals* totals, char* arguments) {
  int32_t data[kMaxNumbers], work[kMaxNumbers], scratch[kMaxNumbers];
  size_t n = 0;
  for (char* word = next_word(&arguments); word != NULL; word = next_word(&arguments)) {
    if (n == kMaxNumbers) return "too many numbers";
    if (!parse_int32(word, &data[n])) return "bad number";
    n++;
  }
  printf("numbers, %zu of them\n", n);
  run_int_sorters(totals, data, n, work, scratch, 1);
  printf("  sorted:");
  for (size_t i = 0; i < n; i++) printf(" %" PRId32, work[i]);
  printf("\n");
  return NULL;
}

// records ORDER PATTERN N SEED: the algorithms that need only a comparison. All of them must
// give the same keys, and the stable ones must keep equal records in their order.
static const char* run_records(Totals* totals, char* arguments) {
  const char* order = next_word(&arguments);
  CompareFn compare = NULL;
  for (size_t i = 0; order != NULL && i < sizeof kRecordOrders / sizeof kRecordOrders[0]; i++) {
    if (strcmp(order, kRecordOrders[i].name) == 0) compare = kRecordOrders[i].compare;
  }
  Shape shape;
  if (compare == NULL || !next_shape(&arguments, &shape)) {
    return "expected: records ORDER PATTERN N SEED";
  }
  const size_t n = (size_t)shape.n;
  Record* records = calloc(2 * n + 1, sizeof *records);
  if (records == NULL) return "out of memory";
  printf("records by %s, %s, %zu of them\n", order, kPatternNames[shape.pattern], n);
  for (int k = 0; k < kGenericSorterCount; k++) {
    const GenericSorter* sorter = &kGenericSorters[k];
    Counts counts = {0, 0};
    fill_records(records, n, shape.pattern, (uint32_t)shape.seed);
    Sequence s = {(unsigned char*)records,       n,      sizeof *records, compare,
                  (unsigned char*)(records + n), &counts};
    sorter->sort(&s);
    bool good = count_disorder(&s) == 0;
    for (size_t i = 1; sorter->stable && i < n; i++) {
      if (compare(&records[i - 1], &records[i]) == 0 && records[i - 1].id >= records[i].id) {
        good = false;
      }
    }
    const bool exact = sorter->stable || compare == by_all;
    const bool keyed = exact || compare == by_key;
    const uint64_t digest = keyed ? records_digest(records, n, exact) : n;
    print_run(totals, sorter->name, &counts, digest, good);
  }
  if (n > 0) {
    const Record *first = &records[0], *middle = &records[n / 2], *last = &records[n - 1];
    if (compare == by_name) {
      printf("  names: %s .. %s .. %s\n", first->name, middle->name, last->name);
    } else if (compare == by_weight_down) {
      printf("  weights: %.3f .. %.3f .. %.3f\n", first->weight, middle->weight, last->weight);
    } else {
      printf("  keys: %" PRId32 " .. %" PRId32 " .. %" PRId32 "\n", first->key, middle->key,
             last->key);
    }
  }
  free(records);
  return NULL;
}

static void print_words(const char* label, const char* const* words, size_t n) {
  printf("  %s:", label);
  for (size_t i = 0; i < n; i++) {
    if (i >= 6 && i + 3 < n) {
      if (i == 6) printf(" ...");
      continue;
    }
    printf(" %s", words[i]);
  }
  printf("\n");
}

// words REPEAT W W W ...: string orders and multikey quicksort.
static const char* run_words(Totals* totals, char* arguments) {
  static const struct {
    const char* name;
    CompareFn compare;
  } kOrders[] = {{"plain", by_string}, {"folded", by_folded}, {"length", by_length}};
  const char *words[kMaxWords], *work[kMaxWords], *scratch[kMaxWords];
  int32_t repeat;
  size_t n = 0;
  if (!next_number(&arguments, 1, 2000, &repeat)) return "expected: words REPEAT WORDS";
  for (char* word = next_word(&arguments); word != NULL; word = next_word(&arguments)) {
    if (n == kMaxWords) return "too many words";
    words[n++] = word;
  }
  printf("words, %zu of them, %" PRId32 " times\n", n, repeat);
  for (size_t k = 0; k < sizeof kOrders / sizeof kOrders[0]; k++) {
    Counts counts = {0, 0};
    Sequence s = {(unsigned char*)work,    n,      sizeof *work, kOrders[k].compare,
                  (unsigned char*)scratch, &counts};
    for (int32_t r = 0; r < repeat; r++) {
      for (size_t i = 0; i < n; i++) work[i] = words[i];
      kGenericSorters[r % kGenericSorterCount].sort(&s);
    }
    print_run(totals, kOrders[k].name, &counts, words_digest(work, n), count_disorder(&s) == 0);
    print_words(kOrders[k].name, work, n);
  }
  Counts counts = {0, 0};
  for (int32_t r = 0; r < repeat; r++) {
    for (size_t i = 0; i < n; i++) work[i] = words[i];
    multikey_words(work, n, 0, &counts);
  }
  size_t different = n > 0;
  for (size_t i = 1; i < n; i++) different += strcmp(work[i - 1], work[i]) != 0;
  print_run(totals, "multikey", &counts, words_digest(work, n), true);
  printf("  different words: %zu\n", different);
  return NULL;
}

// select PATTERN N SEED: the quartiles by selection, and how many elements are below them.
static const char* run_select(Totals* totals, char* arguments) {
  Shape shape;
  if (!next_shape(&arguments, &shape) || shape.n < 1) return "expected: select PATTERN N SEED";
  const size_t n = (size_t)shape.n;
  int32_t* data = allocate_ints(3, n);
  if (data == NULL) return "out of memory";
  int32_t *sorted = data + n, *work = data + 2 * n;
  Counts counts = {0, 0}, ignored = {0, 0};
  fill_ints(data, n, shape.pattern, (uint32_t)shape.seed);
  memcpy(sorted, data, n * sizeof *data);
  radix_ints(sorted, n, work, &ignored);
  bool good = true;
  uint64_t digest = n;
  printf("select %s, %zu of them:", kPatternNames[shape.pattern], n);
  for (size_t quarter = 0; quarter <= 4; quarter++) {
    const size_t k = (n - 1) * quarter / 4;
    memcpy(work, data, n * sizeof *data);
    const int32_t value = quick_select(work, n, k, &counts);
    const size_t below = lower_bound(sorted, n, value);
    good = good && value == sorted[k] && below <= k;
    digest = digest * 31u + (uint32_t)value + below;
    printf(" %" PRId32 " (%zu below)", value, below);
  }
  printf("\n");
  print_run(totals, "select", &counts, digest, good);
  free(data);
  return NULL;
}

// inversions PATTERN N SEED
static const char* run_inversions(Totals* totals, char* arguments) {
  Shape shape;
  if (!next_shape(&arguments, &shape)) return "expected: inversions PATTERN N SEED";
  const size_t n = (size_t)shape.n;
  int32_t* data = allocate_ints(2, n);
  if (data == NULL) return "out of memory";
  fill_ints(data, n, shape.pattern, (uint32_t)shape.seed);
  const uint64_t inversions = count_inversions(data, n, data + n);
  const uint64_t pairs = n == 0 ? 0 : (uint64_t)n * (n - 1) / 2;
  const double share = pairs == 0 ? 0.0 : (double)inversions / (double)pairs;
  printf("inversions %s, %zu of them: %" PRIu64 " of %" PRIu64 " pairs, %.4f\n",
         kPatternNames[shape.pattern], n, inversions, pairs, share);
  totals->runs++;
  totals->failures += !ints_sorted(data, n);
  totals->checksum = totals->checksum * 33u + inversions;
  free(data);
  return NULL;
}

static const struct {
  const char* name;
  const char* (*run)(Totals* totals, char* arguments);
} kCommands[] = {
    {"ints", run_ints},   {"numbers", run_numbers}, {"records", run_records},
    {"words", run_words}, {"select", run_select},   {"inversions", run_inversions},
};

static const char* dispatch(Totals* totals, char* line) {
  const char* name = next_word(&line);
  if (name == NULL || name[0] == '#') return NULL;
  for (size_t i = 0; i < sizeof kCommands / sizeof kCommands[0]; i++) {
    if (strcmp(name, kCommands[i].name) == 0) return kCommands[i].run(totals, line);
  }
  return "unknown command";
}

int main(void) {
  char line[kMaxLine];
  Totals totals = {0, 0, 0, 0};
  unsigned number = 0;
  printf("  algorithm   compares     moves    digest\n");
  while (fgets(line, sizeof line, stdin) != NULL) {
    number++;
    line[strcspn(line, "\r\n")] = '\0';
    const char* error = dispatch(&totals, line);
    if (error != NULL) {
      printf("line %u: %s\n", number, error);
      totals.errors++;
    }
  }
  printf("runs %u, failures %u, errors %u, checksum %016" PRIx64 "\n", totals.runs, totals.failures,
         totals.errors, totals.checksum);
  return 0;
}
