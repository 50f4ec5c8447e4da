// Parses JSON documents to trees, answers path queries, pretty-prints, and computes a hash that
// does not depend on the order of members. Input: lines "repeat N", "indent N", "show N" (lines
// to print), "query PATH" (a.b[2].c, items[*].id, ..price), then a line "documents" and the
// documents, separated by lines holding only "---".

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxDepth = 64,
  kMaxQueries = 24,
  kMaxSteps = 12,
  kShownMatches = 3,
  kBlockSize = 16384,
};

typedef struct {
  const char *bytes;
  size_t length;
} Text;

static void die(const char *message) {
  printf("fatal: %s\n", message);
  exit(1);
}

// ---------------------------------------------------------------------------------------------
// Memory: a tree lives in an arena and is thrown away as a whole.

typedef struct ArenaBlock {
  struct ArenaBlock *next;
  size_t used;
  size_t capacity;
  max_align_t data[];
} ArenaBlock;

typedef struct {
  ArenaBlock *head;
} Arena;

static void *arena_alloc(Arena *arena, size_t size) {
  const size_t align = sizeof(max_align_t);
  size = (size + align - 1) / align * align;
  ArenaBlock *block = arena->head;
  if (block == NULL || block->capacity - block->used < size) {
    size_t capacity = size > kBlockSize ? size : kBlockSize;
    block = malloc(sizeof(ArenaBlock) + capacity);
    if (block == NULL) die("out of memory");
    block->next = arena->head;
    block->used = 0;
    block->capacity = capacity;
    arena->head = block;
  }
  void *result = (unsigned char *)block->data + block->used;
  block->used += size;
  return result;
}

static void arena_free(Arena *arena) {
  while (arena->head != NULL) {
    ArenaBlock *next = arena->head->next;
    free(arena->head);
    arena->head = next;
  }
}

// Keeps the newest block, so that a loop of parse and reset soon stops calling malloc.
static void arena_reset(Arena *arena) {
  if (arena->head == NULL) return;
  Arena rest = {arena->head->next};
  arena_free(&rest);
  arena->head->next = NULL;
  arena->head->used = 0;
}

typedef struct {
  char *bytes;
  size_t length;
  size_t capacity;
} Buffer;

static void buffer_append(Buffer *buffer, const char *bytes, size_t length) {
  if (buffer->capacity - buffer->length < length) {
    size_t capacity = buffer->capacity * 2 + length + 64;
    char *grown = realloc(buffer->bytes, capacity);
    if (grown == NULL) die("out of memory");
    buffer->bytes = grown;
    buffer->capacity = capacity;
  }
  if (length > 0) memcpy(buffer->bytes + buffer->length, bytes, length);
  buffer->length += length;
}

static void buffer_free(Buffer *buffer) {
  free(buffer->bytes);
  *buffer = (Buffer){NULL, 0, 0};
}

// ---------------------------------------------------------------------------------------------
// The tree.

typedef enum {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_INTEGER,
  JSON_REAL,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT,
  JSON_TYPE_COUNT,
} JsonType;

typedef struct JsonNode JsonNode;

struct JsonNode {
  JsonType type;
  uint32_t key_hash;
  Text key;        // the member name, for the members of an object
  JsonNode *next;  // the next sibling
  union {
    int64_t integer;
    double real;
    Text string;
    struct {
      JsonNode *first;
      JsonNode *last;
      size_t count;
    } children;
  } as;
};

static const char *const kTypeNames[JSON_TYPE_COUNT] = {
    "null", "false", "true", "integer", "real", "string", "array", "object",
};

static bool is_container(const JsonNode *node) {
  return node->type == JSON_ARRAY || node->type == JSON_OBJECT;
}

static uint32_t hash_key(Text key) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < key.length; ++i) {
    hash = (hash ^ (unsigned char)key.bytes[i]) * 16777619u;
  }
  return hash;
}

