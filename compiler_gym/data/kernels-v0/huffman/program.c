// Huffman coding: length-limited canonical codes, a compressor and two decoders that must
// agree. Reads commands from stdin: `lines NAME REPEAT N` followed by N lines of text to
// compress, `gen KIND SEED LENGTH REPEAT`, `show MESSAGE` and `stream HEX`; prints sizes and
// checksums.

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kSymbols = 256,
  kMaxBits = 15,
  kFastBits = 9,  // Codes up to this length are decoded with one table lookup.
  kMaxLine = 2048,
  kMaxLength = 1 << 20,
  kMaxWork = 1 << 25,
};

typedef struct {
  unsigned char* data;
  size_t size;
  size_t capacity;
  bool failed;  // An allocation failed; further bytes are dropped.
} Buffer;

typedef struct {
  unsigned char length[kSymbols];  // 0: the symbol has no code.
  uint16_t code[kSymbols];
} CodeBook;

// Canonical codes of one length are consecutive numbers, and symbols are ordered by code.
typedef struct {
  uint32_t first_code[kMaxBits + 2];
  uint32_t first_index[kMaxBits + 2];
  uint32_t count[kMaxBits + 2];
  unsigned char sorted[kSymbols];
  uint16_t fast[1 << kFastBits];  // symbol << 4 | length, or 0 for a longer code.
} Decoder;

typedef struct {
  Buffer* out;
  uint32_t bits;
  unsigned count;
} BitWriter;

typedef struct {
  const unsigned char* data;
  size_t size;
  size_t next;
  uint32_t bits;
  unsigned count;
  unsigned padding;  // Zero bits made up behind the end of the data.
} BitReader;

typedef struct {
  Buffer message;
  Buffer packed;
  Buffer unpacked;
  unsigned blocks;
  unsigned errors;
  uint64_t bytes_in;
  uint64_t bytes_out;
} Session;

// ---- Buffers and bits ----

static void buffer_clear(Buffer* b) {
  b->size = 0;
  b->failed = false;
}

static void buffer_put(Buffer* b, unsigned char byte) {
  if (b->size == b->capacity) {
    const size_t capacity = b->capacity == 0 ? 256 : 2 * b->capacity;
    unsigned char* data = realloc(b->data, capacity);
    if (data == NULL) {
      b->failed = true;
      return;
    }
    b->data = data;
    b->capacity = capacity;
  }
  b->data[b->size++] = byte;
}

static void buffer_free(Buffer* b) {
  free(b->data);
  b->data = NULL;
  b->size = b->capacity = 0;
}

static void write_bits(BitWriter* w, uint32_t value, unsigned length) {
  w->bits = (w->bits << length) | value;
  w->count += length;
  while (w->count >= 8) {
    w->count -= 8;
    buffer_put(w->out, (unsigned char)((w->bits >> w->count) & 0xffu));
  }
}

static void flush_bits(BitWriter* w) {
  if (w->count > 0) write_bits(w, 0, 8 - w->count);
}

static void refill(BitReader* r, unsigned wanted) {
  while (r->count < wanted) {
    uint32_t byte = 0;
    if (r->next < r->size) {
      byte = r->data[r->next++];
    } else {
      r->padding += 8;
    }
    r->bits = (r->bits << 8) | byte;
    r->count += 8;
  }
}

static uint32_t peek_bits(BitReader* r, unsigned length) {
  refill(r, length);
  return (r->bits >> (r->count - length)) & ((1u << length) - 1u);
}

static void skip_bits(BitReader* r, unsigned length) { r->count -= length; }

// True when bits were used that the data does not have.
static bool ran_out(const BitReader* r) { return r->padding > r->count; }

// ---- Code construction ----

typedef struct {
  uint64_t weight;
  int left;   // A symbol in a leaf; otherwise the index of the first child.
  int right;  // -1 in a leaf.
} Node;

static int compare_leaves(const void* a, const void* b) {
  const Node *x = a, *y = b;
  if (x->weight != y->weight) return x->weight < y->weight ? -1 : 1;
  return x->left - y->left;
}

