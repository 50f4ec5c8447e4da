// A calculator for checked 64-bit integers or doubles with variables and recursive functions.
// Input: lines "NAME = EXPR", "NAME(PARAMS) = EXPR", "EXPR", "# comment" and the commands
// ":mode int|real", ":loop COUNT EXPR" (the sum over i = 0..COUNT-1), ":show NAME", ":vars".
// Each line is parsed to a tree, which is evaluated and printed.

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxLine = 512,
  kMaxName = 16,
  kMaxGlobals = 48,
  kMaxFunctions = 48,
  kMaxLocals = 8,  // parameters plus the variables of nested sum(...)
  kMaxNesting = 40,
  kMaxDepth = 3000,
  kMaxSteps = 20000000,
};

typedef enum {
  NODE_NUMBER,
  NODE_LOCAL,
  NODE_GLOBAL,
  NODE_NEGATE,
  NODE_NOT,
  NODE_INVERT,
  NODE_OR,
  NODE_AND,
  NODE_BIT_OR,
  NODE_BIT_XOR,
  NODE_BIT_AND,
  NODE_EQUAL,
  NODE_NOT_EQUAL,
  NODE_LESS,
  NODE_LESS_EQUAL,
  NODE_GREATER,
  NODE_GREATER_EQUAL,
  NODE_SHIFT_LEFT,
  NODE_SHIFT_RIGHT,
  NODE_ADD,
  NODE_SUBTRACT,
  NODE_MULTIPLY,
  NODE_DIVIDE,
  NODE_MODULO,
  NODE_POWER,
  NODE_CONDITIONAL,
  NODE_BUILTIN,
  NODE_CALL,
  NODE_SUM,
} NodeKind;

typedef union {
  int64_t integer;
  double real;
} Value;

// Nodes live in one growing array and refer to each other by index; -1 means none.
typedef struct {
  NodeKind kind;
  int symbol;  // local slot, global, built-in or function
  int a, b, c;
  int next;  // the next argument of a call
  Value value;
} Node;

typedef struct {
  char text[kMaxName];
} Name;

typedef struct {
  Name name;
  bool defined;
  Value value;
} Global;

typedef struct {
  Name name;
  int arity;
  int body;
  Name locals[kMaxLocals];
} Function;

typedef struct {
  bool real;
  Node *nodes;
  int node_count;
  int node_capacity;
  Global globals[kMaxGlobals];
  int global_count;
  Function functions[kMaxFunctions];
  int function_count;
  const char *error;
  int depth;
  int64_t steps;
} Engine;

static void set_error(Engine *engine, const char *message) {
  if (engine->error == NULL) engine->error = message;
}

// ---------------------------------------------------------------------------------------------
// Checked integer arithmetic.

static int64_t checked_add(Engine *engine, int64_t a, int64_t b) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
    set_error(engine, "integer overflow");
    return 0;
  }
  return a + b;
}

static int64_t checked_negate(Engine *engine, int64_t a) {
  if (a == INT64_MIN) {
    set_error(engine, "integer overflow");
    return 0;
  }
  return -a;
}

static int64_t checked_subtract(Engine *engine, int64_t a, int64_t b) {
  if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) {
    set_error(engine, "integer overflow");
    return 0;
  }
  return a - b;
}

static bool product_overflows(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return false;
  if (a == -1) return b == INT64_MIN;
  if (b == -1) return a == INT64_MIN;
  if ((a > 0) == (b > 0)) return a > 0 ? a > INT64_MAX / b : a < INT64_MAX / b;
  return a > 0 ? b < INT64_MIN / a : a < INT64_MIN / b;
}

static int64_t checked_multiply(Engine *engine, int64_t a, int64_t b) {
  if (product_overflows(a, b)) {
    set_error(engine, "integer overflow");
    return 0;
  }
  return a * b;
}

static int64_t checked_divide(Engine *engine, int64_t a, int64_t b, bool remainder) {
  if (b == 0) {
    set_error(engine, "division by zero");
    return 0;
  }
  if (b == -1) return remainder ? 0 : checked_negate(engine, a);
  return remainder ? a % b : a / b;
}

static int64_t checked_power(Engine *engine, int64_t base, int64_t exponent) {
  if (exponent < 0) {
    set_error(engine, "negative exponent");
    return 0;
  }
  int64_t result = 1;
  while (exponent > 0 && engine->error == NULL) {
    if (exponent & 1) result = checked_multiply(engine, result, base);
    exponent >>= 1;
    // The last squaring would not be used, and might overflow.
    if (exponent > 0) base = checked_multiply(engine, base, base);
  }
  return result;
}

static int64_t checked_shift(Engine *engine, int64_t value, int64_t count, bool left) {
  if (count < 0 || count > 62) {
    set_error(engine, "bad shift count");
    return 0;
  }
  if (left) return checked_multiply(engine, value, INT64_C(1) << count);
  return value < 0 ? ~(~value >> count) : value >> count;
}

// ---------------------------------------------------------------------------------------------
// Built-in functions, one version for each mode; NULL where a mode has none.

