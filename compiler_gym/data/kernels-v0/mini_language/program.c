// A small dynamic language: lexer, recursive-descent parser, constant folding, compiler to
// bytecode and a virtual machine with integers, strings and arrays (mark and sweep collector).
// Input: programs, each after a line "#### NAME REPEAT". Every program is compiled with and
// without folding, run REPEAT times each way, and the two outputs are compared.

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxNesting = 60, kMaxFunctions = 40, kMaxGlobals = 64, kMaxLocals = 32 };
enum { kMaxConstants = 256, kMaxCode = 8192, kMaxBreaks = 32, kChunkSize = 16384 };
enum { kStackSize = 2048, kMaxFrames = 200, kMaxOutput = 700, kMaxSteps = 1000000 };
enum { kMaxLength = 20000 };  // of strings and arrays

typedef struct {
  const char *bytes;
  int length;
} Text;

static void *check(void *memory) {
  if (memory == NULL) {
    printf("out of memory\n");
    exit(1);
  }
  return memory;
}

static bool same_text(Text a, const char *b) {
  return (int)strlen(b) == a.length && memcmp(a.bytes, b, (size_t)a.length) == 0;
}

static bool texts_equal(Text a, Text b) {
  return a.length == b.length && memcmp(a.bytes, b.bytes, (size_t)a.length) == 0;
}

// The first error of a program; everything stops as soon as there is one.
typedef struct {
  bool set;
  int line;
  char message[80];
} Error;

static void fail(Error *error, int line, const char *format, ...) {
  if (error->set) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  error->set = true;
  error->line = line;
}

// ---------------------------------------------------------------------------------------------
// Lexer.

typedef enum {
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_INTEGER,
  TOKEN_STRING,
  TOKEN_SYMBOL,
  TOKEN_KEYWORD,
} TokenKind;

typedef struct {
  TokenKind kind;
  Text text;  // of a string: without the quotes
  int64_t integer;
  int line;
} Token;

typedef struct {
  const char *at, *end;
  int line;
  Token token;
  Error *error;
} Lexer;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static bool is_keyword(Text text) {
  static const char *const kKeywords[] = {"fn",  "let", "if",     "else",  "while",
                                          "for", "in",  "return", "break", "print",
                                          "and", "or",  "not",    "nil"};
  for (size_t i = 0; i < sizeof kKeywords / sizeof kKeywords[0]; ++i) {
    if (same_text(text, kKeywords[i])) return true;
  }
  return false;
}

static void skip_blanks(Lexer *lexer) {
  for (; lexer->at < lexer->end; ++lexer->at) {
    if (*lexer->at == '#') {
      while (lexer->at < lexer->end && *lexer->at != '\n') ++lexer->at;
      if (lexer->at == lexer->end) return;
    }
    if (*lexer->at == '\n') {
      ++lexer->line;
    } else if (*lexer->at != ' ' && *lexer->at != '\t' && *lexer->at != '\r') {
      return;
    }
  }
}

static void scan_integer(Lexer *lexer, Token *token) {
  token->kind = TOKEN_INTEGER;
  for (; lexer->at < lexer->end && is_digit(*lexer->at); ++lexer->at) {
    int digit = *lexer->at - '0';
    if (token->integer > (INT64_MAX - digit) / 10) {
      fail(lexer->error, lexer->line, "number too large");
      token->integer = 0;
    }
    token->integer = token->integer * 10 + digit;
  }
}

static void scan_string(Lexer *lexer, Token *token) {
  const char *start = ++lexer->at;
  token->kind = TOKEN_STRING;
  while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n') ++lexer->at;
  token->text = (Text){start, (int)(lexer->at - start)};
  if (lexer->at == lexer->end || *lexer->at != '"') {
    fail(lexer->error, token->line, "string not closed");
  } else {
    ++lexer->at;
  }
}

static void next_token(Lexer *lexer) {
  skip_blanks(lexer);
  Token *token = &lexer->token;
  *token = (Token){.kind = TOKEN_END, .line = lexer->line};
  if (lexer->at == lexer->end) return;
  const char *start = lexer->at;
  if (is_digit(*start)) {
    scan_integer(lexer, token);
  } else if (is_name_char(*start)) {
    while (lexer->at < lexer->end && is_name_char(*lexer->at)) ++lexer->at;
    token->text = (Text){start, (int)(lexer->at - start)};
    token->kind = is_keyword(token->text) ? TOKEN_KEYWORD : TOKEN_NAME;
  } else if (*start == '"') {
    scan_string(lexer, token);
  } else {
    token->kind = TOKEN_SYMBOL;
    bool two = lexer->end - start > 1 && ((start[1] == '=' && strchr("=!<>", *start)) ||
                                          (start[0] == '.' && start[1] == '.'));
    lexer->at += two ? 2 : 1;
    token->text = (Text){start, two ? 2 : 1};
  }
}

// ---------------------------------------------------------------------------------------------
// Syntax tree.

// clang-format off
typedef enum {
  NODE_NIL, NODE_INTEGER, NODE_STRING,  // constants
  NODE_NAME, NODE_ARRAY,                    // TEXT; items from A on
  NODE_UNARY, NODE_BINARY,                  // OP A; A OP B
  NODE_AND, NODE_OR, NODE_INDEX,            // A, B; A[B]
  NODE_CALL,                                // TEXT (items from A on)
  NODE_LET, NODE_ASSIGN, NODE_EXPRESSION,   // TEXT = A; A = B; A
  NODE_IF, NODE_WHILE, NODE_FOR,            // A, B, else C; A, B; TEXT in A .. B, C
  NODE_BLOCK,                               // statements from A on
  NODE_RETURN, NODE_BREAK, NODE_PRINT,
  NODE_FUNCTION,                            // TEXT, parameters from A on, body B
} NodeKind;

typedef enum {
  // With two bytes of operand; the jumps of AND and OR pop only if they do not jump.
  OP_CONSTANT, OP_GET_LOCAL, OP_SET_LOCAL, OP_GET_GLOBAL, OP_SET_GLOBAL, OP_JUMP,
  OP_JUMP_IF_FALSE, OP_AND_JUMP, OP_OR_JUMP, OP_CALL, OP_BUILTIN, OP_ARRAY,
  // Without an operand.
  OP_NIL, OP_POP, OP_RETURN, OP_INDEX, OP_SET_INDEX,
  OP_PRINT, OP_PRINT_END, OP_NEGATE, OP_NOT,
  OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_DIVIDE, OP_MODULO,
  OP_EQUAL, OP_NOT_EQUAL, OP_LESS, OP_LESS_EQUAL, OP_GREATER, OP_GREATER_EQUAL,
} Opcode;
// clang-format on

