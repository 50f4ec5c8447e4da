// String search: eight ways to find one pattern, Aho-Corasick for many, bitap for misspelled ones.
// Reads commands from stdin: `text N` followed by N lines and `gen KIND SEED LENGTH` set the text;
// `find`, `multi`, `fuzzy` and `glob` search it (arguments at each handler) and print the matches.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxLine = 1024,
  kMaxText = 1 << 20,
  kMaxWork = 1 << 26,  // Length of the text times repetitions.
  kMaxPatterns = 32,
  kMaxNodes = 2048,
  kMaxErrors = 4,
  kMaxSteps = 1 << 22,  // Of one glob; many stars can need more than anybody has time for.
  kAlphabet = 256,
  kWordBits = 64,
};

typedef struct {
  const unsigned char* data;
  size_t size;
} Span;

typedef struct {
  size_t count;
  size_t first;
  size_t last;
  uint64_t sum;    // Of the positions, each times its number.
  uint64_t steps;  // Characters looked at, or what comes closest.
} Matches;

typedef struct {
  unsigned char* text;
  size_t size;
  unsigned line;
  unsigned searches;
  unsigned errors;
  unsigned differences;
  uint64_t total;
} Session;

static void found(Matches* m, size_t at) {
  if (m->count == 0) m->first = at;
  m->last = at;
  m->count++;
  m->sum += (uint64_t)at * m->count;
}

// ---- One pattern. Every algorithm reports all matches, overlapping ones too. ----

static void search_naive(Span text, Span pattern, Matches* m) {
  for (size_t at = 0; at + pattern.size <= text.size; at++) {
    size_t k = 0;
    while (k < pattern.size && text.data[at + k] == pattern.data[k]) k++;
    m->steps += k + (k < pattern.size);
    if (k == pattern.size) found(m, at);
  }
}

// Jumps from one occurrence of the first character to the next.
static void search_first(Span text, Span pattern, Matches* m) {
  const unsigned char *at = text.data, *end = text.data + text.size;
  while ((size_t)(end - at) >= pattern.size) {
    const size_t room = (size_t)(end - at) - pattern.size + 1;
    const unsigned char* next = memchr(at, pattern.data[0], room);
    if (next == NULL) break;
    m->steps++;
    if (memcmp(next, pattern.data, pattern.size) == 0) found(m, (size_t)(next - text.data));
    at = next + 1;
  }
}

// borders[i]: length of the longest proper prefix of the first i characters that also ends them.
static void find_borders(Span pattern, size_t* borders) {
  size_t k = 0;
  borders[0] = borders[1] = 0;
  for (size_t i = 1; i < pattern.size; i++) {
    while (k > 0 && pattern.data[k] != pattern.data[i]) k = borders[k];
    if (pattern.data[k] == pattern.data[i]) k++;
    borders[i + 1] = k;
  }
}

static void search_kmp(Span text, Span pattern, Matches* m) {
  size_t borders[kMaxLine + 1];
  size_t k = 0;
  find_borders(pattern, borders);
  for (size_t i = 0; i < text.size; i++) {
    m->steps++;
    while (k > 0 && pattern.data[k] != text.data[i]) {
      k = borders[k];
      m->steps++;
    }
    if (pattern.data[k] == text.data[i]) k++;
    if (k < pattern.size) continue;
    found(m, i + 1 - k);
    k = borders[k];  // Behind its end the pattern has no character to compare with.
  }
}

static size_t match_backwards(const unsigned char* at, Span pattern, Matches* m) {
  size_t k = pattern.size;
  while (k > 0 && at[k - 1] == pattern.data[k - 1]) k--;
  m->steps += pattern.size - k + (k > 0);
  return k;
}

// Shifts by the last character under the pattern.
static void search_horspool(Span text, Span pattern, Matches* m) {
  size_t shift[kAlphabet];
  for (int c = 0; c < kAlphabet; c++) shift[c] = pattern.size;
  for (size_t i = 0; i + 1 < pattern.size; i++) shift[pattern.data[i]] = pattern.size - 1 - i;
  for (size_t at = 0; at + pattern.size <= text.size;) {
    if (match_backwards(text.data + at, pattern, m) == 0) found(m, at);
    at += shift[text.data[at + pattern.size - 1]];
  }
}

