// An assembler, a verifier, a peephole optimiser and an interpreter for a small stack machine.
// Input: programs of the form "program NAME REPEAT", assembly lines ("label:", "op operand",
// ".space NAME CELLS", ".data NAME VALUES...", "; comment"), "end". Each program is run as
// written and optimised, and the results are compared.

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxLine = 160,
  kMaxName = 20,
  kMaxCode = 512,
  kMaxSymbols = 64,
  kMemoryCells = 4096,
  kStackCells = 1024,
  kMaxFrames = 128,
  kMaxOutput = 400,
  kMaxSteps = 1000000,
};

typedef enum {
  OP_HALT,
  OP_PUSH,
  OP_POP,
  OP_DUP,
  OP_SWAP,
  OP_OVER,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIV,
  OP_MOD,
  OP_NEG,
  OP_AND,
  OP_OR,
  OP_XOR,
  OP_SHL,
  OP_SHR,
  OP_EQ,
  OP_NE,
  OP_LT,
  OP_LE,
  OP_GT,
  OP_GE,
  OP_JMP,
  OP_JZ,
  OP_JNZ,
  OP_CALL,
  OP_RET,
  OP_ENTER,
  OP_LGET,
  OP_LSET,
  OP_LOAD,
  OP_STORE,
  OP_LDX,
  OP_STX,
  OP_PRINT,
  OP_EMIT,
  // Only the optimiser makes these.
  OP_ADDI,
  OP_MULI,
  OP_LINC,
  OP_JLT,
  OP_JGE,
  OP_LDX_AT,
  OP_COUNT,
} Opcode;

typedef enum { OPERAND_NONE, OPERAND_NUMBER, OPERAND_LABEL, OPERAND_LOCAL } OperandKind;

typedef struct {
  const char *name;
  OperandKind operand;
  signed char pops, pushes;
} OpInfo;

// In the order of the opcodes. CALL pops as many cells as its second operand says.
static const OpInfo kOps[OP_COUNT] = {
    {"halt", OPERAND_NONE, 0, 0},    {"push", OPERAND_NUMBER, 0, 1},
    {"pop", OPERAND_NONE, 1, 0},     {"dup", OPERAND_NONE, 1, 2},
    {"swap", OPERAND_NONE, 2, 2},    {"over", OPERAND_NONE, 2, 3},
    {"add", OPERAND_NONE, 2, 1},     {"sub", OPERAND_NONE, 2, 1},
    {"mul", OPERAND_NONE, 2, 1},     {"div", OPERAND_NONE, 2, 1},
    {"mod", OPERAND_NONE, 2, 1},     {"neg", OPERAND_NONE, 1, 1},
    {"and", OPERAND_NONE, 2, 1},     {"or", OPERAND_NONE, 2, 1},
    {"xor", OPERAND_NONE, 2, 1},     {"shl", OPERAND_NONE, 2, 1},
    {"shr", OPERAND_NONE, 2, 1},     {"eq", OPERAND_NONE, 2, 1},
    {"ne", OPERAND_NONE, 2, 1},      {"lt", OPERAND_NONE, 2, 1},
    {"le", OPERAND_NONE, 2, 1},      {"gt", OPERAND_NONE, 2, 1},
    {"ge", OPERAND_NONE, 2, 1},      {"jmp", OPERAND_LABEL, 0, 0},
    {"jz", OPERAND_LABEL, 1, 0},     {"jnz", OPERAND_LABEL, 1, 0},
    {"call", OPERAND_LABEL, 0, 1},   {"ret", OPERAND_NONE, 1, 0},
    {"enter", OPERAND_NUMBER, 0, 0}, {"lget", OPERAND_LOCAL, 0, 1},
    {"lset", OPERAND_LOCAL, 1, 0},   {"load", OPERAND_NUMBER, 0, 1},
    {"store", OPERAND_NUMBER, 1, 0}, {"ldx", OPERAND_NONE, 1, 1},
    {"stx", OPERAND_NONE, 2, 0},     {"print", OPERAND_NONE, 1, 0},
    {"emit", OPERAND_NONE, 1, 0},    {"addi", OPERAND_NUMBER, 1, 1},
    {"muli", OPERAND_NUMBER, 1, 1},  {"linc", OPERAND_LOCAL, 0, 0},
    {"jlt", OPERAND_LABEL, 2, 0},    {"jge", OPERAND_LABEL, 2, 0},
    {"ldxat", OPERAND_NUMBER, 1, 1},
};