static bool text_equal(Text a, Text b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static int text_compare(Text a, Text b) {
  size_t shorter = a.length < b.length ? a.length : b.length;
  int order = shorter > 0 ? memcmp(a.bytes, b.bytes, shorter) : 0;
  if (order != 0) return order;
  return (a.length > b.length) - (a.length < b.length);
}

static JsonNode *find_member(const JsonNode *object, Text key, uint32_t hash) {
  for (JsonNode *child = object->as.children.first; child != NULL; child = child->next) {
    if (child->key_hash == hash && text_equal(child->key, key)) return child;
  }
  return NULL;
}

static void append_child(JsonNode *parent, JsonNode *child) {
  if (parent->as.children.last == NULL) {
    parent->as.children.first = child;
  } else {
    parent->as.children.last->next = child;
  }
  parent->as.children.last = child;
  ++parent->as.children.count;
}

// ---------------------------------------------------------------------------------------------
// UTF-8.

static size_t utf8_encode(uint32_t code, char *out) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (char)(0xC0 | (code >> 6));
    out[1] = (char)(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = (char)(0xE0 | (code >> 12));
    out[1] = (char)(0x80 | ((code >> 6) & 0x3F));
    out[2] = (char)(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | (code >> 18));
  out[1] = (char)(0x80 | ((code >> 12) & 0x3F));
  out[2] = (char)(0x80 | ((code >> 6) & 0x3F));
  out[3] = (char)(0x80 | (code & 0x3F));
  return 4;
}

// Decodes one character; returns its length in bytes, 0 when it is not well-formed.
static size_t utf8_decode(const char *bytes, size_t available, uint32_t *code) {
  static const uint32_t kSmallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  unsigned char lead = (unsigned char)bytes[0];
  size_t length;
  uint32_t value;
  if (lead < 0x80) {
    *code = lead;
    return 1;
  } else if ((lead & 0xE0) == 0xC0) {
    length = 2;
    value = lead & 0x1Fu;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3;
    value = lead & 0x0Fu;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4;
    value = lead & 0x07u;
  } else {
    return 0;
  }
  if (length > available) return 0;
  for (size_t i = 1; i < length; ++i) {
    unsigned char tail = (unsigned char)bytes[i];
    if ((tail & 0xC0) != 0x80) return 0;
    value = value << 6 | (tail & 0x3Fu);
  }
  if (value < kSmallest[length] || value > 0x10FFFF) return 0;
  if (value >= 0xD800 && value <= 0xDFFF) return 0;
  *code = value;
  return length;
}

// ---------------------------------------------------------------------------------------------
// The parser.

typedef struct {
  const char *text;
  size_t length;
  size_t position;
  int depth;
  Arena *arena;
  const char *error;  // the first error only
  size_t error_position;
} Parser;

static bool fail(Parser *parser, const char *message) {
  if (parser->error == NULL) {
    parser->error = message;
    parser->error_position = parser->position;
  }
  return false;
}

static int peek(const Parser *parser) {
  if (parser->position >= parser->length) return -1;
  return (unsigned char)parser->text[parser->position];
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static void skip_space(Parser *parser) {
  for (;;) {
    int c = peek(parser);
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
    ++parser->position;
  }
}

static int hex_value(int c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static bool parse_hex4(Parser *parser, uint32_t *code) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    int digit = hex_value(peek(parser));
    if (digit < 0) return fail(parser, "four hex digits expected");
    value = value << 4 | (uint32_t)digit;
    ++parser->position;
  }
  *code = value;
  return true;
}

// Called after a backslash; writes the character meant to OUT.
static bool parse_escape(Parser *parser, char *out, size_t *written) {
  int c = peek(parser);
  *written = 1;
  switch (c) {
    case '"':
    case '\\':
    case '/': out[0] = (char)c; break;
    case 'b': out[0] = '\b'; break;
    case 'f': out[0] = '\f'; break;
    case 'n': out[0] = '\n'; break;
    case 'r': out[0] = '\r'; break;
    case 't': out[0] = '\t'; break;
    case 'u': {
      uint32_t code = 0;
      ++parser->position;
      if (!parse_hex4(parser, &code)) return false;
      if (code >= 0xDC00 && code <= 0xDFFF) return fail(parser, "lone low surrogate");
      if (code >= 0xD800 && code <= 0xDBFF) {
        uint32_t low = 0;
        if (peek(parser) != '\\') return fail(parser, "lone high surrogate");
        ++parser->position;
        if (peek(parser) != 'u') return fail(parser, "lone high surrogate");
        ++parser->position;
        if (!parse_hex4(parser, &low)) return false;
        if (low < 0xDC00 || low > 0xDFFF) return fail(parser, "bad low surrogate");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      }
      *written = utf8_encode(code, out);
      return true;
    }
    default: return fail(parser, "unknown escape");
  }
  ++parser->position;
  return true;
}

static bool is_plain(int c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

static bool parse_string(Parser *parser, Text *result) {
  size_t start = ++parser->position;  // behind the opening quote
  while (is_plain(peek(parser))) ++parser->position;
  if (peek(parser) == '"') {
    // Most strings need no copy: they stay in the text of the document.
    *result = (Text){parser->text + start, parser->position - start};
    ++parser->position;
    return true;
  }
  // The decoded form is never longer than the source, so the closing quote gives the size.
  size_t end = parser->position;
  while (end < parser->length && parser->text[end] != '"') {
    end += parser->text[end] == '\\' ? 2 : 1;
  }
  if (end >= parser->length) return fail(parser, "unterminated string");
  char *out = arena_alloc(parser->arena, end - start);
  size_t used = parser->position - start;
  memcpy(out, parser->text + start, used);
  for (;;) {
    int c = peek(parser);
    if (c == '"') break;
    if (c < 0x20) {
      return fail(parser, c < 0 ? "unterminated string" : "control character in a string");
    }
    size_t length = 0;
    if (c == '\\') {
      ++parser->position;
      if (!parse_escape(parser, out + used, &length)) return false;
    } else {
      uint32_t code;
      length = utf8_decode(parser->text + parser->position, parser->length - parser->position,
                           &code);
      if (length == 0) return fail(parser, "malformed UTF-8");
      memcpy(out + used, parser->text + parser->position, length);
      parser->position += length;
    }
    used += length;
  }
  ++parser->position;
  *result = (Text){out, used};
  return true;
}

// Decimal digits collected from the source; DROPPED tells that they did not all fit.
typedef struct {
  uint64_t mantissa;
  bool dropped;
} Digits;

static bool scan_digits(Parser *parser, Digits *digits, int *count) {
  size_t start = parser->position;
  int c = peek(parser);
  while (is_digit(c)) {
    uint64_t digit = (uint64_t)(c - '0');
    if (digits->mantissa > (UINT64_MAX - digit) / 10) {
      digits->dropped = true;
    } else if (!digits->dropped) {
      digits->mantissa = digits->mantissa * 10 + digit;
    }
    ++parser->position;
    c = peek(parser);
  }
  *count = (int)(parser->position - start);
  return *count > 0 || fail(parser, "digit expected");
}

static double slow_decimal(Parser *parser, size_t start) {
  size_t length = parser->position - start;
  char *copy = arena_alloc(parser->arena, length + 1);
  memcpy(copy, parser->text + start, length);
  copy[length] = '\0';
  return strtod(copy, NULL);
}

static bool parse_number(Parser *parser, JsonNode *node) {
  static const double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const uint64_t kExactLimit = UINT64_C(1) << 53;
  size_t start = parser->position;
  Digits digits = {0, false};
  int count = 0;
  int scale = 0;
  bool integral = true;
  bool negative = peek(parser) == '-';
  if (negative) ++parser->position;
  if (peek(parser) == '0') {
    ++parser->position;
    if (is_digit(peek(parser))) return fail(parser, "leading zero");
  } else if (!scan_digits(parser, &digits, &count)) {
    return false;
  }
  if (peek(parser) == '.') {
    ++parser->position;
    integral = false;
    if (!scan_digits(parser, &digits, &count)) return false;
    scale = -count;
  }
  if (peek(parser) == 'e' || peek(parser) == 'E') {
    Digits exponent = {0, false};
    bool down = false;
    integral = false;
    ++parser->position;
    if (peek(parser) == '-' || peek(parser) == '+') {
      down = peek(parser) == '-';
      ++parser->position;
    }
    if (!scan_digits(parser, &exponent, &count)) return false;
    int power = exponent.dropped || exponent.mantissa > 9999 ? 9999 : (int)exponent.mantissa;
    scale += down ? -power : power;
  }
  uint64_t largest = (uint64_t)INT64_MAX + (negative ? 1 : 0);
  if (integral && !digits.dropped && digits.mantissa <= largest) {
    node->type = JSON_INTEGER;
    if (negative && digits.mantissa > (uint64_t)INT64_MAX) {
      node->as.integer = INT64_MIN;
    } else {
      node->as.integer = negative ? -(int64_t)digits.mantissa : (int64_t)digits.mantissa;
    }
    return true;
  }
  node->type = JSON_REAL;
  if (!digits.dropped && digits.mantissa <= kExactLimit && scale >= -22 && scale <= 22) {
    // Both operands are exact, so one operation gives the correctly rounded value.
    double value = (double)digits.mantissa;
    value = scale < 0 ? value / kPowersOfTen[-scale] : value * kPowersOfTen[scale];
    node->as.real = negative ? -value : value;
  } else {
    node->as.real = slow_decimal(parser, start);
    if (!isfinite(node->as.real)) return fail(parser, "number out of range");
  }
  return true;
}

static bool parse_word(Parser *parser, JsonNode *node, const char *word, JsonType type) {
  size_t length = strlen(word);
  if (parser->length - parser->position < length ||
      memcmp(parser->text + parser->position, word, length) != 0) {
    return fail(parser, "unknown word");
  }
  parser->position += length;
  node->type = type;
  return true;
}

static JsonNode *parse_value(Parser *parser);

static bool parse_array(Parser *parser, JsonNode *array) {
  ++parser->position;
  skip_space(parser);
  if (peek(parser) == ']') {
    ++parser->position;
    return true;
  }
  for (;;) {
    JsonNode *item = parse_value(parser);
    if (item == NULL) return false;
    append_child(array, item);
    skip_space(parser);
    int c = peek(parser);
    if (c != ',' && c != ']') return fail(parser, "',' or ']' expected");
    ++parser->position;
    if (c == ']') return true;
  }
}

static bool parse_member(Parser *parser, JsonNode *object) {
  Text key;
  skip_space(parser);
  if (peek(parser) != '"') return fail(parser, "member name expected");
  if (!parse_string(parser, &key)) return false;
  skip_space(parser);
  if (peek(parser) != ':') return fail(parser, "':' expected");
  ++parser->position;
  JsonNode *value = parse_value(parser);
  if (value == NULL) return false;
  value->key = key;
  value->key_hash = hash_key(key);
  JsonNode *old = find_member(object, key, value->key_hash);
  if (old == NULL) {
    append_child(object, value);
  } else {
    // A repeated name: the last value wins, at the place of the first.
    JsonNode *next = old->next;
    *old = *value;
    old->next = next;
  }
  return true;
}

static bool parse_object(Parser *parser, JsonNode *object) {
  ++parser->position;
  skip_space(parser);
  if (peek(parser) == '}') {
    ++parser->position;
    return true;
  }
  for (;;) {
    if (!parse_member(parser, object)) return false;
    skip_space(parser);
    int c = peek(parser);
    if (c != ',' && c != '}') return fail(parser, "',' or '}' expected");
    ++parser->position;
    if (c == '}') return true;
  }
}

static JsonNode *parse_value(Parser *parser) {
  JsonNode *node = arena_alloc(parser->arena, sizeof *node);
  memset(node, 0, sizeof *node);
  bool good = false;
  skip_space(parser);
  int c = peek(parser);
  switch (c) {
    case '{':
    case '[':
      if (++parser->depth > kMaxDepth) {
        fail(parser, "nesting too deep");
        return NULL;
      }
      node->type = c == '{' ? JSON_OBJECT : JSON_ARRAY;
      good = c == '{' ? parse_object(parser, node) : parse_array(parser, node);
      --parser->depth;
      break;
    case '"':
      node->type = JSON_STRING;
      good = parse_string(parser, &node->as.string);
      break;
    case 'n': good = parse_word(parser, node, "null", JSON_NULL); break;
    case 't': good = parse_word(parser, node, "true", JSON_TRUE); break;
    case 'f': good = parse_word(parser, node, "false", JSON_FALSE); break;
    case -1: fail(parser, "value expected, found the end"); break;
    default:
      if (c == '-' || is_digit(c)) {
        good = parse_number(parser, node);
      } else {
        fail(parser, "value expected");
      }
      break;
  }
  return good ? node : NULL;
}

static JsonNode *parse_document(Parser *parser, Arena *arena, Text text) {
  *parser = (Parser){.text = text.bytes, .length = text.length, .arena = arena};
  JsonNode *root = parse_value(parser);
  if (root == NULL) return NULL;
  skip_space(parser);
  if (peek(parser) >= 0) {
    fail(parser, "text behind the value");
    return NULL;
  }
  return root;
}

// ---------------------------------------------------------------------------------------------
// Output. One writer serves pretty-printing and hashing through two kinds of sink.

typedef struct Sink {
  void (*write)(struct Sink *sink, const char *bytes, size_t length);
} Sink;

typedef struct {
  Sink base;
  Buffer buffer;
} BufferSink;

typedef struct {
  Sink base;
  uint64_t hash;
} HashSink;

static void buffer_sink_write(Sink *sink, const char *bytes, size_t length) {
  buffer_append(&((BufferSink *)sink)->buffer, bytes, length);
}

static void hash_sink_write(Sink *sink, const char *bytes, size_t length) {
  HashSink *self = (HashSink *)sink;
  uint64_t hash = self->hash;
  for (size_t i = 0; i < length; ++i) {
    hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
  }
  self->hash = hash;
}

typedef struct {
  Sink *sink;
  int indent;   // negative: everything on one line
  bool sorted;  // members in the order of their names
  bool ascii;   // \u escapes for everything beyond ASCII
} Writer;

static void put(Writer *writer, const char *bytes, size_t length) {
  writer->sink->write(writer->sink, bytes, length);
}

static void put_line_break(Writer *writer, int depth) {
  static const char kSpaces[] = "                ";
  if (writer->indent < 0) return;
  put(writer, "\n", 1);
  int left = depth * writer->indent;
  while (left > 0) {
    int part = left < 16 ? left : 16;
    put(writer, kSpaces, (size_t)part);
    left -= part;
  }
}

static void put_escaped(Writer *writer, uint32_t code) {
  char out[8];
  int length = snprintf(out, sizeof out, "\\u%04x", (unsigned)(code & 0xFFFF));
  put(writer, out, (size_t)length);
}

static const char *short_escape(unsigned char c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return NULL;
  }
}

static void write_string(Writer *writer, Text text) {
  put(writer, "\"", 1);
  size_t i = 0;
  while (i < text.length) {
    size_t run = i;
    while (run < text.length && is_plain((unsigned char)text.bytes[run])) ++run;
    if (run > i) {
      put(writer, text.bytes + i, run - i);
      i = run;
      continue;
    }
    uint32_t code = 0;
    const char *escape = short_escape((unsigned char)text.bytes[i]);
    size_t length = utf8_decode(text.bytes + i, text.length - i, &code);
    if (escape != NULL) {
      put(writer, escape, 2);
    } else if (code < 0x20) {
      put_escaped(writer, code);
    } else if (!writer->ascii) {
      put(writer, text.bytes + i, length);
    } else if (code < 0x10000) {
      put_escaped(writer, code);
    } else {
      put_escaped(writer, 0xD800 + ((code - 0x10000) >> 10));
      put_escaped(writer, 0xDC00 + ((code - 0x10000) & 0x3FF));
    }
    i += length;
  }
  put(writer, "\"", 1);
}

static void write_integer(Writer *writer, int64_t value) {
  char digits[24];
  size_t start = sizeof digits;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    digits[--start] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) digits[--start] = '-';
  put(writer, digits + start, sizeof digits - start);
}

