// Compares pairs of texts line by line (Myers' O(ND) algorithm, checked against the length of
// the longest common subsequence) and changed lines letter by letter (Levenshtein distance in
// two ways, with an edit script). Input: "repeat N context C", then for each pair a line
// "<<< NAME", the old lines, a line "===", the new lines and a line ">>>".

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxLines = 400, kSlots = 2048, kMaxLetters = 160, kMaxRuns = 48 };

static void *check(void *memory) {
  if (memory == NULL) {
    printf("out of memory\n");
    exit(1);
  }
  return memory;
}

typedef struct {
  const char *bytes;
  int length;
} Line;

// A text as the numbers of its lines; equal lines of both texts have equal numbers.
typedef struct {
  Line lines[kMaxLines];
  int ids[kMaxLines];
  int count;
} Document;

typedef struct {
  const Line *slots[kSlots];
  int ids[kSlots];
  int count;
} LineTable;

static uint32_t hash_line(const Line *line) {
  uint32_t hash = 17;
  for (int i = 0; i < line->length; ++i) hash = hash * 31 + (unsigned char)line->bytes[i];
  return hash * 2654435761u >> 7;
}

static int intern(LineTable *table, const Line *line) {
  uint32_t slot = hash_line(line) % kSlots;
  while (table->slots[slot] != NULL) {
    const Line *other = table->slots[slot];
    if (other->length == line->length &&
        memcmp(other->bytes, line->bytes, (size_t)line->length) == 0) {
      return table->ids[slot];
    }
    slot = (slot + 1) % kSlots;
  }
  table->slots[slot] = line;
  table->ids[slot] = table->count;
  return table->count++;
}

static void number_lines(Document *document, LineTable *table) {
  for (int i = 0; i < document->count; ++i) {
    document->ids[i] = intern(table, &document->lines[i]);
  }
}

// ---------------------------------------------------------------------------------------------
// The shortest edit script.

typedef enum { KEEP, DELETE, INSERT } EditKind;

typedef struct {
  signed char kinds[2 * kMaxLines];
  int count;
  int distance;  // edits that are not KEEP
} Script;

// Row D of the trace holds how far along each diagonal one gets with D edits.
typedef struct {
  int *cells;
  size_t capacity;
  int furthest[4 * kMaxLines + 3];
} Trace;

// Rows 0 to d-1 have 1 + 3 + 5 + ... cells.
static int *trace_row(const Trace *trace, int d) {
  return trace->cells + (size_t)d * (size_t)d;
}

static void save_row(Trace *trace, int d, const int *furthest) {
  size_t start = (size_t)d * (size_t)d;
  size_t width = 2 * (size_t)d + 1;
  if (start + width > trace->capacity) {
    trace->capacity = trace->capacity * 2 + start + width;
    trace->cells = check(realloc(trace->cells, trace->capacity * sizeof *trace->cells));
  }
  memcpy(trace_row(trace, d), furthest - d, width * sizeof *furthest);
}

// Whether the best way to diagonal K inserts a line (and does not delete one).
static bool goes_down(const int *furthest, int d, int k) {
  return k == -d || (k != d && furthest[k - 1] < furthest[k + 1]);
}

// Returns the number of edits; afterwards the trace tells the way. Points beyond the texts may
// come up but lead nowhere.
static int search(Trace *trace, const int *a, int n, const int *b, int m) {
  int *furthest = trace->furthest + 2 * kMaxLines + 1;  // indexed by diagonals
  furthest[1] = 0;
  for (int d = 0;; ++d) {
    for (int k = -d; k <= d; k += 2) {
      int x = goes_down(furthest, d, k) ? furthest[k + 1] : furthest[k - 1] + 1;
      while (x < n && x - k < m && a[x] == b[x - k]) ++x;
      furthest[k] = x;
      if (x >= n && x - k >= m) return d;
    }
    save_row(trace, d, furthest);
  }
}

// Walks back from the end; the script is built at the end of its array and then moved.
static void trace_script(const Trace *trace, int n, int m, int distance, Script *script) {
  int at = n + m;
  int x = n;
  int y = m;
  for (int d = distance; d > 0; --d) {
    const int *furthest = trace_row(trace, d - 1) + (d - 1);
    int k = x - y;
    bool down = goes_down(furthest, d, k);
    int from = furthest[down ? k + 1 : k - 1];
    int after_edit = down ? from : from + 1;
    for (; x > after_edit; --x, --y) script->kinds[--at] = KEEP;
    script->kinds[--at] = down ? INSERT : DELETE;
    x = from;
    y = down ? y - 1 : y;
  }
  for (; x > 0; --x) script->kinds[--at] = KEEP;
  script->count = n + m - at;
  script->distance = distance;
  memmove(script->kinds, script->kinds + at, (size_t)script->count);
}