static int collect_leaves(const uint32_t* frequency, Node* leaves) {
  int n = 0;
  for (int s = 0; s < kSymbols; s++) {
    if (frequency[s] == 0) continue;
    leaves[n].weight = frequency[s];
    leaves[n].left = s;
    leaves[n].right = -1;
    n++;
  }
  qsort(leaves, (size_t)n, sizeof *leaves, compare_leaves);
  return n;
}

// Sets the lengths of all codes below `node`; returns the longest.
static int assign_depths(const Node* nodes, int node, int depth, CodeBook* book) {
  if (nodes[node].right < 0) {
    book->length[nodes[node].left] = (unsigned char)depth;
    return depth;
  }
  const int a = assign_depths(nodes, nodes[node].left, depth + 1, book);
  const int b = assign_depths(nodes, nodes[node].right, depth + 1, book);
  return a > b ? a : b;
}

// The nodes from 0 to n-1 are the sorted leaves. Inner nodes come into being in order of
// weight, so that two queues inside one array replace a heap. Returns the longest code length.
static int build_tree(Node* nodes, int n, CodeBook* book) {
  int leaf = 0, inner = n, end = n;
  while (end < 2 * n - 1) {
    int pick[2];
    for (int k = 0; k < 2; k++) {
      const bool take_leaf =
          leaf < n && (inner == end || nodes[leaf].weight <= nodes[inner].weight);
      pick[k] = take_leaf ? leaf++ : inner++;
    }
    nodes[end].weight = nodes[pick[0]].weight + nodes[pick[1]].weight;
    nodes[end].left = pick[0];
    nodes[end].right = pick[1];
    end++;
  }
  return assign_depths(nodes, end - 1, 0, book);
}

// Every time a leaf is met on the way down, its code gets one bit longer.
static void count_packages(const Node* levels, int level, int item, CodeBook* book) {
  const Node* node = &levels[level * 2 * kSymbols + item];
  if (node->right < 0) {
    book->length[node->left]++;
    return;
  }
  count_packages(levels, level - 1, node->left, book);
  count_packages(levels, level - 1, node->right, book);
}

// The package-merge algorithm: the best code none of whose lengths exceeds kMaxBits.
static bool build_limited(const Node* leaves, int n, CodeBook* book) {
  Node* levels = calloc((size_t)kMaxBits * 2 * kSymbols, sizeof *levels);
  if (levels == NULL) return false;
  int size = 0;
  for (int level = 0; level < kMaxBits; level++) {
    const Node* below = level > 0 ? levels + (level - 1) * 2 * kSymbols : NULL;
    Node* here = levels + level * 2 * kSymbols;
    const int packages = size / 2;
    int leaf = 0, package = 0;
    size = 0;
    while (leaf < n || package < packages) {
      Node pair = {UINT64_MAX, 2 * package, 2 * package + 1};
      if (package < packages) pair.weight = below[pair.left].weight + below[pair.right].weight;
      if (leaf < n && leaves[leaf].weight <= pair.weight) {
        here[size++] = leaves[leaf++];
      } else {
        here[size++] = pair;
        package++;
      }
    }
  }
  memset(book->length, 0, sizeof book->length);
  for (int i = 0; i < 2 * n - 2; i++) count_packages(levels, kMaxBits - 1, i, book);
  free(levels);
  return true;
}

static void count_lengths(const CodeBook* book, uint32_t* count) {
  for (int i = 0; i < kMaxBits + 2; i++) count[i] = 0;
  for (int s = 0; s < kSymbols; s++) count[book->length[s]]++;
  count[0] = 0;
}

static void assign_codes(CodeBook* book) {
  uint32_t count[kMaxBits + 2], next[kMaxBits + 2];
  count_lengths(book, count);
  uint32_t code = 0;
  for (int length = 1; length <= kMaxBits; length++) {
    code = (code + count[length - 1]) << 1;
    next[length] = code;
  }
  for (int s = 0; s < kSymbols; s++) {
    book->code[s] = 0;
    if (book->length[s] != 0) book->code[s] = (uint16_t)(next[book->length[s]]++ & 0xffffu);
  }
}