static int64_t int_abs(Engine *engine, const Value *v) {
  return v[0].integer < 0 ? checked_negate(engine, v[0].integer) : v[0].integer;
}

static int64_t int_min(Engine *engine, const Value *v) {
  (void)engine;
  return v[0].integer < v[1].integer ? v[0].integer : v[1].integer;
}

static int64_t int_max(Engine *engine, const Value *v) {
  (void)engine;
  return v[0].integer > v[1].integer ? v[0].integer : v[1].integer;
}

static uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int64_t int_gcd(Engine *engine, const Value *v) {
  uint64_t a = magnitude(v[0].integer);
  uint64_t b = magnitude(v[1].integer);
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  if (a > (uint64_t)INT64_MAX) set_error(engine, "integer overflow");
  return engine->error != NULL ? 0 : (int64_t)a;
}

static int64_t int_sqrt(Engine *engine, const Value *v) {
  if (v[0].integer < 0) {
    set_error(engine, "root of a negative number");
    return 0;
  }
  uint64_t rest = (uint64_t)v[0].integer;
  uint64_t root = 0;
  for (uint64_t bit = UINT64_C(1) << 62; bit != 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return (int64_t)root;
}

static int64_t int_bits(Engine *engine, const Value *v) {
  (void)engine;
  int count = 0;
  for (uint64_t rest = (uint64_t)v[0].integer; rest != 0; rest &= rest - 1) ++count;
  return count;
}

static double real_abs(const Value *v) { return fabs(v[0].real); }

static double real_min(const Value *v) { return v[0].real < v[1].real ? v[0].real : v[1].real; }

static double real_max(const Value *v) { return v[0].real > v[1].real ? v[0].real : v[1].real; }

static double real_sqrt(const Value *v) { return sqrt(v[0].real); }

static double real_floor(const Value *v) { return floor(v[0].real); }

static double real_exp(const Value *v) { return exp(v[0].real); }

static double real_log(const Value *v) { return log(v[0].real); }

static double real_sin(const Value *v) { return sin(v[0].real); }

static double real_cos(const Value *v) { return cos(v[0].real); }

static double real_hypot(const Value *v) {
  return sqrt(v[0].real * v[0].real + v[1].real * v[1].real);
}

typedef struct {
  const char *name;
  int arity;
  int64_t (*integer)(Engine *engine, const Value *arguments);
  double (*real)(const Value *arguments);  // not finite: outside its domain
} Builtin;

static const Builtin kBuiltins[] = {
    {"abs", 1, int_abs, real_abs},  {"min", 2, int_min, real_min},
    {"max", 2, int_max, real_max},  {"sqrt", 1, int_sqrt, real_sqrt},
    {"gcd", 2, int_gcd, NULL},      {"bits", 1, int_bits, NULL},
    {"floor", 1, NULL, real_floor}, {"exp", 1, NULL, real_exp},
    {"log", 1, NULL, real_log},     {"sin", 1, NULL, real_sin},
    {"cos", 1, NULL, real_cos},     {"hypot", 2, NULL, real_hypot},
};

enum { kBuiltinCount = sizeof kBuiltins / sizeof kBuiltins[0] };

// ---------------------------------------------------------------------------------------------
// Evaluation. After an error every call returns at once, so the recursion unwinds quickly.

static bool enter(Engine *engine) {
  if (engine->error != NULL) return false;
  if (++engine->steps > kMaxSteps) set_error(engine, "too many steps");
  if (engine->depth >= kMaxDepth) set_error(engine, "nested too deeply");
  if (engine->error != NULL) return false;
  ++engine->depth;
  return true;
}

static int64_t evaluate_int(Engine *engine, Value *frame, int index);

static int64_t call_int(Engine *engine, Value *frame, const Node *node) {
  Value locals[kMaxLocals] = {{0}};
  int count = 0;
  for (int i = node->a; i >= 0; i = engine->nodes[i].next) {
    locals[count++].integer = evaluate_int(engine, frame, i);
  }
  if (engine->error != NULL) return 0;
  if (node->kind == NODE_BUILTIN) return kBuiltins[node->symbol].integer(engine, locals);
  return evaluate_int(engine, locals, engine->functions[node->symbol].body);
}

static int64_t sum_int(Engine *engine, Value *frame, const Node *node) {
  int64_t low = evaluate_int(engine, frame, node->a);
  int64_t high = evaluate_int(engine, frame, node->b);
  int64_t total = 0;
  for (int64_t i = low; i <= high && engine->error == NULL; ++i) {
    frame[node->symbol].integer = i;
    total = checked_add(engine, total, evaluate_int(engine, frame, node->c));
    if (i == INT64_MAX) break;
  }
  return total;
}

static int64_t binary_int(Engine *engine, NodeKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case NODE_BIT_OR: return a | b;
    case NODE_BIT_XOR: return a ^ b;
    case NODE_BIT_AND: return a & b;
    case NODE_EQUAL: return a == b;
    case NODE_NOT_EQUAL: return a != b;
    case NODE_LESS: return a < b;
    case NODE_LESS_EQUAL: return a <= b;
    case NODE_GREATER: return a > b;
    case NODE_GREATER_EQUAL: return a >= b;
    case NODE_SHIFT_LEFT: return checked_shift(engine, a, b, true);
    case NODE_SHIFT_RIGHT: return checked_shift(engine, a, b, false);
    case NODE_ADD: return checked_add(engine, a, b);
    case NODE_SUBTRACT: return checked_subtract(engine, a, b);
    case NODE_MULTIPLY: return checked_multiply(engine, a, b);
    case NODE_DIVIDE: return checked_divide(engine, a, b, false);
    case NODE_MODULO: return checked_divide(engine, a, b, true);
    case NODE_POWER: return checked_power(engine, a, b);
    default: set_error(engine, "operator not known for integers"); return 0;
  }
}