typedef struct Node {
  NodeKind kind;
  Opcode op;
  int line;
  int64_t integer;
  Text text;
  struct Node *a, *b, *c, *next;
} Node;

typedef struct Chunk {
  struct Chunk *next;
  size_t used;
  max_align_t data[kChunkSize / sizeof(max_align_t)];
} Chunk;

static void *reserve(Chunk **arena, size_t size) {
  size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
  if (*arena == NULL || kChunkSize - (*arena)->used < size) {
    Chunk *chunk = check(malloc(sizeof *chunk));
    chunk->next = *arena;
    chunk->used = 0;
    *arena = chunk;
  }
  void *result = (char *)(*arena)->data + (*arena)->used;
  (*arena)->used += size;
  return result;
}

static void release(Chunk *arena) {
  while (arena != NULL) {
    Chunk *next = arena->next;
    free(arena);
    arena = next;
  }
}

// ---------------------------------------------------------------------------------------------
// Parser.

typedef struct {
  Lexer lexer;
  Chunk *arena;
  int nesting;
} Parser;

static Node *new_node(Parser *parser, NodeKind kind, Node *a, Node *b) {
  Node *node = reserve(&parser->arena, sizeof *node);
  *node = (Node){.kind = kind, .line = parser->lexer.token.line, .a = a, .b = b};
  return node;
}

static bool at_text(const Parser *parser, const char *text) {
  const Token *token = &parser->lexer.token;
  return (token->kind == TOKEN_SYMBOL || token->kind == TOKEN_KEYWORD) &&
         same_text(token->text, text);
}

static bool accept(Parser *parser, const char *text) {
  if (!at_text(parser, text)) return false;
  next_token(&parser->lexer);
  return true;
}

static void expect(Parser *parser, const char *text) {
  if (!accept(parser, text)) {
    fail(parser->lexer.error, parser->lexer.token.line, "'%s' expected", text);
  }
}

static Text expect_name(Parser *parser) {
  Text name = parser->lexer.token.text;
  if (parser->lexer.token.kind != TOKEN_NAME) {
    fail(parser->lexer.error, parser->lexer.token.line, "name expected");
    return (Text){"", 0};
  }
  next_token(&parser->lexer);
  return name;
}

// Limits the recursion of the parser; false means that there was an error, here or before.
static bool descend(Parser *parser) {
  if (++parser->nesting > kMaxNesting) {
    fail(parser->lexer.error, parser->lexer.token.line, "nested too deeply");
  }
  return !parser->lexer.error->set;
}

static Node *parse_expression(Parser *parser);

// Items up to the closing symbol, as a list.
static Node *parse_items(Parser *parser, const char *closing) {
  Node *first = NULL;
  Node **tail = &first;
  if (accept(parser, closing)) return NULL;
  do {
    *tail = parse_expression(parser);
    tail = &(*tail)->next;
  } while (!parser->lexer.error->set && accept(parser, ","));
  expect(parser, closing);
  return first;
}

static Node *parse_primary(Parser *parser) {
  const Token token = parser->lexer.token;
  Node *node = new_node(parser, NODE_NIL, NULL, NULL);
  switch (token.kind) {
    case TOKEN_INTEGER:
      node->kind = NODE_INTEGER;
      node->integer = token.integer;
      next_token(&parser->lexer);
      return node;
    case TOKEN_STRING:
      node->kind = NODE_STRING;
      node->text = token.text;
      next_token(&parser->lexer);
      return node;
    case TOKEN_NAME:
      node->kind = NODE_NAME;
      node->text = token.text;
      next_token(&parser->lexer);
      if (accept(parser, "(")) {
        node->kind = NODE_CALL;
        node->a = parse_items(parser, ")");
      }
      return node;
    default: break;
  }
  if (accept(parser, "nil")) return node;
  if (accept(parser, "[")) {
    node->kind = NODE_ARRAY;
    node->a = parse_items(parser, "]");
  } else if (accept(parser, "(")) {
    node = parse_expression(parser);
    expect(parser, ")");
  } else {
    fail(parser->lexer.error, token.line, "expression expected");
  }
  return node;
}

static Node *parse_unary(Parser *parser) {
  bool negate = at_text(parser, "-");
  if (negate || at_text(parser, "not")) {
    next_token(&parser->lexer);
    Node *operand = descend(parser) ? parse_unary(parser) : NULL;
    --parser->nesting;
    Node *node = new_node(parser, NODE_UNARY, operand, NULL);
    node->op = negate ? OP_NEGATE : OP_NOT;
    return node;
  }
  Node *node = parse_primary(parser);
  while (!parser->lexer.error->set && accept(parser, "[")) {
    Node *index = parse_expression(parser);
    node = new_node(parser, NODE_INDEX, node, index);
    expect(parser, "]");
  }
  return node;
}

typedef struct {
  const char *text;
  int level;
  NodeKind kind;
  Opcode op;
} BinaryOperator;

static const BinaryOperator kBinaryOperators[] = {
    {"or", 1, NODE_OR, OP_OR_JUMP},     {"and", 2, NODE_AND, OP_AND_JUMP},
    {"==", 3, NODE_BINARY, OP_EQUAL},   {"!=", 3, NODE_BINARY, OP_NOT_EQUAL},
    {"<", 4, NODE_BINARY, OP_LESS},     {"<=", 4, NODE_BINARY, OP_LESS_EQUAL},
    {">", 4, NODE_BINARY, OP_GREATER},  {">=", 4, NODE_BINARY, OP_GREATER_EQUAL},
    {"+", 5, NODE_BINARY, OP_ADD},      {"-", 5, NODE_BINARY, OP_SUBTRACT},
    {"*", 6, NODE_BINARY, OP_MULTIPLY}, {"/", 6, NODE_BINARY, OP_DIVIDE},
    {"%", 6, NODE_BINARY, OP_MODULO},
};

enum { kUnaryLevel = 7 };

static Node *parse_binary(Parser *parser, int level) {
  if (level == kUnaryLevel) return parse_unary(parser);
  Node *left = parse_binary(parser, level + 1);
  for (size_t i = 0; i < sizeof kBinaryOperators / sizeof kBinaryOperators[0];) {
    const BinaryOperator *op = &kBinaryOperators[i];
    if (op->level != level || parser->lexer.error->set || !accept(parser, op->text)) {
      ++i;
      continue;
    }
    Node *right = parse_binary(parser, level + 1);
    left = new_node(parser, op->kind, left, right);
    left->op = op->op;
    i = 0;  // any operator of this level may follow
  }
  return left;
}

static Node *parse_expression(Parser *parser) {
  Node *node =
      descend(parser) ? parse_binary(parser, 1) : new_node(parser, NODE_NIL, NULL, NULL);
  --parser->nesting;
  return node;
}

static Node *parse_statement(Parser *parser);