static bool build_book(const uint32_t* frequency, CodeBook* book) {
  Node nodes[2 * kSymbols];
  memset(book, 0, sizeof *book);
  const int n = collect_leaves(frequency, nodes);
  if (n == 0) return true;
  if (n == 1) {
    book->length[nodes[0].left] = 1;
  } else if (build_tree(nodes, n, book) > kMaxBits && !build_limited(nodes, n, book)) {
    return false;
  }
  assign_codes(book);
  return true;
}

// ---- The compressed stream: length, runs of code lengths, codes ----

static void write_lengths(Buffer* out, const CodeBook* book) {
  for (int s = 0; s < kSymbols;) {
    const int length = book->length[s];
    int run = 1;
    while (run < 16 && s + run < kSymbols && book->length[s + run] == length) run++;
    buffer_put(out, (unsigned char)(length << 4 | (run - 1)));
    s += run;
  }
}

static void count_symbols(const Buffer* message, uint32_t* frequency) {
  memset(frequency, 0, kSymbols * sizeof *frequency);
  for (size_t i = 0; i < message->size; i++) frequency[message->data[i]]++;
}

static bool compress(const Buffer* message, Buffer* out, CodeBook* book) {
  uint32_t frequency[kSymbols];
  count_symbols(message, frequency);
  if (!build_book(frequency, book)) return false;
  buffer_clear(out);
  for (int shift = 0; shift < 32; shift += 8) {
    buffer_put(out, (unsigned char)((message->size >> shift) & 0xffu));
  }
  if (message->size == 0) return !out->failed;
  write_lengths(out, book);
  BitWriter writer = {out, 0, 0};
  for (size_t i = 0; i < message->size; i++) {
    const unsigned char s = message->data[i];
    write_bits(&writer, book->code[s], book->length[s]);
  }
  flush_bits(&writer);
  return !out->failed;
}

static const char* build_decoder(const CodeBook* book, Decoder* d) {
  uint32_t space = 0, index = 0, code = 0, used = 0;
  count_lengths(book, d->count);
  for (int length = 1; length <= kMaxBits; length++) {
    code = (code + d->count[length - 1]) << 1;
    d->first_code[length] = code;
    d->first_index[length] = index;
    index += d->count[length];
    space += d->count[length] << (kMaxBits - length);
    used += d->count[length];
  }
  if (space > 1u << kMaxBits) return "too many codes";
  if (space < 1u << kMaxBits && used != 1) return "codes missing";

  uint32_t next[kMaxBits + 1];
  for (int length = 1; length <= kMaxBits; length++) next[length] = d->first_index[length];
  memset(d->fast, 0, sizeof d->fast);
  for (int s = 0; s < kSymbols; s++) {
    const int length = book->length[s];
    if (length == 0) continue;
    const uint32_t at = next[length]++;
    d->sorted[at] = (unsigned char)s;
    if (length > kFastBits) continue;
    const uint32_t own = d->first_code[length] + (at - d->first_index[length]);
    const uint32_t start = own << (kFastBits - length);
    for (uint32_t i = 0; i < 1u << (kFastBits - length); i++) {
      d->fast[start + i] = (uint16_t)(s << 4 | length);
    }
  }
  return NULL;
}

// Returns the symbol, or -1 when the bits are no code (possible with a single code only).
static int decode_slow(const Decoder* d, BitReader* r) {
  uint32_t code = 0;
  for (int length = 1; length <= kMaxBits; length++) {
    code = code << 1 | peek_bits(r, 1);
    skip_bits(r, 1);
    const uint32_t offset = code - d->first_code[length];
    if (code >= d->first_code[length] && offset < d->count[length]) {
      return d->sorted[d->first_index[length] + offset];
    }
  }
  return -1;
}

static int decode_fast(const Decoder* d, BitReader* r) {
  const unsigned entry = d->fast[peek_bits(r, kFastBits)];
  if (entry == 0) return decode_slow(d, r);
  skip_bits(r, entry & 15u);
  return (int)(entry >> 4);
}

typedef int (*DecodeFn)(const Decoder* d, BitReader* r);

