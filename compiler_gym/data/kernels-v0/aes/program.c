// The AES block cipher with 128, 192 and 256 bit keys in ECB, CBC and CTR mode, and CMAC.
// Reads one command per line from stdin: `key HEX`, `iv HEX`, `impl plain|tables`, `ecb|cbc|ctr
// enc|dec HEX`, `mac HEX`, `expect HEX`, `bench MODE BLOCKS REPEAT`, `monte KEYBITS ROUNDS`.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kBlock = 16,
  kMaxRounds = 14,
  kMaxKey = 32,
  kMaxLine = 2048,
  kMaxData = kMaxLine / 2 + kBlock,
  kMaxBlocks = 4096,
  kMaxWork = 1 << 19,  // Blocks of one command.
};

// All tables follow from arithmetic in GF(256), so they are computed rather than written down.
typedef struct {
  uint8_t sbox[256];
  uint8_t inverse[256];
  uint32_t encrypt[4][256];  // SubBytes and MixColumns of one byte of a column.
  uint32_t decrypt[4][256];
} Tables;

typedef struct {
  uint32_t words[4 * (kMaxRounds + 1)];
  uint32_t inverse_words[4 * (kMaxRounds + 1)];  // For decryption with tables.
  int rounds;
} Key;

typedef struct Cipher Cipher;

typedef void (*BlockFn)(const Cipher* cipher, const uint8_t* in, uint8_t* out);

typedef struct {
  const char* name;
  BlockFn encrypt;
  BlockFn decrypt;
} Implementation;

struct Cipher {
  const Tables* tables;
  const Implementation* implementation;
  Key key;
  uint8_t iv[kBlock];
};

typedef struct {
  Cipher cipher;
  bool have_key;
  uint8_t data[kMaxData];
  uint8_t result[kMaxData];
  size_t result_size;
  unsigned commands;
  unsigned errors;
  unsigned mismatches;
  uint64_t blocks;
} Session;

// ---- GF(256) and tables ----

static uint8_t xtime(uint8_t x) {
  return (uint8_t)(((unsigned)x << 1 ^ ((x & 0x80u) != 0 ? 0x1bu : 0u)) & 0xffu);
}

static uint8_t gf_multiply(uint8_t a, uint8_t b) {
  uint8_t product = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1u) != 0) product ^= a;
    a = xtime(a);
  }
  return product;
}

static uint8_t rotl8(uint8_t x, unsigned n) {
  return (uint8_t)(((unsigned)x << n | (unsigned)x >> (8u - n)) & 0xffu);
}

static uint32_t rotr32(uint32_t x, unsigned n) { return x >> n | x << (32u - n); }

static uint32_t pack(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return (uint32_t)a << 24 | (uint32_t)b << 16 | (uint32_t)c << 8 | d;
}

static uint8_t byte_of(uint32_t word, unsigned index) {
  return (uint8_t)(word >> (24u - 8u * index) & 0xffu);
}

static void build_tables(Tables* t) {
  // p runs through all nonzero elements as powers of 3, q through their inverses as powers of
  // the inverse of 3, 0xf6.
  uint8_t p = 1, q = 1;
  do {
    p = (uint8_t)(p ^ xtime(p));
    q = gf_multiply(q, 0xf6);
    const uint8_t s = (uint8_t)(q ^ rotl8(q, 1) ^ rotl8(q, 2) ^ rotl8(q, 3) ^ rotl8(q, 4) ^ 0x63u);
    t->sbox[p] = s;
  } while (p != 1);
  t->sbox[0] = 0x63;
  for (unsigned i = 0; i < 256; i++) t->inverse[t->sbox[i]] = (uint8_t)i;

  for (unsigned i = 0; i < 256; i++) {
    const uint8_t s = t->sbox[i], v = t->inverse[i];
    const uint32_t forward = pack(xtime(s), s, s, (uint8_t)(xtime(s) ^ s));
    const uint32_t backward =
        pack(gf_multiply(v, 14), gf_multiply(v, 9), gf_multiply(v, 13), gf_multiply(v, 11));
    t->encrypt[0][i] = forward;
    t->decrypt[0][i] = backward;
    for (unsigned k = 1; k < 4; k++) {
      t->encrypt[k][i] = rotr32(forward, 8 * k);
      t->decrypt[k][i] = rotr32(backward, 8 * k);
    }
  }
}

// ---- Key schedule ----

