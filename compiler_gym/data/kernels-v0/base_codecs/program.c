// Binary-to-text codecs: hex, base32, base64 (plain and for URLs), base58, ascii85, percent.
// Reads one command per line from stdin: `enc CODEC TEXT`, `bin CODEC HEX`, `dec CODEC TEXT`,
// `all TEXT`, `bench CODEC SEED LENGTH REPEAT`; decoders report what is wrong and where.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxLine = 4096,
  kMaxLength = 1 << 18,
  kMaxBase58 = 512,  // Base 58 takes quadratic time.
  kMaxWork = 1 << 25,
  kInvalid = 0xff,
};

typedef struct {
  char letters[65];
  unsigned char values[256];  // kInvalid for characters outside the alphabet.
} Alphabet;

typedef struct {
  Alphabet hex;
  Alphabet base32;
  Alphabet base32hex;
  Alphabet base58;
  Alphabet base64;
  Alphabet base64url;
} Alphabets;

typedef struct {
  const Alphabet* alphabet;
  bool padded;
} Variant;

// Bytes in memory of at least the codec's bound for the input.
typedef struct {
  unsigned char* data;
  size_t size;
} Output;

typedef struct {
  const char* what;  // NULL: all is well.
  size_t at;
} Problem;

typedef struct Codec {
  const char* name;
  void (*encode)(const Variant* variant, const unsigned char* in, size_t size, Output* out);
  Problem (*decode)(const Variant* variant, const unsigned char* in, size_t size, Output* out);
  size_t max_input;
  Variant variant;
} Codec;

enum { kCodecCount = 8 };

typedef struct {
  Codec codecs[kCodecCount];
  unsigned char* plain;
  unsigned char* coded;
  unsigned char* decoded;
  unsigned done;
  unsigned failures;
  unsigned errors;
  uint32_t sum;
} Session;

static void put(Output* out, unsigned value) { out->data[out->size++] = (unsigned char)value; }

static Problem problem(const char* what, size_t at) {
  const Problem p = {what, at};
  return p;
}

static Problem no_problem(void) { return problem(NULL, 0); }

static void make_alphabet(Alphabet* alphabet, const char* letters, bool any_case) {
  memset(alphabet->values, kInvalid, sizeof alphabet->values);
  size_t n = 0;
  for (; letters[n] != '\0' && n < 64; n++) {
    const unsigned char c = (unsigned char)letters[n];
    alphabet->letters[n] = letters[n];
    alphabet->values[c] = (unsigned char)n;
    if (any_case && c >= 'A' && c <= 'Z') alphabet->values[c - 'A' + 'a'] = (unsigned char)n;
    if (any_case && c >= 'a' && c <= 'z') alphabet->values[c - 'a' + 'A'] = (unsigned char)n;
  }
  alphabet->letters[n] = '\0';
}

// ---- Hex ----

static void hex_encode(const Variant* variant, const unsigned char* in, size_t size, Output* out) {
  const char* letters = variant->alphabet->letters;
  for (size_t i = 0; i < size; i++) {
    put(out, (unsigned char)letters[in[i] >> 4]);
    put(out, (unsigned char)letters[in[i] & 15]);
  }
}

static Problem hex_decode(const Variant* variant, const unsigned char* in, size_t size,
                          Output* out) {
  const unsigned char* values = variant->alphabet->values;
  for (size_t i = 0; i + 1 < size; i += 2) {
    const unsigned high = values[in[i]], low = values[in[i + 1]];
    if (high == kInvalid) return problem("bad character", i);
    if (low == kInvalid) return problem("bad character", i + 1);
    put(out, high << 4 | low);
  }
  return size % 2 == 0 ? no_problem() : problem("odd length", size);
}

// ---- Base 32: five bytes, eight letters ----