static const char* decompress(const Buffer* packed, Buffer* out, DecodeFn decode) {
  buffer_clear(out);
  if (packed->size < 4) return "no length";
  uint32_t length = 0;
  for (int i = 3; i >= 0; i--) length = length << 8 | packed->data[i];
  if (length > kMaxLength) return "too long";
  if (length == 0) return packed->size == 4 ? NULL : "bytes behind the end";

  CodeBook book;
  memset(&book, 0, sizeof book);
  size_t at = 4;
  for (int s = 0; s < kSymbols;) {
    if (at == packed->size) return "code lengths cut off";
    const int run = (packed->data[at] & 15) + 1;
    const unsigned char bits = packed->data[at++] >> 4;
    if (s + run > kSymbols) return "too many code lengths";
    for (int i = 0; i < run; i++) book.length[s++] = bits;
  }
  Decoder decoder;
  const char* error = build_decoder(&book, &decoder);
  if (error != NULL) return error;

  BitReader reader = {packed->data, packed->size, at, 0, 0, 0};
  for (uint32_t i = 0; i < length; i++) {
    const int symbol = decode(&decoder, &reader);
    if (ran_out(&reader)) return "codes cut off";
    if (symbol < 0) return "not a code";
    buffer_put(out, (unsigned char)symbol);
  }
  if (out->failed) return "out of memory";
  return reader.next + reader.padding / 8 == packed->size + reader.count / 8
             ? NULL
             : "bytes behind the end";
}

// ---- Reports ----

static uint32_t checksum(const Buffer* b) {
  uint32_t a = 1, sum = 0;
  for (size_t i = 0; i < b->size; i++) {
    a = (a + b->data[i]) % 65521u;
    sum = (sum + a) % 65521u;
  }
  return sum << 16 | a;
}

// Bits per symbol that no code of single symbols can beat.
static double entropy(const uint32_t* frequency, size_t total) {
  double bits = 0.0;
  for (int s = 0; s < kSymbols; s++) {
    if (frequency[s] == 0) continue;
    const double p = (double)frequency[s] / (double)total;
    bits -= p * log2(p);
  }
  return bits;
}

static bool same_bytes(const Buffer* a, const Buffer* b) {
  if (a->size != b->size) return false;
  for (size_t i = 0; i < a->size; i++) {
    if (a->data[i] != b->data[i]) return false;
  }
  return true;
}

// Compresses session->message and checks that both decoders give it back.
static const char* round_trip(Session* session, CodeBook* book) {
  if (!compress(&session->message, &session->packed, book)) return "out of memory";
  static const DecodeFn kDecoders[] = {decode_fast, decode_slow};
  for (size_t k = 0; k < sizeof kDecoders / sizeof kDecoders[0]; k++) {
    const char* error = decompress(&session->packed, &session->unpacked, kDecoders[k]);
    if (error != NULL) return error;
    if (!same_bytes(&session->message, &session->unpacked)) return "round trip failed";
  }
  session->bytes_in += session->message.size;
  session->bytes_out += session->packed.size;
  return NULL;
}

static void report_block(Session* session, const char* name, const CodeBook* book) {
  uint32_t frequency[kSymbols];
  uint64_t bits = 0;
  int used = 0, longest = 0;
  count_symbols(&session->message, frequency);
  for (int s = 0; s < kSymbols; s++) {
    bits += (uint64_t)frequency[s] * book->length[s];
    used += frequency[s] > 0;
    if (book->length[s] > longest) longest = book->length[s];
  }
  const size_t size = session->message.size;
  const double divisor = size == 0 ? 1.0 : (double)size;
  printf("%-10s %zu bytes -> %zu, %d symbols, longest %d, %.4f bits each, entropy %.4f, %08" PRIx32
         "\n",
         name, size, session->packed.size, used, longest, (double)bits / divisor,
         entropy(frequency, size), checksum(&session->packed));
  session->blocks++;
}