// Shifts by the character behind the pattern.
static void search_sunday(Span text, Span pattern, Matches* m) {
  size_t shift[kAlphabet];
  for (int c = 0; c < kAlphabet; c++) shift[c] = pattern.size + 1;
  for (size_t i = 0; i < pattern.size; i++) shift[pattern.data[i]] = pattern.size - i;
  for (size_t at = 0; at + pattern.size <= text.size;) {
    if (match_backwards(text.data + at, pattern, m) == 0) found(m, at);
    if (at + pattern.size == text.size) break;
    at += shift[text.data[at + pattern.size]];
  }
}

// same[d]: of how many characters at its end the pattern has another copy, d characters earlier.
static void find_repeated_ends(Span pattern, size_t* same) {
  const size_t n = pattern.size;
  const unsigned char* const last = pattern.data + n - 1;
  size_t seen = 0, by = 0;  // How far from the end any comparison came, and the distance of that.
  for (size_t d = 1; d < n; d++) {
    size_t k = 0;
    if (d < seen) {
      // What lies here is a copy of what lies `by` later, as far as has been seen.
      k = same[d - by] < seen - d ? same[d - by] : seen - d;
    }
    while (d + k < n && *(last - k) == *(last - d - k)) k++;
    same[d] = k;
    if (d + k > seen) {
      seen = d + k;
      by = d;
    }
  }
}

// good[k]: how far to shift when the characters from k on matched and the one before did not.
static void find_good_suffixes(Span pattern, size_t* good) {
  size_t same[kMaxLine];
  const size_t n = pattern.size;
  find_repeated_ends(pattern, same);
  // So far that only the beginning of the pattern is where characters matched, if any of it.
  for (size_t shift = 1, k = 0; shift <= n; shift++) {
    if (shift < n && same[shift] < n - shift) continue;
    while (k <= shift) good[k++] = shift;
  }
  // Less far, if all that matched is there again behind another character. The least comes last.
  for (size_t shift = n - 1; shift > 0; shift--) {
    if (same[shift] < n - shift) good[n - same[shift]] = shift;
  }
}

static void search_boyer_moore(Span text, Span pattern, Matches* m) {
  size_t good[kMaxLine + 1], last[kAlphabet];
  find_good_suffixes(pattern, good);
  for (int c = 0; c < kAlphabet; c++) last[c] = 0;  // One more than the position; 0 if absent.
  for (size_t i = 0; i < pattern.size; i++) last[pattern.data[i]] = i + 1;
  for (size_t at = 0; at + pattern.size <= text.size;) {
    const size_t k = match_backwards(text.data + at, pattern, m);
    if (k == 0) {
      found(m, at);
      at += good[0];
      continue;
    }
    const size_t seen = last[text.data[at + k - 1]];
    const size_t bad = seen < k ? k - seen : 1;
    at += bad > good[k] ? bad : good[k];
  }
}

static void search_rabin_karp(Span text, Span pattern, Matches* m) {
  const uint32_t base = 257, modulus = 16777213;
  if (pattern.size > text.size) return;
  uint32_t wanted = 0, hash = 0, top = 1;
  for (size_t i = 0; i < pattern.size; i++) {
    wanted = (uint32_t)(((uint64_t)wanted * base + pattern.data[i]) % modulus);
    hash = (uint32_t)(((uint64_t)hash * base + text.data[i]) % modulus);
    if (i > 0) top = (uint32_t)((uint64_t)top * base % modulus);
  }
  for (size_t at = 0;; at++) {
    m->steps++;
    if (hash == wanted && memcmp(text.data + at, pattern.data, pattern.size) == 0) found(m, at);
    if (at + pattern.size == text.size) break;
    const uint32_t leaving = (uint32_t)((uint64_t)text.data[at] * top % modulus);
    const uint64_t rest = hash + modulus - leaving;
    hash = (uint32_t)((rest * base + text.data[at + pattern.size]) % modulus);
  }
}