// Always with a point or an exponent, so that reading it back gives a real again.
static void write_real(Writer *writer, double value) {
  char out[40];
  int length = snprintf(out, sizeof out - 2, "%.10g", value);
  if (strpbrk(out, ".e") == NULL) {
    memcpy(out + length, ".0", 2);
    length += 2;
  }
  put(writer, out, (size_t)length);
}

static void merge_sort(const JsonNode **items, const JsonNode **scratch, size_t count) {
  if (count < 2) return;
  size_t half = count / 2;
  merge_sort(items, scratch, half);
  merge_sort(items + half, scratch, count - half);
  memcpy(scratch, items, half * sizeof *items);
  size_t left = 0;
  size_t right = half;
  size_t out = 0;
  while (left < half) {
    if (right < count && text_compare(items[right]->key, scratch[left]->key) < 0) {
      items[out++] = items[right++];
    } else {
      items[out++] = scratch[left++];
    }
  }
}

static const JsonNode **sorted_members(const JsonNode *object) {
  size_t count = object->as.children.count;
  const JsonNode **items = malloc((count + 1) * 2 * sizeof *items);
  if (items == NULL) die("out of memory");
  size_t used = 0;
  for (JsonNode *child = object->as.children.first; child != NULL; child = child->next) {
    items[used++] = child;
  }
  merge_sort(items, items + count, count);
  return items;
}