static int64_t evaluate_int(Engine *engine, Value *frame, int index) {
  if (!enter(engine)) return 0;
  const Node *node = &engine->nodes[index];
  int64_t result = 0;
  switch (node->kind) {
    case NODE_NUMBER: result = node->value.integer; break;
    case NODE_LOCAL: result = frame[node->symbol].integer; break;
    case NODE_GLOBAL:
      if (!engine->globals[node->symbol].defined) set_error(engine, "variable without value");
      result = engine->globals[node->symbol].value.integer;
      break;
    case NODE_NEGATE:
      result = checked_negate(engine, evaluate_int(engine, frame, node->a));
      break;
    case NODE_NOT: result = !evaluate_int(engine, frame, node->a); break;
    case NODE_INVERT: result = ~evaluate_int(engine, frame, node->a); break;
    case NODE_OR:
      result = evaluate_int(engine, frame, node->a) || evaluate_int(engine, frame, node->b);
      break;
    case NODE_AND:
      result = evaluate_int(engine, frame, node->a) && evaluate_int(engine, frame, node->b);
      break;
    case NODE_CONDITIONAL:
      result = evaluate_int(engine, frame, node->a) ? evaluate_int(engine, frame, node->b)
                                                    : evaluate_int(engine, frame, node->c);
      break;
    case NODE_BUILTIN:
    case NODE_CALL: result = call_int(engine, frame, node); break;
    case NODE_SUM: result = sum_int(engine, frame, node); break;
    default: {
      int64_t a = evaluate_int(engine, frame, node->a);
      int64_t b = evaluate_int(engine, frame, node->b);
      if (engine->error == NULL) result = binary_int(engine, node->kind, a, b);
      break;
    }
  }
  --engine->depth;
  return result;
}

static double evaluate_real(Engine *engine, Value *frame, int index);

static double call_real(Engine *engine, Value *frame, const Node *node) {
  Value locals[kMaxLocals] = {{0}};
  int count = 0;
  for (int i = node->a; i >= 0; i = engine->nodes[i].next) {
    locals[count++].real = evaluate_real(engine, frame, i);
  }
  if (engine->error != NULL) return 0.0;
  if (node->kind == NODE_BUILTIN) return kBuiltins[node->symbol].real(locals);
  return evaluate_real(engine, locals, engine->functions[node->symbol].body);
}

static double sum_real(Engine *engine, Value *frame, const Node *node) {
  double low = evaluate_real(engine, frame, node->a);
  double high = evaluate_real(engine, frame, node->b);
  double total = 0.0;
  // Beyond 2^53 adding one would not change the variable.
  if (!(fabs(low) < 9e15 && fabs(high) < 9e15)) set_error(engine, "bad range");
  for (double i = low; i <= high && engine->error == NULL; i += 1.0) {
    frame[node->symbol].real = i;
    total += evaluate_real(engine, frame, node->c);
  }
  return total;
}

static double binary_real(Engine *engine, NodeKind kind, double a, double b) {
  switch (kind) {
    case NODE_EQUAL: return a == b;
    case NODE_NOT_EQUAL: return a != b;
    case NODE_LESS: return a < b;
    case NODE_LESS_EQUAL: return a <= b;
    case NODE_GREATER: return a > b;
    case NODE_GREATER_EQUAL: return a >= b;
    case NODE_ADD: return a + b;
    case NODE_SUBTRACT: return a - b;
    case NODE_MULTIPLY: return a * b;
    case NODE_DIVIDE:
    case NODE_MODULO:
      if (b == 0.0) {
        set_error(engine, "division by zero");
        return 0.0;
      }
      return kind == NODE_DIVIDE ? a / b : fmod(a, b);
    case NODE_POWER:
      if (a < 0.0 && b != floor(b)) {
        set_error(engine, "root of a negative number");
        return 0.0;
      }
      return b == 2.0 ? a * a : pow(a, b);
    default: set_error(engine, "operator needs integer mode"); return 0.0;
  }
}