static uint32_t substitute_word(const Tables* t, uint32_t word) {
  return pack(t->sbox[byte_of(word, 0)], t->sbox[byte_of(word, 1)], t->sbox[byte_of(word, 2)],
              t->sbox[byte_of(word, 3)]);
}

static uint32_t load_word(const uint8_t* p) { return pack(p[0], p[1], p[2], p[3]); }

static void store_word(uint8_t* p, uint32_t word) {
  for (unsigned i = 0; i < 4; i++) p[i] = byte_of(word, i);
}

static uint32_t inverse_mix_word(const Tables* t, uint32_t word) {
  uint32_t mixed = 0;
  for (unsigned i = 0; i < 4; i++) mixed ^= t->decrypt[i][t->sbox[byte_of(word, i)]];
  return mixed;
}

static void expand_key(const Tables* t, Key* key, const uint8_t* bytes, size_t size) {
  const int count = (int)(size / 4);
  key->rounds = count + 6;
  const int total = 4 * (key->rounds + 1);
  uint8_t constant = 1;
  for (int i = 0; i < count; i++) key->words[i] = load_word(bytes + 4 * i);
  for (int i = count; i < total; i++) {
    uint32_t word = key->words[i - 1];
    if (i % count == 0) {
      word = substitute_word(t, rotr32(word, 24)) ^ (uint32_t)constant << 24;
      constant = xtime(constant);
    } else if (count > 6 && i % count == 4) {
      word = substitute_word(t, word);
    }
    key->words[i] = key->words[i - count] ^ word;
  }
  // Decryption goes backwards through the rounds, with MixColumns undone in all but the outer
  // keys.
  for (int round = 0; round <= key->rounds; round++) {
    for (int i = 0; i < 4; i++) {
      const uint32_t word = key->words[4 * (key->rounds - round) + i];
      const bool outer = round == 0 || round == key->rounds;
      key->inverse_words[4 * round + i] = outer ? word : inverse_mix_word(t, word);
    }
  }
}

// ---- One block, step by step as the standard describes it ----

static void add_round_key(uint8_t* state, const uint32_t* words) {
  for (int c = 0; c < 4; c++) {
    for (unsigned r = 0; r < 4; r++) state[4 * c + (int)r] ^= byte_of(words[c], r);
  }
}

static void substitute(uint8_t* state, const uint8_t* box) {
  for (int i = 0; i < kBlock; i++) state[i] = box[state[i]];
}

// Row r moves r columns to the left, or to the right for `direction` 3.
static void shift_rows(uint8_t* state, int direction) {
  uint8_t old[kBlock];
  memcpy(old, state, kBlock);
  for (int c = 0; c < 4; c++) {
    for (int r = 1; r < 4; r++) state[4 * c + r] = old[4 * ((c + direction * r) % 4) + r];
  }
}

static void mix_columns(uint8_t* state) {
  for (uint8_t* column = state; column < state + kBlock; column += 4) {
    const uint8_t first = column[0];
    const uint8_t all = (uint8_t)(column[0] ^ column[1] ^ column[2] ^ column[3]);
    for (int r = 0; r < 4; r++) {
      const uint8_t next = r < 3 ? column[r + 1] : first;
      column[r] = (uint8_t)(column[r] ^ all ^ xtime((uint8_t)(column[r] ^ next)));
    }
  }
}

static void inverse_mix_columns(uint8_t* state) {
  static const uint8_t kFactors[4] = {14, 11, 13, 9};
  for (int c = 0; c < 4; c++) {
    uint8_t old[4];
    memcpy(old, state + 4 * c, 4);
    for (int r = 0; r < 4; r++) {
      uint8_t sum = 0;
      for (int i = 0; i < 4; i++) sum ^= gf_multiply(old[(r + i) % 4], kFactors[i]);
      state[4 * c + r] = sum;
    }
  }
}

static void plain_encrypt(const Cipher* cipher, const uint8_t* in, uint8_t* out) {
  const Key* key = &cipher->key;
  uint8_t state[kBlock];
  memcpy(state, in, kBlock);
  add_round_key(state, key->words);
  for (int round = 1; round <= key->rounds; round++) {
    substitute(state, cipher->tables->sbox);
    shift_rows(state, 1);
    if (round < key->rounds) mix_columns(state);
    add_round_key(state, key->words + 4 * round);
  }
  memcpy(out, state, kBlock);
}