// Repeats round trips, each time with the message shifted by what the last stream added up to.
static const char* run_block(Session* session, const char* name, uint32_t repeat) {
  CodeBook book;
  for (uint32_t r = 0; r < repeat; r++) {
    const char* error = round_trip(session, &book);
    if (error != NULL) return error;
    if (r + 1 == repeat) break;
    const unsigned char shift = (unsigned char)(checksum(&session->packed) & 3u);
    for (size_t i = 0; i < session->message.size; i++) {
      session->message.data[i] = (unsigned char)(session->message.data[i] + shift);
    }
  }
  report_block(session, name, &book);
  return NULL;
}

// ---- Commands ----

static uint32_t next_random(uint32_t* state) {
  *state = *state * 747796405u + 2891336453u;
  const uint32_t word = ((*state >> ((*state >> 28) + 4u)) ^ *state) * 277803737u;
  return (word >> 22) ^ word;
}

static unsigned char random_symbol(int kind, uint32_t* state) {
  static const char kLetters[] = "etaoinshrdlu cmfwypvbgkjqxz  ee ttaa oo";
  const uint32_t r = next_random(state);
  switch (kind) {
    case 0:  // uniform
      return (unsigned char)(r >> 24);
    case 1: {  // skewed: the least of three
      const uint32_t a = r & 0xffu, b = (r >> 8) & 0xffu, c = (r >> 16) & 0xffu;
      const uint32_t ab = a < b ? a : b;
      return (unsigned char)(ab < c ? ab : c);
    }
    case 2: {  // geometric: every symbol half as frequent as the one before
      unsigned char n = 0;
      for (uint32_t bits = r; (bits & 1u) != 0; bits >>= 1) n++;
      return n;
    }
    default:  // letters
      return (unsigned char)kLetters[r % (sizeof kLetters - 1)];
  }
}

static void generate(Buffer* out, int kind, uint32_t seed, uint32_t length) {
  uint32_t state = seed;
  buffer_clear(out);
  if (kind == 4) {
    // Fibonacci numbers as frequencies make the deepest tree a message of this length can have.
    uint32_t a = 1, b = 1;
    for (unsigned char symbol = 'A'; out->size < length && !out->failed; symbol++) {
      for (uint32_t i = 0; i < a && out->size < length; i++) buffer_put(out, symbol);
      const uint32_t sum = a + b;
      a = b;
      b = sum;
    }
    for (size_t i = out->size; i > 1; i--) {
      const size_t j = next_random(&state) % i;
      const unsigned char t = out->data[i - 1];
      out->data[i - 1] = out->data[j];
      out->data[j] = t;
    }
    return;
  }
  for (uint32_t i = 0; i < length && !out->failed; i++) {
    buffer_put(out, random_symbol(kind, &state));
  }
}

static const char* run_gen(Session* session, const char* arguments) {
  static const char* const kKinds[] = {"uniform", "skewed", "geometric", "letters", "fibonacci"};
  char name[16];
  uint32_t seed, length, repeat;
  if (sscanf(arguments, "%15s %9" SCNu32 " %9" SCNu32 " %9" SCNu32, name, &seed, &length,
             &repeat) != 4) {
    return "expected: gen KIND SEED LENGTH REPEAT";
  }
  if (length > kMaxLength || repeat < 1 || repeat > 1000 || length * (uint64_t)repeat > kMaxWork) {
    return "number out of range";
  }
  for (int kind = 0; kind < (int)(sizeof kKinds / sizeof kKinds[0]); kind++) {
    if (strcmp(name, kKinds[kind]) != 0) continue;
    generate(&session->message, kind, seed, length);
    if (session->message.failed) return "out of memory";
    return run_block(session, name, repeat);
  }
  return "unknown kind";
}

// Reads a line without its end; false at the end of the input. Longer lines are cut.
static bool read_line(char* line, size_t capacity, unsigned* number) {
  size_t n = 0;
  int c = getchar();
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = getchar()) {
    if (n + 1 < capacity && c != '\0') line[n++] = (char)c;
  }
  line[n] = '\0';
  ++*number;
  return true;
}

