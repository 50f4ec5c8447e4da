// LZSS: a sliding window compressor with hash chains and three parsing strategies, and its
// decoder. Reads commands from stdin: `set WINDOW_BITS CHAIN STRATEGY`, `text REPEAT N`
// followed by N lines, `gen KIND SEED LENGTH REPEAT`, `show MESSAGE`, `stream HEX`; prints
// sizes, counts and checksums.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMinWindowBits = 8,
  kMaxWindowBits = 13,
  kTokenBits = 16,  // Distance and length of a match share this many bits.
  kMinMatch = 3,
  kHashBits = 12,
  kHashSize = 1 << kHashBits,
  kMaxMessage = 1 << 20,
  kMaxWork = 1 << 24,
  kMaxChain = 4096,
  kLiteralCost = 9,
  kMatchCost = 17,
};

typedef struct {
  const unsigned char* data;
  size_t size;
} Slice;

typedef struct {
  unsigned char* data;
  size_t size;
  size_t capacity;
} Bytes;

typedef struct {
  int32_t distance;
  int32_t length;  // 0: no match.
} Match;

typedef struct {
  int window_bits;
  int chain;
  int strategy;
} Options;

typedef struct {
  int32_t head[kHashSize];
  int32_t previous[1 << kMaxWindowBits];
  int32_t window;
  int32_t longest;
  int32_t chain;
  uint64_t steps;
} Finder;

typedef struct {
  uint64_t literals;
  uint64_t matches;
  uint64_t distances;
  int32_t longest;
} Statistics;

// Collects eight items under one byte that tells literals (0) from matches (1).
typedef struct {
  Bytes* out;
  size_t flags_at;
  unsigned used;
  int length_bits;
  bool trace;
  Statistics stats;
} Encoder;

typedef bool (*ParseFn)(Finder* finder, Encoder* encoder, Slice message);

typedef struct {
  Options options;
  Bytes message;
  Bytes packed;
  Bytes unpacked;
  unsigned lines;
  unsigned errors;
  uint64_t bytes_in;
  uint64_t bytes_out;
} Session;

// ---- Bytes ----

static bool reserve(Bytes* b, size_t capacity) {
  if (capacity <= b->capacity) return true;
  size_t grown = b->capacity < 64 ? 64 : b->capacity;
  while (grown < capacity) grown += grown / 2;
  unsigned char* data = realloc(b->data, grown);
  if (data == NULL) return false;
  b->data = data;
  b->capacity = grown;
  return true;
}

// The caller has reserved the room.
static void append(Bytes* b, unsigned value) {
  b->data[b->size++] = (unsigned char)(value & 0xffu);
}

static uint32_t checksum(Slice s) {
  uint32_t low = 0, high = 0;
  for (size_t i = 0; i < s.size; i++) {
    low = (low + s.data[i]) % 65521u;
    high = (high + low) % 65521u;
  }
  return high << 16 | low;
}

static Slice view(const Bytes* b) {
  const Slice s = {b->data, b->size};
  return s;
}

// ---- Finding matches ----

static uint32_t hash3(const unsigned char* p) {
  const uint32_t key = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
  return (key * 2654435761u) >> (32 - kHashBits);
}

static void finder_reset(Finder* f, const Options* options) {
  for (int i = 0; i < kHashSize; i++) f->head[i] = -1;
  f->window = 1 << options->window_bits;
  f->longest = (1 << (kTokenBits - options->window_bits)) - 1 + kMinMatch;
  f->chain = options->chain;
}

static void finder_insert(Finder* f, Slice message, size_t at) {
  if (at + kMinMatch > message.size) return;
  const uint32_t h = hash3(message.data + at);
  f->previous[at & (size_t)(f->window - 1)] = f->head[h];
  f->head[h] = (int32_t)at;
}

static int32_t common_length(const unsigned char* a, const unsigned char* b, int32_t limit) {
  int32_t n = 0;
  while (n < limit && a[n] == b[n]) n++;
  return n;
}

// The longest match of at most `chain` candidates, the nearest one if there are several.
static Match find_match(Finder* f, Slice message, size_t at) {
  Match best = {0, 0};
  if (at + kMinMatch > message.size) return best;
  const unsigned char* here = message.data + at;
  const size_t left = message.size - at;
  const int32_t limit = left < (size_t)f->longest ? (int32_t)left : f->longest;
  int32_t candidate = f->head[hash3(here)];
  for (int32_t tries = f->chain; tries > 0 && candidate >= 0; tries--) {
    const int32_t distance = (int32_t)at - candidate;
    if (distance > f->window) break;
    f->steps++;
    const unsigned char* there = message.data + candidate;
    // A longer match must agree where the best one ended.
    if (best.length == 0 || there[best.length] == here[best.length]) {
      const int32_t length = common_length(there, here, limit);
      if (length >= kMinMatch && length > best.length) {
        best.length = length;
        best.distance = distance;
        if (length == limit) break;
      }
    }
    candidate = f->previous[(uint32_t)candidate & (uint32_t)(f->window - 1)];
  }
  return best;
}

