// Regular expressions three ways: Thompson's simulation of an NFA (leftmost longest match), a
// backtracking matcher (leftmost, first by priority) and a DFA built on demand. Input:
// "repeat N", "limit STEPS", "= PATTERN" lines, each followed by "> TEXT" lines to try. Syntax:
// . [a-z] [^a] \d \w \s \b ^ $ | () * + ? {m,n} and the lazy forms *? +? ??.

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxLine = 400,
  kMaxNodes = 600,
  kMaxCode = 1500,
  kMaxSets = 64,
  kMaxMarks = 64,
  kMaxNesting = 50,
  kMaxCount = 100,
  kMaxStates = 64,
  kUnlimited = -1,
  kStepLimit = 10000,
};

typedef struct {
  uint64_t words[4];
} CharSet;

static void set_add_range(CharSet *set, int low, int high) {
  for (int c = low; c <= high; ++c) set->words[c >> 6] |= UINT64_C(1) << (c & 63);
}

static bool set_has(const CharSet *set, unsigned char c) {
  return (set->words[c >> 6] >> (c & 63) & 1) != 0;
}

static void set_merge(CharSet *set, const CharSet *other) {
  for (int i = 0; i < 4; ++i) set->words[i] |= other->words[i];
}

static void set_invert(CharSet *set) {
  for (int i = 0; i < 4; ++i) set->words[i] = ~set->words[i];
}

// ---------------------------------------------------------------------------------------------
// Syntax tree.

typedef enum {
  NODE_EMPTY,
  NODE_CHAR,
  NODE_SET,
  NODE_BEGIN,
  NODE_END,
  NODE_WORD_EDGE,
  NODE_SEQUENCE,
  NODE_CHOICE,
  NODE_REPEAT,
} NodeKind;

typedef struct {
  NodeKind kind;
  int a, b;  // children
  int low, high;
  int value;  // a character, or the number of a set
  bool lazy;
  bool nullable;
} Node;

typedef enum {
  OP_CHAR,
  OP_SET,
  OP_SPLIT,  // tries X before Y
  OP_JUMP,
  OP_BEGIN,
  OP_END,
  OP_WORD_EDGE,
  OP_MARK,   // remembers the position at the start of a loop body
  OP_CHECK,  // fails if the loop body has not consumed anything
  OP_MATCH,
} Opcode;

typedef struct {
  Opcode op;
  int x, y;
} Instruction;

typedef struct {
  const char *at;
  const char *error;
  int nesting;
  Node nodes[kMaxNodes];
  int node_count;
  CharSet sets[kMaxSets];
  int set_count;
  Instruction code[kMaxCode];
  int code_count;
  int mark_count;
  bool has_assertions;
  CharSet first;       // the characters a match can start with
  bool matches_empty;  // then FIRST says nothing
} Regex;

static int syntax_error(Regex *regex, const char *message) {
  if (regex->error == NULL) regex->error = message;
  return 0;
}

static int new_node(Regex *regex, NodeKind kind, int a, int b) {
  if (regex->node_count == kMaxNodes) return syntax_error(regex, "pattern too large");
  Node *node = &regex->nodes[regex->node_count];
  *node = (Node){.kind = kind, .a = a, .b = b};
  switch (kind) {
    case NODE_CHAR:
    case NODE_SET: node->nullable = false; break;
    case NODE_SEQUENCE:
      node->nullable = regex->nodes[a].nullable && regex->nodes[b].nullable;
      break;
    case NODE_CHOICE:
      node->nullable = regex->nodes[a].nullable || regex->nodes[b].nullable;
      break;
    default: node->nullable = true; break;
  }
  return regex->node_count++;
}

static int new_set_node(Regex *regex, const CharSet *set) {
  if (regex->set_count == kMaxSets) return syntax_error(regex, "too many sets");
  int node = new_node(regex, NODE_SET, 0, 0);
  regex->nodes[node].value = regex->set_count;
  regex->sets[regex->set_count++] = *set;
  return node;
}