// Lines in common at both ends are left out of the search.
static void compare(Trace *trace, const int *a, int n, const int *b, int m, Script *script) {
  int head = 0;
  int tail = 0;
  while (head < n && head < m && a[head] == b[head]) ++head;
  while (tail < n - head && tail < m - head && a[n - 1 - tail] == b[m - 1 - tail]) ++tail;
  int inner_n = n - head - tail;
  int inner_m = m - head - tail;
  int distance = search(trace, a + head, inner_n, b + head, inner_m);
  trace_script(trace, inner_n, inner_m, distance, script);
  memmove(script->kinds + head, script->kinds, (size_t)script->count);
  memset(script->kinds, KEEP, (size_t)head);
  memset(script->kinds + head + script->count, KEEP, (size_t)tail);
  script->count += head + tail;
}

static int common_length(const int *a, int n, const int *b, int m) {
  int row[kMaxLines + 1] = {0};
  for (int i = 0; i < n; ++i) {
    int diagonal = 0;  // row[j - 1] of the row before
    for (int j = 1; j <= m; ++j) {
      int above = row[j];
      int best = above > row[j - 1] ? above : row[j - 1];
      row[j] = a[i] == b[j - 1] ? diagonal + 1 : best;
      diagonal = above;
    }
  }
  return row[m];
}

// Whether the script turns A into B (or B into A when it is read backwards).
static bool script_works(const Script *script, const int *a, int n, const int *b, int m,
                         bool backwards) {
  const int *from = backwards ? b : a;
  const int *to = backwards ? a : b;
  EditKind drop = backwards ? INSERT : DELETE;
  int i = 0;
  int j = 0;
  for (int k = 0; k < script->count; ++k) {
    EditKind kind = (EditKind)script->kinds[k];
    if (kind == KEEP && from[i] != to[j]) return false;
    if (kind == KEEP || kind == drop) ++i;
    if (kind == KEEP || kind != drop) ++j;
  }
  return i == (backwards ? m : n) && j == (backwards ? n : m);
}

// ---------------------------------------------------------------------------------------------
// Letters of two lines.

typedef struct {
  char kind;  // = keep, ~ replace, + insert, - delete
  int length;
} Run;

typedef struct {
  int cells[kMaxLetters + 1][kMaxLetters + 1];
  Run runs[kMaxRuns];
  int run_count;
} LetterTable;

static int min3(int a, int b, int c) {
  int least = a < b ? a : b;
  return least < c ? least : c;
}

static int table_distance(LetterTable *table, Line a, Line b) {
  for (int j = 0; j <= b.length; ++j) table->cells[0][j] = j;
  for (int i = 1; i <= a.length; ++i) {
    int *row = table->cells[i];
    const int *above = table->cells[i - 1];
    row[0] = i;
    for (int j = 1; j <= b.length; ++j) {
      int replace = above[j - 1] + (a.bytes[i - 1] != b.bytes[j - 1]);
      row[j] = min3(replace, above[j] + 1, row[j - 1] + 1);
    }
  }
  return table->cells[a.length][b.length];
}

static void add_run(LetterTable *table, char kind) {
  if (table->run_count > 0 && table->runs[table->run_count - 1].kind == kind) {
    ++table->runs[table->run_count - 1].length;
  } else if (table->run_count < kMaxRuns) {
    table->runs[table->run_count++] = (Run){kind, 1};
  }
}

// Collects the runs of the edit script from the last to the first.
static void collect_runs(LetterTable *table, Line a, Line b) {
  int i = a.length;
  int j = b.length;
  table->run_count = 0;
  while (i > 0 || j > 0) {
    int here = table->cells[i][j];
    if (i > 0 && j > 0 && a.bytes[i - 1] == b.bytes[j - 1] &&
        table->cells[i - 1][j - 1] == here) {
      add_run(table, '=');
      --i;
      --j;
    } else if (i > 0 && j > 0 && table->cells[i - 1][j - 1] + 1 == here) {
      add_run(table, '~');
      --i;
      --j;
    } else if (i > 0 && table->cells[i - 1][j] + 1 == here) {
      add_run(table, '-');
      --i;
    } else {
      add_run(table, '+');
      --j;
    }
  }
}

// The same distance with one bit for each letter of A, which has at most 64 of them: PLUS and
// MINUS tell where a column of the table grows or falls.
static int bit_distance(Line a, Line b) {
  uint64_t matches[256] = {0};
  if (a.length == 0) return b.length;
  for (int i = 0; i < a.length; ++i) {
    matches[(unsigned char)a.bytes[i]] |= UINT64_C(1) << i;
  }
  uint64_t last = UINT64_C(1) << (a.length - 1);
  uint64_t plus = ~UINT64_C(0);
  uint64_t minus = 0;
  int distance = a.length;
  for (int j = 0; j < b.length; ++j) {
    uint64_t match = matches[(unsigned char)b.bytes[j]];
    uint64_t vertical = match | minus;
    uint64_t diagonal = (((match & plus) + plus) ^ plus) | match;
    uint64_t right_plus = minus | ~(diagonal | plus);
    uint64_t right_minus = plus & diagonal;
    distance += (right_plus & last) != 0;
    distance -= (right_minus & last) != 0;
    right_plus = right_plus << 1 | 1;
    right_minus <<= 1;
    plus = right_minus | ~(vertical | right_plus);
    minus = right_plus & vertical;
  }
  return distance;
}