static void fill_masks(Span pattern, uint64_t* masks) {
  for (int c = 0; c < kAlphabet; c++) masks[c] = 0;
  for (size_t i = 0; i < pattern.size; i++) masks[pattern.data[i]] |= (uint64_t)1 << i;
}

// Bit i tells whether the first i+1 characters of the pattern end here.
static void search_bitap(Span text, Span pattern, Matches* m) {
  uint64_t masks[kAlphabet], state = 0;
  const uint64_t accept = (uint64_t)1 << (pattern.size - 1);
  fill_masks(pattern, masks);
  for (size_t i = 0; i < text.size; i++) {
    state = ((state << 1) | 1u) & masks[text.data[i]];
    m->steps++;
    if ((state & accept) != 0) found(m, i + 1 - pattern.size);
  }
}

static const struct {
  const char* name;
  void (*search)(Span text, Span pattern, Matches* m);
  size_t longest;
} kSearches[] = {
    {"naive", search_naive, kMaxLine},
    {"first", search_first, kMaxLine},
    {"kmp", search_kmp, kMaxLine},
    {"horspool", search_horspool, kMaxLine},
    {"sunday", search_sunday, kMaxLine},
    {"boyer-moore", search_boyer_moore, kMaxLine},
    {"rabin-karp", search_rabin_karp, kMaxLine},
    {"bitap", search_bitap, kWordBits},
};

enum { kSearchCount = sizeof kSearches / sizeof kSearches[0] };

// ---- Many patterns: an automaton of all their prefixes ----

typedef struct {
  int16_t next[kAlphabet];
  int16_t fail;
  int16_t pattern;  // The one that ends here, or -1.
  int16_t shorter;  // Next node on the way of failures where a pattern ends, or -1.
} Node;

typedef struct {
  Node* nodes;
  int16_t count;
} Automaton;

static int16_t add_node(Automaton* a) {
  Node* node = &a->nodes[a->count];
  for (int c = 0; c < kAlphabet; c++) node->next[c] = -1;
  node->fail = 0;
  node->pattern = node->shorter = -1;
  return a->count++;
}

// Returns the pattern that is already there in its place, or -1.
static int add_pattern(Automaton* a, Span pattern, int number) {
  int16_t at = 0;
  for (size_t i = 0; i < pattern.size; i++) {
    const unsigned char c = pattern.data[i];
    if (a->nodes[at].next[c] < 0) a->nodes[at].next[c] = add_node(a);
    at = a->nodes[at].next[c];
  }
  if (a->nodes[at].pattern >= 0) return a->nodes[at].pattern;
  a->nodes[at].pattern = (int16_t)number;
  return -1;
}

// Breadth first, so that the failure of every node is known before those of its children. Missing
// edges become those of the failure; afterwards the automaton never goes back.
static bool connect(Automaton* a) {
  int16_t* queue = malloc((size_t)a->count * sizeof *queue);
  if (queue == NULL) return false;
  int head = 0, tail = 0;
  queue[tail++] = 0;
  while (head < tail) {
    const int16_t at = queue[head++];
    Node* node = &a->nodes[at];
    if (at != 0) {
      const Node* fail = &a->nodes[node->fail];
      node->shorter = fail->pattern >= 0 ? node->fail : fail->shorter;
    }
    for (int c = 0; c < kAlphabet; c++) {
      const int16_t by_failure = at == 0 ? 0 : a->nodes[node->fail].next[c];
      const int16_t child = node->next[c];
      if (child < 0) {
        node->next[c] = by_failure;
      } else {
        a->nodes[child].fail = by_failure;
        queue[tail++] = child;
      }
    }
  }
  free(queue);
  return true;
}