// Adds the set that \d, \w or \s stands for (inverted for the capital letter).
static bool add_named_set(CharSet *set, char letter) {
  CharSet named = {{0}};
  switch (letter) {
    case 'd':
    case 'D': set_add_range(&named, '0', '9'); break;
    case 'w':
    case 'W':
      set_add_range(&named, '0', '9');
      set_add_range(&named, 'A', 'Z');
      set_add_range(&named, 'a', 'z');
      set_add_range(&named, '_', '_');
      break;
    case 's':
    case 'S':
      set_add_range(&named, '\t', '\r');
      set_add_range(&named, ' ', ' ');
      break;
    default: return false;
  }
  if (letter < 'a') set_invert(&named);
  set_merge(set, &named);
  return true;
}

static unsigned char escaped_char(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    default: return (unsigned char)c;
  }
}

static int parse_class(Regex *regex) {
  CharSet set = {{0}};
  bool inverted = *regex->at == '^';
  if (inverted) ++regex->at;
  bool first = true;
  while (*regex->at != ']' || first) {
    first = false;
    if (*regex->at == '\0') return syntax_error(regex, "missing ]");
    unsigned char low = (unsigned char)*regex->at++;
    if (low == '\\') {
      if (*regex->at == '\0') return syntax_error(regex, "trailing backslash");
      char letter = *regex->at++;
      if (add_named_set(&set, letter)) continue;
      low = escaped_char(letter);
    }
    unsigned char high = low;
    if (regex->at[0] == '-' && regex->at[1] != ']' && regex->at[1] != '\0') {
      high = (unsigned char)regex->at[1];
      regex->at += 2;
      if (high == '\\') high = escaped_char(*regex->at != '\0' ? *regex->at++ : '\\');
      if (high < low) return syntax_error(regex, "range out of order");
    }
    set_add_range(&set, low, high);
  }
  ++regex->at;
  if (inverted) set_invert(&set);
  return new_set_node(regex, &set);
}

static int parse_choice(Regex *regex);

static int parse_escape(Regex *regex) {
  CharSet set = {{0}};
  char letter = *regex->at;
  if (letter == '\0') return syntax_error(regex, "trailing backslash");
  ++regex->at;
  if (letter == 'b') return new_node(regex, NODE_WORD_EDGE, 0, 0);
  if (add_named_set(&set, letter)) return new_set_node(regex, &set);
  int node = new_node(regex, NODE_CHAR, 0, 0);
  regex->nodes[node].value = escaped_char(letter);
  return node;
}

static int parse_atom(Regex *regex) {
  char c = *regex->at++;
  switch (c) {
    case '(': {
      if (++regex->nesting > kMaxNesting) return syntax_error(regex, "nested too deeply");
      int inner = parse_choice(regex);
      --regex->nesting;
      if (*regex->at != ')') return syntax_error(regex, "missing )");
      ++regex->at;
      return inner;
    }
    case '[': return parse_class(regex);
    case '\\': return parse_escape(regex);
    case '.': {
      CharSet set = {{0}};
      set_add_range(&set, '\n', '\n');
      set_invert(&set);
      return new_set_node(regex, &set);
    }
    case '^': return new_node(regex, NODE_BEGIN, 0, 0);
    case '$': return new_node(regex, NODE_END, 0, 0);
    case '*':
    case '+':
    case '?':
    case '{': return syntax_error(regex, "nothing to repeat");
    default: {
      int node = new_node(regex, NODE_CHAR, 0, 0);
      regex->nodes[node].value = (unsigned char)c;
      return node;
    }
  }
}

static int parse_count(Regex *regex) {
  if (*regex->at < '0' || *regex->at > '9') return kUnlimited;
  int value = 0;
  while (*regex->at >= '0' && *regex->at <= '9' && value <= kMaxCount) {
    value = value * 10 + (*regex->at++ - '0');
  }
  if (value > kMaxCount) syntax_error(regex, "count too large");
  return value;
}