static double evaluate_real(Engine *engine, Value *frame, int index) {
  if (!enter(engine)) return 0.0;
  const Node *node = &engine->nodes[index];
  double result = 0.0;
  switch (node->kind) {
    case NODE_NUMBER: result = node->value.real; break;
    case NODE_LOCAL: result = frame[node->symbol].real; break;
    case NODE_GLOBAL:
      if (!engine->globals[node->symbol].defined) set_error(engine, "variable without value");
      result = engine->globals[node->symbol].value.real;
      break;
    case NODE_NEGATE: result = -evaluate_real(engine, frame, node->a); break;
    case NODE_NOT: result = evaluate_real(engine, frame, node->a) == 0.0; break;
    case NODE_INVERT: set_error(engine, "operator needs integer mode"); break;
    case NODE_OR:
      result = evaluate_real(engine, frame, node->a) != 0.0 ||
               evaluate_real(engine, frame, node->b) != 0.0;
      break;
    case NODE_AND:
      result = evaluate_real(engine, frame, node->a) != 0.0 &&
               evaluate_real(engine, frame, node->b) != 0.0;
      break;
    case NODE_CONDITIONAL:
      result = evaluate_real(engine, frame, node->a) != 0.0
                   ? evaluate_real(engine, frame, node->b)
                   : evaluate_real(engine, frame, node->c);
      break;
    case NODE_BUILTIN:
    case NODE_CALL: result = call_real(engine, frame, node); break;
    case NODE_SUM: result = sum_real(engine, frame, node); break;
    default: {
      double a = evaluate_real(engine, frame, node->a);
      double b = evaluate_real(engine, frame, node->b);
      if (engine->error == NULL) result = binary_real(engine, node->kind, a, b);
      break;
    }
  }
  --engine->depth;
  if (!isfinite(result)) {
    set_error(engine, "result out of range");
    result = 0.0;
  }
  return result;
}

static Value evaluate(Engine *engine, int root, Value *frame) {
  Value result = {0};
  engine->depth = 0;
  if (engine->real) {
    result.real = evaluate_real(engine, frame, root);
  } else {
    result.integer = evaluate_int(engine, frame, root);
  }
  return result;
}

// ---------------------------------------------------------------------------------------------
// Parsing: precedence climbing over a table of operators.

typedef struct {
  const char *text;
  int precedence;
  NodeKind kind;
} Operator;

enum { kUnaryPrecedence = 11, kPowerPrecedence = 12, kAtomPrecedence = 13 };

// An operator that starts like another one has to come before it.
static const Operator kOperators[] = {
    {"||", 1, NODE_OR},
    {"&&", 2, NODE_AND},
    {"|", 3, NODE_BIT_OR},
    {"^", 4, NODE_BIT_XOR},
    {"&", 5, NODE_BIT_AND},
    {"==", 6, NODE_EQUAL},
    {"!=", 6, NODE_NOT_EQUAL},
    {"<=", 7, NODE_LESS_EQUAL},
    {">=", 7, NODE_GREATER_EQUAL},
    {"<<", 8, NODE_SHIFT_LEFT},
    {">>", 8, NODE_SHIFT_RIGHT},
    {"<", 7, NODE_LESS},
    {">", 7, NODE_GREATER},
    {"+", 9, NODE_ADD},
    {"-", 9, NODE_SUBTRACT},
    {"**", kPowerPrecedence, NODE_POWER},
    {"*", 10, NODE_MULTIPLY},
    {"/", 10, NODE_DIVIDE},
    {"%", 10, NODE_MODULO},
};

enum { kOperatorCount = sizeof kOperators / sizeof kOperators[0] };

typedef struct {
  Engine *engine;
  const char *at;
  int nesting;
  int local_count;
  Name locals[kMaxLocals];
} Parser;

static int new_node(Engine *engine, NodeKind kind, int a, int b) {
  if (engine->node_count == engine->node_capacity) {
    int capacity = engine->node_capacity * 2 + 64;
    Node *grown = realloc(engine->nodes, (size_t)capacity * sizeof *grown);
    if (grown == NULL) {
      printf("out of memory\n");
      exit(1);
    }
    engine->nodes = grown;
    engine->node_capacity = capacity;
  }
  engine->nodes[engine->node_count] =
      (Node){.kind = kind, .symbol = -1, .a = a, .b = b, .c = -1, .next = -1, .value = {0}};
  return engine->node_count++;
}

static int parse_error(Parser *parser, const char *message) {
  set_error(parser->engine, message);
  return -1;
}

static void skip_space(Parser *parser) {
  while (*parser->at == ' ' || *parser->at == '\t') ++parser->at;
}