typedef struct {
  Opcode op;
  int extra;  // arguments of a call, or the local slot of LINC
  int line;
  int64_t operand;
} Instruction;

typedef struct {
  char name[kMaxName];
  int64_t value;
  bool is_label;
  bool defined;
} Symbol;

typedef struct {
  char name[kMaxName];
  int repeat;
  Instruction code[kMaxCode];
  int code_count;
  Symbol symbols[kMaxSymbols];
  int symbol_count;
  int64_t memory[kMemoryCells];
  int memory_used;
  int errors;
  int line;
} Program;

// ---------------------------------------------------------------------------------------------
// Assembler.

static void complain(Program *program, const char *message, const char *detail) {
  if (++program->errors <= 5) printf("  line %d: %s %s\n", program->line, message, detail);
}

// Returns the index of a symbol, which is added if it is new.
static int find_symbol(Program *program, const char *name) {
  for (int i = 0; i < program->symbol_count; ++i) {
    if (strcmp(program->symbols[i].name, name) == 0) return i;
  }
  if (program->symbol_count == kMaxSymbols || strlen(name) >= kMaxName) {
    complain(program, "bad symbol", name);
    return 0;
  }
  strcpy(program->symbols[program->symbol_count].name, name);
  return program->symbol_count++;
}

static void define(Program *program, const char *name, int64_t value, bool is_label) {
  Symbol *symbol = &program->symbols[find_symbol(program, name)];
  if (symbol->defined) complain(program, "defined twice:", name);
  symbol->defined = true;
  symbol->is_label = is_label;
  symbol->value = value;
}

// Decimal or 0x numbers that fit into 63 bits.
static bool parse_number(const char *text, int64_t *value) {
  bool negative = *text == '-';
  if (negative) ++text;
  unsigned base = text[0] == '0' && text[1] == 'x' ? 16 : 10;
  if (base == 16) text += 2;
  uint64_t result = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    unsigned digit = 99;
    if (*text >= '0' && *text <= '9') digit = (unsigned)(*text - '0');
    if (*text >= 'a' && *text <= 'f') digit = (unsigned)(*text - 'a') + 10;
    if (digit >= base || result > ((uint64_t)INT64_MAX - digit) / base) return false;
    result = result * base + digit;
  }
  *value = negative ? -(int64_t)result : (int64_t)result;
  return true;
}

static char *next_word(char **rest) {
  char *word = *rest + strspn(*rest, " \t\r\n");
  char *end = word + strcspn(word, " \t\r\n");
  *rest = *end != '\0' ? end + 1 : end;
  *end = '\0';
  return word;
}

static void assemble_data(Program *program, char *rest, bool space) {
  const char *name = next_word(&rest);
  int64_t value = 0;
  define(program, name, program->memory_used, false);
  for (char *word = next_word(&rest); *word != '\0'; word = next_word(&rest)) {
    if (!parse_number(word, &value)) {
      complain(program, "bad number", word);
      return;
    }
    int64_t cells = space ? value : 1;
    if (cells < 0 || cells > kMemoryCells - program->memory_used) {
      complain(program, "out of memory cells:", name);
      return;
    }
    if (!space) program->memory[program->memory_used] = value;
    program->memory_used += (int)cells;
    if (space) return;
  }
}