static Node *parse_block(Parser *parser) {
  Node *block = new_node(parser, NODE_BLOCK, NULL, NULL);
  Node **tail = &block->a;
  expect(parser, "{");
  for (descend(parser); !parser->lexer.error->set && !at_text(parser, "}");) {
    *tail = parse_statement(parser);
    tail = &(*tail)->next;
  }
  --parser->nesting;
  expect(parser, "}");
  return block;
}

static Node *parse_if(Parser *parser) {
  Node *node = new_node(parser, NODE_IF, NULL, NULL);
  node->a = parse_expression(parser);
  node->b = parse_block(parser);
  if (accept(parser, "else")) {
    if (descend(parser))
      node->c = accept(parser, "if") ? parse_if(parser) : parse_block(parser);
    --parser->nesting;
  }
  return node;
}

static Node *parse_for(Parser *parser) {
  Node *node = new_node(parser, NODE_FOR, NULL, NULL);
  node->text = expect_name(parser);
  expect(parser, "in");
  node->a = parse_expression(parser);
  expect(parser, "..");
  node->b = parse_expression(parser);
  node->c = parse_block(parser);
  return node;
}

static Node *parse_function(Parser *parser) {
  Node *node = new_node(parser, NODE_FUNCTION, NULL, NULL);
  Node **tail = &node->a;
  node->text = expect_name(parser);
  expect(parser, "(");
  if (!accept(parser, ")")) {
    do {
      *tail = new_node(parser, NODE_NAME, NULL, NULL);
      (*tail)->text = expect_name(parser);
      tail = &(*tail)->next;
    } while (!parser->lexer.error->set && accept(parser, ","));
    expect(parser, ")");
  }
  node->b = parse_block(parser);
  return node;
}

// Statements without a block end with a semicolon.
static Node *parse_simple(Parser *parser) {
  Node *node = new_node(parser, NODE_EXPRESSION, NULL, NULL);
  if (accept(parser, "let")) {
    node->kind = NODE_LET;
    node->text = expect_name(parser);
    expect(parser, "=");
    node->a = parse_expression(parser);
  } else if (accept(parser, "return")) {
    node->kind = NODE_RETURN;
    if (!at_text(parser, ";")) node->a = parse_expression(parser);
  } else if (accept(parser, "break")) {
    node->kind = NODE_BREAK;
  } else if (accept(parser, "print")) {
    node->kind = NODE_PRINT;
    node->a = parse_items(parser, ";");
    return node;
  } else {
    node->a = parse_expression(parser);
    if (accept(parser, "=")) {
      node->kind = NODE_ASSIGN;
      node->b = parse_expression(parser);
      if (node->a->kind != NODE_NAME && node->a->kind != NODE_INDEX) {
        fail(parser->lexer.error, node->line, "cannot assign to this");
      }
    }
  }
  expect(parser, ";");
  return node;
}

static Node *parse_statement(Parser *parser) {
  if (accept(parser, "if")) return parse_if(parser);
  if (accept(parser, "for")) return parse_for(parser);
  if (accept(parser, "while")) {
    Node *node = new_node(parser, NODE_WHILE, NULL, NULL);
    node->a = parse_expression(parser);
    node->b = parse_block(parser);
    return node;
  }
  return at_text(parser, "{") ? parse_block(parser) : parse_simple(parser);
}

// The whole program is a block; functions stand only at its top.
static Node *parse_program(Parser *parser) {
  Node *program = new_node(parser, NODE_BLOCK, NULL, NULL);
  Node **tail = &program->a;
  next_token(&parser->lexer);
  while (!parser->lexer.error->set && parser->lexer.token.kind != TOKEN_END) {
    *tail = accept(parser, "fn") ? parse_function(parser) : parse_statement(parser);
    tail = &(*tail)->next;
  }
  return program;
}

// ---------------------------------------------------------------------------------------------
// Constant folding. Only what gives the same result at run time is folded: no division by zero.

static int64_t wrap(uint64_t value) {
  return value <= (uint64_t)INT64_MAX ? (int64_t)value : -(int64_t)(~value) - 1;
}

static bool compute(Opcode op, int64_t a, int64_t b, int64_t *result) {
  switch (op) {
    case OP_ADD: *result = wrap((uint64_t)a + (uint64_t)b); return true;
    case OP_SUBTRACT: *result = wrap((uint64_t)a - (uint64_t)b); return true;
    case OP_MULTIPLY: *result = wrap((uint64_t)a * (uint64_t)b); return true;
    case OP_DIVIDE:
      if (b == 0) return false;
      *result = b == -1 ? wrap(0 - (uint64_t)a) : a / b;
      return true;
    case OP_MODULO:
      if (b == 0) return false;
      *result = b == -1 ? 0 : a % b;
      return true;
    case OP_EQUAL: *result = a == b; return true;
    case OP_NOT_EQUAL: *result = a != b; return true;
    case OP_LESS: *result = a < b; return true;
    case OP_LESS_EQUAL: *result = a <= b; return true;
    case OP_GREATER: *result = a > b; return true;
    default: *result = a >= b; return true;
  }
}

static bool is_constant(const Node *node) { return node->kind <= NODE_STRING; }

// Only nil and 0 count as false.
static bool constant_truth(const Node *node) {
  return node->kind == NODE_STRING || (node->kind == NODE_INTEGER && node->integer != 0);
}

// Puts OTHER in the place of NODE in its list.
static void replace(Node *node, const Node *other) {
  Node *next = node->next;
  *node = *other;
  node->next = next;
}

static void fold_binary(Node *node, Chunk **arena) {
  const Node *a = node->a;
  const Node *b = node->b;
  int64_t result = 0;
  if (a->kind == NODE_INTEGER && b->kind == NODE_INTEGER) {
    if (compute(node->op, a->integer, b->integer, &result)) {
      node->kind = NODE_INTEGER;
      node->integer = result;
    }
  } else if (a->kind == NODE_STRING && b->kind == NODE_STRING && node->op == OP_ADD) {
    int length = a->text.length + b->text.length;
    if (length > 1000) return;
    char *bytes = reserve(arena, (size_t)length + 1);
    memcpy(bytes, a->text.bytes, (size_t)a->text.length);
    memcpy(bytes + a->text.length, b->text.bytes, (size_t)b->text.length);
    node->kind = NODE_STRING;
    node->text = (Text){bytes, length};
  }
}