static void run_automaton(const Automaton* a, Span text, const Span* patterns, Matches* all) {
  int16_t at = 0;
  for (size_t i = 0; i < text.size; i++) {
    at = a->nodes[at].next[text.data[i]];
    int16_t hit = a->nodes[at].pattern >= 0 ? at : a->nodes[at].shorter;
    for (; hit >= 0; hit = a->nodes[hit].shorter) {
      const int number = a->nodes[hit].pattern;
      found(&all[number], i + 1 - patterns[number].size);
    }
  }
}

// ---- Patterns with errors: places where a match with at most k edits ends ----

static void fuzzy_bitap(Span text, Span pattern, int errors, Matches* m) {
  uint64_t masks[kAlphabet], states[kMaxErrors + 1];
  const uint64_t accept = (uint64_t)1 << (pattern.size - 1);
  fill_masks(pattern, masks);
  for (int k = 0; k <= errors; k++) states[k] = ((uint64_t)1 << k) - 1;
  for (size_t i = 0; i < text.size; i++) {
    const uint64_t mask = masks[text.data[i]];
    uint64_t before = states[0];  // The state with one error fewer, before this character.
    states[0] = ((before << 1) | 1u) & mask;
    for (int k = 1; k <= errors; k++) {
      const uint64_t old = states[k];
      const uint64_t match = ((old << 1) | 1u) & mask;
      const uint64_t substitute = (before << 1) | 1u;
      const uint64_t leave_out = (states[k - 1] << 1) | 1u;
      states[k] = match | before | substitute | leave_out;
      before = old;
    }
    m->steps += (uint64_t)errors + 1;
    if ((states[errors] & accept) != 0) found(m, i);
  }
}

// The same by dynamic programming, one column of edit distances per character.
static void fuzzy_columns(Span text, Span pattern, int errors, Matches* m) {
  int column[kWordBits + 1];
  for (size_t k = 0; k <= pattern.size; k++) column[k] = (int)k;
  for (size_t i = 0; i < text.size; i++) {
    int diagonal = 0;  // A match may begin anywhere.
    for (size_t k = 1; k <= pattern.size; k++) {
      int best = diagonal + (pattern.data[k - 1] != text.data[i]);
      diagonal = column[k];
      if (column[k] + 1 < best) best = column[k] + 1;
      if (column[k - 1] + 1 < best) best = column[k - 1] + 1;
      column[k] = best;
    }
    m->steps += pattern.size;
    if (column[pattern.size] <= errors) found(m, i);
  }
}

// ---- Globs: ? is any character, * any number of them, [a-z] one of a set, \ takes away meaning
// ----

// Whether `c` is in the set that begins behind the bracket; `*end` becomes the index behind it, or
// 0 if nothing closes it.
static bool in_set(Span glob, size_t at, unsigned char c, size_t* end) {
  bool inside = false;
  const bool negated = at < glob.size && glob.data[at] == '^';
  if (negated) at++;
  for (bool any = false; at < glob.size; any = true) {
    if (glob.data[at] == ']' && any) {
      *end = at + 1;
      return inside != negated;
    }
    const unsigned char low = glob.data[at++];
    unsigned char high = low;
    if (at + 1 < glob.size && glob.data[at] == '-' && glob.data[at + 1] != ']') {
      high = glob.data[at + 1];
      at += 2;
    }
    if (c >= low && c <= high) inside = true;
  }
  *end = 0;
  return false;
}

static bool glob_matches(Span glob, size_t g, Span line, size_t at, uint64_t* steps) {
  for (; g < glob.size; at++) {
    if (++*steps > kMaxSteps) return false;
    if (glob.data[g] == '*') {
      while (g < glob.size && glob.data[g] == '*') g++;
      if (g == glob.size) return true;
      for (; at <= line.size; at++) {
        if (glob_matches(glob, g, line, at, steps)) return true;
      }
      return false;
    }
    if (at == line.size) return false;
    const unsigned char c = line.data[at];
    size_t end;
    switch (glob.data[g]) {
      case '?':
        g++;
        break;
      case '[':
        if (!in_set(glob, g + 1, c, &end)) return false;
        g = end;
        break;
      case '\\':
        if (g + 1 < glob.size) g++;
        if (glob.data[g++] != c) return false;
        break;
      default:
        if (glob.data[g++] != c) return false;
        break;
    }
  }
  return at == line.size;
}