static void base32_encode(const Variant* variant, const unsigned char* in, size_t size,
                          Output* out) {
  const char* letters = variant->alphabet->letters;
  for (size_t at = 0; at < size; at += 5) {
    const size_t count = size - at < 5 ? size - at : 5;
    uint64_t group = 0;
    for (size_t i = 0; i < 5; i++) group = group << 8 | (i < count ? in[at + i] : 0u);
    const size_t used = (count * 8 + 4) / 5;
    for (size_t i = 0; i < 8; i++) {
      const unsigned value = (unsigned)(group >> (35 - 5 * i)) & 31u;
      if (i < used) {
        put(out, (unsigned char)letters[value]);
      } else if (variant->padded) {
        put(out, '=');
      }
    }
  }
}

// Takes off trailing padding; returns the length of what is left.
static size_t without_padding(const unsigned char* in, size_t size, size_t most) {
  size_t removed = 0;
  while (removed < most && size > 0 && in[size - 1] == '=') {
    size--;
    removed++;
  }
  return size;
}

static Problem base32_decode(const Variant* variant, const unsigned char* in, size_t size,
                             Output* out) {
  // How many bytes a last group of so many letters holds; 0 for numbers that cannot occur.
  static const unsigned char kBytes[8] = {0, 0, 1, 0, 2, 3, 0, 4};
  const size_t letters = without_padding(in, size, 6);
  if (variant->padded && size % 8 != 0) return problem("bad padding", size);
  if (!variant->padded && letters != size) return problem("bad character", letters);
  if (letters % 8 != 0 && kBytes[letters % 8] == 0) return problem("bad length", letters);
  uint64_t group = 0;
  for (size_t i = 0; i < letters; i++) {
    const unsigned value = variant->alphabet->values[in[i]];
    if (value == kInvalid) return problem("bad character", i);
    group = group << 5 | value;
    if (i % 8 != 7) continue;
    for (int shift = 32; shift >= 0; shift -= 8) put(out, (unsigned)(group >> shift) & 0xffu);
    group = 0;
  }
  const size_t rest = letters % 8;
  if (rest == 0) return no_problem();
  const unsigned spare = (unsigned)(rest * 5 - kBytes[rest] * 8u);
  if ((group & ((1u << spare) - 1u)) != 0) return problem("unused bits set", letters - 1);
  group >>= spare;
  for (int i = kBytes[rest] - 1; i >= 0; i--) put(out, (unsigned)(group >> (8 * i)) & 0xffu);
  return no_problem();
}

// ---- Base 64: three bytes, four letters ----

static void base64_encode(const Variant* variant, const unsigned char* in, size_t size,
                          Output* out) {
  const char* letters = variant->alphabet->letters;
  size_t i = 0;
  for (; i + 3 <= size; i += 3) {
    const unsigned group = (unsigned)in[i] << 16 | (unsigned)in[i + 1] << 8 | in[i + 2];
    put(out, (unsigned char)letters[group >> 18]);
    put(out, (unsigned char)letters[group >> 12 & 63u]);
    put(out, (unsigned char)letters[group >> 6 & 63u]);
    put(out, (unsigned char)letters[group & 63u]);
  }
  switch (size - i) {
    case 1:
      put(out, (unsigned char)letters[in[i] >> 2]);
      put(out, (unsigned char)letters[(in[i] & 3) << 4]);
      if (variant->padded) {
        put(out, '=');
        put(out, '=');
      }
      break;
    case 2:
      put(out, (unsigned char)letters[in[i] >> 2]);
      put(out, (unsigned char)letters[(in[i] & 3) << 4 | in[i + 1] >> 4]);
      put(out, (unsigned char)letters[(in[i + 1] & 15) << 2]);
      if (variant->padded) put(out, '=');
      break;
    default:
      break;
  }
}