static void fold(Node *node, Chunk **arena, int *folded) {
  if (node == NULL) return;
  NodeKind before = node->kind;
  for (Node *item = node->a; item != NULL; item = item->next) fold(item, arena, folded);
  fold(node->b, arena, folded);
  fold(node->c, arena, folded);
  switch (node->kind) {
    case NODE_BINARY: fold_binary(node, arena); break;
    case NODE_UNARY:
      if (node->op == OP_NOT && is_constant(node->a)) {
        node->kind = NODE_INTEGER;
        node->integer = !constant_truth(node->a);
      } else if (node->op == OP_NEGATE && node->a->kind == NODE_INTEGER) {
        node->kind = NODE_INTEGER;
        node->integer = wrap(0 - (uint64_t)node->a->integer);
      }
      break;
    case NODE_AND:
    case NODE_OR:
      if (is_constant(node->a)) {
        bool keep_left = constant_truth(node->a) == (node->kind == NODE_OR);
        replace(node, keep_left ? node->a : node->b);
      }
      break;
    case NODE_IF:
      if (is_constant(node->a)) {
        const Node empty = {.kind = NODE_BLOCK, .line = node->line};
        const Node *taken = constant_truth(node->a) ? node->b : node->c;
        replace(node, taken != NULL ? taken : &empty);
      }
      break;
    default: break;
  }
  if (node->kind != before) ++*folded;
}

// ---------------------------------------------------------------------------------------------
// Values and objects.

typedef enum { VALUE_NIL, VALUE_INTEGER, VALUE_STRING, VALUE_ARRAY } ValueType;

static const char *const kTypeNames[] = {"nil", "integer", "string", "array"};

typedef struct Object Object;

typedef struct {
  ValueType type;
  union {
    int64_t integer;
    Object *object;
  } as;
} Value;

struct Object {
  Object *next;
  Object *gray;  // the next object whose items have to be marked
  bool marked;
  int length, capacity;
  Value *items;  // of an array
  char *bytes;   // of a string
};

static Value make_integer(int64_t integer) {
  return (Value){VALUE_INTEGER, {.integer = integer}};
}

static Value make_nil(void) { return (Value){VALUE_NIL, {.integer = 0}}; }

static bool is_true(Value value) {
  return value.type > VALUE_INTEGER || (value.type != VALUE_NIL && value.as.integer != 0);
}

static Text string_text(Value value) {
  return (Text){value.as.object->bytes, value.as.object->length};
}

static bool values_equal(Value a, Value b) {
  if (a.type != b.type) return false;
  if (a.type == VALUE_STRING) return texts_equal(string_text(a), string_text(b));
  return a.type == VALUE_ARRAY ? a.as.object == b.as.object : a.as.integer == b.as.integer;
}

typedef struct {
  Text name;
  int arity;
  int entry;
  int local_count;
  const Node *node;
} Function;

typedef struct {
  uint8_t code[kMaxCode];
  int lines[kMaxCode];
  int code_count;
  Value constants[kMaxConstants];
  int constant_count;
  Function functions[kMaxFunctions + 1];  // the last one is the main program
  int function_count;
  Text globals[kMaxGlobals];
  int global_count;
} Code;

typedef struct {
  int return_to, base;
} Frame;

typedef struct {
  const Code *code;
  Value stack[kStackSize];
  Value globals[kMaxGlobals];
  Frame frames[kMaxFrames];
  int top, base, frame_count, line;
  Object *objects;
  int object_count, collect_at, collections;
  int64_t steps;
  char output[kMaxOutput + 1];
  int output_length;
  uint64_t output_hash;
  Error error;
} Machine;

// Nested arrays wait in a list of their own: recursion could get too deep.
static void mark(Value value, Object **gray) {
  if (value.type < VALUE_STRING || value.as.object->marked) return;
  value.as.object->marked = true;
  if (value.type != VALUE_ARRAY) return;
  value.as.object->gray = *gray;
  *gray = value.as.object;
}

static void free_object(Object *object) {
  free(object->items);
  free(object->bytes);
  free(object);
}

// Frees the objects that are not marked and takes the marks off the others.
static void sweep(Machine *machine) {
  Object **link = &machine->objects;
  while (*link != NULL) {
    Object *object = *link;
    if (object->marked) {
      object->marked = false;
      link = &object->next;
    } else {
      *link = object->next;
      free_object(object);
      --machine->object_count;
    }
  }
}

static void collect(Machine *machine) {
  Object *gray = NULL;
  for (int i = 0; i < machine->top; ++i) mark(machine->stack[i], &gray);
  for (int i = 0; i < machine->code->global_count; ++i) mark(machine->globals[i], &gray);
  while (gray != NULL) {
    Object *array = gray;
    gray = array->gray;
    for (int i = 0; i < array->length; ++i) mark(array->items[i], &gray);
  }
  sweep(machine);
  machine->collect_at = machine->object_count * 2 + 200;
  ++machine->collections;
}

static Object *allocate(bool is_array, int capacity) {
  Object *object = check(calloc(1, sizeof *object));
  object->capacity = capacity;
  if (is_array) {
    object->items = check(calloc((size_t)capacity + 1, sizeof *object->items));
  } else {
    object->bytes = check(calloc((size_t)capacity + 1, 1));
  }
  return object;
}

// What the new object refers to has to be on the stack: this may start a collection.
static Value new_object(Machine *machine, bool is_array, int capacity) {
  if (machine->object_count >= machine->collect_at) collect(machine);
  Object *object = allocate(is_array, capacity);
  object->next = machine->objects;
  machine->objects = object;
  ++machine->object_count;
  return (Value){is_array ? VALUE_ARRAY : VALUE_STRING, {.object = object}};
}

static Value new_string(Machine *machine, Text a, Text b) {
  Value value = new_object(machine, false, a.length + b.length);
  memcpy(value.as.object->bytes, a.bytes, (size_t)a.length);
  memcpy(value.as.object->bytes + a.length, b.bytes, (size_t)b.length);
  value.as.object->length = a.length + b.length;
  return value;
}

// ---------------------------------------------------------------------------------------------
// Compiler.

typedef struct {
  Code *code;
  Error *error;
  bool in_function;
  Text locals[kMaxLocals];
  int local_count;
  int most_locals;
  int loop_depth;
  int breaks[kMaxBreaks];
  int break_count;
} Compiler;

static void emit(Compiler *compiler, int byte, int line) {
  Code *code = compiler->code;
  if (code->code_count == kMaxCode) {
    fail(compiler->error, line, "program too long");
    return;
  }
  code->lines[code->code_count] = line;
  code->code[code->code_count++] = (uint8_t)byte;
}

static void emit_op(Compiler *compiler, Opcode op, int operand, int line) {
  emit(compiler, (int)op, line);
  emit(compiler, operand >> 8 & 0xFF, line);
  emit(compiler, operand & 0xFF, line);
}

static void patch(Compiler *compiler, int at) {
  if (compiler->error->set) return;
  int target = compiler->code->code_count;
  compiler->code->code[at + 1] = (uint8_t)(target >> 8);
  compiler->code->code[at + 2] = (uint8_t)(target & 0xFF);
}