// ---------------------------------------------------------------------------------------------
// Output.

typedef struct {
  int repeat, context;
  Document old_text, new_text;
  LineTable table;
  Trace trace;
  Script script;
  LetterTable letters;
  int pairs, failures;
  uint64_t checksum;
} Session;

static void mix(Session *session, uint64_t value) {
  session->checksum = (session->checksum ^ value) * UINT64_C(0x9FB21C651E98DF25);
  session->checksum ^= session->checksum >> 32;
}

static int compare_letters(Session *session, Line a, Line b) {
  if (a.length > kMaxLetters) a.length = kMaxLetters;
  if (b.length > kMaxLetters) b.length = kMaxLetters;
  int distance = table_distance(&session->letters, a, b);
  if (a.length <= 64 && bit_distance(a, b) != distance) ++session->failures;
  return distance;
}

static void print_letters(Session *session, Line a, Line b) {
  int distance = compare_letters(session, a, b);
  int longer = a.length > b.length ? a.length : b.length;
  // Lines without anything in common are not worth a script.
  if (distance * 2 > longer || a.length > kMaxLetters || b.length > kMaxLetters) return;
  collect_runs(&session->letters, a, b);
  printf("    distance %d:", distance);
  for (int i = session->letters.run_count - 1; i >= 0; --i) {
    printf(" %c%d", session->letters.runs[i].kind, session->letters.runs[i].length);
  }
  printf("\n");
}

static int count_kind(const Script *script, int from, int to, EditKind kind) {
  int count = 0;
  for (int k = from; k < to; ++k) count += script->kinds[k] == (signed char)kind;
  return count;
}

static void print_line(char mark, Line line) {
  printf("%c%.*s\n", mark, line.length, line.bytes);
}

// Prints the edits FROM to TO of the script, which start at line I of the old text and line J
// of the new one.
static void print_hunk(Session *session, int from, int to, int i, int j) {
  const Script *script = &session->script;
  int kept = count_kind(script, from, to, KEEP);
  int deleted = count_kind(script, from, to, DELETE);
  int inserted = count_kind(script, from, to, INSERT);
  printf("@@ -%d,%d +%d,%d @@\n", kept + deleted > 0 ? i + 1 : i, kept + deleted,
         kept + inserted > 0 ? j + 1 : j, kept + inserted);
  for (int k = from; k < to; ++k) {
    switch ((EditKind)script->kinds[k]) {
      case KEEP:
        print_line(' ', session->old_text.lines[i++]);
        ++j;
        break;
      case DELETE: print_line('-', session->old_text.lines[i++]); break;
      case INSERT: print_line('+', session->new_text.lines[j++]); break;
    }
  }
}

static void print_hunks(Session *session) {
  const Script *script = &session->script;
  int i = 0;
  int j = 0;
  int k = 0;
  while (k < script->count) {
    if (script->kinds[k] == KEEP) {
      ++i;
      ++j;
      ++k;
      continue;
    }
    int before = session->context < i && session->context < j ? session->context
                 : i < j                                      ? i
                                                              : j;
    while (before > 0 && count_kind(script, k - before, k, KEEP) < before) --before;
    // The hunk goes on as long as the gaps between edits are no longer than both contexts.
    int end = k;
    int gap = 0;
    for (int at = k; at < script->count && gap <= 2 * session->context; ++at) {
      gap = script->kinds[at] == KEEP ? gap + 1 : 0;
      if (gap == 0) end = at + 1;
    }
    int to = end;
    while (to < script->count && to - end < session->context) ++to;
    print_hunk(session, k - before, to, i - before, j - before);
    for (; k < to; ++k) {
      i += script->kinds[k] != INSERT;
      j += script->kinds[k] != DELETE;
    }
  }
}

