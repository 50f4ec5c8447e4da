// Statistics of a CSV table: types and summaries of the columns, groups, histograms,
// correlations and a bootstrap estimate of the error of each mean.
// Input: "repeat N", "group KEY VALUE", "histogram COLUMN BINS", "correlate" lines, then a line
// "---", then CSV with a header (quoted fields may hold commas, newlines and doubled quotes).

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxColumns = 16, kMaxRequests = 8, kMaxBins = 20, kShownErrors = 8, kGroupSlots = 256 };

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count > 0 ? count : 1, size);
  if (memory == NULL) {
    printf("out of memory\n");
    exit(1);
  }
  return memory;
}

// ---------------------------------------------------------------------------------------------
// Reading CSV. The fields are kept, zero-terminated, in one pool of text.

typedef struct {
  char *pool;
  uint32_t *fields;  // ROW_COUNT * COLUMN_COUNT offsets into the pool; row 0 is the header
  int column_count;
  int row_count;
  int errors;
  int dropped;  // rows with a wrong number of fields
} Table;

typedef enum { AT_START, IN_PLAIN, IN_QUOTED, AFTER_QUOTE } ScanState;

typedef struct {
  Table *table;
  size_t used;       // bytes of the pool
  size_t row_start;  // where the fields of this row start in the pool
  uint32_t row[kMaxColumns];
  int field_count;
  int line;
  bool verbose;
} Scanner;

static void report(Scanner *scanner, const char *message) {
  if (++scanner->table->errors <= kShownErrors && scanner->verbose) {
    printf("line %d: %s\n", scanner->line, message);
  }
}

static void begin_field(Scanner *scanner) {
  if (scanner->field_count < kMaxColumns) {
    scanner->row[scanner->field_count] = (uint32_t)scanner->used;
  }
}

static void end_field(Scanner *scanner) {
  scanner->table->pool[scanner->used++] = '\0';
  ++scanner->field_count;
}

static void end_row(Scanner *scanner) {
  Table *table = scanner->table;
  if (table->row_count == 0) {
    if (scanner->field_count > kMaxColumns) report(scanner, "too many columns");
    table->column_count =
        scanner->field_count < kMaxColumns ? scanner->field_count : kMaxColumns;
  }
  bool blank = scanner->field_count == 1 && scanner->used == scanner->row_start + 1;
  if (table->row_count > 0 && blank) {
    scanner->used = scanner->row_start;  // an empty line is no row
  } else if (table->row_count > 0 && scanner->field_count != table->column_count) {
    report(scanner, "wrong number of fields");
    ++table->dropped;
    scanner->used = scanner->row_start;
  } else {
    uint32_t *fields = table->fields + (size_t)table->row_count * (size_t)table->column_count;
    for (int i = 0; i < table->column_count; ++i) fields[i] = scanner->row[i];
    ++table->row_count;
  }
  scanner->field_count = 0;
  scanner->row_start = scanner->used;
}

// POOL needs LENGTH + 2 bytes; FIELDS room for every comma and newline plus a whole row.
static void scan_csv(Table *table, const char *text, size_t length, bool verbose) {
  Scanner scanner = {.table = table, .line = 1, .verbose = verbose};
  ScanState state = AT_START;
  table->row_count = table->column_count = table->errors = table->dropped = 0;
  for (size_t i = 0; i <= length; ++i) {
    bool end = i == length;
    char c = end ? '\n' : text[i];
    if (end && state == AT_START && scanner.field_count == 0) break;
    if (c == '\r' && state != IN_QUOTED) continue;
    if (state == AT_START) {
      begin_field(&scanner);
      state = c == '"' ? IN_QUOTED : IN_PLAIN;
      if (c == '"') continue;
    }
    switch (state) {
      case IN_QUOTED:
        if (end) {
          report(&scanner, "quote never closed");
        } else if (c == '"') {
          state = AFTER_QUOTE;
          break;
        } else {
          table->pool[scanner.used++] = c;
          scanner.line += c == '\n';
          break;
        }
        // The end of the input closes the field.
        end_field(&scanner);
        end_row(&scanner);
        break;
      case AFTER_QUOTE:
        if (c == '"') {
          table->pool[scanner.used++] = c;
          state = IN_QUOTED;
          break;
        }
        if (c != ',' && c != '\n') {
          report(&scanner, "text behind a quoted field");
          state = IN_PLAIN;
        }
        // fall through
      default:
        if (c == ',' || c == '\n') {
          end_field(&scanner);
          if (c == '\n') {
            end_row(&scanner);
            ++scanner.line;
          }
          state = AT_START;
        } else {
          if (c == '"') report(&scanner, "quote inside a plain field");
          table->pool[scanner.used++] = c;
        }
        break;
    }
  }
}