// Symbols are resolved when all lines have been read; until then OPERAND is the symbol's index.
static void assemble_instruction(Program *program, const char *name, char *rest) {
  int op = 0;
  while (op < OP_ADDI && strcmp(kOps[op].name, name) != 0) ++op;
  if (op == OP_ADDI || program->code_count == kMaxCode) {
    complain(program, op == OP_ADDI ? "unknown instruction" : "program too long at", name);
    return;
  }
  Instruction *at = &program->code[program->code_count++];
  *at = (Instruction){.op = (Opcode)op, .extra = -1, .line = program->line};
  const char *word = next_word(&rest);
  if (kOps[op].operand == OPERAND_NONE) {
    if (*word != '\0') complain(program, "operand not wanted:", word);
  } else if (*word == '\0') {
    complain(program, "operand missing:", name);
  } else if (kOps[op].operand == OPERAND_LABEL || !parse_number(word, &at->operand)) {
    at->operand = find_symbol(program, word);
    at->extra = -2;  // still a symbol
  }
  if (op == OP_CALL) {
    int64_t arguments;
    if (!parse_number(next_word(&rest), &arguments) || arguments < 0 || arguments > 9) {
      complain(program, "number of arguments expected:", word);
    } else {
      at->extra = -3 - (int)arguments;
    }
  }
}

static void resolve(Program *program) {
  for (int i = 0; i < program->code_count && program->errors == 0; ++i) {
    Instruction *at = &program->code[i];
    program->line = at->line;
    bool wants_label = kOps[at->op].operand == OPERAND_LABEL;
    if (at->extra < -1) {
      const Symbol *symbol = &program->symbols[at->operand];
      if (!symbol->defined || symbol->is_label != wants_label) {
        complain(program, "undefined:", symbol->name);
        return;
      }
      at->extra = at->op == OP_CALL ? -3 - at->extra : 0;
      at->operand = symbol->value;
    }
    bool address = at->op == OP_LOAD || at->op == OP_STORE;
    bool small = kOps[at->op].operand == OPERAND_LOCAL || at->op == OP_ENTER;
    if (address && (at->operand < 0 || at->operand >= kMemoryCells)) {
      complain(program, "bad address:", kOps[at->op].name);
    } else if (small && (at->operand < 0 || at->operand > 30)) {
      complain(program, "bad slot:", kOps[at->op].name);
    } else if (wants_label && at->operand >= program->code_count) {
      complain(program, "label at the end:", kOps[at->op].name);
    }
  }
}

static void assemble_line(Program *program, char *line) {
  line[strcspn(line, ";\n")] = '\0';
  char *word = next_word(&line);
  size_t length = strlen(word);
  if (length > 1 && word[length - 1] == ':') {
    word[length - 1] = '\0';
    define(program, word, program->code_count, true);
    word = next_word(&line);
  }
  if (*word == '\0') return;
  if (strcmp(word, ".space") == 0 || strcmp(word, ".data") == 0) {
    assemble_data(program, line, word[1] == 's');
  } else {
    assemble_instruction(program, word, line);
  }
}

// ---------------------------------------------------------------------------------------------
// Verifier: follows all paths and checks that each instruction always finds the same number of
// operands on the stack of its function, and uses only locals that exist.

typedef struct {
  int depth[kMaxCode];   // -1: not reached yet
  int locals[kMaxCode];  // number of local slots
  int queue[kMaxCode];
  int queued;
} Verifier;

static bool reach(Verifier *verifier, int at, int depth, int locals) {
  if (verifier->depth[at] < 0) {
    verifier->depth[at] = depth;
    verifier->locals[at] = locals;
    verifier->queue[verifier->queued++] = at;
    return true;
  }
  return verifier->depth[at] == depth && verifier->locals[at] == locals;
}

static bool ends_path(Opcode op) { return op == OP_HALT || op == OP_RET || op == OP_JMP; }

static bool is_jump(Opcode op) {
  return op == OP_JMP || op == OP_JZ || op == OP_JNZ || op == OP_JLT || op == OP_JGE;
}

