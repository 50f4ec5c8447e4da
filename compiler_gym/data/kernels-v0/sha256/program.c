// Message digests: SHA-1, SHA-224 and SHA-256 with HMAC, PBKDF2, digest chains and Merkle
// trees. Reads one command per line from stdin (text, hex, gen, chain, hmac, pbkdf2, merkle,
// expect; the arguments are listed at each handler), prints one line per command and a summary
// of all digests.

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kBlockSize = 64,
  kMaxDigest = 32,
  kMaxLine = 2048,
  kMaxMessage = 1 << 20,
  kMaxDerived = 128,
};

typedef void (*CompressFn)(uint32_t* state, const unsigned char* block);

typedef struct {
  const char* name;
  size_t digest_size;
  uint32_t init[8];
  CompressFn compress;
} Algorithm;

typedef struct {
  const Algorithm* algorithm;
  uint32_t state[8];
  uint64_t total;  // Bytes hashed so far, including those still in `block`.
  size_t fill;     // Bytes waiting in `block`.
  unsigned char block[kBlockSize];
} HashContext;

typedef struct {
  HashContext inner;
  HashContext outer;
} HmacContext;

typedef struct {
  unsigned char last[kMaxDigest];
  size_t last_size;
  unsigned digests;
  unsigned errors;
  unsigned mismatches;
  uint64_t bytes;
  uint32_t fold;
} Session;

// A handler returns NULL, or a text saying why the command cannot be carried out.
typedef const char* (*Handler)(Session* session, char* arguments);

static uint32_t rotl32(uint32_t x, unsigned n) { return (x << n) | (x >> (32u - n)); }

static uint32_t rotr32(uint32_t x, unsigned n) { return (x >> n) | (x << (32u - n)); }

static uint32_t load_be32(const unsigned char* p) {
  return ((uint32_t)p[0] << 24) | ((uint32_t)p[1] << 16) | ((uint32_t)p[2] << 8) | (uint32_t)p[3];
}

static void store_be32(unsigned char* p, uint32_t v) {
  p[0] = (unsigned char)(v >> 24);
  p[1] = (unsigned char)(v >> 16);
  p[2] = (unsigned char)(v >> 8);
  p[3] = (unsigned char)v;
}

static uint32_t choose(uint32_t x, uint32_t y, uint32_t z) { return (x & y) ^ (~x & z); }

static uint32_t majority(uint32_t x, uint32_t y, uint32_t z) { return (x & y) ^ (x & z) ^ (y & z); }

static uint32_t parity(uint32_t x, uint32_t y, uint32_t z) { return x ^ y ^ z; }