static bool accept(Parser *parser, char c) {
  skip_space(parser);
  if (*parser->at != c) return false;
  ++parser->at;
  return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool parse_name(Parser *parser, Name *name) {
  size_t length = 0;
  skip_space(parser);
  if (!is_letter(*parser->at)) return false;
  memset(name, 0, sizeof *name);
  while (is_letter(*parser->at) || is_digit(*parser->at)) {
    if (length + 1 == kMaxName) {
      set_error(parser->engine, "name too long");
      return false;
    }
    name->text[length++] = *parser->at++;
  }
  return true;
}

static bool same_name(const Name *a, const char *b) { return strcmp(a->text, b) == 0; }

static int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

static int parse_integer(Parser *parser) {
  int base = 10;
  uint64_t value = 0;
  if (parser->at[0] == '0' && (parser->at[1] == 'x' || parser->at[1] == 'b')) {
    base = parser->at[1] == 'x' ? 16 : 2;
    parser->at += 2;
    if (digit_of(*parser->at) >= base) return parse_error(parser, "digit expected");
  }
  while (digit_of(*parser->at) < base) {
    uint64_t digit = (uint64_t)digit_of(*parser->at++);
    if (value > ((uint64_t)INT64_MAX - digit) / (uint64_t)base) {
      return parse_error(parser, "number too large");
    }
    value = value * (uint64_t)base + digit;
  }
  int node = new_node(parser->engine, NODE_NUMBER, -1, -1);
  parser->engine->nodes[node].value.integer = (int64_t)value;
  return node;
}

static int parse_real(Parser *parser) {
  const char *end = parser->at;
  char copy[64];
  while (is_digit(*end)) ++end;
  if (*end == '.') ++end;
  while (is_digit(*end)) ++end;
  if (*end == 'e' || *end == 'E') {
    const char *exponent = end + 1;
    if (*exponent == '+' || *exponent == '-') ++exponent;
    if (is_digit(*exponent)) {
      while (is_digit(*exponent)) ++exponent;
      end = exponent;
    }
  }
  size_t length = (size_t)(end - parser->at);
  if (length >= sizeof copy) return parse_error(parser, "number too long");
  memcpy(copy, parser->at, length);
  copy[length] = '\0';
  parser->at = end;
  int node = new_node(parser->engine, NODE_NUMBER, -1, -1);
  parser->engine->nodes[node].value.real = strtod(copy, NULL);
  return node;
}

static int parse_expression(Parser *parser);

// sum(NAME, LOW, HIGH, TERM): NAME is a new local variable inside TERM.
static int parse_sum(Parser *parser) {
  Name name;
  if (!parse_name(parser, &name)) return parse_error(parser, "variable of sum expected");
  if (parser->local_count == kMaxLocals) return parse_error(parser, "too many locals");
  int parts[3] = {-1, -1, -1};
  int slot = parser->local_count;
  for (int i = 0; i < 3; ++i) {
    if (!accept(parser, ',')) return parse_error(parser, "',' expected");
    if (i == 2) parser->locals[parser->local_count++] = name;
    parts[i] = parse_expression(parser);
    if (parts[i] < 0) return -1;
  }
  if (!accept(parser, ')')) return parse_error(parser, "')' expected");
  parser->local_count = slot;
  parser->locals[slot].text[0] = '\0';
  int node = new_node(parser->engine, NODE_SUM, parts[0], parts[1]);
  parser->engine->nodes[node].c = parts[2];
  parser->engine->nodes[node].symbol = slot;
  return node;
}

static int find_builtin(const Engine *engine, const char *name) {
  for (int i = 0; i < kBuiltinCount; ++i) {
    bool present = engine->real ? kBuiltins[i].real != NULL : kBuiltins[i].integer != NULL;
    if (present && strcmp(kBuiltins[i].name, name) == 0) return i;
  }
  return -1;
}

static int find_function(const Engine *engine, const char *name) {
  for (int i = 0; i < engine->function_count; ++i) {
    if (same_name(&engine->functions[i].name, name)) return i;
  }
  return -1;
}

static int parse_call(Parser *parser, const Name *name) {
  Engine *engine = parser->engine;
  if (same_name(name, "sum")) return parse_sum(parser);
  int builtin = find_builtin(engine, name->text);
  int function = builtin < 0 ? find_function(engine, name->text) : -1;
  if (builtin < 0 && function < 0) return parse_error(parser, "unknown function");
  int arity = builtin >= 0 ? kBuiltins[builtin].arity : engine->functions[function].arity;
  int first = -1;
  int last = -1;
  int count = 0;
  if (!accept(parser, ')')) {
    do {
      int argument = parse_expression(parser);
      if (argument < 0) return -1;
      if (last >= 0) engine->nodes[last].next = argument;
      if (first < 0) first = argument;
      last = argument;
      ++count;
    } while (accept(parser, ','));
    if (!accept(parser, ')')) return parse_error(parser, "')' expected");
  }
  if (count != arity) return parse_error(parser, "wrong number of arguments");
  int node = new_node(engine, builtin >= 0 ? NODE_BUILTIN : NODE_CALL, first, -1);
  engine->nodes[node].symbol = builtin >= 0 ? builtin : function;
  return node;
}

static int find_global(Engine *engine, const Name *name) {
  for (int i = 0; i < engine->global_count; ++i) {
    if (same_name(&engine->globals[i].name, name->text)) return i;
  }
  if (engine->global_count == kMaxGlobals) {
    set_error(engine, "too many variables");
    return -1;
  }
  engine->globals[engine->global_count] = (Global){*name, false, {0}};
  return engine->global_count++;
}

static int parse_variable(Parser *parser, const Name *name) {
  for (int i = parser->local_count - 1; i >= 0; --i) {
    if (!same_name(&parser->locals[i], name->text)) continue;
    int node = new_node(parser->engine, NODE_LOCAL, -1, -1);
    parser->engine->nodes[node].symbol = i;
    return node;
  }
  int global = find_global(parser->engine, name);
  if (global < 0) return -1;
  int node = new_node(parser->engine, NODE_GLOBAL, -1, -1);
  parser->engine->nodes[node].symbol = global;
  return node;
}

static int parse_atom(Parser *parser) {
  Name name;
  skip_space(parser);
  if (is_digit(*parser->at) || (parser->engine->real && *parser->at == '.')) {
    return parser->engine->real ? parse_real(parser) : parse_integer(parser);
  }
  if (parse_name(parser, &name)) {
    return accept(parser, '(') ? parse_call(parser, &name) : parse_variable(parser, &name);
  }
  if (!accept(parser, '(')) return parse_error(parser, "operand expected");
  int inner = parse_expression(parser);
  if (inner >= 0 && !accept(parser, ')')) return parse_error(parser, "')' expected");
  return inner;
}

static const Operator *peek_operator(Parser *parser) {
  skip_space(parser);
  for (int i = 0; i < kOperatorCount; ++i) {
    size_t length = strlen(kOperators[i].text);
    if (strncmp(parser->at, kOperators[i].text, length) == 0) return &kOperators[i];
  }
  return NULL;
}

static int parse_binary(Parser *parser, int lowest);

static int parse_unary(Parser *parser) {
  skip_space(parser);
  NodeKind kind;
  switch (*parser->at) {
    case '-': kind = NODE_NEGATE; break;
    case '!': kind = NODE_NOT; break;
    case '~': kind = NODE_INVERT; break;
    default: return parse_atom(parser);
  }
  ++parser->at;
  if (++parser->nesting > kMaxNesting) return parse_error(parser, "nested too deeply");
  // -a ** b means -(a ** b).
  int operand = parse_binary(parser, kPowerPrecedence);
  --parser->nesting;
  return operand < 0 ? -1 : new_node(parser->engine, kind, operand, -1);
}

static int parse_binary(Parser *parser, int lowest) {
  int left = parse_unary(parser);
  while (left >= 0) {
    const Operator *op = peek_operator(parser);
    if (op == NULL || op->precedence < lowest) break;
    parser->at += strlen(op->text);
    bool to_right = op->kind == NODE_POWER;
    if (++parser->nesting > kMaxNesting) return parse_error(parser, "nested too deeply");
    int right = parse_binary(parser, to_right ? kUnaryPrecedence : op->precedence + 1);
    --parser->nesting;
    if (right < 0) return -1;
    left = new_node(parser->engine, op->kind, left, right);
  }
  return left;
}

static int parse_expression(Parser *parser) {
  if (++parser->nesting > kMaxNesting) return parse_error(parser, "nested too deeply");
  int condition = parse_binary(parser, 1);
  if (condition >= 0 && accept(parser, '?')) {
    int yes = parse_expression(parser);
    if (yes < 0) return -1;
    if (!accept(parser, ':')) return parse_error(parser, "':' expected");
    int no = parse_expression(parser);
    if (no < 0) return -1;
    condition = new_node(parser->engine, NODE_CONDITIONAL, condition, yes);
    parser->engine->nodes[condition].c = no;
  }
  --parser->nesting;
  return condition;
}

static int parse_whole(Parser *parser) {
  int root = parse_expression(parser);
  if (root < 0) return -1;
  skip_space(parser);
  if (*parser->at != '\0') return parse_error(parser, "end of line expected");
  return root;
}

// ---------------------------------------------------------------------------------------------
// Printing an expression back, with no more parentheses than needed.

static void print_value(bool real, Value value) {
  if (!real) {
    printf("%" PRId64, value.integer);
  } else {
    printf(fabs(value.real) < 1e12 ? "%.4f" : "%.4e", value.real);
  }
}

static int precedence_of(const Node *node) {
  switch (node->kind) {
    case NODE_NEGATE:
    case NODE_NOT:
    case NODE_INVERT: return kUnaryPrecedence;
    case NODE_CONDITIONAL: return 0;
    case NODE_NUMBER:
    case NODE_LOCAL:
    case NODE_GLOBAL:
    case NODE_BUILTIN:
    case NODE_CALL:
    case NODE_SUM: return kAtomPrecedence;
    default:
      for (int i = 0; i < kOperatorCount; ++i) {
        if (kOperators[i].kind == node->kind) return kOperators[i].precedence;
      }
      return kAtomPrecedence;
  }
}

static const char *operator_text(NodeKind kind) {
  for (int i = 0; i < kOperatorCount; ++i) {
    if (kOperators[i].kind == kind) return kOperators[i].text;
  }
  return kind == NODE_NEGATE ? "-" : kind == NODE_NOT ? "!" : "~";
}

static void unparse(const Engine *engine, const Name *locals, int index, int context) {
  const Node *node = &engine->nodes[index];
  int precedence = precedence_of(node);
  if (precedence < context) printf("(");
  switch (node->kind) {
    case NODE_NUMBER:
      if (engine->real) {
        printf("%g", node->value.real);
      } else {
        print_value(false, node->value);
      }
      break;
    case NODE_LOCAL:
      // The variable of a sum has lost its name when the parser left the sum.
      if (locals[node->symbol].text[0] != '\0') {
        printf("%s", locals[node->symbol].text);
      } else {
        printf("$%d", node->symbol);
      }
      break;
    case NODE_GLOBAL: printf("%s", engine->globals[node->symbol].name.text); break;
    case NODE_NEGATE:
    case NODE_NOT:
    case NODE_INVERT:
      printf("%s", operator_text(node->kind));
      unparse(engine, locals, node->a, kUnaryPrecedence);
      break;
    case NODE_CONDITIONAL:
      unparse(engine, locals, node->a, 1);
      printf(" ? ");
      unparse(engine, locals, node->b, 0);
      printf(" : ");
      unparse(engine, locals, node->c, 0);
      break;
    case NODE_BUILTIN:
    case NODE_CALL:
      printf("%s(", node->kind == NODE_BUILTIN ? kBuiltins[node->symbol].name
                                               : engine->functions[node->symbol].name.text);
      for (int i = node->a; i >= 0; i = engine->nodes[i].next) {
        unparse(engine, locals, i, 0);
        if (engine->nodes[i].next >= 0) printf(", ");
      }
      printf(")");
      break;
    case NODE_SUM:
      printf("sum($%d, ", node->symbol);
      unparse(engine, locals, node->a, 0);
      printf(", ");
      unparse(engine, locals, node->b, 0);
      printf(", ");
      unparse(engine, locals, node->c, 0);
      printf(")");
      break;
    default: {
      bool to_right = node->kind == NODE_POWER;
      unparse(engine, locals, node->a, precedence + (to_right ? 1 : 0));
      printf(" %s ", operator_text(node->kind));
      unparse(engine, locals, node->b, to_right ? kUnaryPrecedence : precedence + 1);
      break;
    }
  }
  if (precedence < context) printf(")");
}

// ---------------------------------------------------------------------------------------------
// Lines of input.

static void define_function(Engine *engine, Parser *parser, const Name *name) {
  if (same_name(name, "sum") || find_builtin(engine, name->text) >= 0) {
    set_error(engine, "name of a built-in function");
    return;
  }
  do {
    if (parser->local_count == kMaxLocals) {
      set_error(engine, "too many locals");
    } else if (parse_name(parser, &parser->locals[parser->local_count])) {
      ++parser->local_count;
    } else {
      set_error(engine, "parameter expected");
    }
  } while (engine->error == NULL && accept(parser, ','));
  if (engine->error == NULL && !(accept(parser, ')') && accept(parser, '='))) {
    set_error(engine, "')' and '=' expected");
  }
  if (engine->error != NULL) return;
  int index = find_function(engine, name->text);
  if (index < 0 && engine->function_count == kMaxFunctions) {
    set_error(engine, "too many functions");
    return;
  }
  // The function is known inside its own body; after an error the old one comes back.
  bool fresh = index < 0;
  if (fresh) index = engine->function_count++;
  Function *function = &engine->functions[index];
  Function old = *function;
  *function = (Function){.name = *name, .arity = parser->local_count, .body = -1};
  memcpy(function->locals, parser->locals, sizeof function->locals);
  for (int i = parser->local_count; i < kMaxLocals; ++i) function->locals[i].text[0] = '\0';
  int body = parse_whole(parser);
  if (body < 0) {
    *function = old;
    if (fresh) --engine->function_count;
    return;
  }
  if (!fresh && old.arity != function->arity) {
    // Earlier callers were checked against the old number of parameters.
    set_error(engine, "number of parameters cannot change");
    *function = old;
    return;
  }
  function->body = body;
  printf("%s/%d defined\n", name->text, function->arity);
}

// "NAME(" starts a definition when the matching ')' is followed by a single '='.
static bool is_definition(const char *at) {
  int open = 0;
  for (; *at != '\0'; ++at) {
    if (*at == '(') ++open;
    if (*at == ')' && --open == 0) break;
  }
  if (*at == '\0') return false;
  do {
    ++at;
  } while (*at == ' ');
  return at[0] == '=' && at[1] != '=';
}

static void assign(Engine *engine, Parser *parser, const Name *name) {
  Value frame[kMaxLocals] = {{0}};
  int root = parse_whole(parser);
  if (root < 0) return;
  Value value = evaluate(engine, root, frame);
  int global = engine->error == NULL ? find_global(engine, name) : -1;
  if (global < 0) return;
  engine->globals[global].value = value;
  engine->globals[global].defined = true;
  printf("%s = ", name->text);
  print_value(engine->real, value);
  printf("\n");
}

static void run_expression(Engine *engine, Parser *parser) {
  Value frame[kMaxLocals] = {{0}};
  int root = parse_whole(parser);
  if (root < 0) return;
  Value value = evaluate(engine, root, frame);
  if (engine->error != NULL) return;
  unparse(engine, parser->locals, root, 0);
  printf(" -> ");
  print_value(engine->real, value);
  printf("\n");
}

// The total wraps around in integer mode: it serves as a checksum too.
static void run_loop(Engine *engine, Parser *parser) {
  Value frame[kMaxLocals] = {{0}};
  int64_t count = 0;
  skip_space(parser);
  while (is_digit(*parser->at) && count < 10000000) count = count * 10 + (*parser->at++ - '0');
  strcpy(parser->locals[0].text, "i");
  parser->local_count = 1;
  int root = parse_whole(parser);
  if (root < 0) return;
  uint64_t total = 0;
  double real_total = 0.0;
  for (int64_t i = 0; i < count && engine->error == NULL; ++i) {
    if (engine->real) {
      frame[0].real = (double)i;
    } else {
      frame[0].integer = i;
    }
    Value value = evaluate(engine, root, frame);
    if (engine->real) {
      real_total += value.real;
    } else {
      total += (uint64_t)value.integer;
    }
  }
  if (engine->error != NULL) return;
  printf("loop %" PRId64 ": ", count);
  unparse(engine, parser->locals, root, 0);
  if (engine->real) {
    printf(" -> %.4f, %" PRId64 " steps\n", real_total, engine->steps);
  } else {
    printf(" -> %" PRIu64 ", %" PRId64 " steps\n", total, engine->steps);
  }
}

static void show_function(Engine *engine, const char *name) {
  int index = find_function(engine, name);
  if (index < 0) {
    set_error(engine, "unknown function");
    return;
  }
  const Function *function = &engine->functions[index];
  printf("%s(", function->name.text);
  for (int i = 0; i < function->arity; ++i) {
    printf("%s%s", i > 0 ? ", " : "", function->locals[i].text);
  }
  printf(") = ");
  unparse(engine, function->locals, function->body, 0);
  printf("\n");
}

static void show_variables(const Engine *engine) {
  int shown = 0;
  for (int i = 0; i < engine->global_count; ++i) {
    if (!engine->globals[i].defined) continue;
    printf("%s%s = ", shown++ > 0 ? ", " : "", engine->globals[i].name.text);
    print_value(engine->real, engine->globals[i].value);
  }
  printf("%s\n", shown > 0 ? "" : "no variables");
}

// Runs one line; returns whether its nodes have to be kept.
static bool run_line(Engine *engine, const char *line) {
  Parser parser = {.engine = engine, .at = line};
  Parser ahead = parser;
  Name name;
  if (parse_name(&ahead, &name)) {
    const char *behind = ahead.at;
    if (accept(&ahead, '=') && *ahead.at != '=') {
      assign(engine, &ahead, &name);
      return false;
    }
    ahead.at = behind;
    if (accept(&ahead, '(') && is_definition(behind)) {
      define_function(engine, &ahead, &name);
      return engine->error == NULL;
    }
  }
  if (engine->error == NULL) run_expression(engine, &parser);
  return false;
}

static const char *word_behind(const char *line, const char *command) {
  size_t length = strlen(command);
  if (strncmp(line, command, length) != 0) return NULL;
  return line[length] == '\0' || line[length] == ' ' ? line + length : NULL;
}

static void run_command(Engine *engine, const char *line) {
  const char *rest;
  if ((rest = word_behind(line, ":loop")) != NULL) {
    Parser parser = {.engine = engine, .at = rest};
    run_loop(engine, &parser);
  } else if ((rest = word_behind(line, ":show")) != NULL) {
    show_function(engine, rest + strspn(rest, " "));
  } else if (word_behind(line, ":vars") != NULL) {
    show_variables(engine);
  } else {
    set_error(engine, "unknown command");
  }
}

// Reads a line without its newline; cuts it, with a message, when it is too long.
static bool read_line(char *line) {
  if (fgets(line, kMaxLine, stdin) == NULL) return false;
  size_t length = strlen(line);
  if (length + 1 == kMaxLine && line[length - 1] != '\n') {
    int c;
    do {
      c = getchar();
    } while (c != '\n' && c != EOF);
    printf("line cut\n");
  }
  while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) --length;
  line[length] = '\0';
  return true;
}