// ---- Writing items ----

static void begin_item(Encoder* e, unsigned flag) {
  if (e->used == 8) e->used = 0;
  if (e->used == 0) {
    e->flags_at = e->out->size;
    append(e->out, 0);
  }
  e->out->data[e->flags_at] |= (unsigned char)(flag << e->used);
  e->used++;
}

static void put_literal(Encoder* e, unsigned char value) {
  begin_item(e, 0);
  append(e->out, value);
  e->stats.literals++;
  if (!e->trace) return;
  if (value > 32 && value < 127) {
    printf(" %c", value);
  } else {
    printf(" #%02x", (unsigned)value);
  }
}

static void put_match(Encoder* e, Match match) {
  const unsigned distance = (unsigned)(match.distance - 1);
  const unsigned length = (unsigned)(match.length - kMinMatch);
  const unsigned token = distance << e->length_bits | length;
  begin_item(e, 1);
  append(e->out, token);
  append(e->out, token >> 8);
  e->stats.matches++;
  e->stats.distances += (uint64_t)match.distance;
  if (match.length > e->stats.longest) e->stats.longest = match.length;
  if (e->trace) printf(" <%" PRId32 ",%" PRId32 ">", match.distance, match.length);
}

// ---- Parsing strategies ----

static bool parse_greedy(Finder* f, Encoder* e, Slice message) {
  for (size_t at = 0; at < message.size;) {
    const Match match = find_match(f, message, at);
    const size_t step = match.length > 0 ? (size_t)match.length : 1;
    if (match.length > 0) {
      put_match(e, match);
    } else {
      put_literal(e, message.data[at]);
    }
    for (size_t i = 0; i < step; i++) finder_insert(f, message, at + i);
    at += step;
  }
  return true;
}

// Writes a literal instead of a match when the match one byte later is longer.
static bool parse_lazy(Finder* f, Encoder* e, Slice message) {
  Match waiting = {0, 0};
  size_t at = 0;
  bool have_waiting = false;
  while (at < message.size) {
    const Match match = have_waiting ? waiting : find_match(f, message, at);
    have_waiting = false;
    finder_insert(f, message, at);
    if (match.length == 0) {
      put_literal(e, message.data[at++]);
      continue;
    }
    if (match.length < f->longest) {
      waiting = find_match(f, message, at + 1);
      if (waiting.length > match.length) {
        put_literal(e, message.data[at++]);
        have_waiting = true;
        continue;
      }
    }
    put_match(e, match);
    for (int32_t i = 1; i < match.length; i++) finder_insert(f, message, at + (size_t)i);
    at += (size_t)match.length;
  }
  return true;
}

// Finds all matches first, then the cheapest way from every position to the end, back to front.
static bool parse_optimal(Finder* f, Encoder* e, Slice message) {
  const size_t n = message.size;
  Match* matches = malloc((n + 1) * sizeof *matches);
  uint32_t* cost = malloc((n + 1) * sizeof *cost);
  const bool allocated = matches != NULL && cost != NULL;
  if (allocated) {
    for (size_t at = 0; at < n; at++) {
      matches[at] = find_match(f, message, at);
      finder_insert(f, message, at);
    }
    cost[n] = 0;
    for (size_t at = n; at-- > 0;) {
      uint32_t best = cost[at + 1] + kLiteralCost;
      int32_t best_length = 0;
      for (int32_t length = kMinMatch; length <= matches[at].length; length++) {
        const uint32_t total = cost[at + (size_t)length] + kMatchCost;
        if (total <= best) {
          best = total;
          best_length = length;
        }
      }
      cost[at] = best;
      matches[at].length = best_length;
    }
    for (size_t at = 0; at < n;) {
      if (matches[at].length == 0) {
        put_literal(e, message.data[at++]);
      } else {
        put_match(e, matches[at]);
        at += (size_t)matches[at].length;
      }
    }
  }
  free(matches);
  free(cost);
  return allocated;
}

static const struct {
  const char* name;
  ParseFn parse;
} kStrategies[] = {{"greedy", parse_greedy}, {"lazy", parse_lazy}, {"optimal", parse_optimal}};