static const char *cell(const Table *table, int row, int column) {
  return table->pool +
         table->fields[(size_t)row * (size_t)table->column_count + (size_t)column];
}

static void open_table(Table *table, size_t length) {
  *table = (Table){NULL, NULL, 0, 0, 0, 0};
  table->pool = allocate(length + 2, 1);
  table->fields = allocate(length + 2 + kMaxColumns, sizeof *table->fields);
}

static void close_table(Table *table) {
  free(table->pool);
  free(table->fields);
}

// ---------------------------------------------------------------------------------------------
// Columns.

typedef enum { TYPE_EMPTY, TYPE_INTEGER, TYPE_REAL, TYPE_TEXT } ColumnType;

static const char *const kTypeNames[] = {"empty", "integer", "real", "text"};

typedef struct {
  const char *name;
  ColumnType type;
  int count;  // cells that are not empty
  double *values;
  bool *present;
} Column;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Plain decimal numbers of at most 15 digits, so that the conversion is exact but for one
// division. Anything else is text.
static bool parse_number(const char *text, double *value, bool *integral) {
  static const double kScales[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  bool negative = *text == '-';
  int64_t mantissa = 0;
  int digits = 0;
  int decimals = 0;
  if (*text == '-' || *text == '+') ++text;
  for (; is_digit(*text); ++text, ++digits) {
    if (digits == 15) return false;
    mantissa = mantissa * 10 + (*text - '0');
  }
  *integral = *text != '.';
  if (*text == '.') {
    for (++text; is_digit(*text); ++text, ++digits, ++decimals) {
      if (digits == 15) return false;
      mantissa = mantissa * 10 + (*text - '0');
    }
  }
  if (*text != '\0' || digits == 0) return false;
  *value = (double)(negative ? -mantissa : mantissa) / kScales[decimals];
  return true;
}

static void load_column(const Table *table, int index, Column *column) {
  column->name = cell(table, 0, index);
  column->type = TYPE_EMPTY;
  column->count = 0;
  for (int row = 1; row < table->row_count; ++row) {
    const char *text = cell(table, row, index);
    double value = 0.0;
    bool integral = false;
    column->present[row] = *text != '\0';
    column->values[row] = 0.0;
    if (!column->present[row]) continue;
    ++column->count;
    ColumnType type = TYPE_TEXT;
    if (parse_number(text, &value, &integral)) type = integral ? TYPE_INTEGER : TYPE_REAL;
    if (type > column->type) column->type = type;
    column->values[row] = value;
  }
}

static bool is_numeric(const Column *column) {
  return column->type == TYPE_INTEGER || column->type == TYPE_REAL;
}

// Copies the cells that are there to PACKED.
static int pack(const Column *column, int row_count, double *packed) {
  int count = 0;
  for (int row = 1; row < row_count; ++row) {
    packed[count] = column->values[row];
    count += column->present[row];
  }
  return count;
}

typedef struct {
  int count;
  double low, high, mean, deviation, skewness;
  double quartiles[3];
} Summary;

// Partial sorting: afterwards the element at RANK is the one sorting would put there.
static double select_rank(double *values, int count, int rank) {
  int low = 0;
  int high = count - 1;
  while (low < high) {
    double pivot = values[low + (high - low) / 2];
    int i = low;
    int j = high;
    while (i <= j) {
      while (values[i] < pivot) ++i;
      while (values[j] > pivot) --j;
      if (i <= j) {
        double swap = values[i];
        values[i++] = values[j];
        values[j--] = swap;
      }
    }
    if (rank <= j) {
      high = j;
    } else if (rank >= i) {
      low = i;
    } else {
      break;
    }
  }
  return values[rank];
}

static double quantile(double *values, int count, double fraction) {
  double position = fraction * (count - 1);
  int rank = (int)position;
  double below = select_rank(values, count, rank);
  if (rank + 1 >= count) return below;
  double above = select_rank(values, count, rank + 1);
  return below + (above - below) * (position - rank);
}

static double sum_of(const double *values, int count) {
  double sum = 0.0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

static Summary summarize(double *values, int count) {
  Summary summary = {.count = count};
  if (count == 0) return summary;
  double square = 0.0;
  double cube = 0.0;
  summary.low = summary.high = values[0];
  for (int i = 1; i < count; ++i) {
    summary.low = values[i] < summary.low ? values[i] : summary.low;
    summary.high = values[i] > summary.high ? values[i] : summary.high;
  }
  summary.mean = sum_of(values, count) / count;
  for (int i = 0; i < count; ++i) {
    double difference = values[i] - summary.mean;
    square += difference * difference;
    cube += difference * difference * difference;
  }
  double variance = square / count;
  summary.deviation = count > 1 ? sqrt(square / (count - 1)) : 0.0;
  summary.skewness = variance > 0.0 ? cube / count / (variance * sqrt(variance)) : 0.0;
  for (int i = 0; i < 3; ++i) {
    summary.quartiles[i] = quantile(values, count, 0.25 * (i + 1));
  }
  return summary;
}

// ---------------------------------------------------------------------------------------------
// Groups: a hash table from text to running totals, with linear probing.

typedef struct {
  const char *key;
  int count;
  double sum, low, high;
} Group;

typedef struct {
  Group slots[kGroupSlots];
  int count;
} GroupTable;

static uint32_t hash_text(const char *text) {
  uint32_t hash = 2166136261u;
  for (; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * 16777619u;
  return hash ^ hash >> 15;
}

// Returns NULL for a new key when the table is nearly full.
static Group *find_group(GroupTable *groups, const char *key) {
  uint32_t slot = hash_text(key) % kGroupSlots;
  while (groups->slots[slot].key != NULL) {
    if (strcmp(groups->slots[slot].key, key) == 0) return &groups->slots[slot];
    slot = (slot + 1) % kGroupSlots;
  }
  if (groups->count >= kGroupSlots - 1) return NULL;
  ++groups->count;
  groups->slots[slot].key = key;
  return &groups->slots[slot];
}

static void add_to_group(Group *group, double value) {
  if (group->count == 0 || value < group->low) group->low = value;
  if (group->count == 0 || value > group->high) group->high = value;
  group->sum += value;
  ++group->count;
}

static bool group_by(const Table *table, int key, const Column *value, GroupTable *groups) {
  memset(groups, 0, sizeof *groups);
  for (int row = 1; row < table->row_count; ++row) {
    Group *group = find_group(groups, cell(table, row, key));
    if (group == NULL) return false;
    if (value == NULL) {
      ++group->count;
    } else if (value->present[row]) {
      add_to_group(group, value->values[row]);
    }
  }
  return true;
}

// Moves the groups to the front of the slots, in the order that BEFORE asks for.
static void sort_groups(GroupTable *groups, bool (*before)(const Group *a, const Group *b)) {
  int used = 0;
  for (int i = 0; i < kGroupSlots; ++i) {
    if (groups->slots[i].key == NULL) continue;
    Group moving = groups->slots[i];
    int j = used++;
    groups->slots[i].key = NULL;
    for (; j > 0 && before(&moving, &groups->slots[j - 1]); --j) {
      groups->slots[j] = groups->slots[j - 1];
    }
    groups->slots[j] = moving;
  }
}

static bool key_before(const Group *a, const Group *b) { return strcmp(a->key, b->key) < 0; }

static bool more_frequent(const Group *a, const Group *b) {
  return a->count > b->count || (a->count == b->count && key_before(a, b));
}

// ---------------------------------------------------------------------------------------------
// Reports.

// Avoids "-0.0000", where the sign would depend on how the last bits were rounded.
static double tidy(double value) { return fabs(value) < 5e-5 ? 0.0 : value; }

// Prints text on one line; long text is cut.
static void print_text(const char *text) {
  int length = 0;
  putchar('"');
  for (; *text != '\0' && length < 24; ++text, ++length) {
    if (*text == '\n') {
      printf("\\n");
    } else {
      putchar(*text);
    }
  }
  printf("%s\"", *text != '\0' ? "..." : "");
}

static void report_column(const Table *table, int index, const Column *column, double *scratch,
                          GroupTable *groups) {
  print_text(column->name);
  printf(" %s, %d values, %d empty\n", kTypeNames[column->type], column->count,
         table->row_count - 1 - column->count);
  if (is_numeric(column)) {
    Summary summary = summarize(scratch, pack(column, table->row_count, scratch));
    printf("  min %.4f max %.4f mean %.4f sd %.4f skew %.4f\n", summary.low, summary.high,
           tidy(summary.mean), summary.deviation, tidy(summary.skewness));
    printf("  quartiles %.4f %.4f %.4f\n", summary.quartiles[0], summary.quartiles[1],
           summary.quartiles[2]);
  } else if (column->type == TYPE_TEXT) {
    if (!group_by(table, index, NULL, groups)) {
      printf("  too many different values\n");
      return;
    }
    sort_groups(groups, more_frequent);
    printf("  %d different:", groups->count);
    for (int i = 0; i < groups->count && i < 3; ++i) {
      printf(" %d x ", groups->slots[i].count);
      print_text(groups->slots[i].key);
    }
    printf("\n");
  }
}

static void report_groups(const Table *table, const Column *columns, int key, int value,
                          GroupTable *groups) {
  printf("%s by %s\n", columns[value].name, columns[key].name);
  if (!is_numeric(&columns[value])) {
    printf("  not a number\n");
  } else if (!group_by(table, key, &columns[value], groups)) {
    printf("  too many groups\n");
  } else {
    sort_groups(groups, key_before);
    for (int i = 0; i < groups->count; ++i) {
      const Group *group = &groups->slots[i];
      printf("  ");
      print_text(group->key);
      printf(": n %d", group->count);
      if (group->count > 0) {
        printf(" sum %.4f mean %.4f min %.4f max %.4f", tidy(group->sum),
               tidy(group->sum / group->count), group->low, group->high);
      }
      printf("\n");
    }
  }
}

static int fill_bins(const double *values, int count, double low, double high, int bins,
                     int *counts) {
  int largest = 0;
  double width = (high - low) / bins;
  for (int i = 0; i < bins; ++i) counts[i] = 0;
  for (int i = 0; i < count; ++i) {
    int bin = width > 0.0 ? (int)((values[i] - low) / width) : 0;
    if (bin >= bins) bin = bins - 1;  // the largest value belongs to the last bin
    ++counts[bin];
  }
  for (int i = 0; i < bins; ++i) largest = counts[i] > largest ? counts[i] : largest;
  return largest;
}

static void report_histogram(const Column *column, int row_count, int bins, double *scratch) {
  int counts[kMaxBins];
  printf("histogram of %s\n", column->name);
  if (!is_numeric(column)) {
    printf("  not a number\n");
    return;
  }
  int count = pack(column, row_count, scratch);
  Summary summary = summarize(scratch, count);
  int largest = fill_bins(scratch, count, summary.low, summary.high, bins, counts);
  for (int i = 0; i < bins; ++i) {
    printf("  %12.4f %5d ", summary.low + (summary.high - summary.low) * i / bins, counts[i]);
    for (int bar = counts[i] * 30; bar > 0; bar -= largest) putchar('#');
    printf("\n");
  }
}

// Uses the rows where both columns have a value; 0 when one of them is constant.
static double correlation(const Column *a, const Column *b, int row_count) {
  double sum_a = 0.0, sum_b = 0.0;
  int count = 0;
  for (int row = 1; row < row_count; ++row) {
    if (!a->present[row] || !b->present[row]) continue;
    sum_a += a->values[row];
    sum_b += b->values[row];
    ++count;
  }
  if (count < 2) return 0.0;
  double mean_a = sum_a / count;
  double mean_b = sum_b / count;
  double aa = 0.0, ab = 0.0, bb = 0.0;
  for (int row = 1; row < row_count; ++row) {
    if (!a->present[row] || !b->present[row]) continue;
    double da = a->values[row] - mean_a;
    double db = b->values[row] - mean_b;
    aa += da * da;
    ab += da * db;
    bb += db * db;
  }
  return aa > 0.0 && bb > 0.0 ? ab / (sqrt(aa) * sqrt(bb)) : 0.0;
}

static void report_correlations(const Table *table, const Column *columns) {
  printf("correlations\n");
  for (int i = 0; i < table->column_count; ++i) {
    if (!is_numeric(&columns[i])) continue;
    printf("  %-10.10s", columns[i].name);
    for (int j = 0; j <= i; ++j) {
      if (!is_numeric(&columns[j])) continue;
      printf(" %7.4f", tidy(correlation(&columns[i], &columns[j], table->row_count)));
    }
    printf("\n");
  }
}

// ---------------------------------------------------------------------------------------------
// The repeated work: reads the table again and draws one bootstrap sample of each column.

typedef struct {
  uint64_t state;
} Random;

static uint32_t next_random(Random *random, uint32_t limit) {
  random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(((random->state >> 32) * limit) >> 32);
}

// Sums over the means of the samples; as differences from CENTRE they lose no digits.
typedef struct {
  double centre, sum, squares;
} Bootstrap;

static void draw_sample(const double *values, int count, Random *random, double *sample) {
  for (int i = 0; i < count; ++i) sample[i] = values[next_random(random, (uint32_t)count)];
}

static void run_round(Table *table, Column *columns, Bootstrap *bootstraps, Random *random,
                      double *scratch) {
  double *sample = scratch + table->row_count;
  for (int i = 0; i < table->column_count; ++i) {
    load_column(table, i, &columns[i]);
    if (!is_numeric(&columns[i])) continue;
    int count = pack(&columns[i], table->row_count, scratch);
    draw_sample(scratch, count, random, sample);
    Summary summary = summarize(sample, count);
    double difference = summary.mean - bootstraps[i].centre;
    bootstraps[i].sum += difference;
    bootstraps[i].squares += difference * difference;
  }
}

static void report_bootstrap(const Column *columns, int column_count,
                             const Bootstrap *bootstraps, int rounds) {
  printf("bootstrap of %d samples\n", rounds);
  for (int i = 0; i < column_count; ++i) {
    if (!is_numeric(&columns[i])) continue;
    double shift = bootstraps[i].sum / rounds;
    double variance = bootstraps[i].squares / rounds - shift * shift;
    printf("  %s: mean %.3f error %.3f\n", columns[i].name, bootstraps[i].centre + shift,
           variance > 0.0 ? sqrt(variance) : 0.0);
  }
}

// ---------------------------------------------------------------------------------------------
// The driver.

typedef enum { REQUEST_GROUP, REQUEST_HISTOGRAM, REQUEST_CORRELATE } RequestKind;

typedef struct {
  RequestKind kind;
  char first[32];
  char second[32];
} Request;

typedef struct {
  int repeat;
  Request requests[kMaxRequests];
  int request_count;
} Plan;

static void read_plan_line(Plan *plan, const char *line) {
  char word[16];
  Request request = {REQUEST_GROUP, "", ""};
  int words = sscanf(line, "%15s %31s %31s", word, request.first, request.second);
  if (words < 1) return;
  if (strcmp(word, "repeat") == 0 && words == 2) {
    plan->repeat = 0;
    for (const char *c = request.first; is_digit(*c) && plan->repeat < 100000; ++c) {
      plan->repeat = plan->repeat * 10 + (*c - '0');
    }
    return;
  }
  if (strcmp(word, "histogram") == 0 && words == 3) {
    request.kind = REQUEST_HISTOGRAM;
  } else if (strcmp(word, "correlate") == 0 && words == 1) {
    request.kind = REQUEST_CORRELATE;
  } else if (strcmp(word, "group") != 0 || words != 3) {
    printf("not understood: %s\n", line);
    return;
  }
  if (plan->request_count == kMaxRequests) {
    printf("too many requests\n");
  } else {
    plan->requests[plan->request_count++] = request;
  }
}

static int find_column(const Table *table, const Column *columns, const char *name) {
  for (int i = 0; i < table->column_count; ++i) {
    if (strcmp(columns[i].name, name) == 0) return i;
  }
  printf("no column %s\n", name);
  return -1;
}

static void run_request(const Table *table, const Column *columns, const Request *request,
                        double *scratch, GroupTable *groups) {
  if (request->kind == REQUEST_CORRELATE) {
    report_correlations(table, columns);
    return;
  }
  int first = find_column(table, columns, request->first);
  if (first < 0) return;
  if (request->kind == REQUEST_GROUP) {
    int second = find_column(table, columns, request->second);
    if (second >= 0) report_groups(table, columns, first, second, groups);
    return;
  }
  int bins = 0;
  for (const char *c = request->second; is_digit(*c) && bins <= kMaxBins; ++c) {
    bins = bins * 10 + (*c - '0');
  }
  if (bins < 1 || bins > kMaxBins) {
    printf("bad number of bins: %s\n", request->second);
  } else {
    report_histogram(&columns[first], table->row_count, bins, scratch);
  }
}

static void analyse(const Plan *plan, const char *text, size_t length) {
  Table table;
  Column columns[kMaxColumns];
  Bootstrap bootstraps[kMaxColumns] = {{0.0, 0.0, 0.0}};
  Random random = {2024};
  open_table(&table, length);
  scan_csv(&table, text, length, true);
  printf("columns %d, rows %d, dropped %d, errors %d\n", table.column_count,
         table.row_count > 0 ? table.row_count - 1 : 0, table.dropped, table.errors);
  size_t rows = (size_t)table.row_count + 1;
  double *scratch = allocate(2 * rows, sizeof *scratch);
  GroupTable *groups = allocate(1, sizeof *groups);
  for (int i = 0; i < table.column_count; ++i) {
    columns[i].values = allocate(rows, sizeof *columns[i].values);
    columns[i].present = allocate(rows, sizeof *columns[i].present);
    load_column(&table, i, &columns[i]);
    report_column(&table, i, &columns[i], scratch, groups);
    int count = pack(&columns[i], table.row_count, scratch);
    bootstraps[i].centre = count > 0 ? sum_of(scratch, count) / count : 0.0;
  }
  for (int i = 0; i < plan->request_count; ++i) {
    run_request(&table, columns, &plan->requests[i], scratch, groups);
  }
  for (int round = 0; round < plan->repeat; ++round) {
    scan_csv(&table, text, length, false);
    run_round(&table, columns, bootstraps, &random, scratch);
  }
  if (plan->repeat > 0) {
    report_bootstrap(columns, table.column_count, bootstraps, plan->repeat);
  }
  printf("random state %016" PRIx64 "\n", random.state);
  for (int i = 0; i < table.column_count; ++i) {
    free(columns[i].values);
    free(columns[i].present);
  }
  free(groups);
  free(scratch);
  close_table(&table);
}

static char *read_rest(size_t *length) {
  size_t capacity = 4096;
  char *text = allocate(capacity, 1);
  size_t got;
  *length = 0;
  while ((got = fread(text + *length, 1, capacity - *length, stdin)) > 0) {
    *length += got;
    if (*length < capacity) continue;
    capacity *= 2;
    char *grown = realloc(text, capacity);
    if (grown == NULL) {
      free(text);
      printf("out of memory\n");
      exit(1);
    }
    text = grown;
  }
  return text;
}

int main(void) {
  Plan plan = {.repeat = 1};
  char line[128];
  bool started = false;
  while (!started && fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "---") == 0) {
      started = true;
    } else {
      read_plan_line(&plan, line);
    }
  }
  size_t length;
  char *text = read_rest(&length);
  analyse(&plan, text, length);
  free(text);
  return 0;
}