// Compares the lines of each run of deletions with those of the insertions next to it.
static void print_changed_lines(Session *session) {
  const Script *script = &session->script;
  int i = 0;
  int j = 0;
  for (int k = 0; k < script->count;) {
    int start = k;
    while (k < script->count && script->kinds[k] != KEEP) ++k;
    int deleted = count_kind(script, start, k, DELETE);
    int inserted = count_kind(script, start, k, INSERT);
    for (int p = 0; p < deleted && p < inserted; ++p) {
      print_letters(session, session->old_text.lines[i + p], session->new_text.lines[j + p]);
    }
    i += deleted;
    j += inserted;
    while (k < script->count && script->kinds[k] == KEEP) {
      ++i;
      ++j;
      ++k;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// The driver.

static void check_script(Session *session, const int *a, int n, const int *b, int m) {
  const Script *script = &session->script;
  bool good = script_works(script, a, n, b, m, false) && script_works(script, a, n, b, m, true);
  int common = common_length(a, n, b, m);
  if (!good || script->distance != n + m - 2 * common) ++session->failures;
}

// One round compares the old text with the new one turned round by some lines.
static void run_round(Session *session, int round) {
  int turned[kMaxLines];
  const Document *a = &session->old_text;
  const Document *b = &session->new_text;
  int shift = b->count > 0 ? round % b->count : 0;
  for (int i = 0; i < b->count; ++i) turned[i] = b->ids[(i + shift) % b->count];
  compare(&session->trace, a->ids, a->count, turned, b->count, &session->script);
  check_script(session, a->ids, a->count, turned, b->count);
  mix(session, (uint64_t)session->script.distance);
  for (int k = 0; k < session->script.count; k += 3) {
    mix(session, (uint64_t)session->script.kinds[k] + 1);
  }
  if (a->count > 0 && b->count > 0) {
    int distance = compare_letters(session, a->lines[round % a->count], b->lines[shift]);
    mix(session, (uint64_t)distance);
  }
}

static void run_pair(Session *session, const char *name) {
  Document *a = &session->old_text;
  Document *b = &session->new_text;
  memset(&session->table, 0, sizeof session->table);
  number_lines(a, &session->table);
  number_lines(b, &session->table);
  compare(&session->trace, a->ids, a->count, b->ids, b->count, &session->script);
  check_script(session, a->ids, a->count, b->ids, b->count);
  printf("== %s: %d and %d lines, %d different ones, %d edits\n", name, a->count, b->count,
         session->table.count, session->script.distance);
  print_hunks(session);
  print_changed_lines(session);
  for (int round = 0; round < session->repeat; ++round) run_round(session, round);
  ++session->pairs;
}

static char *read_all(size_t *length) {
  size_t capacity = 4096;
  char *text = check(malloc(capacity));
  *length = 0;
  size_t got;
  while ((got = fread(text + *length, 1, capacity - *length, stdin)) > 0) {
    *length += got;
    if (*length == capacity) text = check(realloc(text, capacity *= 2));
  }
  return text;
}

static bool is_line(Line line, const char *text) {
  return line.length == (int)strlen(text) && memcmp(line.bytes, text, (size_t)line.length) == 0;
}

static Line next_line(const char **at, const char *end) {
  Line line = {*at, 0};
  while (*at < end && **at != '\n') ++*at;
  line.length = (int)(*at - line.bytes);
  if (*at < end) ++*at;
  return line;
}

static void process(Session *session, const char *at, const char *end) {
  enum { OUTSIDE, IN_OLD, IN_NEW } state = OUTSIDE;
  char name[40] = "";
  while (at < end) {
    Line line = next_line(&at, end);
    if (state == OUTSIDE) {
      if (line.length >= 4 && memcmp(line.bytes, "<<< ", 4) == 0) {
        snprintf(name, sizeof name, "%.*s", line.length - 4, line.bytes + 4);
        session->old_text.count = session->new_text.count = 0;
        state = IN_OLD;
      } else if (line.length > 0) {
        printf("ignored: %.*s\n", line.length, line.bytes);
      }
    } else if (state == IN_OLD && is_line(line, "===")) {
      state = IN_NEW;
    } else if (state == IN_NEW && is_line(line, ">>>")) {
      run_pair(session, name);
      state = OUTSIDE;
    } else {
      Document *document = state == IN_OLD ? &session->old_text : &session->new_text;
      if (document->count < kMaxLines) {
        document->lines[document->count++] = line;
      } else {
        printf("%s: line dropped\n", name);
      }
    }
  }
  if (state != OUTSIDE) printf("%s: not complete\n", name);
}

int main(void) {
  size_t length;
  char *text = read_all(&length);
  const char *at = text;
  char first[64];
  Line line = next_line(&at, text + length);
  Session *session = check(calloc(1, sizeof *session));
  snprintf(first, sizeof first, "%.*s", line.length, line.bytes);
  if (sscanf(first, "repeat %6d context %3d", &session->repeat, &session->context) == 2 &&
      session->repeat >= 0 && session->context >= 0) {
    process(session, at, text + length);
    printf("pairs %d, failures %d, checksum %016" PRIx64 "\n", session->pairs,
           session->failures, session->checksum);
  } else {
    printf("the first line has to be: repeat N context C\n");
  }
  free(session->trace.cells);
  free(session);
  free(text);
  return 0;
}