static void plain_decrypt(const Cipher* cipher, const uint8_t* in, uint8_t* out) {
  const Key* key = &cipher->key;
  uint8_t state[kBlock];
  memcpy(state, in, kBlock);
  for (int round = key->rounds; round >= 1; round--) {
    add_round_key(state, key->words + 4 * round);
    if (round < key->rounds) inverse_mix_columns(state);
    shift_rows(state, 3);
    substitute(state, cipher->tables->inverse);
  }
  add_round_key(state, key->words);
  memcpy(out, state, kBlock);
}

// ---- One block with a table per byte of a column ----

// `step` is 1 to encrypt and 3 to decrypt: the distance between the columns whose bytes meet.
static void table_rounds(const uint32_t (*tables)[256], const uint8_t* box, const uint32_t* words,
                         int rounds, int step, const uint8_t* in, uint8_t* out) {
  uint32_t now[4], next[4];
  for (int c = 0; c < 4; c++) now[c] = load_word(in + 4 * c) ^ words[c];
  for (int round = 1; round < rounds; round++) {
    words += 4;
    for (int c = 0; c < 4; c++) {
      next[c] =
          words[c] ^ tables[0][byte_of(now[c], 0)] ^ tables[1][byte_of(now[(c + step) & 3], 1)] ^
          tables[2][byte_of(now[(c + 2) & 3], 2)] ^ tables[3][byte_of(now[(c + 3 * step) & 3], 3)];
    }
    memcpy(now, next, sizeof now);
  }
  words += 4;
  for (int c = 0; c < 4; c++) {
    const uint32_t last =
        pack(box[byte_of(now[c], 0)], box[byte_of(now[(c + step) & 3], 1)],
             box[byte_of(now[(c + 2) & 3], 2)], box[byte_of(now[(c + 3 * step) & 3], 3)]);
    store_word(out + 4 * c, last ^ words[c]);
  }
}

static void table_encrypt(const Cipher* cipher, const uint8_t* in, uint8_t* out) {
  const Tables* t = cipher->tables;
  table_rounds(t->encrypt, t->sbox, cipher->key.words, cipher->key.rounds, 1, in, out);
}

static void table_decrypt(const Cipher* cipher, const uint8_t* in, uint8_t* out) {
  const Tables* t = cipher->tables;
  table_rounds(t->decrypt, t->inverse, cipher->key.inverse_words, cipher->key.rounds, 3, in, out);
}

static const Implementation kImplementations[] = {
    {"tables", table_encrypt, table_decrypt},
    {"plain", plain_encrypt, plain_decrypt},
};

enum { kImplementationCount = sizeof kImplementations / sizeof kImplementations[0] };

// ---- Modes. `size` is a multiple of the block size except in CTR mode. ----

static void xor_block(uint8_t* target, const uint8_t* source) {
  for (int i = 0; i < kBlock; i++) target[i] ^= source[i];
}

static void ecb(const Cipher* c, BlockFn block, const uint8_t* in, size_t size, uint8_t* out) {
  for (size_t at = 0; at < size; at += kBlock) block(c, in + at, out + at);
}

static void ecb_encrypt(const Cipher* c, const uint8_t* in, size_t size, uint8_t* out) {
  ecb(c, c->implementation->encrypt, in, size, out);
}

static void ecb_decrypt(const Cipher* c, const uint8_t* in, size_t size, uint8_t* out) {
  ecb(c, c->implementation->decrypt, in, size, out);
}

static void cbc_encrypt(const Cipher* c, const uint8_t* in, size_t size, uint8_t* out) {
  uint8_t chain[kBlock];
  memcpy(chain, c->iv, kBlock);
  for (size_t at = 0; at < size; at += kBlock) {
    xor_block(chain, in + at);
    c->implementation->encrypt(c, chain, chain);
    memcpy(out + at, chain, kBlock);
  }
}

static void cbc_decrypt(const Cipher* c, const uint8_t* in, size_t size, uint8_t* out) {
  uint8_t previous[kBlock], current[kBlock];
  memcpy(previous, c->iv, kBlock);
  for (size_t at = 0; at < size; at += kBlock) {
    memcpy(current, in + at, kBlock);  // `in` and `out` may be the same.
    c->implementation->decrypt(c, current, out + at);
    xor_block(out + at, previous);
    memcpy(previous, current, kBlock);
  }
}