enum { kStrategyCount = sizeof kStrategies / sizeof kStrategies[0] };

// ---- Streams: window bits, size as a variable-length number, items, sum of all bytes ----

static bool compress(Slice message, const Options* options, Bytes* out, bool trace,
                     Statistics* stats, uint64_t* steps) {
  Finder* finder = calloc(1, sizeof *finder);
  // Even without a single match there is one flag byte per eight literals.
  if (finder == NULL || !reserve(out, message.size + message.size / 8 + 16)) {
    free(finder);
    return false;
  }
  out->size = 0;
  append(out, (unsigned)options->window_bits);
  size_t rest = message.size;
  for (; rest >= 128; rest >>= 7) append(out, 128u | (unsigned)(rest & 127u));
  append(out, (unsigned)rest);

  Encoder encoder = {out, 0, 0, kTokenBits - options->window_bits, trace, {0, 0, 0, 0}};
  finder_reset(finder, options);
  const bool done = kStrategies[options->strategy].parse(finder, &encoder, message);
  const uint32_t sum = checksum(message);
  append(out, sum);
  append(out, sum >> 8);
  *stats = encoder.stats;
  *steps = finder->steps;
  free(finder);
  return done;
}

static const char* decompress(Slice in, Bytes* out) {
  size_t at = 1, size = 0;
  unsigned shift = 0;
  if (in.size < 1) return "empty stream";
  const int window_bits = in.data[0];
  if (window_bits < kMinWindowBits || window_bits > kMaxWindowBits) return "bad window";
  for (;; shift += 7) {
    if (at == in.size) return "size cut off";
    if (shift > 21) return "size too large";
    const unsigned char byte = in.data[at++];
    size |= (size_t)(byte & 127u) << shift;
    if (byte < 128) break;
  }
  if (size > kMaxMessage) return "size too large";
  if (!reserve(out, size)) return "out of memory";
  out->size = 0;

  const int length_bits = kTokenBits - window_bits;
  unsigned flags = 1;  // The bit above the flags tells when they are used up.
  while (out->size < size) {
    if (flags == 1) {
      if (at == in.size) return "items cut off";
      flags = 0x100u | in.data[at++];
    }
    const bool is_match = (flags & 1u) != 0;
    flags >>= 1;
    if (!is_match) {
      if (at == in.size) return "items cut off";
      append(out, in.data[at++]);
      continue;
    }
    if (in.size - at < 2) return "items cut off";
    const unsigned token = in.data[at] | (unsigned)in.data[at + 1] << 8;
    at += 2;
    const size_t distance = (token >> length_bits) + 1;
    const size_t length = (token & ((1u << length_bits) - 1u)) + kMinMatch;
    if (distance > out->size) return "match before the beginning";
    if (length > size - out->size) return "match behind the end";
    // Byte by byte, because a match may overlap what it produces.
    for (size_t i = 0; i < length; i++) append(out, out->data[out->size - distance]);
  }
  if (in.size - at != 2) return "wrong length of the stream";
  const uint32_t sum = checksum(view(out)) & 0xffffu;
  return sum == (in.data[at] | (uint32_t)in.data[at + 1] << 8) ? NULL : "wrong sum";
}

// ---- Commands ----

static void reverse(unsigned char* data, size_t low, size_t high) {
  while (low + 1 < high) {
    const unsigned char t = data[low];
    data[low++] = data[--high];
    data[high] = t;
  }
}

static void rotate(Bytes* b, size_t by) {
  reverse(b->data, 0, by);
  reverse(b->data, by, b->size);
  reverse(b->data, 0, b->size);
}