// ---- Texts ----

static bool read_line(char* line, unsigned* number) {
  size_t n = 0;
  int c = getchar();
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = getchar()) {
    if (n + 1 < kMaxLine && c != '\0') line[n++] = (char)c;
  }
  line[n] = '\0';
  ++*number;
  return true;
}

static char* next_word(char** rest) {
  char* word = *rest;
  while (*word == ' ') word++;
  char* end = word;
  while (*end != ' ' && *end != '\0') end++;
  *rest = end;
  if (*end != '\0') *(*rest)++ = '\0';
  return word;
}

static bool next_number(char** rest, unsigned long low, unsigned long high, unsigned long* value) {
  const char* word = next_word(rest);
  unsigned long v = 0;
  if (*word == '\0' || strlen(word) > 9) return false;
  for (; *word != '\0'; word++) {
    if (*word < '0' || *word > '9') return false;
    v = v * 10 + (unsigned long)(*word - '0');
  }
  *value = v;
  return v >= low && v <= high;
}

static Span span_of(const char* text) {
  const Span span = {(const unsigned char*)text, strlen(text)};
  return span;
}

static const char* append(Session* s, Span piece) {
  if (piece.size > kMaxText - s->size) return "text too long";
  for (size_t i = 0; i < piece.size; i++) s->text[s->size + i] = piece.data[i];
  s->size += piece.size;
  return NULL;
}

// text N: the next N lines.
static const char* run_text(Session* s, char* rest) {
  char line[kMaxLine];
  unsigned long count;
  const char* error = NULL;
  if (!next_number(&rest, 0, 10000, &count)) return "bad number";
  s->size = 0;
  for (unsigned long i = 0; i < count && error == NULL; i++) {
    if (!read_line(line, &s->line)) return "missing lines";
    error = append(s, span_of(line));
    if (error == NULL) error = append(s, span_of("\n"));
  }
  return error;
}

static uint32_t next_random(uint32_t* state) {
  *state = *state * 214013u + 2531011u;
  return *state >> 16;
}

// gen KIND SEED LENGTH: the kinds are dna, words, ab (only two letters) and periodic.
static const char* run_gen(Session* s, char* rest) {
  static const char* const kWords[] = {
      "wind", "sand",    "stone",  "water",    "under",      "over", "the", "the",       "of",
      "and",  "winding", "wander", "standing", "waterstone", "an",   "a",   "sandstone", "thunder"};
  const char* kind = next_word(&rest);
  unsigned long seed, length;
  if (!next_number(&rest, 0, 999999999, &seed) || !next_number(&rest, 1, kMaxText, &length)) {
    return "bad number";
  }
  uint32_t state = (uint32_t)seed;
  s->size = 0;
  while (s->size < length) {
    const uint32_t r = next_random(&state);
    Span piece = {NULL, 1};
    if (strcmp(kind, "dna") == 0) {
      piece.data = (const unsigned char*)"ACGT" + (r >> 5) % 4;
    } else if (strcmp(kind, "ab") == 0) {
      piece.data = (const unsigned char*)"ab" + ((r >> 5) % 8 == 0);
    } else if (strcmp(kind, "periodic") == 0) {
      piece = span_of(r % 64 == 0 ? "abcabcabd" : "abcabc");
    } else if (strcmp(kind, "words") == 0) {
      piece = span_of(kWords[(r >> 3) % (sizeof kWords / sizeof kWords[0])]);
    } else {
      return "unknown kind";
    }
    if (piece.size > length - s->size) piece.size = length - s->size;
    const char* error = append(s, piece);
    if (error == NULL && s->size < length && strcmp(kind, "words") == 0) {
      error = append(s, span_of((r & 7u) == 0 ? "\n" : " "));
    }
    if (error != NULL) return error;
  }
  return NULL;
}

// ---- Searches ----

static bool same_matches(const Matches* a, const Matches* b) {
  return a->count == b->count && a->first == b->first && a->last == b->last && a->sum == b->sum;
}