int main(void) {
  static const char *const kModeNames[2] = {"int", "real"};
  Engine *engines = calloc(2, sizeof *engines);
  if (engines == NULL) {
    printf("out of memory\n");
    return 1;
  }
  engines[1].real = true;
  Engine *engine = &engines[0];
  char line[kMaxLine];
  int number = 0;
  int errors = 0;
  int64_t all_steps = 0;
  while (read_line(line)) {
    ++number;
    if (line[0] == '\0' || line[0] == '#') continue;
    const char *mode = word_behind(line, ":mode");
    if (mode != NULL) {
      engine = &engines[strstr(mode, "real") != NULL];
      printf("mode %s\n", kModeNames[engine->real]);
      continue;
    }
    engine->error = NULL;
    engine->steps = 0;
    int mark = engine->node_count;
    bool keep = false;
    if (line[0] == ':') {
      run_command(engine, line);
    } else {
      keep = run_line(engine, line);
    }
    if (!keep) engine->node_count = mark;
    all_steps += engine->steps;
    if (engine->error != NULL) {
      printf("line %d: %s\n", number, engine->error);
      ++errors;
    }
  }
  printf("%d lines, %d errors, %" PRId64 " steps\n", number, errors, all_steps);
  for (int i = 0; i < 2; ++i) free(engines[i].nodes);
  free(engines);
  return 0;
}