// The whole block is one big-endian counter.
static void increment(uint8_t* counter) {
  for (int i = kBlock - 1; i >= 0 && ++counter[i] == 0; i--) continue;
}

static void ctr_crypt(const Cipher* c, const uint8_t* in, size_t size, uint8_t* out) {
  uint8_t counter[kBlock], stream[kBlock];
  memcpy(counter, c->iv, kBlock);
  for (size_t at = 0; at < size; at += kBlock) {
    const size_t count = size - at < kBlock ? size - at : kBlock;
    c->implementation->encrypt(c, counter, stream);
    for (size_t i = 0; i < count; i++) out[at + i] = in[at + i] ^ stream[i];
    increment(counter);
  }
}

typedef struct {
  const char* name;
  void (*encrypt)(const Cipher* c, const uint8_t* in, size_t size, uint8_t* out);
  void (*decrypt)(const Cipher* c, const uint8_t* in, size_t size, uint8_t* out);
  bool padded;
} Mode;

static const Mode kModes[] = {
    {"ecb", ecb_encrypt, ecb_decrypt, false},
    {"cbc", cbc_encrypt, cbc_decrypt, true},
    {"ctr", ctr_crypt, ctr_crypt, false},
};

static const Mode* find_mode(const char* name) {
  for (size_t i = 0; i < sizeof kModes / sizeof kModes[0]; i++) {
    if (strcmp(kModes[i].name, name) == 0) return &kModes[i];
  }
  return NULL;
}

// Adds one to sixteen bytes, each of which holds their number.
static size_t pad(uint8_t* data, size_t size) {
  const size_t count = kBlock - size % kBlock;
  for (size_t i = 0; i < count; i++) data[size + i] = (uint8_t)count;
  return size + count;
}

// Returns false when the last bytes are no padding. Looks at all of them in any case.
static bool unpad(const uint8_t* data, size_t* size) {
  if (*size == 0) return false;
  const unsigned count = data[*size - 1];
  unsigned wrong = count < 1 || count > kBlock;
  for (unsigned i = 1; i <= kBlock; i++) {
    wrong |= i <= count && data[*size - i] != count;
  }
  if (wrong != 0) return false;
  *size -= count;
  return true;
}

// Doubles a block in GF(2^128).
static void double_block(uint8_t* block) {
  const bool carry_out = (block[0] & 0x80u) != 0;
  for (int i = 0; i < kBlock; i++) {
    const unsigned carry = i + 1 < kBlock ? (unsigned)block[i + 1] >> 7 : 0u;
    block[i] = (uint8_t)(((unsigned)block[i] << 1 | carry) & 0xffu);
  }
  if (carry_out) block[kBlock - 1] ^= 0x87;
}

static void cmac(const Cipher* c, const uint8_t* data, size_t size, uint8_t* mac) {
  uint8_t subkey[kBlock] = {0}, last[kBlock] = {0};
  c->implementation->encrypt(c, subkey, subkey);
  double_block(subkey);
  memset(mac, 0, kBlock);
  for (; size > kBlock; data += kBlock, size -= kBlock) {
    xor_block(mac, data);
    c->implementation->encrypt(c, mac, mac);
  }
  for (size_t i = 0; i < size; i++) last[i] = data[i];
  if (size < kBlock) {
    last[size] = 0x80;
    double_block(subkey);
  }
  xor_block(mac, last);
  xor_block(mac, subkey);
  c->implementation->encrypt(c, mac, mac);
}

// ---- Commands ----

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static bool parse_hex(const char* text, uint8_t* out, size_t capacity, size_t* size) {
  size_t n = 0;
  for (; text[0] != '\0'; text += 2) {
    const int high = hex_digit(text[0]);
    const int low = high < 0 ? -1 : hex_digit(text[1]);
    if (low < 0 || n == capacity) return false;
    out[n++] = (uint8_t)(high << 4 | low);
  }
  *size = n;
  return true;
}

static void print_hex(const uint8_t* data, size_t size) {
  for (size_t i = 0; i < size; i++) printf("%02x", (unsigned)data[i]);
}

static void set_result(Session* s, const uint8_t* data, size_t size) {
  memcpy(s->result, data, size);
  s->result_size = size;
}