static void write_value(Writer *writer, const JsonNode *node, int depth);

static void write_container(Writer *writer, const JsonNode *node, int depth) {
  bool object = node->type == JSON_OBJECT;
  put(writer, object ? "{" : "[", 1);
  const JsonNode **order = object && writer->sorted ? sorted_members(node) : NULL;
  const JsonNode *child = node->as.children.first;
  for (size_t i = 0; i < node->as.children.count; ++i) {
    if (i > 0) put(writer, ",", 1);
    put_line_break(writer, depth + 1);
    if (order != NULL) child = order[i];
    if (object) {
      write_string(writer, child->key);
      put(writer, ": ", writer->indent < 0 ? 1 : 2);
    }
    write_value(writer, child, depth + 1);
    child = child->next;
  }
  free(order);
  if (node->as.children.count > 0) put_line_break(writer, depth);
  put(writer, object ? "}" : "]", 1);
}

static void write_value(Writer *writer, const JsonNode *node, int depth) {
  switch (node->type) {
    case JSON_INTEGER: write_integer(writer, node->as.integer); break;
    case JSON_REAL: write_real(writer, node->as.real); break;
    case JSON_STRING: write_string(writer, node->as.string); break;
    case JSON_ARRAY:
    case JSON_OBJECT: write_container(writer, node, depth); break;
    default: put(writer, kTypeNames[node->type], strlen(kTypeNames[node->type])); break;
  }
}