static int emit_jump(Compiler *compiler, Opcode op, int line) {
  int at = compiler->code->code_count;
  emit_op(compiler, op, 0, line);
  return at;
}

static void emit_constant(Compiler *compiler, Value value, int line) {
  Code *code = compiler->code;
  int index = 0;
  while (index < code->constant_count && !values_equal(code->constants[index], value)) ++index;
  if (index < code->constant_count) {
    if (value.type == VALUE_STRING) free_object(value.as.object);
  } else if (index == kMaxConstants) {
    fail(compiler->error, line, "too many constants");
    if (value.type == VALUE_STRING) free_object(value.as.object);
    return;
  } else {
    code->constants[code->constant_count++] = value;
  }
  emit_op(compiler, OP_CONSTANT, index, line);
}

static int find_local(const Compiler *compiler, Text name) {
  int slot = compiler->local_count - 1;
  while (slot >= 0 && !texts_equal(compiler->locals[slot], name)) --slot;
  return slot;
}

static int find_global(const Code *code, Text name) {
  int slot = code->global_count - 1;
  while (slot >= 0 && !texts_equal(code->globals[slot], name)) --slot;
  return slot;
}

static int find_function(const Code *code, Text name) {
  int index = code->function_count - 1;
  while (index >= 0 && !texts_equal(code->functions[index].name, name)) --index;
  return index;
}

static int add_local(Compiler *compiler, Text name, int line) {
  if (compiler->local_count == kMaxLocals) {
    fail(compiler->error, line, "too many locals");
    return 0;
  }
  compiler->locals[compiler->local_count++] = name;
  if (compiler->local_count > compiler->most_locals) {
    compiler->most_locals = compiler->local_count;
  }
  return compiler->local_count - 1;
}

static void compile_variable(Compiler *compiler, Text name, bool set, int line) {
  int slot = find_local(compiler, name);
  if (slot >= 0) {
    emit_op(compiler, set ? OP_SET_LOCAL : OP_GET_LOCAL, slot, line);
    return;
  }
  slot = find_global(compiler->code, name);
  if (slot < 0) fail(compiler->error, line, "unknown name %.*s", name.length, name.bytes);
  emit_op(compiler, set ? OP_SET_GLOBAL : OP_GET_GLOBAL, slot, line);
}

typedef struct {
  const char *name;
  int arity;
  Value (*run)(Machine *machine, const Value *arguments);
} BuiltinInfo;

static int find_builtin(Text name, int *arity);
static void compile_node(Compiler *compiler, const Node *node);

static int compile_list(Compiler *compiler, const Node *item) {
  int count = 0;
  for (; item != NULL; item = item->next, ++count) compile_node(compiler, item);
  return count;
}

static void compile_call(Compiler *compiler, const Node *node) {
  int count = compile_list(compiler, node->a);
  int arity = 0;
  int index = find_function(compiler->code, node->text);
  bool builtin = index < 0;
  if (builtin) {
    index = find_builtin(node->text, &arity);
  } else {
    arity = compiler->code->functions[index].arity;
  }
  if (index < 0) {
    fail(compiler->error, node->line, "unknown function %.*s", node->text.length,
         node->text.bytes);
  } else if (count != arity) {
    fail(compiler->error, node->line, "%.*s takes %d arguments", node->text.length,
         node->text.bytes, arity);
  }
  emit_op(compiler, builtin ? OP_BUILTIN : OP_CALL, index, node->line);
}

// Returns what end_loop needs to tell the breaks of this loop from those of outer ones.
static int begin_loop(Compiler *compiler) {
  ++compiler->loop_depth;
  return compiler->break_count;
}

static void end_loop(Compiler *compiler, int outer_breaks) {
  while (compiler->break_count > outer_breaks) {
    patch(compiler, compiler->breaks[--compiler->break_count]);
  }
  --compiler->loop_depth;
}

static void compile_while(Compiler *compiler, const Node *node) {
  int outer_breaks = begin_loop(compiler);
  int top = compiler->code->code_count;
  compile_node(compiler, node->a);
  int leave = emit_jump(compiler, OP_JUMP_IF_FALSE, node->line);
  compile_node(compiler, node->b);
  emit_op(compiler, OP_JUMP, top, node->line);
  patch(compiler, leave);
  end_loop(compiler, outer_breaks);
}

// for NAME in A .. B: B is computed once and kept in a local without a name.
static void compile_for(Compiler *compiler, const Node *node) {
  int outer_locals = compiler->local_count;
  compile_node(compiler, node->a);
  compile_node(compiler, node->b);
  int variable = add_local(compiler, node->text, node->line);
  int limit = add_local(compiler, (Text){"", 0}, node->line);
  emit_op(compiler, OP_SET_LOCAL, limit, node->line);
  emit_op(compiler, OP_SET_LOCAL, variable, node->line);
  int outer_breaks = begin_loop(compiler);
  int top = compiler->code->code_count;
  emit_op(compiler, OP_GET_LOCAL, variable, node->line);
  emit_op(compiler, OP_GET_LOCAL, limit, node->line);
  emit(compiler, OP_LESS, node->line);
  int leave = emit_jump(compiler, OP_JUMP_IF_FALSE, node->line);
  compile_node(compiler, node->c);
  emit_op(compiler, OP_GET_LOCAL, variable, node->line);
  emit_constant(compiler, make_integer(1), node->line);
  emit(compiler, OP_ADD, node->line);
  emit_op(compiler, OP_SET_LOCAL, variable, node->line);
  emit_op(compiler, OP_JUMP, top, node->line);
  patch(compiler, leave);
  end_loop(compiler, outer_breaks);
  compiler->local_count = outer_locals;
}

static void compile_if(Compiler *compiler, const Node *node) {
  compile_node(compiler, node->a);
  int otherwise = emit_jump(compiler, OP_JUMP_IF_FALSE, node->line);
  compile_node(compiler, node->b);
  if (node->c == NULL) {
    patch(compiler, otherwise);
    return;
  }
  int end = emit_jump(compiler, OP_JUMP, node->line);
  patch(compiler, otherwise);
  compile_node(compiler, node->c);
  patch(compiler, end);
}

static void compile_let(Compiler *compiler, const Node *node) {
  compile_node(compiler, node->a);
  if (compiler->in_function || compiler->loop_depth > 0 || compiler->local_count > 0) {
    emit_op(compiler, OP_SET_LOCAL, add_local(compiler, node->text, node->line), node->line);
    return;
  }
  Code *code = compiler->code;
  int slot = find_global(code, node->text);
  if (slot < 0 && code->global_count == kMaxGlobals) {
    fail(compiler->error, node->line, "too many globals");
  } else if (slot < 0) {
    slot = code->global_count++;
    code->globals[slot] = node->text;
  }
  emit_op(compiler, OP_SET_GLOBAL, slot, node->line);
}