static void parse_bounds(Regex *regex, int *low, int *high) {
  *low = parse_count(regex);
  *high = *low;
  if (*low == kUnlimited) syntax_error(regex, "count expected");
  if (*regex->at == ',') {
    ++regex->at;
    *high = parse_count(regex);
  }
  if (*regex->at != '}') {
    syntax_error(regex, "missing }");
    return;
  }
  ++regex->at;
  if (*high != kUnlimited && *high < *low) syntax_error(regex, "counts out of order");
}

static int parse_repeat(Regex *regex) {
  int node = parse_atom(regex);
  while (regex->error == NULL) {
    int low = 0;
    int high = kUnlimited;
    char c = *regex->at;
    if (c != '*' && c != '+' && c != '?' && c != '{') break;
    ++regex->at;
    if (c == '+') low = 1;
    if (c == '?') high = 1;
    if (c == '{') parse_bounds(regex, &low, &high);
    int body = node;
    node = new_node(regex, NODE_REPEAT, body, 0);
    regex->nodes[node].low = low;
    regex->nodes[node].high = high;
    regex->nodes[node].nullable = low == 0 || regex->nodes[body].nullable;
    regex->nodes[node].lazy = *regex->at == '?';
    if (*regex->at == '?') ++regex->at;
  }
  return node;
}

static int parse_sequence(Regex *regex) {
  int node = -1;
  while (regex->error == NULL && *regex->at != '\0' && *regex->at != '|' && *regex->at != ')') {
    int next = parse_repeat(regex);
    node = node < 0 ? next : new_node(regex, NODE_SEQUENCE, node, next);
  }
  return node < 0 ? new_node(regex, NODE_EMPTY, 0, 0) : node;
}

static int parse_choice(Regex *regex) {
  int node = parse_sequence(regex);
  while (regex->error == NULL && *regex->at == '|') {
    ++regex->at;
    int next = parse_sequence(regex);
    node = new_node(regex, NODE_CHOICE, node, next);
  }
  return node;
}

// ---------------------------------------------------------------------------------------------
// Code generation.

static int emit(Regex *regex, Opcode op, int x, int y) {
  if (regex->code_count == kMaxCode) {
    syntax_error(regex, "pattern too large");
    return kMaxCode - 1;
  }
  regex->code[regex->code_count] = (Instruction){op, x, y};
  return regex->code_count++;
}

// Sets the two targets of a split; a lazy one prefers to leave.
static void aim_split(Regex *regex, int split, int body, int leave, bool lazy) {
  regex->code[split].x = lazy ? leave : body;
  regex->code[split].y = lazy ? body : leave;
}

static void generate(Regex *regex, int index);

static void generate_star(Regex *regex, const Node *node) {
  int split = emit(regex, OP_SPLIT, 0, 0);
  bool guard = regex->nodes[node->a].nullable;
  int mark = regex->mark_count;
  if (guard) {
    if (mark == kMaxMarks) syntax_error(regex, "too many loops");
    ++regex->mark_count;
    emit(regex, OP_MARK, mark, 0);
  }
  generate(regex, node->a);
  if (guard) emit(regex, OP_CHECK, mark, 0);
  emit(regex, OP_JUMP, split, 0);
  aim_split(regex, split, split + 1, regex->code_count, node->lazy);
}

static void generate_repeat(Regex *regex, const Node *node) {
  bool endless = node->high == kUnlimited;
  bool short_plus = endless && node->low > 0 && !regex->nodes[node->a].nullable;
  int copies = short_plus ? node->low - 1 : node->low;
  for (int i = 0; i < copies && regex->error == NULL; ++i) generate(regex, node->a);
  if (short_plus) {
    int start = regex->code_count;
    generate(regex, node->a);
    int split = emit(regex, OP_SPLIT, 0, 0);
    aim_split(regex, split, start, split + 1, node->lazy);
  } else if (endless) {
    generate_star(regex, node);
  } else {
    int splits[kMaxCount];
    int count = 0;
    for (int i = node->low; i < node->high && regex->error == NULL; ++i) {
      splits[count++] = emit(regex, OP_SPLIT, 0, 0);
      generate(regex, node->a);
    }
    for (int i = 0; i < count; ++i) {
      aim_split(regex, splits[i], splits[i] + 1, regex->code_count, node->lazy);
    }
  }
}