static uint64_t canonical_hash(const JsonNode *node) {
  HashSink sink = {{hash_sink_write}, UINT64_C(14695981039346656037)};
  Writer writer = {&sink.base, -1, true, false};
  write_value(&writer, node, 0);
  return sink.hash;
}

// Equality of values: the order of members does not matter, integers are not reals.
static bool json_equal(const JsonNode *a, const JsonNode *b) {
  if (a->type != b->type) return false;
  switch (a->type) {
    case JSON_INTEGER: return a->as.integer == b->as.integer;
    case JSON_REAL: return fabs(a->as.real - b->as.real) <= 1e-9 * fabs(a->as.real);
    case JSON_STRING: return text_equal(a->as.string, b->as.string);
    case JSON_ARRAY: {
      if (a->as.children.count != b->as.children.count) return false;
      const JsonNode *other = b->as.children.first;
      for (const JsonNode *item = a->as.children.first; item != NULL; item = item->next) {
        if (!json_equal(item, other)) return false;
        other = other->next;
      }
      return true;
    }
    case JSON_OBJECT:
      if (a->as.children.count != b->as.children.count) return false;
      for (const JsonNode *item = a->as.children.first; item != NULL; item = item->next) {
        const JsonNode *other = find_member(b, item->key, item->key_hash);
        if (other == NULL || !json_equal(item, other)) return false;
      }
      return true;
    default: return true;
  }
}