static void compile_break(Compiler *compiler, const Node *node) {
  if (compiler->loop_depth == 0) {
    fail(compiler->error, node->line, "not inside a loop");
  } else if (compiler->break_count == kMaxBreaks) {
    fail(compiler->error, node->line, "too many breaks");
  } else {
    compiler->breaks[compiler->break_count++] = emit_jump(compiler, OP_JUMP, node->line);
  }
}

static void compile_node(Compiler *compiler, const Node *node) {
  if (compiler->error->set) return;
  switch (node->kind) {
    case NODE_NIL: emit(compiler, OP_NIL, node->line); break;
    case NODE_INTEGER: emit_constant(compiler, make_integer(node->integer), node->line); break;
    case NODE_STRING: {
      Object *object = allocate(false, node->text.length);
      memcpy(object->bytes, node->text.bytes, (size_t)node->text.length);
      object->length = node->text.length;
      object->marked = true;  // constants belong to the code, not to the collector
      emit_constant(compiler, (Value){VALUE_STRING, {.object = object}}, node->line);
      break;
    }
    case NODE_NAME: compile_variable(compiler, node->text, false, node->line); break;
    case NODE_ARRAY:
      emit_op(compiler, OP_ARRAY, compile_list(compiler, node->a), node->line);
      break;
    case NODE_UNARY:
    case NODE_BINARY:
    case NODE_INDEX:
      compile_node(compiler, node->a);
      if (node->kind != NODE_UNARY) compile_node(compiler, node->b);
      emit(compiler, (int)(node->kind == NODE_INDEX ? OP_INDEX : node->op), node->line);
      break;
    case NODE_AND:
    case NODE_OR: {
      compile_node(compiler, node->a);
      int end = emit_jump(compiler, node->op, node->line);
      compile_node(compiler, node->b);
      patch(compiler, end);
      break;
    }
    case NODE_CALL: compile_call(compiler, node); break;
    case NODE_LET: compile_let(compiler, node); break;
    case NODE_ASSIGN:
      if (node->a->kind == NODE_NAME) {
        compile_node(compiler, node->b);
        compile_variable(compiler, node->a->text, true, node->line);
      } else {
        compile_node(compiler, node->a->a);
        compile_node(compiler, node->a->b);
        compile_node(compiler, node->b);
        emit(compiler, OP_SET_INDEX, node->line);
      }
      break;
    case NODE_EXPRESSION:
      compile_node(compiler, node->a);
      emit(compiler, OP_POP, node->line);
      break;
    case NODE_IF: compile_if(compiler, node); break;
    case NODE_WHILE: compile_while(compiler, node); break;
    case NODE_FOR: compile_for(compiler, node); break;
    case NODE_BLOCK: {
      int outer_locals = compiler->local_count;
      compile_list(compiler, node->a);
      compiler->local_count = outer_locals;
      break;
    }
    case NODE_RETURN:
      if (!compiler->in_function) fail(compiler->error, node->line, "not inside a function");
      if (node->a != NULL) {
        compile_node(compiler, node->a);
      } else {
        emit(compiler, OP_NIL, node->line);
      }
      emit(compiler, OP_RETURN, node->line);
      break;
    case NODE_BREAK: compile_break(compiler, node); break;
    case NODE_PRINT:
      for (const Node *item = node->a; item != NULL; item = item->next) {
        compile_node(compiler, item);
        emit(compiler, OP_PRINT, node->line);
      }
      emit(compiler, OP_PRINT_END, node->line);
      break;
    case NODE_FUNCTION: break;  // compiled on their own
  }
}

static void declare_functions(Compiler *compiler, const Node *program) {
  Code *code = compiler->code;
  for (const Node *node = program->a; node != NULL; node = node->next) {
    if (node->kind != NODE_FUNCTION) continue;
    if (find_function(code, node->text) >= 0) {
      fail(compiler->error, node->line, "function defined twice");
    } else if (code->function_count == kMaxFunctions) {
      fail(compiler->error, node->line, "too many functions");
    } else {
      Function *function = &code->functions[code->function_count++];
      *function = (Function){.name = node->text, .node = node};
      for (const Node *name = node->a; name != NULL; name = name->next) ++function->arity;
    }
  }
}

// The main program comes first, so that its globals are known to the functions.
static void compile_program(Code *code, const Node *program, Error *error) {
  Compiler compiler = {.code = code, .error = error};
  memset(code, 0, sizeof *code);
  declare_functions(&compiler, program);
  compile_list(&compiler, program->a);
  emit(&compiler, OP_NIL, program->line);
  emit(&compiler, OP_RETURN, program->line);
  code->functions[kMaxFunctions].local_count = compiler.most_locals;
  for (int i = 0; i < code->function_count && !error->set; ++i) {
    Function *function = &code->functions[i];
    Compiler inner = {.code = code, .error = error, .in_function = true};
    function->entry = code->code_count;
    for (const Node *name = function->node->a; name != NULL; name = name->next) {
      add_local(&inner, name->text, name->line);
    }
    compile_node(&inner, function->node->b);
    emit(&inner, OP_NIL, function->node->line);
    emit(&inner, OP_RETURN, function->node->line);
    function->local_count = inner.most_locals;
  }
}

// ---------------------------------------------------------------------------------------------
// Built-in functions.

static bool want(Machine *machine, Value value, ValueType type) {
  if (value.type == type) return true;
  fail(&machine->error, machine->line, "%s expected, got %s", kTypeNames[type],
       kTypeNames[value.type]);
  return false;
}

static Value builtin_len(Machine *machine, const Value *arguments) {
  if (arguments[0].type < VALUE_STRING) want(machine, arguments[0], VALUE_ARRAY);
  return make_integer(machine->error.set ? 0 : arguments[0].as.object->length);
}

static Value builtin_push(Machine *machine, const Value *arguments) {
  if (!want(machine, arguments[0], VALUE_ARRAY)) return make_nil();
  Object *array = arguments[0].as.object;
  if (array->length == kMaxLength) {
    fail(&machine->error, machine->line, "array too long");
    return make_nil();
  }
  if (array->length == array->capacity) {
    array->capacity = array->capacity * 2 + 4;
    size_t size = (size_t)array->capacity * sizeof *array->items;
    array->items = check(realloc(array->items, size));
  }
  array->items[array->length++] = arguments[1];
  return arguments[0];
}

static Value builtin_array(Machine *machine, const Value *arguments) {
  if (!want(machine, arguments[0], VALUE_INTEGER)) return make_nil();
  if (arguments[0].as.integer < 0 || arguments[0].as.integer > kMaxLength) {
    fail(&machine->error, machine->line, "bad length of array");
    return make_nil();
  }
  int length = (int)arguments[0].as.integer;
  Value array = new_object(machine, true, length);
  for (int i = 0; i < length; ++i) array.as.object->items[i] = arguments[1];
  array.as.object->length = length;
  return array;
}