static void generate(Regex *regex, int index) {
  const Node *node = &regex->nodes[index];
  if (regex->error != NULL) return;
  switch (node->kind) {
    case NODE_EMPTY: break;
    case NODE_CHAR: emit(regex, OP_CHAR, node->value, 0); break;
    case NODE_SET: emit(regex, OP_SET, node->value, 0); break;
    case NODE_BEGIN:
    case NODE_END:
    case NODE_WORD_EDGE:
      regex->has_assertions = true;
      emit(regex,
           node->kind == NODE_BEGIN ? OP_BEGIN
           : node->kind == NODE_END ? OP_END
                                    : OP_WORD_EDGE,
           0, 0);
      break;
    case NODE_SEQUENCE:
      generate(regex, node->a);
      generate(regex, node->b);
      break;
    case NODE_CHOICE: {
      int split = emit(regex, OP_SPLIT, 0, 0);
      generate(regex, node->a);
      int jump = emit(regex, OP_JUMP, 0, 0);
      aim_split(regex, split, split + 1, regex->code_count, false);
      generate(regex, node->b);
      regex->code[jump].x = regex->code_count;
      break;
    }
    case NODE_REPEAT: generate_repeat(regex, node); break;
  }
}

// Fills in FIRST by following everything that consumes nothing.
static void find_first(Regex *regex, int pc, bool *visited) {
  while (!visited[pc]) {
    visited[pc] = true;
    const Instruction *at = &regex->code[pc];
    switch (at->op) {
      case OP_CHAR: set_add_range(&regex->first, at->x, at->x); return;
      case OP_SET: set_merge(&regex->first, &regex->sets[at->x]); return;
      case OP_MATCH: regex->matches_empty = true; return;
      case OP_JUMP: pc = at->x; break;
      case OP_SPLIT:
        find_first(regex, at->x, visited);
        pc = at->y;
        break;
      default: ++pc; break;
    }
  }
}

static bool compile(Regex *regex, const char *pattern) {
  bool visited[kMaxCode] = {false};
  memset(regex, 0, sizeof *regex);
  regex->at = pattern;
  int root = parse_choice(regex);
  if (*regex->at == ')') syntax_error(regex, "missing (");
  generate(regex, root);
  emit(regex, OP_MATCH, 0, 0);
  if (regex->error != NULL) return false;
  find_first(regex, 0, visited);
  return true;
}

// ---------------------------------------------------------------------------------------------
// Matching.

typedef struct {
  const char *text;
  int length;
} Subject;

typedef struct {
  int start;  // -1: no match
  int end;
} Span;