// ---------------------------------------------------------------------------------------------
// Path queries.

typedef enum { STEP_MEMBER, STEP_INDEX, STEP_WILDCARD, STEP_DESCENDANT } StepKind;

typedef struct {
  StepKind kind;
  Text name;
  uint32_t hash;
  int64_t index;  // negative: counted from the end
} Step;

typedef struct {
  Text source;
  int step_count;
  Step steps[kMaxSteps];
} Query;

typedef void (*Visitor)(const JsonNode *node, void *context);

static bool is_name_byte(char c) { return c != '.' && c != '[' && c != ']'; }

static bool compile_index(Text source, size_t *position, Step *step) {
  size_t i = *position + 1;
  bool negative = i < source.length && source.bytes[i] == '-';
  int64_t value = 0;
  if (i < source.length && source.bytes[i] == '*') {
    step->kind = STEP_WILDCARD;
    ++i;
  } else {
    if (negative) ++i;
    size_t first = i;
    while (i < source.length && is_digit(source.bytes[i]) && value < 100000) {
      value = value * 10 + (source.bytes[i++] - '0');
    }
    if (i == first) return false;
    step->kind = STEP_INDEX;
    step->index = negative ? -value : value;
  }
  if (i >= source.length || source.bytes[i] != ']') return false;
  *position = i + 1;
  return true;
}

static bool compile_query(Text source, Query *query) {
  size_t i = 0;
  query->source = source;
  query->step_count = 0;
  while (i < source.length) {
    if (query->step_count == kMaxSteps) return false;
    Step *step = &query->steps[query->step_count++];
    *step = (Step){.kind = STEP_MEMBER};
    if (source.bytes[i] == '[') {
      if (!compile_index(source, &i, step)) return false;
      continue;
    }
    if (source.bytes[i] == '.') {
      ++i;
      if (i < source.length && source.bytes[i] == '.') {
        step->kind = STEP_DESCENDANT;
        ++i;
      }
    }
    size_t start = i;
    while (i < source.length && is_name_byte(source.bytes[i])) ++i;
    step->name = (Text){source.bytes + start, i - start};
    step->hash = hash_key(step->name);
    if (step->name.length == 0) return false;
    if (step->kind == STEP_MEMBER && text_equal(step->name, (Text){"*", 1})) {
      step->kind = STEP_WILDCARD;
    }
  }
  return true;
}

static void run_query(const Query *query, int at, const JsonNode *node, Visitor visit,
                      void *context) {
  if (at == query->step_count) {
    visit(node, context);
    return;
  }
  if (!is_container(node)) return;
  const Step *step = &query->steps[at];
  switch (step->kind) {
    case STEP_MEMBER: {
      if (node->type != JSON_OBJECT) return;
      const JsonNode *member = find_member(node, step->name, step->hash);
      if (member != NULL) run_query(query, at + 1, member, visit, context);
      break;
    }
    case STEP_INDEX: {
      if (node->type != JSON_ARRAY) return;
      int64_t index = step->index;
      if (index < 0) index += (int64_t)node->as.children.count;
      if (index < 0 || index >= (int64_t)node->as.children.count) return;
      const JsonNode *item = node->as.children.first;
      while (index-- > 0) item = item->next;
      run_query(query, at + 1, item, visit, context);
      break;
    }
    case STEP_WILDCARD:
      for (const JsonNode *c = node->as.children.first; c != NULL; c = c->next) {
        run_query(query, at + 1, c, visit, context);
      }
      break;
    case STEP_DESCENDANT:
      if (node->type == JSON_OBJECT) {
        const JsonNode *member = find_member(node, step->name, step->hash);
        if (member != NULL) run_query(query, at + 1, member, visit, context);
      }
      for (const JsonNode *c = node->as.children.first; c != NULL; c = c->next) {
        run_query(query, at, c, visit, context);
      }
      break;
  }
}

// What a query found: printed once, and summed up in the timed loop.
typedef struct {
  int count;
  int numbers;
  double sum;
  Buffer shown;
} Matches;

static double number_of(const JsonNode *node) {
  return node->type == JSON_INTEGER ? (double)node->as.integer : node->as.real;
}