static void print_matches(const char* indent, const char* label, const Matches* m) {
  printf("%s%s: %zu", indent, label, m->count);
  if (m->count > 0) printf(", first %zu, last %zu, sum %" PRIx64, m->first, m->last, m->sum);
  printf("\n");
}

static bool too_much_work(const Session* s, unsigned long repeat) {
  return (uint64_t)s->size * repeat > kMaxWork;
}

// The text from a place on that moves with the repetitions, so that none of them is like another.
static Span text_from(const Session* s, unsigned long repetition) {
  const size_t skip = s->size == 0 ? 0 : repetition * 7 % s->size;
  const Span span = {s->text + skip, s->size - skip};
  return span;
}

// find REPEAT PATTERN: the pattern is the rest of the line.
static const char* run_find(Session* s, char* rest) {
  unsigned long repeat;
  if (!next_number(&rest, 1, 10000, &repeat)) return "bad number";
  const Span pattern = span_of(rest);
  if (pattern.size == 0) return "empty pattern";
  if (too_much_work(s, repeat)) return "too much work";
  Matches reference = {0, 0, 0, 0, 0};
  uint64_t steps[kSearchCount] = {0};
  for (int k = 0; k < kSearchCount; k++) {
    if (pattern.size > kSearches[k].longest) continue;
    uint64_t sums = 0;
    // Backwards, because the last repetition has to see the whole text.
    for (unsigned long r = repeat; r-- > 0;) {
      Matches m = {0, 0, 0, 0, 0};
      kSearches[k].search(text_from(s, r), pattern, &m);
      steps[k] += m.steps;
      sums = sums * 31 + m.sum + m.count;
      if (r > 0) continue;
      if (k == 0) reference = m;
      if (!same_matches(&m, &reference)) {
        printf("  %s differs\n", kSearches[k].name);
        s->differences++;
      }
    }
    if (k == 0) s->total = s->total * 31 + sums;
  }
  print_matches("", rest, &reference);
  printf("  steps");
  for (int k = 0; k < kSearchCount; k++) printf(" %" PRIu64, steps[k]);
  printf("\n");
  s->searches++;
  return NULL;
}

// multi REPEAT PATTERN PATTERN ...: all of them in one go, and each once more by itself.
static const char* run_multi(Session* s, char* rest) {
  unsigned long repeat;
  Span patterns[kMaxPatterns];
  Matches all[kMaxPatterns];
  int count = 0;
  size_t letters = 0;
  if (!next_number(&rest, 1, 10000, &repeat)) return "bad number";
  for (char* word = next_word(&rest); *word != '\0'; word = next_word(&rest)) {
    if (count == kMaxPatterns) return "too many patterns";
    patterns[count] = span_of(word);
    letters += patterns[count++].size;
  }
  if (count == 0) return "no patterns";
  if (letters >= kMaxNodes) return "patterns too long";
  if (too_much_work(s, repeat)) return "too much work";
  Automaton a = {malloc((letters + 1) * sizeof(Node)), 0};
  if (a.nodes == NULL) return "out of memory";
  add_node(&a);
  const char* error = NULL;
  for (int i = 0; i < count && error == NULL; i++) {
    if (add_pattern(&a, patterns[i], i) >= 0) error = "pattern given twice";
  }
  if (error == NULL && !connect(&a)) error = "out of memory";
  if (error != NULL) {
    free(a.nodes);
    return error;
  }
  uint64_t sums = 0;
  for (unsigned long r = repeat; r-- > 0;) {
    memset(all, 0, sizeof all);
    run_automaton(&a, text_from(s, r), patterns, all);
    for (int i = 0; i < count; i++) sums = sums * 31 + all[i].sum + all[i].count;
  }
  printf("automaton: %d patterns, %d nodes\n", count, a.count);
  free(a.nodes);
  for (int i = 0; i < count; i++) {
    Matches alone = {0, 0, 0, 0, 0};
    search_kmp(text_from(s, 0), patterns[i], &alone);
    print_matches("  ", (const char*)patterns[i].data, &all[i]);
    s->differences += !same_matches(&alone, &all[i]);
  }
  s->total = s->total * 31 + sums;
  s->searches++;
  return NULL;
}