static Problem base64_decode(const Variant* variant, const unsigned char* in, size_t size,
                             Output* out) {
  const unsigned char* values = variant->alphabet->values;
  const size_t letters = without_padding(in, size, 2);
  if (variant->padded && size % 4 != 0) return problem("bad padding", size);
  if (!variant->padded && letters != size) return problem("bad character", letters);
  if (letters % 4 == 1) return problem("bad length", letters);
  size_t i = 0;
  for (; i + 4 <= letters; i += 4) {
    const unsigned a = values[in[i]], b = values[in[i + 1]];
    const unsigned c = values[in[i + 2]], d = values[in[i + 3]];
    // All values are below 64, so the upper bits of the union tell whether one was invalid.
    if (((a | b | c | d) & 0xc0u) != 0) break;
    const unsigned group = a << 18 | b << 12 | c << 6 | d;
    put(out, group >> 16);
    put(out, group >> 8 & 0xffu);
    put(out, group & 0xffu);
  }
  unsigned group = 0, bits = 0;
  for (; i < letters; i++) {
    const unsigned value = values[in[i]];
    if (value == kInvalid) return problem("bad character", i);
    group = group << 6 | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    put(out, group >> bits & 0xffu);
    group &= (1u << bits) - 1u;
  }
  return group == 0 ? no_problem() : problem("unused bits set", letters - 1);
}

// ---- Base 58: one long number, leading zero bytes as leading first letters ----

// Converts digits of base `from` to digits of base `to`, least significant first.
static size_t convert_base(const unsigned char* in, size_t size, unsigned from, unsigned to,
                           unsigned char* digits) {
  size_t count = 0;
  for (size_t i = 0; i < size; i++) {
    unsigned carry = in[i];
    for (size_t k = 0; k < count; k++) {
      carry += digits[k] * from;
      digits[k] = (unsigned char)(carry % to);
      carry /= to;
    }
    for (; carry > 0; carry /= to) digits[count++] = (unsigned char)(carry % to);
  }
  return count;
}

static void base58_encode(const Variant* variant, const unsigned char* in, size_t size,
                          Output* out) {
  unsigned char digits[kMaxBase58 * 3 / 2];
  size_t zeros = 0;
  while (zeros < size && in[zeros] == 0) zeros++;
  size_t count = convert_base(in + zeros, size - zeros, 256, 58, digits);
  for (size_t i = 0; i < zeros; i++) put(out, (unsigned char)variant->alphabet->letters[0]);
  while (count > 0) put(out, (unsigned char)variant->alphabet->letters[digits[--count]]);
}

static Problem base58_decode(const Variant* variant, const unsigned char* in, size_t size,
                             Output* out) {
  unsigned char values[kMaxBase58 * 3 / 2], digits[kMaxBase58 * 3 / 2];
  if (size > sizeof values) return problem("too long", sizeof values);
  size_t zeros = 0;
  for (size_t i = 0; i < size; i++) {
    values[i] = variant->alphabet->values[in[i]];
    if (values[i] == kInvalid) return problem("bad character", i);
    if (values[i] == 0 && zeros == i) zeros++;
  }
  size_t count = 0;
  if (zeros < size) count = convert_base(values + zeros, size - zeros, 58, 256, digits);
  for (size_t i = 0; i < zeros; i++) put(out, 0);
  while (count > 0) put(out, digits[--count]);
  return no_problem();
}

// ---- Ascii85: four bytes, five characters; z for four zero bytes ----

static void ascii85_encode(const Variant* variant, const unsigned char* in, size_t size,
                           Output* out) {
  (void)variant;
  for (size_t at = 0; at < size; at += 4) {
    const size_t count = size - at < 4 ? size - at : 4;
    uint32_t group = 0;
    for (size_t i = 0; i < 4; i++) group = group << 8 | (i < count ? in[at + i] : 0u);
    if (group == 0 && count == 4) {
      put(out, 'z');
      continue;
    }
    unsigned char digits[5];
    for (int i = 4; i >= 0; i--, group /= 85) digits[i] = (unsigned char)(group % 85);
    for (size_t i = 0; i <= count; i++) put(out, digits[i] + (unsigned)'!');
  }
}