static void count_match(const JsonNode *node, void *context) {
  Matches *matches = context;
  ++matches->count;
  if (node->type == JSON_INTEGER || node->type == JSON_REAL) {
    ++matches->numbers;
    matches->sum += number_of(node);
  }
}

static void collect_match(const JsonNode *node, void *context) {
  Matches *matches = context;
  if (matches->count < kShownMatches) {
    BufferSink sink = {{buffer_sink_write}, {NULL, 0, 0}};
    Writer writer = {&sink.base, -1, false, false};
    write_value(&writer, node, 0);
    size_t length = sink.buffer.length;
    if (matches->count > 0) buffer_append(&matches->shown, " | ", 3);
    buffer_append(&matches->shown, sink.buffer.bytes, length < 60 ? length : 60);
    if (length > 60) buffer_append(&matches->shown, "...", 3);
    buffer_free(&sink.buffer);
  }
  count_match(node, context);
}

// ---------------------------------------------------------------------------------------------
// Statistics.

typedef struct {
  size_t counts[JSON_TYPE_COUNT];
  size_t string_bytes;
  size_t key_bytes;
  int depth;
} Statistics;

static void gather(const JsonNode *node, int depth, Statistics *statistics) {
  ++statistics->counts[node->type];
  statistics->key_bytes += node->key.length;
  if (depth > statistics->depth) statistics->depth = depth;
  if (node->type == JSON_STRING) statistics->string_bytes += node->as.string.length;
  if (!is_container(node)) return;
  for (const JsonNode *child = node->as.children.first; child != NULL; child = child->next) {
    gather(child, depth + 1, statistics);
  }
}

static void print_statistics(const JsonNode *root) {
  Statistics statistics = {{0}, 0, 0, 0};
  gather(root, 1, &statistics);
  size_t total = 0;
  for (int type = 0; type < JSON_TYPE_COUNT; ++type) total += statistics.counts[type];
  printf("  nodes %zu, depth %d, key bytes %zu, string bytes %zu\n ", total, statistics.depth,
         statistics.key_bytes, statistics.string_bytes);
  for (int type = 0; type < JSON_TYPE_COUNT; ++type) {
    if (statistics.counts[type] == 0) continue;
    printf(" %s=%zu", kTypeNames[type], statistics.counts[type]);
  }
  printf("\n");
}

// ---------------------------------------------------------------------------------------------
// The driver.

typedef struct {
  int repeat;
  int indent;
  int show;
  int query_count;
  Query queries[kMaxQueries];
  Text documents;
} Session;