static const char *verify_one(const Program *program, Verifier *verifier, int i) {
  const Instruction *at = &program->code[i];
  int depth = verifier->depth[i];
  int locals = verifier->locals[i];
  int pops = at->op == OP_CALL ? at->extra : kOps[at->op].pops;
  if (depth < pops) return "stack underflow";
  depth += kOps[at->op].pushes - pops;
  bool local = kOps[at->op].operand == OPERAND_LOCAL;
  if (local && (at->op == OP_LINC ? at->extra : at->operand) >= locals) return "no such local";
  if (at->op == OP_ENTER) {
    if (depth > 0) return "enter above operands";
    locals += (int)at->operand;
  }
  if (at->op == OP_CALL && !reach(verifier, (int)at->operand, 0, at->extra)) {
    return "callers disagree";
  }
  if (is_jump(at->op) && !reach(verifier, (int)at->operand, depth, locals)) {
    return "paths disagree";
  }
  if (ends_path(at->op)) return NULL;
  if (i + 1 >= program->code_count) return "runs off the end";
  return reach(verifier, i + 1, depth, locals) ? NULL : "paths disagree";
}

static bool verify(const Program *program, Verifier *verifier) {
  for (int i = 0; i < program->code_count; ++i) verifier->depth[i] = -1;
  verifier->queued = 0;
  if (program->code_count == 0) {
    printf("  empty program\n");
    return false;
  }
  reach(verifier, 0, 0, 0);
  for (int next = 0; next < verifier->queued; ++next) {
    const char *error = verify_one(program, verifier, verifier->queue[next]);
    if (error != NULL) {
      printf("  line %d: %s\n", program->code[verifier->queue[next]].line, error);
      return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// Peephole optimiser.

static Instruction make(Opcode op, int64_t operand, int extra, int line) {
  return (Instruction){op, extra, line, operand};
}

// Looks at COUNT instructions that no jump enters in the middle; returns how many of them
// RESULT replaces, 0 for none.
static int fuse(const Instruction *at, int count, Instruction *result) {
  if (count >= 4 && at[0].op == OP_LGET && at[1].op == OP_PUSH && at[2].op == OP_ADD &&
      at[3].op == OP_LSET && at[0].operand == at[3].operand) {
    *result = make(OP_LINC, at[1].operand, (int)at[0].operand, at[0].line);
    return 4;
  }
  if (count >= 3 && at[0].op == OP_PUSH && at[1].op == OP_ADD && at[2].op == OP_LDX) {
    *result = make(OP_LDX_AT, at[0].operand, 0, at[0].line);
    return 3;
  }
  if (count < 2) return 0;
  if (at[0].op == OP_PUSH && (at[1].op == OP_ADD || at[1].op == OP_MUL)) {
    *result = make(at[1].op == OP_ADD ? OP_ADDI : OP_MULI, at[0].operand, 0, at[0].line);
    return 2;
  }
  if (at[0].op == OP_PUSH && at[1].op == OP_SUB && at[0].operand != INT64_MIN) {
    *result = make(OP_ADDI, -at[0].operand, 0, at[0].line);
    return 2;
  }
  bool less = at[0].op == OP_LT;
  if ((less || at[0].op == OP_GE) && (at[1].op == OP_JZ || at[1].op == OP_JNZ)) {
    // Jumping when the comparison fails means jumping on the opposite one.
    Opcode op = less == (at[1].op == OP_JNZ) ? OP_JLT : OP_JGE;
    *result = make(op, at[1].operand, 0, at[0].line);
    return 2;
  }
  return 0;
}

// A jump to an unconditional jump goes to the final target at once.
static int64_t thread_target(const Program *program, int64_t target) {
  for (int hops = 0; hops < 8 && program->code[target].op == OP_JMP; ++hops) {
    target = program->code[target].operand;
  }
  return target;
}

static bool has_target(const Instruction *at) { return is_jump(at->op) || at->op == OP_CALL; }

// Writes the optimised form of SOURCE; instructions that are never reached are left out.
static void optimise(const Program *source, const Verifier *verifier, Program *result) {
  bool target[kMaxCode + 1] = {false};
  int moved[kMaxCode + 1];
  *result = *source;
  result->code_count = 0;
  for (int i = 0; i < source->code_count; ++i) {
    const Instruction *at = &source->code[i];
    if (verifier->depth[i] < 0 || !has_target(at)) continue;
    target[is_jump(at->op) ? thread_target(source, at->operand) : at->operand] = true;
  }
  for (int i = 0; i < source->code_count;) {
    int count = 1;
    while (count < 4 && i + count < source->code_count && !target[i + count]) ++count;
    moved[i] = result->code_count;
    if (verifier->depth[i] < 0) {
      ++i;
      continue;
    }
    Instruction *out = &result->code[result->code_count++];
    int used = fuse(&source->code[i], count, out);
    if (used == 0) {
      *out = source->code[i];
      used = 1;
    }
    i += used;
  }
  for (int i = 0; i < result->code_count; ++i) {
    Instruction *at = &result->code[i];
    if (!has_target(at)) continue;
    int64_t old = is_jump(at->op) ? thread_target(source, at->operand) : at->operand;
    at->operand = moved[old];
  }
}

// ---------------------------------------------------------------------------------------------
// Interpreter.

typedef struct {
  int return_to;
  int base;  // of the locals of the caller
} Frame;

typedef struct {
  int64_t stack[kStackCells];
  int64_t memory[kMemoryCells];
  Frame frames[kMaxFrames];
  uint32_t counts[OP_COUNT];
  char output[kMaxOutput + 32];
  size_t output_length;
  uint64_t output_hash;  // also of what did not fit
  int64_t steps;
  const char *fault;
} Machine;

static int64_t wrap(uint64_t value) {
  return value <= (uint64_t)INT64_MAX ? (int64_t)value : -(int64_t)(~value) - 1;
}

static void write_output(Machine *machine, const char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i < length; ++i) {
    machine->output_hash =
        (machine->output_hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
  }
  if (machine->output_length + length > kMaxOutput) return;
  memcpy(machine->output + machine->output_length, text, length + 1);
  machine->output_length += length;
}

static void print_number(Machine *machine, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64 " ", value);
  write_output(machine, text);
}

static void emit_char(Machine *machine, int64_t value) {
  char text[2] = {(char)(value >= 32 && value < 127 ? value : '?'), '\0'};
  write_output(machine, text);
}

static int64_t divide(Machine *machine, int64_t a, int64_t b, bool remainder) {
  if (b == 0) {
    machine->fault = "division by zero";
    return 0;
  }
  if (b == -1) return remainder ? 0 : wrap(0 - (uint64_t)a);
  return remainder ? a % b : a / b;
}

static int64_t binary(Machine *machine, Opcode op, int64_t a, int64_t b) {
  uint64_t ua = (uint64_t)a;
  uint64_t ub = (uint64_t)b;
  switch (op) {
    case OP_ADD: return wrap(ua + ub);
    case OP_SUB: return wrap(ua - ub);
    case OP_MUL: return wrap(ua * ub);
    case OP_DIV: return divide(machine, a, b, false);
    case OP_MOD: return divide(machine, a, b, true);
    case OP_AND: return wrap(ua & ub);
    case OP_OR: return wrap(ua | ub);
    case OP_XOR: return wrap(ua ^ ub);
    case OP_SHL: return wrap(ua << (ub & 63));
    case OP_SHR: return wrap(ua >> (ub & 63));
    case OP_EQ: return a == b;
    case OP_NE: return a != b;
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_GT: return a > b;
    default: return a >= b;
  }
}

static bool bad_address(Machine *machine, int64_t address) {
  if (address >= 0 && address < kMemoryCells) return false;
  machine->fault = "bad address";
  return true;
}

static int64_t fetch(Machine *machine, int64_t address) {
  return bad_address(machine, address) ? 0 : machine->memory[address];
}

// The verifier has made sure of the stack inside each function; only its size is checked here.
static void run(const Program *program, Machine *machine) {
  int64_t *stack = machine->stack;
  int pc = 0;
  int top = 0;  // the first free cell
  int base = 0;
  int frame = 0;
  memcpy(machine->memory, program->memory, sizeof machine->memory);
  machine->fault = NULL;
  machine->steps = 0;
  while (machine->fault == NULL) {
    const Instruction *at = &program->code[pc++];
    ++machine->counts[at->op];
    if (++machine->steps > kMaxSteps) machine->fault = "too many steps";
    switch (at->op) {
      case OP_HALT: return;
      case OP_PUSH: stack[top++] = at->operand; break;
      case OP_POP: --top; break;
      case OP_DUP:
        stack[top] = stack[top - 1];
        ++top;
        break;
      case OP_SWAP: {
        int64_t value = stack[top - 1];
        stack[top - 1] = stack[top - 2];
        stack[top - 2] = value;
        break;
      }
      case OP_OVER:
        stack[top] = stack[top - 2];
        ++top;
        break;
      case OP_NEG: stack[top - 1] = wrap(0 - (uint64_t)stack[top - 1]); break;
      case OP_JMP: pc = (int)at->operand; break;
      case OP_JZ:
        if (stack[--top] == 0) pc = (int)at->operand;
        break;
      case OP_JNZ:
        if (stack[--top] != 0) pc = (int)at->operand;
        break;
      case OP_JLT:
        top -= 2;
        if (stack[top] < stack[top + 1]) pc = (int)at->operand;
        break;
      case OP_JGE:
        top -= 2;
        if (stack[top] >= stack[top + 1]) pc = (int)at->operand;
        break;
      case OP_CALL:
        // Room for the whole stack of the function, which is never deeper than its code.
        if (frame == kMaxFrames || top + 64 > kStackCells) {
          machine->fault = "too many calls";
          break;
        }
        machine->frames[frame++] = (Frame){pc, base};
        base = top - at->extra;
        pc = (int)at->operand;
        break;
      case OP_RET: {
        if (frame == 0) {
          machine->fault = "return without call";
          break;
        }
        int64_t value = stack[top - 1];
        top = base;
        stack[top++] = value;
        --frame;
        base = machine->frames[frame].base;
        pc = machine->frames[frame].return_to;
        break;
      }
      case OP_ENTER:
        for (int i = 0; i < at->operand; ++i) stack[top++] = 0;
        break;
      case OP_LGET: stack[top++] = stack[base + at->operand]; break;
      case OP_LSET: stack[base + at->operand] = stack[--top]; break;
      case OP_LINC:
        stack[base + at->extra] =
            wrap((uint64_t)stack[base + at->extra] + (uint64_t)at->operand);
        break;
      case OP_LOAD: stack[top++] = machine->memory[at->operand]; break;
      case OP_STORE: machine->memory[at->operand] = stack[--top]; break;
      case OP_LDX: stack[top - 1] = fetch(machine, stack[top - 1]); break;
      case OP_LDX_AT:
        stack[top - 1] = fetch(machine, wrap((uint64_t)stack[top - 1] + (uint64_t)at->operand));
        break;
      case OP_STX:
        top -= 2;
        if (!bad_address(machine, stack[top])) machine->memory[stack[top]] = stack[top + 1];
        break;
      case OP_ADDI:
        stack[top - 1] = wrap((uint64_t)stack[top - 1] + (uint64_t)at->operand);
        break;
      case OP_MULI:
        stack[top - 1] = wrap((uint64_t)stack[top - 1] * (uint64_t)at->operand);
        break;
      case OP_PRINT: print_number(machine, stack[--top]); break;
      case OP_EMIT: emit_char(machine, stack[--top]); break;
      default:
        --top;
        stack[top - 1] = binary(machine, at->op, stack[top - 1], stack[top]);
        break;
    }
    if (top + 34 > kStackCells) machine->fault = "stack overflow";
  }
}

// ---------------------------------------------------------------------------------------------
// The driver.

typedef struct {
  Program source;
  Program optimised;
  Verifier verifier;
  Machine machine;
} Workshop;

static uint64_t hash_memory(const Machine *machine, int cells) {
  uint64_t hash = machine->output_hash;
  for (int i = 0; i < cells; ++i) {
    hash = (hash ^ (uint64_t)machine->memory[i]) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 29;
  }
  return hash;
}

// Runs PROGRAM several times; the returned hash covers output and memory of the last run.
static uint64_t run_repeatedly(const Program *program, Machine *machine, int repeat) {
  memset(machine, 0, sizeof *machine);
  do {
    machine->output_length = 0;
    machine->output[0] = '\0';
    machine->output_hash = UINT64_C(14695981039346656037);
    run(program, machine);
  } while (--repeat > 0);
  return hash_memory(machine, program->memory_used);
}

static void print_busiest(const Machine *machine) {
  bool shown[OP_COUNT] = {false};
  printf("  busiest:");
  for (int rank = 0; rank < 4; ++rank) {
    int best = -1;
    for (int op = 0; op < OP_COUNT; ++op) {
      if (shown[op] || machine->counts[op] == 0) continue;
      if (best < 0 || machine->counts[op] > machine->counts[best]) best = op;
    }
    if (best < 0) break;
    shown[best] = true;
    printf(" %s %" PRIu32, kOps[best].name, machine->counts[best]);
  }
  printf("\n");
}

static void execute(Workshop *shop) {
  Program *program = &shop->source;
  printf("%s\n", program->name);
  if (program->errors == 0) resolve(program);
  if (program->errors > 0 || !verify(program, &shop->verifier)) return;
  optimise(program, &shop->verifier, &shop->optimised);
  uint64_t plain = run_repeatedly(program, &shop->machine, program->repeat);
  int64_t plain_steps = shop->machine.steps;
  const char *plain_fault = shop->machine.fault;
  uint64_t fast = run_repeatedly(&shop->optimised, &shop->machine, program->repeat);
  printf("  %s\n", shop->machine.output);
  if (shop->machine.fault != NULL) printf("  fault: %s\n", shop->machine.fault);
  // A run that is stopped for its length stops elsewhere when it is optimised.
  bool same = plain == fast || plain_steps > kMaxSteps;
  if ((plain_fault == NULL) != (shop->machine.fault == NULL)) same = false;
  printf("  code %d -> %d, steps %" PRId64 " -> %" PRId64 ", hash %016" PRIx64 "%s\n",
         program->code_count, shop->optimised.code_count, plain_steps, shop->machine.steps,
         fast, same ? "" : " DIFFERENT");
  print_busiest(&shop->machine);
}

static void start_program(Program *program, char *rest, int line) {
  int64_t repeat = 1;
  memset(program, 0, sizeof *program);
  program->line = line;
  snprintf(program->name, sizeof program->name, "%s", next_word(&rest));
  if (!parse_number(next_word(&rest), &repeat) || repeat < 1 || repeat > 100000) {
    complain(program, "bad repeat count of", program->name);
  }
  program->repeat = (int)repeat;
}

int main(void) {
  Workshop *shop = calloc(1, sizeof *shop);
  if (shop == NULL) {
    printf("out of memory\n");
    return 1;
  }
  char line[kMaxLine];
  int number = 0;
  bool open = false;
  while (fgets(line, sizeof line, stdin) != NULL) {
    ++number;
    char *rest = line;
    if (!open) {
      const char *word = next_word(&rest);
      if (strcmp(word, "program") == 0) {
        start_program(&shop->source, rest, number);
        open = true;
      } else if (*word != '\0' && *word != ';') {
        printf("line %d: program expected, found %s\n", number, word);
      }
      continue;
    }
    shop->source.line = number;
    if (strncmp(line, "end", 3) == 0 && strchr("\r\n", line[3]) != NULL) {
      execute(shop);
      open = false;
    } else {
      assemble_line(&shop->source, line);
    }
  }
  if (open) printf("line %d: end expected\n", number);
  free(shop);
  return 0;
}