static bool is_word_char(const Subject *subject, int at) {
  if (at < 0 || at >= subject->length) return false;
  char c = subject->text[at];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool assertion_holds(Opcode op, const Subject *subject, int at) {
  switch (op) {
    case OP_BEGIN: return at == 0;
    case OP_END: return at == subject->length;
    default: return is_word_char(subject, at - 1) != is_word_char(subject, at);
  }
}

static bool consumes(const Regex *regex, const Instruction *at, unsigned char c) {
  return at->op == OP_CHAR ? at->x == c : set_has(&regex->sets[at->x], c);
}

// A set of program counters with cheap insertion, test and clearing.
typedef struct {
  int count;
  int dense[kMaxCode];
  int sparse[kMaxCode];
  int starts[kMaxCode];  // where the match of each thread began
} ThreadList;

static bool list_add(ThreadList *list, int pc, int start) {
  int slot = list->sparse[pc];
  if (slot < list->count && list->dense[slot] == pc) return false;
  list->sparse[pc] = list->count;
  list->dense[list->count] = pc;
  list->starts[list->count++] = start;
  return true;
}

// Adds PC and what it reaches without consuming; a NULL subject has no assertions to test.
static void follow(const Regex *regex, ThreadList *list, int pc, int start, int position,
                   const Subject *subject) {
  while (list_add(list, pc, start)) {
    const Instruction *at = &regex->code[pc];
    switch (at->op) {
      case OP_JUMP: pc = at->x; break;
      case OP_SPLIT:
        follow(regex, list, at->x, start, position, subject);
        pc = at->y;
        break;
      case OP_MARK:
      case OP_CHECK: ++pc; break;  // the set itself keeps empty loops finite
      case OP_BEGIN:
      case OP_END:
      case OP_WORD_EDGE:
        if (subject == NULL || !assertion_holds(at->op, subject, position)) return;
        ++pc;
        break;
      default: return;
    }
  }
}

typedef struct {
  ThreadList lists[2];
} Simulator;

static void note_match(Span *best, int start, int end) {
  if (best->start < 0 || start < best->start || (start == best->start && end > best->end)) {
    *best = (Span){start, end};
  }
}

// Threads that began earlier come first in the lists, so they win when two threads meet.
static Span simulate(const Regex *regex, Simulator *simulator, const Subject *subject) {
  ThreadList *now = &simulator->lists[0];
  ThreadList *next = &simulator->lists[1];
  Span best = {-1, -1};
  now->count = 0;
  for (int position = 0; position <= subject->length; ++position) {
    if (best.start < 0) follow(regex, now, 0, position, position, subject);
    next->count = 0;
    for (int i = 0; i < now->count; ++i) {
      const Instruction *at = &regex->code[now->dense[i]];
      int start = now->starts[i];
      if (at->op == OP_MATCH) {
        note_match(&best, start, position);
      } else if (at->op <= OP_SET && position < subject->length &&
                 consumes(regex, at, (unsigned char)subject->text[position])) {
        follow(regex, next, now->dense[i] + 1, start, position + 1, subject);
      }
    }
    ThreadList *swap = now;
    now = next;
    next = swap;
  }
  return best;
}

typedef struct {
  const Regex *regex;
  const Subject *subject;
  int steps;
  int limit;
  int end;
  int marks[kMaxMarks];
} Backtracker;

static bool backtrack(Backtracker *state, int pc, int position) {
  for (;;) {
    if (++state->steps > state->limit) return false;
    const Instruction *at = &state->regex->code[pc];
    switch (at->op) {
      case OP_CHAR:
      case OP_SET:
        if (position == state->subject->length) return false;
        if (!consumes(state->regex, at, (unsigned char)state->subject->text[position])) {
          return false;
        }
        ++position;
        ++pc;
        break;
      case OP_SPLIT:
        if (backtrack(state, at->x, position)) return true;
        if (state->steps > state->limit) return false;
        pc = at->y;
        break;
      case OP_JUMP: pc = at->x; break;
      case OP_MARK: {
        int old = state->marks[at->x];
        state->marks[at->x] = position;
        if (backtrack(state, pc + 1, position)) return true;
        state->marks[at->x] = old;
        return false;
      }
      case OP_CHECK:
        if (state->marks[at->x] == position) return false;
        ++pc;
        break;
      case OP_MATCH: state->end = position; return true;
      default:
        if (!assertion_holds(at->op, state->subject, position)) return false;
        ++pc;
        break;
    }
  }
}

// Returns {-1, -1} also when it ran out of steps; *STEPS then exceeds the limit.
static Span backtrack_search(const Regex *regex, const Subject *subject, int limit,
                             int *steps) {
  Backtracker state = {.regex = regex, .subject = subject, .limit = limit};
  Span span = {-1, -1};
  for (int start = 0; start <= subject->length && state.steps <= limit; ++start) {
    if (!regex->matches_empty) {
      if (start == subject->length) break;
      if (!set_has(&regex->first, (unsigned char)subject->text[start])) continue;
    }
    if (backtrack(&state, 0, start)) {
      span = (Span){start, state.end};
      break;
    }
  }
  *steps = state.steps;
  return span;
}

// ---------------------------------------------------------------------------------------------
// The DFA: a state is a sorted set of program counters.

typedef struct {
  uint32_t hash;
  bool accepting;
  int count;
  int *members;
  int16_t next[256];  // -1: not yet known
} DfaState;

typedef struct {
  const Regex *regex;
  Simulator *simulator;
  DfaState *states;
  int state_count;
  int flushes;
} Dfa;

static void dfa_clear(Dfa *dfa) {
  for (int i = 0; i < dfa->state_count; ++i) free(dfa->states[i].members);
  dfa->state_count = 0;
}

static void sort_numbers(int *numbers, int count) {
  for (int i = 1; i < count; ++i) {
    int value = numbers[i];
    int j = i;
    for (; j > 0 && numbers[j - 1] > value; --j) numbers[j] = numbers[j - 1];
    numbers[j] = value;
  }
}

// Finds or creates the state for the set in LIST.
static int dfa_intern(Dfa *dfa, const ThreadList *list) {
  int members[kMaxCode];
  int count = 0;
  bool accepting = false;
  uint32_t hash = 5381;
  for (int i = 0; i < list->count; ++i) {
    Opcode op = dfa->regex->code[list->dense[i]].op;
    if (op <= OP_SET) members[count++] = list->dense[i];
    if (op == OP_MATCH) accepting = true;
  }
  sort_numbers(members, count);
  for (int i = 0; i < count; ++i) hash = hash * 33 + (uint32_t)members[i];
  size_t size = (size_t)count * sizeof *members;
  for (int i = 0; i < dfa->state_count; ++i) {
    const DfaState *state = &dfa->states[i];
    if (state->hash == hash && state->count == count && state->accepting == accepting &&
        memcmp(state->members, members, size) == 0) {
      return i;
    }
  }
  if (dfa->state_count == kMaxStates) {
    dfa_clear(dfa);
    ++dfa->flushes;
  }
  DfaState *state = &dfa->states[dfa->state_count];
  state->members = malloc(size + sizeof *members);
  if (state->members == NULL) {
    printf("out of memory\n");
    exit(1);
  }
  memcpy(state->members, members, size);
  state->hash = hash;
  state->count = count;
  state->accepting = accepting;
  for (int c = 0; c < 256; ++c) state->next[c] = -1;
  return dfa->state_count++;
}

static int dfa_step(Dfa *dfa, int from, unsigned char c) {
  ThreadList *list = &dfa->simulator->lists[0];
  const DfaState *state = &dfa->states[from];
  list->count = 0;
  for (int i = 0; i < state->count; ++i) {
    int pc = state->members[i];
    if (consumes(dfa->regex, &dfa->regex->code[pc], c)) {
      follow(dfa->regex, list, pc + 1, 0, 0, NULL);
    }
  }
  follow(dfa->regex, list, 0, 0, 0, NULL);  // a match may begin anywhere
  int flushes = dfa->flushes;
  int to = dfa_intern(dfa, list);
  // After a flush the state we came from is gone.
  if (flushes == dfa->flushes) dfa->states[from].next[c] = (int16_t)to;
  return to;
}

// Counts the positions where some match ends.
static int dfa_count_ends(Dfa *dfa, const Subject *subject) {
  ThreadList *list = &dfa->simulator->lists[0];
  list->count = 0;
  follow(dfa->regex, list, 0, 0, 0, NULL);
  int current = dfa_intern(dfa, list);
  int ends = dfa->states[current].accepting;
  for (int i = 0; i < subject->length; ++i) {
    unsigned char c = (unsigned char)subject->text[i];
    int next = dfa->states[current].next[c];
    current = next >= 0 ? next : dfa_step(dfa, current, c);
    ends += dfa->states[current].accepting;
  }
  return ends;
}

// ---------------------------------------------------------------------------------------------
// The driver.

typedef struct {
  int repeat;
  int limit;
  int patterns;
  int texts;
  int matched;
  int gave_up;
  int disagreements;
  uint64_t checksum;
  bool usable;  // the current pattern compiled
  Regex regex;
  Simulator simulator;
  Dfa dfa;
} Session;

static void finish_pattern(Session *session) {
  if (!session->usable) return;
  if (!session->regex.has_assertions) {
    printf("  states %d, flushes %d\n", session->dfa.state_count, session->dfa.flushes);
  }
  dfa_clear(&session->dfa);
  session->usable = false;
}

static void start_pattern(Session *session, const char *pattern) {
  finish_pattern(session);
  ++session->patterns;
  session->usable = compile(&session->regex, pattern);
  printf("/%s/", pattern);
  if (!session->usable) {
    printf(" error at %d: %s\n", (int)(session->regex.at - pattern), session->regex.error);
    return;
  }
  printf(" %d instructions\n", session->regex.code_count);
  session->dfa.regex = &session->regex;
  session->dfa.simulator = &session->simulator;
  session->dfa.flushes = 0;
}

static void mix(Session *session, int value) {
  session->checksum = (session->checksum ^ (uint64_t)(int64_t)value) * UINT64_C(0x100000001B3);
}

static void print_span(const char *label, Span span) {
  if (span.start < 0) {
    printf(" %s none", label);
  } else {
    printf(" %s %d-%d", label, span.start, span.end);
  }
}

static void try_text(Session *session, const char *text) {
  if (!session->usable) return;
  const Regex *regex = &session->regex;
  Subject subject = {text, (int)strlen(text)};
  Span longest = {-1, -1};
  Span first = {-1, -1};
  int steps = 0;
  int ends = -1;
  for (int round = 0; round < session->repeat; ++round) {
    longest = simulate(regex, &session->simulator, &subject);
    first = backtrack_search(regex, &subject, session->limit, &steps);
    if (!regex->has_assertions) ends = dfa_count_ends(&session->dfa, &subject);
    mix(session, longest.start * 1000 + longest.end);
    mix(session, first.end);
    mix(session, steps);
  }
  bool gave_up = steps > session->limit;
  ++session->texts;
  session->matched += longest.start >= 0;
  session->gave_up += gave_up;
  printf(" ");
  print_span("longest", longest);
  if (gave_up) {
    printf(" first gave up");
  } else {
    print_span("first", first);
    if (first.start != longest.start || first.end > longest.end) ++session->disagreements;
  }
  if (ends >= 0) {
    printf(" ends %d", ends);
    if ((ends > 0) != (longest.start >= 0)) ++session->disagreements;
    mix(session, ends);
  }
  printf(" steps %d\n", steps);
}

static int parse_setting(const char *text, int largest) {
  int value = 0;
  while (*text >= '0' && *text <= '9' && value <= largest) value = value * 10 + (*text++ - '0');
  return value < 1 ? 1 : value > largest ? largest : value;
}

int main(void) {
  Session *session = calloc(1, sizeof *session);
  DfaState *states = calloc(kMaxStates, sizeof *states);
  if (session == NULL || states == NULL) {
    printf("out of memory\n");
    free(session);
    free(states);
    return 1;
  }
  session->repeat = 1;
  session->limit = kStepLimit;
  session->dfa.states = states;
  char line[kMaxLine];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "repeat ", 7) == 0) {
      session->repeat = parse_setting(line + 7, 100000);
    } else if (strncmp(line, "limit ", 6) == 0) {
      session->limit = parse_setting(line + 6, kStepLimit);
    } else if (strncmp(line, "= ", 2) == 0) {
      start_pattern(session, line + 2);
    } else if (strncmp(line, "> ", 2) == 0) {
      try_text(session, line + 2);
    } else if (line[0] != '\0') {
      printf("ignored: %s\n", line);
    }
  }
  finish_pattern(session);
  printf("patterns %d, texts %d, matched %d, gave up %d, disagreements %d\n", session->patterns,
         session->texts, session->matched, session->gave_up, session->disagreements);
  printf("checksum %016" PRIx64 "\n", session->checksum);
  free(states);
  free(session);
  return 0;
}