static void print_error(const Parser *parser, int number) {
  int line = 1;
  int column = 1;
  for (size_t i = 0; i < parser->error_position && i < parser->length; ++i) {
    if (parser->text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  printf("document %d: error at line %d, column %d: %s\n", number, line, column, parser->error);
}

static void print_first_lines(const Buffer *buffer, int limit) {
  size_t start = 0;
  for (int line = 0; line < limit && start < buffer->length; ++line) {
    size_t end = start;
    while (end < buffer->length && buffer->bytes[end] != '\n') ++end;
    printf("  | %.*s\n", (int)(end - start), buffer->bytes + start);
    start = end + 1;
  }
}

static void print_number(double value) { printf(fabs(value) < 1e15 ? "%.4f" : "%.6e", value); }

static void describe(const Session *session, const JsonNode *root) {
  int fruitless = 0;
  print_statistics(root);
  for (int i = 0; i < session->query_count; ++i) {
    const Query *query = &session->queries[i];
    Matches matches = {0, 0, 0.0, {NULL, 0, 0}};
    run_query(query, 0, root, collect_match, &matches);
    if (matches.count == 0) {
      ++fruitless;
      continue;
    }
    printf("  %.*s: %d", (int)query->source.length, query->source.bytes, matches.count);
    if (matches.numbers > 0) {
      printf(", sum ");
      print_number(matches.sum);
    }
    printf(" -> %.*s\n", (int)matches.shown.length, matches.shown.bytes);
    buffer_free(&matches.shown);
  }
  if (fruitless > 0) printf("  queries without a match: %d\n", fruitless);
  BufferSink sink = {{buffer_sink_write}, {NULL, 0, 0}};
  Writer writer = {&sink.base, session->indent, false, false};
  write_value(&writer, root, 0);
  print_first_lines(&sink.buffer, session->show);
  printf("  pretty bytes %zu\n", sink.buffer.length);
  buffer_free(&sink.buffer);
}

// One round: parse, query, print in one of several styles, parse that again and compare.
static bool run_round(const Session *session, Text text, Arena *arena, BufferSink *sink,
                      int round, uint64_t *result) {
  Parser parser;
  uint64_t checksum = 0;
  arena_reset(arena);
  JsonNode *root = parse_document(&parser, arena, text);
  if (root == NULL) return false;
  for (int i = 0; i < session->query_count; ++i) {
    Matches matches = {0, 0, 0.0, {NULL, 0, 0}};
    run_query(&session->queries[i], 0, root, count_match, &matches);
    checksum = checksum * 31 + (uint64_t)matches.count * 7 + (uint64_t)matches.numbers;
  }
  sink->buffer.length = 0;
  Writer writer = {&sink->base, round % 4 - 1, round % 3 == 0, round % 2 == 1};
  write_value(&writer, root, 0);
  checksum = checksum * 31 + sink->buffer.length;
  Text printed = {sink->buffer.bytes, sink->buffer.length};
  JsonNode *again = parse_document(&parser, arena, printed);
  if (again == NULL || !json_equal(root, again)) return false;
  *result = checksum * 31 + canonical_hash(again);
  return true;
}

static void process_document(const Session *session, Text text, int number) {
  Arena arena = {NULL};
  Parser parser;
  JsonNode *root = parse_document(&parser, &arena, text);
  if (root == NULL) {
    print_error(&parser, number);
    arena_free(&arena);
    return;
  }
  printf("document %d: %zu bytes, hash %016" PRIx64 "\n", number, text.length,
         canonical_hash(root));
  describe(session, root);
  BufferSink sink = {{buffer_sink_write}, {NULL, 0, 0}};
  uint64_t checksum = 0;
  for (int round = 0; round < session->repeat; ++round) {
    uint64_t result;
    if (!run_round(session, text, &arena, &sink, round, &result)) {
      printf("  round %d: the printed form differs\n", round);
      break;
    }
    checksum = (checksum << 7 | checksum >> 57) ^ result;
  }
  printf("  %d rounds, checksum %016" PRIx64 "\n", session->repeat, checksum);
  buffer_free(&sink.buffer);
  arena_free(&arena);
}

static Text next_line(Text *rest) {
  Text line = {rest->bytes, 0};
  while (line.length < rest->length && rest->bytes[line.length] != '\n') ++line.length;
  size_t used = line.length + (line.length < rest->length ? 1 : 0);
  rest->bytes += used;
  rest->length -= used;
  return line;
}

// If LINE is "WORD REST", stores REST and returns true.
static bool directive(Text line, const char *word, Text *rest) {
  size_t length = strlen(word);
  if (line.length <= length || memcmp(line.bytes, word, length) != 0) return false;
  if (line.bytes[length] != ' ') return false;
  *rest = (Text){line.bytes + length + 1, line.length - length - 1};
  return true;
}

static int small_number(Text text, int largest) {
  int value = 0;
  for (size_t i = 0; i < text.length && is_digit(text.bytes[i]); ++i) {
    value = value * 10 + (text.bytes[i] - '0');
    if (value > largest) return largest;
  }
  return value;
}

static bool read_session(Session *session, Text rest) {
  while (rest.length > 0) {
    Text argument;
    Text line = next_line(&rest);
    if (directive(line, "repeat", &argument)) {
      session->repeat = small_number(argument, 100000);
    } else if (directive(line, "indent", &argument)) {
      session->indent = small_number(argument, 8);
    } else if (directive(line, "show", &argument)) {
      session->show = small_number(argument, 1000);
    } else if (directive(line, "query", &argument)) {
      if (session->query_count == kMaxQueries) {
        printf("too many queries, ignored: %.*s\n", (int)argument.length, argument.bytes);
      } else if (compile_query(argument, &session->queries[session->query_count])) {
        ++session->query_count;
      } else {
        printf("bad query: %.*s\n", (int)argument.length, argument.bytes);
      }
    } else if (text_equal(line, (Text){"documents", 9})) {
      session->documents = rest;
      return true;
    } else {
      printf("unknown directive: %.*s\n", (int)line.length, line.bytes);
    }
  }
  return false;
}

static void read_all(Buffer *input) {
  char chunk[4096];
  size_t got;
  while ((got = fread(chunk, 1, sizeof chunk, stdin)) > 0) buffer_append(input, chunk, got);
}

int main(void) {
  Buffer input = {NULL, 0, 0};
  read_all(&input);
  Session *session = calloc(1, sizeof *session);
  if (session == NULL) die("out of memory");
  session->repeat = 1;
  session->indent = 2;
  if (!read_session(session, (Text){input.bytes, input.length})) {
    printf("no documents\n");
  } else {
    Text rest = session->documents;
    int number = 0;
    do {
      Text document = {rest.bytes, 0};
      while (rest.length > 0) {
        Text line = next_line(&rest);
        if (text_equal(line, (Text){"---", 3})) break;
        document.length = (size_t)(rest.bytes - document.bytes);
      }
      process_document(session, document, ++number);
    } while (rest.length > 0);
    printf("documents %d\n", number);
  }
  free(session);
  buffer_free(&input);
  return 0;
}