static Value builtin_chr(Machine *machine, const Value *arguments) {
  if (!want(machine, arguments[0], VALUE_INTEGER)) return make_nil();
  int64_t code = arguments[0].as.integer;
  char byte = (char)(code >= 32 && code < 127 ? code : '?');
  return new_string(machine, (Text){&byte, 1}, (Text){"", 0});
}

// The text of a value that is not an array; numbers are written into SCRATCH.
static Text describe(Value value, char *scratch) {
  switch (value.type) {
    case VALUE_NIL: return (Text){"nil", 3};
    case VALUE_STRING: return string_text(value);
    default: return (Text){scratch, snprintf(scratch, 32, "%" PRId64, value.as.integer)};
  }
}

static const BuiltinInfo kBuiltins[] = {
    {"len", 1, builtin_len},
    {"push", 2, builtin_push},
    {"chr", 1, builtin_chr},
    {"array", 2, builtin_array},
};

static int find_builtin(Text name, int *arity) {
  for (int i = 0; i < (int)(sizeof kBuiltins / sizeof kBuiltins[0]); ++i) {
    if (!same_text(name, kBuiltins[i].name)) continue;
    *arity = kBuiltins[i].arity;
    return i;
  }
  return -1;
}

// ---------------------------------------------------------------------------------------------
// The machine.

static void write_text(Machine *machine, Text text) {
  for (int i = 0; i < text.length; ++i) {
    char c = text.bytes[i];
    machine->output_hash = (machine->output_hash ^ (unsigned char)c) * UINT64_C(1099511628211);
    if (machine->output_length < kMaxOutput) machine->output[machine->output_length++] = c;
  }
}

static void print_value(Machine *machine, Value value, int depth) {
  char scratch[32];
  if (value.type != VALUE_ARRAY) {
    write_text(machine, describe(value, scratch));
    return;
  }
  write_text(machine, (Text){"[", 1});
  // Arrays may contain themselves.
  for (int i = 0; i < value.as.object->length && depth < 4; ++i) {
    if (i > 0) write_text(machine, (Text){" ", 1});
    print_value(machine, value.as.object->items[i], depth + 1);
  }
  write_text(machine, (Text){"]", 1});
}

static Value add_values(Machine *machine, Value a, Value b) {
  char scratch_a[32], scratch_b[32];
  if (a.type == VALUE_INTEGER && b.type == VALUE_INTEGER) {
    return make_integer(wrap((uint64_t)a.as.integer + (uint64_t)b.as.integer));
  }
  // A string takes any neighbour that can be written as text.
  if ((a.type != VALUE_STRING && b.type != VALUE_STRING) || a.type == VALUE_ARRAY ||
      b.type == VALUE_ARRAY) {
    fail(&machine->error, machine->line, "cannot add %s and %s", kTypeNames[a.type],
         kTypeNames[b.type]);
    return make_nil();
  }
  Text left = describe(a, scratch_a);
  Text right = describe(b, scratch_b);
  if (left.length + right.length > kMaxLength) {
    fail(&machine->error, machine->line, "string too long");
    return make_nil();
  }
  return new_string(machine, left, right);
}

static Value binary(Machine *machine, Opcode op, Value a, Value b) {
  int64_t result = 0;
  if (op == OP_ADD) return add_values(machine, a, b);
  if (op == OP_EQUAL || op == OP_NOT_EQUAL) {
    return make_integer(values_equal(a, b) == (op == OP_EQUAL));
  }
  if (!want(machine, a, VALUE_INTEGER) || !want(machine, b, VALUE_INTEGER)) return make_nil();
  if (!compute(op, a.as.integer, b.as.integer, &result)) {
    fail(&machine->error, machine->line, "division by zero");
  }
  return make_integer(result);
}

// Checks an index; returns whether OBJECT[INDEX] exists.
static bool index_exists(Machine *machine, Value object, Value index) {
  if (object.type < VALUE_STRING && !want(machine, object, VALUE_ARRAY)) return false;
  if (!want(machine, index, VALUE_INTEGER)) return false;
  if (index.as.integer >= 0 && index.as.integer < object.as.object->length) return true;
  fail(&machine->error, machine->line, "index %" PRId64 " outside of length %d",
       index.as.integer, object.as.object->length);
  return false;
}

static Value get_index(Machine *machine, Value object, Value index) {
  if (!index_exists(machine, object, index)) return make_nil();
  if (object.type == VALUE_ARRAY) return object.as.object->items[index.as.integer];
  Text letter = {object.as.object->bytes + index.as.integer, 1};
  return new_string(machine, letter, (Text){"", 0});
}

static void set_index(Machine *machine, Value object, Value index, Value value) {
  if (!want(machine, object, VALUE_ARRAY) || !index_exists(machine, object, index)) return;
  object.as.object->items[index.as.integer] = value;
}

static void enter_function(Machine *machine, int arity, int local_count) {
  machine->base = machine->top - arity;
  for (int i = arity; i < local_count; ++i) machine->stack[machine->top++] = make_nil();
}

static void call_function(Machine *machine, int index, int *pc) {
  const Function *function = &machine->code->functions[index];
  if (machine->frame_count == kMaxFrames) {
    fail(&machine->error, machine->line, "calls nested too deeply");
    return;
  }
  machine->frames[machine->frame_count++] = (Frame){*pc, machine->base};
  enter_function(machine, function->arity, function->local_count);
  *pc = function->entry;
}