static Problem ascii85_decode(const Variant* variant, const unsigned char* in, size_t size,
                              Output* out) {
  (void)variant;
  uint64_t group = 0;
  unsigned count = 0;
  for (size_t i = 0; i < size; i++) {
    if (in[i] == 'z' && count == 0) {
      for (int k = 0; k < 4; k++) put(out, 0);
      continue;
    }
    if (in[i] < '!' || in[i] > 'u') return problem("bad character", i);
    group = group * 85 + (unsigned)(in[i] - '!');
    if (++count < 5) continue;
    if (group > UINT32_MAX) return problem("group too large", i);
    for (int shift = 24; shift >= 0; shift -= 8) put(out, (unsigned)(group >> shift) & 0xffu);
    group = 0;
    count = 0;
  }
  if (count == 0) return no_problem();
  if (count == 1) return problem("bad length", size);
  // Missing digits count as the largest one, which rounds the missing bytes away.
  for (unsigned k = count; k < 5; k++) group = group * 85 + 84;
  if (group > UINT32_MAX) return problem("group too large", size);
  for (unsigned k = 1; k < count; k++) put(out, (unsigned)(group >> (32 - 8 * k)) & 0xffu);
  return no_problem();
}

// ---- Percent encoding of everything a URL may not contain ----

static bool is_unreserved(unsigned char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  switch (c) {
    case '-':
    case '.':
    case '_':
    case '~':
      return true;
    default:
      return false;
  }
}

static void percent_encode(const Variant* variant, const unsigned char* in, size_t size,
                           Output* out) {
  (void)variant;
  static const char kDigits[] = "0123456789ABCDEF";
  for (size_t i = 0; i < size; i++) {
    if (is_unreserved(in[i])) {
      put(out, in[i]);
    } else {
      put(out, '%');
      put(out, (unsigned char)kDigits[in[i] >> 4]);
      put(out, (unsigned char)kDigits[in[i] & 15]);
    }
  }
}

static Problem percent_decode(const Variant* variant, const unsigned char* in, size_t size,
                              Output* out) {
  for (size_t i = 0; i < size; i++) {
    if (in[i] != '%') {
      if (!is_unreserved(in[i])) return problem("bad character", i);
      put(out, in[i]);
      continue;
    }
    if (size - i < 3) return problem("bad length", i);
    const Problem inner = hex_decode(variant, in + i + 1, 2, out);
    if (inner.what != NULL) return problem(inner.what, i + 1 + inner.at);
    i += 2;
  }
  return no_problem();
}

// ---- Commands ----