// fuzzy REPEAT ERRORS PATTERN
static const char* run_fuzzy(Session* s, char* rest) {
  unsigned long repeat, errors;
  if (!next_number(&rest, 1, 10000, &repeat) || !next_number(&rest, 0, kMaxErrors, &errors)) {
    return "bad number";
  }
  const Span pattern = span_of(rest);
  if (pattern.size <= errors) return "pattern too short";
  if (pattern.size > kWordBits) return "pattern too long";
  if (too_much_work(s, repeat)) return "too much work";
  Matches slow = {0, 0, 0, 0, 0}, fast = slow;
  uint64_t sums = 0;
  fuzzy_columns(text_from(s, 0), pattern, (int)errors, &slow);
  for (unsigned long r = repeat; r-- > 0;) {
    memset(&fast, 0, sizeof fast);
    fuzzy_bitap(text_from(s, r), pattern, (int)errors, &fast);
    sums = sums * 31 + fast.sum + fast.count;
  }
  printf("%lu errors, ", errors);
  print_matches("", rest, &fast);
  s->differences += !same_matches(&slow, &fast);
  s->total = s->total * 31 + sums;
  s->searches++;
  return NULL;
}

// glob PATTERN: the lines that match as a whole.
static const char* run_glob(Session* s, char* rest) {
  const Span glob = span_of(rest);
  size_t end;
  for (size_t i = 0; i < glob.size; i++) {
    if (glob.data[i] == '\\') {
      i++;
    } else if (glob.data[i] == '[') {
      in_set(glob, i + 1, 0, &end);
      if (end == 0) return "set not closed";
      i = end - 1;
    }
  }
  Matches m = {0, 0, 0, 0, 0};
  Span line = {s->text, 0};
  for (size_t number = 0, at = 0; at < s->size; number++) {
    line.data = s->text + at;
    const unsigned char* newline = memchr(line.data, '\n', s->size - at);
    line.size = newline == NULL ? s->size - at : (size_t)(newline - line.data);
    if (line.size > kMaxLine) return "line too long";
    if (glob_matches(glob, 0, line, 0, &m.steps)) found(&m, number);
    if (m.steps > kMaxSteps) return "too much work";
    at += line.size + 1;
  }
  print_matches("", rest, &m);
  printf("  steps %" PRIu64 "\n", m.steps);
  s->total = s->total * 31 + m.sum + m.count;
  s->searches++;
  return NULL;
}

static const char* run_line(Session* s, char* line) {
  static const struct {
    const char* name;
    const char* (*run)(Session* s, char* rest);
  } kCommands[] = {{"text", run_text},   {"gen", run_gen},     {"find", run_find},
                   {"multi", run_multi}, {"fuzzy", run_fuzzy}, {"glob", run_glob}};
  if (line[0] == '\0' || line[0] == '#') return NULL;
  const char* name = next_word(&line);
  for (size_t i = 0; i < sizeof kCommands / sizeof kCommands[0]; i++) {
    if (strcmp(kCommands[i].name, name) == 0) return kCommands[i].run(s, line);
  }
  return "unknown command";
}

int main(void) {
  Session session;
  char line[kMaxLine];
  memset(&session, 0, sizeof session);
  session.text = malloc(kMaxText);
  if (session.text == NULL) {
    puts("out of memory");
    return 1;
  }
  printf("steps of:");
  for (int k = 0; k < kSearchCount; k++) printf(" %s", kSearches[k].name);
  printf("\n");
  while (read_line(line, &session.line)) {
    const unsigned number = session.line;
    const char* error = run_line(&session, line);
    if (error == NULL) continue;
    printf("line %u: %s\n", number, error);
    session.errors++;
  }
  printf("%u searches, %u errors, %u differences, total %016" PRIx64 "\n", session.searches,
         session.errors, session.differences, session.total);
  free(session.text);
  return 0;
}