static const char* run_lines(Session* session, const char* arguments, unsigned* number) {
  char name[11], line[kMaxLine];
  uint32_t repeat, count;
  if (sscanf(arguments, "%10s %6" SCNu32 " %6" SCNu32, name, &repeat, &count) != 3) {
    return "expected: lines NAME REPEAT N";
  }
  if (repeat < 1 || repeat > 1000 || count > 1000) return "number out of range";
  buffer_clear(&session->message);
  for (uint32_t i = 0; i < count; i++) {
    if (!read_line(line, sizeof line, number)) return "missing lines";
    for (const char* p = line; *p != '\0'; p++) {
      buffer_put(&session->message, (unsigned char)*p);
    }
    buffer_put(&session->message, '\n');
  }
  if (session->message.failed) return "out of memory";
  if (session->message.size * repeat > kMaxWork) return "too much work";
  return run_block(session, name, repeat);
}

static void print_character(int c) {
  if (c > 32 && c < 127) {
    printf("%c", c);
  } else {
    printf("\\x%02x", (unsigned)c);
  }
}

// Prints the stream and, shortest first, up to twelve codes.
static const char* run_show(Session* session, const char* arguments) {
  buffer_clear(&session->message);
  for (; *arguments != '\0'; arguments++) {
    buffer_put(&session->message, (unsigned char)*arguments);
  }
  if (session->message.failed) return "out of memory";
  CodeBook book;
  const char* error = round_trip(session, &book);
  if (error != NULL) return error;
  report_block(session, "show", &book);
  printf("  stream ");
  for (size_t i = 0; i < session->packed.size; i++) {
    printf("%02x", (unsigned)session->packed.data[i]);
  }
  printf("\n  codes");
  int shown = 0;
  for (int length = 1; length <= kMaxBits; length++) {
    for (int s = 0; s < kSymbols && shown < 12; s++) {
      if (book.length[s] != length) continue;
      printf(" ");
      print_character(s);
      printf("=");
      for (int bit = length - 1; bit >= 0; bit--) printf("%d", (book.code[s] >> bit) & 1);
      shown++;
    }
  }
  printf("\n");
  return NULL;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

static const char* run_stream(Session* session, const char* arguments) {
  buffer_clear(&session->packed);
  for (; arguments[0] != '\0'; arguments += 2) {
    const int high = hex_digit(arguments[0]);
    const int low = high < 0 ? -1 : hex_digit(arguments[1]);
    if (low < 0) return "bad hex";
    buffer_put(&session->packed, (unsigned char)(high << 4 | low));
  }
  if (session->packed.failed) return "out of memory";
  const char* error = decompress(&session->packed, &session->unpacked, decode_fast);
  if (error != NULL) return error;
  printf("stream     %zu bytes%s", session->unpacked.size, session->unpacked.size > 0 ? ": " : "");
  for (size_t i = 0; i < session->unpacked.size && i < 60; i++) {
    print_character(session->unpacked.data[i]);
  }
  printf("\n");
  session->blocks++;
  return NULL;
}

static const char* run_command(Session* session, char* line, unsigned* number) {
  char* arguments = strchr(line, ' ');
  if (line[0] == '\0' || line[0] == '#') return NULL;
  if (arguments == NULL) {
    arguments = line + strlen(line);
  } else {
    *arguments++ = '\0';
  }
  if (strcmp(line, "lines") == 0) return run_lines(session, arguments, number);
  if (strcmp(line, "gen") == 0) return run_gen(session, arguments);
  if (strcmp(line, "show") == 0) return run_show(session, arguments);
  if (strcmp(line, "stream") == 0) return run_stream(session, arguments);
  return "unknown command";
}

int main(void) {
  Session session;
  char line[kMaxLine];
  unsigned number = 0;
  memset(&session, 0, sizeof session);
  while (read_line(line, sizeof line, &number)) {
    const char* error = run_command(&session, line, &number);
    if (error == NULL) continue;
    printf("line %u: %s\n", number, error);
    session.errors++;
  }
  printf("%u blocks, %u errors, %" PRIu64 " bytes -> %" PRIu64 "\n", session.blocks, session.errors,
         session.bytes_in, session.bytes_out);
  buffer_free(&session.message);
  buffer_free(&session.packed);
  buffer_free(&session.unpacked);
  return 0;
}