static const char* set_key(Session* s, const char* hex) {
  uint8_t bytes[kMaxKey];
  size_t size;
  if (!parse_hex(hex, bytes, sizeof bytes, &size)) return "bad hex";
  if (size != 16 && size != 24 && size != 32) return "bad key length";
  expand_key(s->cipher.tables, &s->cipher.key, bytes, size);
  s->have_key = true;
  printf("key  %zu bits, %d rounds, last words", size * 8, s->cipher.key.rounds);
  const uint32_t* last = s->cipher.key.words + 4 * s->cipher.key.rounds;
  for (int i = 0; i < 4; i++) printf(" %08" PRIx32, last[i]);
  printf("\n");
  return NULL;
}

static const char* set_iv(Session* s, const char* hex) {
  uint8_t bytes[kBlock];
  size_t size;
  if (!parse_hex(hex, bytes, sizeof bytes, &size) || size != kBlock) return "bad iv";
  memcpy(s->cipher.iv, bytes, kBlock);
  return NULL;
}

static const char* set_implementation(Session* s, const char* name) {
  for (int i = 0; i < kImplementationCount; i++) {
    if (strcmp(kImplementations[i].name, name) != 0) continue;
    s->cipher.implementation = &kImplementations[i];
    return NULL;
  }
  return "unknown implementation";
}

static const char* run_mode(Session* s, const Mode* mode, const char* direction, const char* hex) {
  const bool encrypt = strcmp(direction, "enc") == 0;
  size_t size;
  if (!encrypt && strcmp(direction, "dec") != 0) return "expected enc or dec";
  if (!s->have_key) return "no key";
  if (!parse_hex(hex, s->data, kMaxData - kBlock, &size)) return "bad hex";
  const bool whole = size % kBlock == 0;
  if (mode->encrypt != ctr_crypt && !whole && !(mode->padded && encrypt)) return "bad data length";
  if (encrypt) {
    if (mode->padded) size = pad(s->data, size);
    mode->encrypt(&s->cipher, s->data, size, s->result);
  } else {
    mode->decrypt(&s->cipher, s->data, size, s->result);
    if (mode->padded && !unpad(s->result, &size)) return "bad padding";
  }
  s->result_size = size;
  s->blocks += (size + kBlock - 1) / kBlock;
  printf("%s  %s %s%s", mode->name, direction, s->cipher.implementation->name, size > 0 ? " " : "");
  print_hex(s->result, size);
  printf("\n");
  return NULL;
}

static const char* run_mac(Session* s, const char* hex) {
  size_t size;
  uint8_t mac[kBlock];
  if (!s->have_key) return "no key";
  if (!parse_hex(hex, s->data, kMaxData, &size)) return "bad hex";
  cmac(&s->cipher, s->data, size, mac);
  set_result(s, mac, kBlock);
  s->blocks += size / kBlock + 1;
  printf("mac  ");
  print_hex(mac, kBlock);
  printf("\n");
  return NULL;
}

static const char* run_expect(Session* s, const char* hex) {
  size_t size;
  if (!parse_hex(hex, s->data, kMaxData, &size)) return "bad hex";
  const bool same = size == s->result_size && memcmp(s->data, s->result, size) == 0;
  printf("expect %s\n", same ? "ok" : "MISMATCH");
  s->mismatches += !same;
  return NULL;
}

// Encrypts a buffer again and again in place, with every implementation, and decrypts it back.
static const char* run_bench(Session* s, const char* name, unsigned blocks, unsigned repeat) {
  const Mode* mode = find_mode(name);
  if (mode == NULL) return "unknown mode";
  if (!s->have_key) return "no key";
  if (blocks < 1 || blocks > kMaxBlocks || repeat < 1 || repeat > kMaxWork / blocks) {
    return "number out of range";
  }
  const size_t size = (size_t)blocks * kBlock;
  uint8_t* data = malloc(size);
  if (data == NULL) return "out of memory";
  const Implementation* chosen = s->cipher.implementation;
  for (int k = 0; k < kImplementationCount; k++) {
    // The plain one is there to check the other, so it gets less to do.
    const unsigned rounds = k == 0 ? repeat : (repeat + 7) / 8;
    s->cipher.implementation = &kImplementations[k];
    for (size_t i = 0; i < size; i++) data[i] = (uint8_t)((i * 7 + i / 256) & 0xffu);
    for (unsigned r = 0; r < rounds; r++) mode->encrypt(&s->cipher, data, size, data);
    uint8_t mac[kBlock];
    cmac(&s->cipher, data, size, mac);
    set_result(s, mac, kBlock);
    for (unsigned r = 0; r < rounds; r++) mode->decrypt(&s->cipher, data, size, data);
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++) wrong += data[i] != (uint8_t)((i * 7 + i / 256) & 0xffu);
    s->blocks += 2u * (uint64_t)rounds * blocks;
    printf("bench %s %-6s %u blocks, %u times, mac ", mode->name, kImplementations[k].name, blocks,
           rounds);
    print_hex(mac, kBlock);
    printf(", %s\n", wrong == 0 ? "reversible" : "WRONG");
    s->mismatches += wrong != 0;
  }
  s->cipher.implementation = chosen;
  free(data);
  return NULL;
}