static void make_codecs(Codec* codecs, Alphabets* a) {
  make_alphabet(&a->hex, "0123456789abcdef", true);
  make_alphabet(&a->base32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", true);
  make_alphabet(&a->base32hex, "0123456789ABCDEFGHIJKLMNOPQRSTUV", true);
  make_alphabet(&a->base58, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", false);
  make_alphabet(&a->base64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                false);
  make_alphabet(&a->base64url, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
                false);
  const Codec list[kCodecCount] = {
      {"hex", hex_encode, hex_decode, kMaxLength, {&a->hex, false}},
      {"base32", base32_encode, base32_decode, kMaxLength, {&a->base32, true}},
      {"base32hex", base32_encode, base32_decode, kMaxLength, {&a->base32hex, false}},
      {"base64", base64_encode, base64_decode, kMaxLength, {&a->base64, true}},
      {"base64url", base64_encode, base64_decode, kMaxLength, {&a->base64url, false}},
      {"base58", base58_encode, base58_decode, kMaxBase58, {&a->base58, false}},
      {"ascii85", ascii85_encode, ascii85_decode, kMaxLength, {NULL, false}},
      {"percent", percent_encode, percent_decode, kMaxLength, {&a->hex, false}},
  };
  memcpy(codecs, list, sizeof list);
}

static const Codec* find_codec(const Session* session, const char* name) {
  for (int i = 0; i < kCodecCount; i++) {
    if (strcmp(session->codecs[i].name, name) == 0) return &session->codecs[i];
  }
  return NULL;
}

static uint32_t sum_bytes(uint32_t sum, const unsigned char* data, size_t size) {
  for (size_t i = 0; i < size; i++) sum = (sum ^ data[i]) * 16777619u;
  return sum;
}

// Encodes into session->coded and checks that decoding gives the input back.
static bool code(Session* session, const Codec* codec, const unsigned char* in, size_t size,
                 size_t* coded_size) {
  Output coded = {session->coded, 0}, decoded = {session->decoded, 0};
  codec->encode(&codec->variant, in, size, &coded);
  const Problem p = codec->decode(&codec->variant, coded.data, coded.size, &decoded);
  *coded_size = coded.size;
  return p.what == NULL && decoded.size == size && memcmp(decoded.data, in, size) == 0;
}

static const char* show_encoded(Session* session, const Codec* codec, const unsigned char* in,
                                size_t size) {
  size_t coded_size;
  if (size > codec->max_input) return "too long";
  const bool good = code(session, codec, in, size, &coded_size);
  printf("%-9s <%.*s>%s\n", codec->name, (int)coded_size, (const char*)session->coded,
         good ? "" : " (NOT REVERSIBLE)");
  session->sum = sum_bytes(session->sum, session->coded, coded_size);
  session->done++;
  session->failures += !good;
  return NULL;
}

static char* cut_word(char** rest) {
  char* word = *rest;
  char* end = strchr(word, ' ');
  if (end == NULL) {
    *rest = word + strlen(word);
  } else {
    *end = '\0';
    *rest = end + 1;
  }
  return word;
}

// enc CODEC TEXT
static const char* run_enc(Session* session, char* rest) {
  const Codec* codec = find_codec(session, cut_word(&rest));
  if (codec == NULL) return "unknown codec";
  return show_encoded(session, codec, (const unsigned char*)rest, strlen(rest));
}

// bin CODEC HEX
static const char* run_bin(Session* session, char* rest) {
  const Codec* codec = find_codec(session, cut_word(&rest));
  if (codec == NULL) return "unknown codec";
  Output plain = {session->plain, 0};
  const Variant* hex = &session->codecs[0].variant;
  const Problem p = hex_decode(hex, (const unsigned char*)rest, strlen(rest), &plain);
  if (p.what != NULL) return p.what;
  return show_encoded(session, codec, plain.data, plain.size);
}

// all TEXT: with every codec.
static const char* run_all(Session* session, char* rest) {
  const char* error = NULL;
  for (int i = 0; i < kCodecCount && error == NULL; i++) {
    error = show_encoded(session, &session->codecs[i], (const unsigned char*)rest, strlen(rest));
  }
  return error;
}

// dec CODEC TEXT: bytes that are not printable appear as \xNN.
static const char* run_dec(Session* session, char* rest) {
  const Codec* codec = find_codec(session, cut_word(&rest));
  if (codec == NULL) return "unknown codec";
  Output out = {session->decoded, 0};
  const Problem p = codec->decode(&codec->variant, (const unsigned char*)rest, strlen(rest), &out);
  session->done++;
  if (p.what != NULL) {
    printf("%-9s %s at %zu\n", codec->name, p.what, p.at);
    return NULL;
  }
  printf("%-9s \"", codec->name);
  for (size_t i = 0; i < out.size; i++) {
    if (out.data[i] >= 32 && out.data[i] < 127) {
      putchar(out.data[i]);
    } else {
      printf("\\x%02x", (unsigned)out.data[i]);
    }
  }
  printf("\"\n");
  session->sum = sum_bytes(session->sum, out.data, out.size);
  return NULL;
}

static uint32_t next_random(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static bool read_number(char** rest, unsigned long low, unsigned long high, unsigned long* value) {
  const char* word = cut_word(rest);
  char* end = NULL;
  if (*word < '0' || *word > '9') return false;
  *value = strtoul(word, &end, 10);
  return *end == '\0' && *value >= low && *value <= high;
}

// bench CODEC SEED LENGTH REPEAT: round trips of generated bytes. The last byte of every code
// goes into the next message, so that no repetition can be left out.
static const char* run_bench(Session* session, char* rest) {
  const Codec* codec = find_codec(session, cut_word(&rest));
  unsigned long seed, length, repeat;
  if (codec == NULL) return "unknown codec";
  if (!read_number(&rest, 1, UINT32_MAX, &seed) ||
      !read_number(&rest, 1, (unsigned long)codec->max_input, &length) ||
      !read_number(&rest, 1, 100000, &repeat) || length * repeat > kMaxWork) {
    return "bad number";
  }
  uint32_t state = (uint32_t)seed, sum = 2166136261u;
  for (size_t i = 0; i < length; i++) {
    const uint32_t r = next_random(&state);
    // Some runs of zeros, for the codecs that treat them specially.
    session->plain[i] = (unsigned char)((r >> 20 & 7u) == 0 ? 0 : r >> 8 & 0xffu);
  }
  size_t coded_size = 0;
  bool good = true;
  for (unsigned long r = 0; r < repeat; r++) {
    good = code(session, codec, session->plain, length, &coded_size) && good;
    const unsigned char last = session->coded[coded_size - 1];
    session->plain[r % length] = (unsigned char)(session->plain[r % length] + last);
    sum = sum_bytes(sum, &last, 1);
  }
  sum = sum_bytes(sum, session->coded, coded_size);
  printf("%-9s %lu bytes -> %zu (%.4f), %lu times, %08" PRIx32 "%s\n", codec->name, length,
         coded_size, (double)coded_size / (double)length, repeat, sum, good ? "" : " FAILED");
  session->sum = session->sum * 31u + sum;
  session->done++;
  session->failures += !good;
  return NULL;
}

static const char* run_line(Session* session, char* line) {
  static const struct {
    const char* name;
    const char* (*run)(Session* session, char* rest);
  } kCommands[] = {
      {"enc", run_enc}, {"bin", run_bin}, {"all", run_all}, {"dec", run_dec}, {"bench", run_bench}};
  if (line[0] == '\0' || line[0] == '#') return NULL;
  const char* name = cut_word(&line);
  for (size_t i = 0; i < sizeof kCommands / sizeof kCommands[0]; i++) {
    if (strcmp(kCommands[i].name, name) == 0) return kCommands[i].run(session, line);
  }
  return "unknown command";
}

int main(void) {
  Alphabets alphabets;
  Session session;
  char line[kMaxLine];
  memset(&session, 0, sizeof session);
  make_codecs(session.codecs, &alphabets);
  session.sum = 2166136261u;
  // Percent encoding grows most: three characters per byte. A decoder never gives more than
  // four bytes per character (z of ascii85).
  session.plain = malloc(kMaxLength);
  session.coded = malloc(3 * kMaxLength);
  session.decoded = malloc(kMaxLength + 4 * kMaxLine);
  const bool ready = session.plain != NULL && session.coded != NULL && session.decoded != NULL;
  if (!ready) puts("out of memory");
  for (unsigned number = 1; ready && fgets(line, sizeof line, stdin) != NULL; number++) {
    line[strcspn(line, "\n")] = '\0';
    const char* error = run_line(&session, line);
    if (error == NULL) continue;
    printf("line %u: %s\n", number, error);
    session.errors++;
  }
  free(session.plain);
  free(session.coded);
  free(session.decoded);
  printf("%u done, %u failures, %u errors, sum %08" PRIx32 "\n", session.done, session.failures,
         session.errors, session.sum);
  return ready ? 0 : 1;
}