static bool same(Slice a, Slice b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

// Compresses and decompresses the session's message, each time after turning it a little
// further.
static const char* run_message(Session* s, const char* name, uint32_t repeat, bool trace) {
  Statistics stats = {0, 0, 0, 0};
  uint64_t steps = 0;
  uint32_t sums = 0;
  for (uint32_t r = 0; r < repeat; r++) {
    if (r > 0 && s->message.size > 0) rotate(&s->message, (sums & 0xfffu) % s->message.size);
    if (trace) printf("items");
    if (!compress(view(&s->message), &s->options, &s->packed, trace, &stats, &steps)) {
      return "out of memory";
    }
    if (trace) printf("\n");
    const char* error = decompress(view(&s->packed), &s->unpacked);
    if (error != NULL) return error;
    if (!same(view(&s->message), view(&s->unpacked))) return "round trip failed";
    sums = sums * 31u + checksum(view(&s->packed));
    s->bytes_in += s->message.size;
    s->bytes_out += s->packed.size;
  }
  const double mean = stats.matches == 0 ? 0.0 : (double)stats.distances / (double)stats.matches;
  printf("%-8s %-7s %zu -> %zu, %" PRIu64 " literals, %" PRIu64 " matches, longest %" PRId32
         ", mean distance %.2f, %" PRIu64 " steps, %08" PRIx32 "\n",
         name, kStrategies[s->options.strategy].name, s->message.size, s->packed.size,
         stats.literals, stats.matches, stats.longest, mean, steps, sums);
  return NULL;
}

static Slice next_word(Slice* rest) {
  size_t start = 0;
  while (start < rest->size && rest->data[start] == ' ') start++;
  size_t end = start;
  while (end < rest->size && rest->data[end] != ' ') end++;
  const Slice word = {rest->data + start, end - start};
  const size_t used = end < rest->size ? end + 1 : end;
  rest->data += used;
  rest->size -= used;
  return word;
}

static bool word_is(Slice word, const char* text) {
  return word.size == strlen(text) && memcmp(word.data, text, word.size) == 0;
}

static bool next_number(Slice* rest, uint32_t low, uint32_t high, uint32_t* value) {
  const Slice word = next_word(rest);
  uint32_t v = 0;
  if (word.size == 0 || word.size > 9) return false;
  for (size_t i = 0; i < word.size; i++) {
    if (word.data[i] < '0' || word.data[i] > '9') return false;
    v = v * 10 + (uint32_t)(word.data[i] - '0');
  }
  *value = v;
  return v >= low && v <= high;
}

static const char* command_set(Session* s, Slice rest) {
  uint32_t bits, chain;
  if (!next_number(&rest, kMinWindowBits, kMaxWindowBits, &bits)) return "bad window";
  if (!next_number(&rest, 1, kMaxChain, &chain)) return "bad chain length";
  const Slice name = next_word(&rest);
  for (int i = 0; i < kStrategyCount; i++) {
    if (!word_is(name, kStrategies[i].name)) continue;
    s->options.window_bits = (int)bits;
    s->options.chain = (int)chain;
    s->options.strategy = i;
    return NULL;
  }
  return "unknown strategy";
}

static bool next_line(Slice* input, Slice* line) {
  if (input->size == 0) return false;
  size_t n = 0;
  while (n < input->size && input->data[n] != '\n') n++;
  line->data = input->data;
  line->size = n;
  const size_t used = n < input->size ? n + 1 : n;
  input->data += used;
  input->size -= used;
  return true;
}

static const char* command_text(Session* s, Slice rest, Slice* input) {
  uint32_t repeat, count;
  if (!next_number(&rest, 1, 1000, &repeat) || !next_number(&rest, 0, 1000, &count)) {
    return "expected: text REPEAT N";
  }
  s->message.size = 0;
  for (uint32_t i = 0; i < count; i++) {
    Slice line;
    if (!next_line(input, &line)) return "missing lines";
    s->lines++;
    if (!reserve(&s->message, s->message.size + line.size + 1)) return "out of memory";
    for (size_t k = 0; k < line.size; k++) append(&s->message, line.data[k]);
    append(&s->message, '\n');
  }
  if (s->message.size > kMaxMessage || s->message.size * repeat > kMaxWork) return "too much work";
  return run_message(s, "text", repeat, false);
}

static uint32_t next_random(uint32_t* state) {
  *state = *state * 1103515245u + 12345u;
  return *state >> 16;
}

static void add_word(Bytes* b, const char* word, size_t limit) {
  for (; *word != '\0' && b->size < limit; word++) append(b, (unsigned char)*word);
}

static bool generate(Bytes* b, Slice kind, uint32_t seed, uint32_t length) {
  static const char* const kWords[] = {
      "the ",  "lamp ",    "window ",  "of ",      "a ",      "harbour ", "and ", "rain ",
      "in ",   "morning ", "letters ", "were ",    "on ",     "table, ",  "to ",  "be ",
      "slow ", "ships ",   "under ",   "evening ", "light. ", "He ",      "had ", "never\n",
  };
  uint32_t state = seed;
  b->size = 0;
  while (b->size < length) {
    const uint32_t r = next_random(&state);
    if (word_is(kind, "random")) {
      append(b, r >> 3);
    } else if (word_is(kind, "dna")) {
      append(b, (unsigned char)"acgt"[r >> 7 & 3u]);
    } else if (word_is(kind, "runs")) {
      const uint32_t run = 1 + (r >> 4) % 60;
      for (uint32_t i = 0; i < run && b->size < length; i++) append(b, 'A' + (r & 15u));
    } else if (word_is(kind, "words")) {
      add_word(b, kWords[(r >> 5) % (sizeof kWords / sizeof kWords[0])], length);
    } else if (word_is(kind, "periodic")) {
      const size_t at = b->size;
      append(b, (unsigned)(at % 251 + at % 7 + (r % 400 == 0)));
    } else {
      return false;
    }
  }
  return true;
}

static const char* command_gen(Session* s, Slice rest) {
  const Slice kind = next_word(&rest);
  uint32_t seed, length, repeat;
  if (!next_number(&rest, 0, UINT32_MAX, &seed) || !next_number(&rest, 1, kMaxMessage, &length) ||
      !next_number(&rest, 1, 1000, &repeat)) {
    return "expected: gen KIND SEED LENGTH REPEAT";
  }
  if ((uint64_t)length * repeat > kMaxWork) return "too much work";
  if (!reserve(&s->message, length)) return "out of memory";
  if (!generate(&s->message, kind, seed, length)) return "unknown kind";
  char name[9];
  memcpy(name, kind.data, kind.size);  // A known kind has at most eight letters.
  name[kind.size] = '\0';
  return run_message(s, name, repeat, false);
}

static const char* command_show(Session* s, Slice rest) {
  if (!reserve(&s->message, rest.size)) return "out of memory";
  s->message.size = 0;
  for (size_t i = 0; i < rest.size; i++) append(&s->message, rest.data[i]);
  const char* error = run_message(s, "show", 1, true);
  if (error != NULL) return error;
  printf("stream ");
  for (size_t i = 0; i < s->packed.size; i++) printf("%02x", (unsigned)s->packed.data[i]);
  printf("\n");
  return NULL;
}

static int hex_digit(unsigned char c) {
  static const char kDigits[] = "0123456789abcdef";
  const char* found = c == '\0' ? NULL : strchr(kDigits, c);
  return found == NULL ? -1 : (int)(found - kDigits);
}

static const char* command_stream(Session* s, Slice rest) {
  if (!reserve(&s->packed, rest.size / 2 + 1)) return "out of memory";
  s->packed.size = 0;
  if (rest.size % 2 != 0) return "bad hex";
  for (size_t i = 0; i < rest.size; i += 2) {
    const int high = hex_digit(rest.data[i]), low = hex_digit(rest.data[i + 1]);
    if (high < 0 || low < 0) return "bad hex";
    append(&s->packed, (unsigned)(high * 16 + low));
  }
  const char* error = decompress(view(&s->packed), &s->unpacked);
  if (error != NULL) return error;
  printf("decoded %zu bytes, %08" PRIx32 ":", s->unpacked.size, checksum(view(&s->unpacked)));
  for (size_t i = 0; i < s->unpacked.size && i < 40; i++) {
    const unsigned char c = s->unpacked.data[i];
    putchar(c >= 32 && c < 127 ? c : '?');
  }
  printf("\n");
  return NULL;
}

static const char* run_command(Session* s, Slice line, Slice* input) {
  if (line.size == 0 || line.data[0] == '#') return NULL;
  const Slice name = next_word(&line);
  if (word_is(name, "set")) return command_set(s, line);
  if (word_is(name, "text")) return command_text(s, line, input);
  if (word_is(name, "gen")) return command_gen(s, line);
  if (word_is(name, "show")) return command_show(s, line);
  if (word_is(name, "stream")) return command_stream(s, line);
  return "unknown command";
}

static bool read_all(Bytes* b) {
  size_t got;
  do {
    if (!reserve(b, b->size + 4096)) return false;
    got = fread(b->data + b->size, 1, 4096, stdin);
    b->size += got;
  } while (got > 0);
  return ferror(stdin) == 0;
}

int main(void) {
  Session session;
  memset(&session, 0, sizeof session);
  session.options.window_bits = 12;
  session.options.chain = 32;
  Bytes all = {NULL, 0, 0};
  if (!read_all(&all)) {
    puts("cannot read the input");
    free(all.data);
    return 1;
  }
  Slice input = view(&all), line;
  while (next_line(&input, &line)) {
    const unsigned number = ++session.lines;
    const char* error = run_command(&session, line, &input);
    if (error == NULL) continue;
    printf("line %u: %s\n", number, error);
    session.errors++;
  }
  printf("%u lines, %u errors, %" PRIu64 " -> %" PRIu64 " bytes\n", session.lines, session.errors,
         session.bytes_in, session.bytes_out);
  free(all.data);
  free(session.message.data);
  free(session.packed.data);
  free(session.unpacked.data);
  return 0;
}