// Every result becomes part of the next key and the next block, starting from the current iv.
static const char* run_monte(Session* s, unsigned bits, unsigned rounds) {
  if ((bits != 128 && bits != 192 && bits != 256) || rounds < 1 || rounds > 100000) {
    return "number out of range";
  }
  const size_t size = bits / 8;
  uint8_t key[kMaxKey] = {0}, block[kBlock];
  Cipher cipher = s->cipher;
  memcpy(block, cipher.iv, kBlock);
  for (unsigned r = 0; r < rounds; r++) {
    expand_key(cipher.tables, &cipher.key, key, size);
    cipher.implementation->encrypt(&cipher, block, block);
    for (size_t i = 0; i < size; i++) key[i] ^= block[(i + r) % kBlock];
  }
  s->blocks += rounds;
  set_result(s, block, kBlock);
  printf("monte %u ", bits);
  print_hex(block, kBlock);
  printf("\n");
  return NULL;
}

static bool parse_unsigned(const char* text, unsigned* value) {
  unsigned v = 0;
  int digits = 0;
  for (; *text >= '0' && *text <= '9'; text++, digits++) {
    if (digits == 9) return false;
    v = v * 10 + (unsigned)(*text - '0');
  }
  *value = v;
  return digits > 0 && *text == '\0';
}

static size_t split_words(char* line, char** words, size_t capacity) {
  size_t count = 0;
  for (char* word = strtok(line, " \t\r\n"); word != NULL; word = strtok(NULL, " \t\r\n")) {
    if (count < capacity) words[count] = word;
    count++;
  }
  return count;
}

static const char* run_line(Session* s, char* line) {
  char empty[] = "";
  char* words[4] = {empty, empty, empty, empty};
  const size_t count = split_words(line, words, 4);
  if (count == 0 || words[0][0] == '#') return NULL;
  if (count > 4) return "too many words";
  s->commands++;
  if (strcmp(words[0], "key") == 0) return set_key(s, words[1]);
  if (strcmp(words[0], "iv") == 0) return set_iv(s, words[1]);
  if (strcmp(words[0], "impl") == 0) return set_implementation(s, words[1]);
  if (strcmp(words[0], "mac") == 0) return run_mac(s, words[1]);
  if (strcmp(words[0], "expect") == 0) return run_expect(s, words[1]);
  const Mode* mode = find_mode(words[0]);
  if (mode != NULL) return run_mode(s, mode, words[1], words[2]);
  unsigned first, second;
  if (strcmp(words[0], "bench") == 0) {
    const bool good = parse_unsigned(words[2], &first) && parse_unsigned(words[3], &second);
    if (!good) return "bad number";
    return run_bench(s, words[1], first, second);
  }
  if (strcmp(words[0], "monte") == 0) {
    const bool good = parse_unsigned(words[1], &first) && parse_unsigned(words[2], &second);
    if (!good) return "bad number";
    return run_monte(s, first, second);
  }
  return "unknown command";
}

int main(void) {
  Tables* tables = calloc(1, sizeof *tables);
  Session* session = calloc(1, sizeof *session);
  if (tables == NULL || session == NULL) {
    puts("out of memory");
    free(tables);
    free(session);
    return 1;
  }
  build_tables(tables);
  session->cipher.tables = tables;
  session->cipher.implementation = &kImplementations[0];
  char line[kMaxLine];
  unsigned number = 0;
  while (fgets(line, sizeof line, stdin) != NULL) {
    number++;
    const char* error = run_line(session, line);
    if (error == NULL) continue;
    printf("line %u: %s\n", number, error);
    session->errors++;
  }
  printf("%u commands, %u errors, %u mismatches, %" PRIu64 " blocks\n", session->commands,
         session->errors, session->mismatches, session->blocks);
  free(tables);
  free(session);
  return 0;
}