static void run(Machine *machine) {
  const Code *code = machine->code;
  Value *stack = machine->stack;
  int pc = 0;
  enter_function(machine, 0, code->functions[kMaxFunctions].local_count);
  while (!machine->error.set) {
    Opcode op = (Opcode)code->code[pc];
    int operand = 0;
    machine->line = code->lines[pc];
    ++pc;
    if (op <= OP_ARRAY) {
      operand = code->code[pc] << 8 | code->code[pc + 1];
      pc += 2;
    }
    if (++machine->steps > kMaxSteps) fail(&machine->error, machine->line, "too many steps");
    switch (op) {
      case OP_RETURN: {
        Value value = stack[machine->top - 1];
        if (machine->frame_count == 0) return;
        Frame frame = machine->frames[--machine->frame_count];
        machine->top = machine->base;
        stack[machine->top++] = value;
        machine->base = frame.base;
        pc = frame.return_to;
        break;
      }
      case OP_CONSTANT: stack[machine->top++] = code->constants[operand]; break;
      case OP_NIL: stack[machine->top++] = make_nil(); break;
      case OP_POP: --machine->top; break;
      case OP_GET_LOCAL: stack[machine->top++] = stack[machine->base + operand]; break;
      case OP_SET_LOCAL: stack[machine->base + operand] = stack[--machine->top]; break;
      case OP_GET_GLOBAL: stack[machine->top++] = machine->globals[operand]; break;
      case OP_SET_GLOBAL: machine->globals[operand] = stack[--machine->top]; break;
      case OP_JUMP: pc = operand; break;
      case OP_JUMP_IF_FALSE:
        if (!is_true(stack[--machine->top])) pc = operand;
        break;
      case OP_AND_JUMP:
      case OP_OR_JUMP:
        if (is_true(stack[machine->top - 1]) == (op == OP_OR_JUMP)) {
          pc = operand;
        } else {
          --machine->top;
        }
        break;
      case OP_CALL: call_function(machine, operand, &pc); break;
      case OP_BUILTIN: {
        int arity = kBuiltins[operand].arity;
        Value value = kBuiltins[operand].run(machine, &stack[machine->top - arity]);
        machine->top -= arity;
        stack[machine->top++] = value;
        break;
      }
      case OP_ARRAY: {
        Value array = new_object(machine, true, operand);
        machine->top -= operand;
        for (int i = 0; i < operand; ++i) {
          array.as.object->items[i] = stack[machine->top + i];
        }
        array.as.object->length = operand;
        stack[machine->top++] = array;
        break;
      }
      case OP_INDEX: {
        Value value = get_index(machine, stack[machine->top - 2], stack[machine->top - 1]);
        machine->top -= 2;
        stack[machine->top++] = value;
        break;
      }
      case OP_SET_INDEX:
        machine->top -= 3;
        set_index(machine, stack[machine->top], stack[machine->top + 1],
                  stack[machine->top + 2]);
        break;
      case OP_PRINT: print_value(machine, stack[--machine->top], 0); break;
      case OP_PRINT_END: write_text(machine, (Text){"\n", 1}); break;
      case OP_NEGATE:
        if (want(machine, stack[machine->top - 1], VALUE_INTEGER)) {
          uint64_t value = (uint64_t)stack[machine->top - 1].as.integer;
          stack[machine->top - 1] = make_integer(wrap(0 - value));
        }
        break;
      case OP_NOT:
        stack[machine->top - 1] = make_integer(!is_true(stack[machine->top - 1]));
        break;
      default: {
        Value value = binary(machine, op, stack[machine->top - 2], stack[machine->top - 1]);
        machine->top -= 2;
        stack[machine->top++] = value;
        break;
      }
    }
    // One instruction never pushes more than the locals of a function.
    if (machine->top + kMaxLocals >= kStackSize) {
      fail(&machine->error, machine->line, "stack overflow");
    }
  }
}

// ---------------------------------------------------------------------------------------------
// The driver.

typedef struct {
  Code code;
  Machine machine;
  uint64_t checksum;
  int programs, errors;
} Session;

static void free_code(Code *code) {
  for (int i = 0; i < code->constant_count; ++i) {
    if (code->constants[i].type == VALUE_STRING) free_object(code->constants[i].as.object);
  }
  code->constant_count = 0;
}

static void run_repeatedly(Machine *machine, const Code *code, int repeat) {
  do {
    memset(machine, 0, sizeof *machine);
    machine->code = code;
    machine->collect_at = 200;
    machine->output_hash = UINT64_C(14695981039346656037);
    run(machine);
    machine->top = 0;
    while (machine->objects != NULL) {
      Object *next = machine->objects->next;
      free_object(machine->objects);
      machine->objects = next;
    }
  } while (--repeat > 0);
}

static void run_source(Session *session, Text name, int repeat, Text source) {
  Error error = {.set = false};
  Parser parser = {
      .lexer = {
          .at = source.bytes, .end = source.bytes + source.length, .line = 1, .error = &error}};
  Machine *machine = &session->machine;
  int folded = 0;
  int size[2] = {0, 0};
  int64_t steps[2] = {0, 0};
  uint64_t hashes[2] = {0, 0};
  printf("== %.*s\n", name.length, name.bytes);
  ++session->programs;
  Node *program = parse_program(&parser);
  for (int pass = 0; pass < 2 && !error.set; ++pass) {
    if (pass == 1) fold(program, &parser.arena, &folded);
    compile_program(&session->code, program, &error);
    if (!error.set) {
      run_repeatedly(machine, &session->code, repeat);
      size[pass] = session->code.code_count;
      steps[pass] = machine->steps;
      hashes[pass] = machine->output_hash;
    }
    free_code(&session->code);
  }
  if (error.set) {
    printf("  error in line %d: %s\n", error.line, error.message);
    ++session->errors;
  } else {
    printf("%.*s", machine->output_length, machine->output);
    if (machine->error.set) {
      printf("  stopped in line %d: %s\n", machine->error.line, machine->error.message);
      ++session->errors;
    }
    printf("  folded %d, code %d -> %d, steps %" PRId64 " -> %" PRId64
           ", collections %d, output %016" PRIx64 "%s\n",
           folded, size[0], size[1], steps[0], steps[1], machine->collections, hashes[1],
           hashes[0] == hashes[1] ? "" : " DIFFERENT");
    session->checksum = (session->checksum ^ hashes[1] ^ (uint64_t)steps[1]) * 31;
  }
  release(parser.arena);
}

static char *read_all(int *length) {
  size_t capacity = 8192;
  size_t used = 0;
  char *text = check(malloc(capacity));
  for (;;) {
    size_t got = fread(text + used, 1, capacity - used - 1, stdin);
    used += got;
    if (got == 0 || used > (1u << 24)) break;
    if (used + 1 == capacity) {
      capacity *= 2;
      text = check(realloc(text, capacity));
    }
  }
  text[used] = '\0';
  *length = (int)used;
  return text;
}

int main(void) {
  int length;
  char *text = read_all(&length);
  Session *session = check(calloc(1, sizeof *session));
  const char *at = strstr(text, "#### ");
  while (at != NULL) {
    Text name = {at + 5, 0};
    int repeat = 0;
    while (is_name_char(name.bytes[name.length])) ++name.length;
    const char *source = name.bytes + name.length;
    while (*source == ' ') ++source;
    while (is_digit(*source) && repeat < 10000) repeat = repeat * 10 + (*source++ - '0');
    source += strcspn(source, "\n");
    at = strstr(source, "#### ");
    const char *end = at != NULL ? at : source + strlen(source);
    run_source(session, name, repeat, (Text){source, (int)(end - source)});
  }
  printf("programs %d, errors %d, checksum %016" PRIx64 "\n", session->programs,
         session->errors, session->checksum);
  free(session);
  free(text);
  return 0;
}