static void sha1_compress(uint32_t* state, const unsigned char* block) {
  uint32_t w[80];
  for (int i = 0; i < 16; i++) w[i] = load_be32(block + 4 * i);
  for (int i = 16; i < 80; i++) w[i] = rotl32(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);

  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int i = 0; i < 80; i++) {
    uint32_t f, k;
    switch (i / 20) {
      case 0:
        f = choose(b, c, d);
        k = 0x5a827999u;
        break;
      case 1:
        f = parity(b, c, d);
        k = 0x6ed9eba1u;
        break;
      case 2:
        f = majority(b, c, d);
        k = 0x8f1bbcdcu;
        break;
      default:
        f = parity(b, c, d);
        k = 0xca62c1d6u;
        break;
    }
    const uint32_t next = rotl32(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = rotl32(b, 30);
    b = a;
    a = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

static const uint32_t kSha256Rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t small_sigma0(uint32_t x) { return rotr32(x, 7) ^ rotr32(x, 18) ^ (x >> 3); }

static uint32_t small_sigma1(uint32_t x) { return rotr32(x, 17) ^ rotr32(x, 19) ^ (x >> 10); }

static uint32_t big_sigma0(uint32_t x) { return rotr32(x, 2) ^ rotr32(x, 13) ^ rotr32(x, 22); }

static uint32_t big_sigma1(uint32_t x) { return rotr32(x, 6) ^ rotr32(x, 11) ^ rotr32(x, 25); }

static void sha256_compress(uint32_t* state, const unsigned char* block) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++) w[i] = load_be32(block + 4 * i);
  for (int i = 16; i < 64; i++) {
    w[i] = small_sigma1(w[i - 2]) + w[i - 7] + small_sigma0(w[i - 15]) + w[i - 16];
  }

  uint32_t v[8];
  memcpy(v, state, sizeof v);
  for (int i = 0; i < 64; i++) {
    const uint32_t mixed = big_sigma1(v[4]) + choose(v[4], v[5], v[6]);
    const uint32_t t1 = v[7] + mixed + kSha256Rounds[i] + w[i];
    const uint32_t t2 = big_sigma0(v[0]) + majority(v[0], v[1], v[2]);
    for (int j = 7; j > 0; j--) v[j] = v[j - 1];
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

static const Algorithm kAlgorithms[] = {
    {"sha1",
     20,
     {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0, 0, 0, 0},
     sha1_compress},
    {"sha224",
     28,
     {0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7,
      0xbefa4fa4},
     sha256_compress},
    {"sha256",
     32,
     {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
      0x5be0cd19},
     sha256_compress},
};

static const Algorithm* find_algorithm(const char* name) {
  for (size_t i = 0; i < sizeof kAlgorithms / sizeof kAlgorithms[0]; i++) {
    if (name != NULL && strcmp(kAlgorithms[i].name, name) == 0) return &kAlgorithms[i];
  }
  return NULL;
}

static void hash_init(HashContext* ctx, const Algorithm* algorithm) {
  memset(ctx, 0, sizeof *ctx);
  ctx->algorithm = algorithm;
  memcpy(ctx->state, algorithm->init, sizeof ctx->state);
}

static void hash_update(HashContext* ctx, const unsigned char* data, size_t size) {
  ctx->total += size;
  if (ctx->fill > 0) {
    size_t take = kBlockSize - ctx->fill;
    if (take > size) take = size;
    for (size_t i = 0; i < take; i++) ctx->block[ctx->fill + i] = data[i];
    ctx->fill += take;
    data += take;
    size -= take;
    if (ctx->fill < kBlockSize) return;
    ctx->algorithm->compress(ctx->state, ctx->block);
    ctx->fill = 0;
  }
  // Whole blocks are hashed where they are, without a copy.
  while (size >= kBlockSize) {
    ctx->algorithm->compress(ctx->state, data);
    data += kBlockSize;
    size -= kBlockSize;
  }
  for (size_t i = 0; i < size; i++) ctx->block[i] = data[i];
  ctx->fill = size;
}

static void hash_final(HashContext* ctx, unsigned char* digest) {
  const uint64_t bits = ctx->total * 8;
  const unsigned char marker = 0x80;
  const unsigned char zero = 0;
  hash_update(ctx, &marker, 1);
  while (ctx->fill != kBlockSize - 8) hash_update(ctx, &zero, 1);
  unsigned char length[8];
  store_be32(length, (uint32_t)(bits >> 32));
  store_be32(length + 4, (uint32_t)(bits & 0xffffffffu));
  hash_update(ctx, length, sizeof length);
  for (size_t i = 0; i < ctx->algorithm->digest_size / 4; i++) {
    store_be32(digest + 4 * i, ctx->state[i]);
  }
}

static void hash_bytes(const Algorithm* algorithm, const unsigned char* data, size_t size,
                       unsigned char* digest) {
  HashContext ctx;
  hash_init(&ctx, algorithm);
  hash_update(&ctx, data, size);
  hash_final(&ctx, digest);
}

// Keeps the two contexts after the padded key, so that every message under one key starts from
// a copy instead of hashing the key again.
static void hmac_init(HmacContext* hmac, const Algorithm* algorithm, const unsigned char* key,
                      size_t key_size) {
  unsigned char padded[kBlockSize] = {0};
  if (key_size > kBlockSize) {
    hash_bytes(algorithm, key, key_size, padded);
  } else {
    memcpy(padded, key, key_size);
  }
  for (int i = 0; i < kBlockSize; i++) padded[i] ^= 0x36;
  hash_init(&hmac->inner, algorithm);
  hash_update(&hmac->inner, padded, kBlockSize);
  for (int i = 0; i < kBlockSize; i++) padded[i] ^= 0x36 ^ 0x5c;
  hash_init(&hmac->outer, algorithm);
  hash_update(&hmac->outer, padded, kBlockSize);
}

static void hmac_sum(const HmacContext* hmac, const unsigned char* data, size_t size,
                     unsigned char* mac) {
  HashContext ctx = hmac->inner;
  unsigned char digest[kMaxDigest];
  hash_update(&ctx, data, size);
  hash_final(&ctx, digest);
  ctx = hmac->outer;
  hash_update(&ctx, digest, ctx.algorithm->digest_size);
  hash_final(&ctx, mac);
}

static void xor_bytes(unsigned char* target, const unsigned char* source, size_t size) {
  for (size_t i = 0; i < size; i++) target[i] ^= source[i];
}

// `salt` has room for four more bytes behind `salt_size`: the block number.
static void pbkdf2(const HmacContext* hmac, unsigned char* salt, size_t salt_size,
                   uint32_t iterations, unsigned char* derived, size_t derived_size) {
  const size_t digest_size = hmac->inner.algorithm->digest_size;
  size_t done = 0;
  for (uint32_t block = 1; done < derived_size; block++) {
    unsigned char u[kMaxDigest], sum[kMaxDigest];
    store_be32(salt + salt_size, block);
    hmac_sum(hmac, salt, salt_size + 4, u);
    memcpy(sum, u, digest_size);
    for (uint32_t i = 1; i < iterations; i++) {
      hmac_sum(hmac, u, digest_size, u);
      xor_bytes(sum, u, digest_size);
    }
    size_t take = derived_size - done;
    if (take > digest_size) take = digest_size;
    memcpy(derived + done, sum, take);
    done += take;
  }
}

// Root of the tree over the leaves first..first+count-1; leaves and inner nodes are told apart
// by a prefix byte, and an odd leaf goes to the left subtree.
static void merkle_root(const Algorithm* algorithm, uint32_t first, uint32_t count,
                        unsigned char* root) {
  unsigned char node[1 + 2 * kMaxDigest];
  if (count == 1) {
    node[0] = 0;
    store_be32(node + 1, first);
    hash_bytes(algorithm, node, 5, root);
    return;
  }
  const uint32_t left = (count + 1) / 2;
  node[0] = 1;
  merkle_root(algorithm, first, left, node + 1);
  merkle_root(algorithm, first + left, count - left, node + 1 + algorithm->digest_size);
  hash_bytes(algorithm, node, 1 + 2 * algorithm->digest_size, root);
}

static char* next_word(char** cursor) {
  char* start = *cursor;
  while (*start == ' ') start++;
  if (*start == '\0') {
    *cursor = start;
    return NULL;
  }
  char* end = start;
  while (*end != ' ' && *end != '\0') end++;
  if (*end == ' ') *end++ = '\0';
  *cursor = end;
  return start;
}

static bool parse_number(const char* word, uint32_t low, uint32_t high, uint32_t* value) {
  uint64_t v = 0;
  if (word == NULL || *word == '\0') return false;
  for (; *word != '\0'; word++) {
    if (*word < '0' || *word > '9') return false;
    v = v * 10 + (uint64_t)(*word - '0');
    if (v > UINT32_MAX) return false;
  }
  *value = (uint32_t)v;
  return v >= low && v <= high;
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns the number of bytes, or -1 when the text is not an even number of hex digits.
static int parse_hex(const char* text, unsigned char* out, size_t capacity) {
  size_t n = 0;
  for (; text[0] != '\0'; text += 2, n++) {
    const int high = hex_value(text[0]);
    const int low = high < 0 ? -1 : hex_value(text[1]);
    if (low < 0 || n >= capacity) return -1;
    out[n] = (unsigned char)(high * 16 + low);
  }
  return (int)n;
}

static void print_hex(const unsigned char* data, size_t size) {
  static const char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    putchar(kDigits[data[i] >> 4]);
    putchar(kDigits[data[i] & 15]);
  }
}

static void record_digest(Session* session, const Algorithm* algorithm, const char* what,
                          const unsigned char* digest) {
  memcpy(session->last, digest, algorithm->digest_size);
  session->last_size = algorithm->digest_size;
  session->digests++;
  for (size_t i = 0; i < algorithm->digest_size; i += 4) {
    session->fold = rotl32(session->fold, 3) + load_be32(digest + i);
  }
  printf("%-7s %-7s ", what, algorithm->name);
  print_hex(digest, algorithm->digest_size);
  putchar('\n');
}

static uint32_t next_random(uint32_t* state) {
  uint32_t x = *state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  *state = x;
  return x;
}

static void fill_random(unsigned char* data, size_t size, uint32_t seed) {
  uint32_t state = seed * 2654435761u + 1u;
  if (state == 0) state = 1;
  for (size_t i = 0; i < size; i++) data[i] = (unsigned char)(next_random(&state) >> 11);
}

// text ALGORITHM MESSAGE: the message is the rest of the line and may be empty.
static const char* handle_text(Session* session, char* arguments) {
  const Algorithm* algorithm = find_algorithm(next_word(&arguments));
  if (algorithm == NULL) return "unknown algorithm";
  unsigned char digest[kMaxDigest];
  const size_t size = strlen(arguments);
  hash_bytes(algorithm, (const unsigned char*)arguments, size, digest);
  session->bytes += size;
  record_digest(session, algorithm, "text", digest);
  return NULL;
}

// hex ALGORITHM BYTES
static const char* handle_hex(Session* session, char* arguments) {
  const Algorithm* algorithm = find_algorithm(next_word(&arguments));
  if (algorithm == NULL) return "unknown algorithm";
  const char* word = next_word(&arguments);
  unsigned char data[kMaxLine / 2], digest[kMaxDigest];
  const int size = parse_hex(word == NULL ? "" : word, data, sizeof data);
  if (size < 0) return "bad hex string";
  hash_bytes(algorithm, data, (size_t)size, digest);
  session->bytes += (uint64_t)size;
  record_digest(session, algorithm, "hex", digest);
  return NULL;
}

// gen ALGORITHM SEED LENGTH CHUNK REPEAT: a generated message, hashed in pieces; every
// repetition first mixes the digest of the previous one into the head of the message.
static const char* handle_gen(Session* session, char* arguments) {
  const Algorithm* algorithm = find_algorithm(next_word(&arguments));
  uint32_t seed, length, chunk, repeat;
  if (algorithm == NULL) return "unknown algorithm";
  if (!parse_number(next_word(&arguments), 0, UINT32_MAX, &seed) ||
      !parse_number(next_word(&arguments), 0, kMaxMessage, &length) ||
      !parse_number(next_word(&arguments), 1, kMaxMessage, &chunk) ||
      !parse_number(next_word(&arguments), 1, 1000, &repeat)) {
    return "bad number";
  }
  unsigned char* message = malloc(length > 0 ? length : 1);
  if (message == NULL) return "out of memory";
  fill_random(message, length, seed);
  unsigned char digest[kMaxDigest] = {0};
  for (uint32_t r = 0; r < repeat; r++) {
    const size_t head = length < algorithm->digest_size ? length : algorithm->digest_size;
    xor_bytes(message, digest, head);
    HashContext ctx;
    hash_init(&ctx, algorithm);
    for (size_t at = 0; at < length; at += chunk) {
      const size_t left = length - at;
      hash_update(&ctx, message + at, left < chunk ? left : chunk);
    }
    session->bytes += ctx.total;
    hash_final(&ctx, digest);
  }
  free(message);
  record_digest(session, algorithm, "gen", digest);
  return NULL;
}

// chain ALGORITHM ROUNDS START: the digest of the digest of ... of START.
static const char* handle_chain(Session* session, char* arguments) {
  const Algorithm* algorithm = find_algorithm(next_word(&arguments));
  uint32_t rounds;
  if (algorithm == NULL) return "unknown algorithm";
  if (!parse_number(next_word(&arguments), 1, 100000, &rounds)) return "bad number";
  unsigned char digest[kMaxDigest];
  hash_bytes(algorithm, (const unsigned char*)arguments, strlen(arguments), digest);
  for (uint32_t i = 1; i < rounds; i++) {
    hash_bytes(algorithm, digest, algorithm->digest_size, digest);
    session->bytes += algorithm->digest_size;
  }
  record_digest(session, algorithm, "chain", digest);
  return NULL;
}

// hmac ALGORITHM KEY MESSAGE: the key is one word, the message the rest of the line.
static const char* handle_hmac(Session* session, char* arguments) {
  const Algorithm* algorithm = find_algorithm(next_word(&arguments));
  if (algorithm == NULL) return "unknown algorithm";
  const char* key = next_word(&arguments);
  if (key == NULL) return "missing key";
  HmacContext hmac;
  unsigned char mac[kMaxDigest];
  hmac_init(&hmac, algorithm, (const unsigned char*)key, strlen(key));
  hmac_sum(&hmac, (const unsigned char*)arguments, strlen(arguments), mac);
  session->bytes += strlen(arguments);
  record_digest(session, algorithm, "hmac", mac);
  return NULL;
}

// pbkdf2 ALGORITHM ITERATIONS LENGTH PASSWORD SALT
static const char* handle_pbkdf2(Session* session, char* arguments) {
  const Algorithm* algorithm = find_algorithm(next_word(&arguments));
  uint32_t iterations, length;
  if (algorithm == NULL) return "unknown algorithm";
  if (!parse_number(next_word(&arguments), 1, 20000, &iterations) ||
      !parse_number(next_word(&arguments), 1, kMaxDerived, &length)) {
    return "bad number";
  }
  const char* password = next_word(&arguments);
  const char* salt_text = next_word(&arguments);
  if (password == NULL || salt_text == NULL) return "missing password or salt";
  unsigned char salt[kMaxLine + 4], derived[kMaxDerived], digest[kMaxDigest];
  const size_t salt_size = strlen(salt_text);
  memcpy(salt, salt_text, salt_size);
  HmacContext hmac;
  hmac_init(&hmac, algorithm, (const unsigned char*)password, strlen(password));
  pbkdf2(&hmac, salt, salt_size, iterations, derived, length);
  session->bytes += (uint64_t)iterations * algorithm->digest_size;
  printf("derived ");
  print_hex(derived, length);
  putchar('\n');
  hash_bytes(algorithm, derived, length, digest);
  record_digest(session, algorithm, "pbkdf2", digest);
  return NULL;
}

// merkle ALGORITHM FIRST COUNT
static const char* handle_merkle(Session* session, char* arguments) {
  const Algorithm* algorithm = find_algorithm(next_word(&arguments));
  uint32_t first, count;
  if (algorithm == NULL) return "unknown algorithm";
  if (!parse_number(next_word(&arguments), 0, 1u << 30, &first) ||
      !parse_number(next_word(&arguments), 1, 1u << 16, &count)) {
    return "bad number";
  }
  unsigned char root[kMaxDigest];
  merkle_root(algorithm, first, count, root);
  session->bytes += (uint64_t)count * 5;
  record_digest(session, algorithm, "merkle", root);
  return NULL;
}

// expect BYTES: compares the previous digest with the given one.
static const char* handle_expect(Session* session, char* arguments) {
  const char* word = next_word(&arguments);
  unsigned char wanted[kMaxDigest];
  const int size = word == NULL ? -1 : parse_hex(word, wanted, sizeof wanted);
  if (size < 0) return "bad hex string";
  unsigned char difference = (size_t)size == session->last_size ? 0 : 1;
  for (size_t i = 0; i < (size_t)size && i < session->last_size; i++) {
    difference |= (unsigned char)(wanted[i] ^ session->last[i]);
  }
  if (difference != 0) session->mismatches++;
  printf("expect  %s\n", difference == 0 ? "ok" : "MISMATCH");
  return NULL;
}

static const struct {
  const char* name;
  Handler run;
} kCommands[] = {
    {"text", handle_text},     {"hex", handle_hex},       {"gen", handle_gen},
    {"chain", handle_chain},   {"hmac", handle_hmac},     {"pbkdf2", handle_pbkdf2},
    {"merkle", handle_merkle}, {"expect", handle_expect},
};

static const char* run_command(Session* session, char* line) {
  const char* name = next_word(&line);
  if (name == NULL || name[0] == '#') return NULL;
  for (size_t i = 0; i < sizeof kCommands / sizeof kCommands[0]; i++) {
    if (strcmp(kCommands[i].name, name) == 0) return kCommands[i].run(session, line);
  }
  return "unknown command";
}

int main(void) {
  char line[kMaxLine];
  Session session;
  memset(&session, 0, sizeof session);
  for (unsigned number = 1; fgets(line, sizeof line, stdin) != NULL; number++) {
    size_t size = strlen(line);
    const char* error = NULL;
    if (size > 0 && line[size - 1] == '\n') {
      line[--size] = '\0';
    } else if (size == sizeof line - 1) {
      error = "line too long";
      for (int c = getchar(); c != EOF && c != '\n';) c = getchar();
    }
    if (error == NULL) error = run_command(&session, line);
    if (error != NULL) {
      session.errors++;
      printf("line %u: %s\n", number, error);
    }
  }
  printf("digests %u, errors %u, mismatches %u, bytes %" PRIu64 ", fold %08" PRIx32 "\n",
         session.digests, session.errors, session.mismatches, session.bytes, session.fold);
  return 0;
}
