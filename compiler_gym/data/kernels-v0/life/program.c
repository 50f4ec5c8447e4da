// life: two-dimensional life-like automata on a torus, stepped by a dense and by
// a bit-packed engine that must agree, plus elementary one-dimensional rules,
// Brian's brain, Wireworld and Langton's ants.
// Input: "world WIDTH HEIGHT", "rule B3/S23", "random SEED PERCENT", "rle X Y PATTERN!",
//   "run STEPS", "show", "clear", "elementary RULE WIDTH STEPS",
//   "brain WIDTH HEIGHT SEED STEPS", "ants WIDTH HEIGHT COUNT STEPS",
//   "wire WIDTH HEIGHT STEPS" + rows; '#' starts a comment line.

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxSide = 512, kLineMax = 1024, kMaxSteps = 100000, kHistory = 64, kMaxAnts = 16 };

// Bit n of a mask is set if a cell with n live neighbours is born or survives.
typedef struct {
  unsigned birth, survive;
} Rule;

typedef struct {
  int width, height;
  unsigned char* cell;  // 0 or 1, row by row
  Rule rule;
  int generation;
} World;

// Rows of 64-bit words; unused bits at the end of a row stay zero.
typedef struct {
  int width, height, words;
  uint64_t *bits, *next;
} PackedWorld;

// ---------------------------------------------------------------------------
// Helpers.

static void* Allocate(int count, size_t size) {
  void* p = calloc(count > 0 ? (size_t)count : 1, size);
  if (!p) {
    printf("out of memory\n");
    exit(0);
  }
  return p;
}

static uint32_t NextRandom(uint32_t* state) {
  uint32_t x = *state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  *state = x;
  return x;
}

static uint32_t HashByte(uint32_t hash, unsigned value) { return (hash ^ value) * 16777619u; }

static uint32_t HashCells(const unsigned char* cell, int count) {
  uint32_t hash = 2166136261u;
  for (int i = 0; i < count; i++) hash = HashByte(hash, cell[i]);
  return hash;
}

static int CountCells(const unsigned char* cell, int count, unsigned char value) {
  int n = 0;
  for (int i = 0; i < count; i++) n += cell[i] == value;
  return n;
}

static int PopCount(uint64_t v) {
  int count = 0;
  for (; v != 0; v &= v - 1) count++;
  return count;
}

static int Wrap(int v, int size) {
  v %= size;
  return v < 0 ? v + size : v;
}

// ---------------------------------------------------------------------------
// Dense engine: one byte per cell and column sums that slide along the row.

static void DenseStep(const World* world, const unsigned char* from, unsigned char* to) {
  int w = world->width, h = world->height;
  for (int y = 0; y < h; y++) {
    const unsigned char* up = from + (y == 0 ? h - 1 : y - 1) * w;
    const unsigned char* here = from + y * w;
    const unsigned char* down = from + (y == h - 1 ? 0 : y + 1) * w;
    int left = up[w - 1] + here[w - 1] + down[w - 1];
    int middle = up[0] + here[0] + down[0];
    for (int x = 0; x < w; x++) {
      int e = x == w - 1 ? 0 : x + 1;
      int right = up[e] + here[e] + down[e];
      int neighbours = left + middle + right - here[x];
      unsigned mask = here[x] ? world->rule.survive : world->rule.birth;
      to[y * w + x] = (unsigned char)(mask >> neighbours & 1u);
      left = middle;
      middle = right;
    }
  }
}

// ---------------------------------------------------------------------------
// Packed engine: 64 cells at a time with bit-sliced neighbour counters.

static PackedWorld Pack(const World* world) {
  PackedWorld p = {world->width, world->height, (world->width + 63) / 64, NULL, NULL};
  p.bits = Allocate(p.words * p.height, sizeof(uint64_t));
  p.next = Allocate(p.words * p.height, sizeof(uint64_t));
  for (int y = 0; y < p.height; y++) {
    for (int x = 0; x < p.width; x++) {
      if (!world->cell[y * p.width + x]) continue;
      p.bits[y * p.words + x / 64] |= UINT64_C(1) << (x % 64);
    }
  }
  return p;
}

static bool SamePacked(const PackedWorld* p, const World* world) {
  for (int y = 0; y < p->height; y++) {
    for (int x = 0; x < p->width; x++) {
      unsigned bit = (unsigned)(p->bits[y * p->words + x / 64] >> (x % 64) & 1u);
      if (bit != world->cell[y * p->width + x]) return false;
    }
  }
  return true;
}

// The cells one to the west (shifted up) of word i, wrapping around the row.
static uint64_t WestOf(const PackedWorld* p, const uint64_t* row, int i) {
  int last = (p->width - 1) % 64;
  uint64_t carry = i > 0 ? row[i - 1] >> 63 : row[p->words - 1] >> last & 1u;
  return row[i] << 1 | carry;
}

static uint64_t EastOf(const PackedWorld* p, const uint64_t* row, int i) {
  int last = (p->width - 1) % 64;
  uint64_t shifted = row[i] >> 1;
  if (i < p->words - 1) return shifted | row[i + 1] << 63;
  return shifted | (row[0] & 1u) << last;
}

// Adds one bit to each of 64 four-bit counters (count 8 is the maximum).
static void CountBit(uint64_t counter[4], uint64_t bit) {
  for (int i = 0; i < 4; i++) {
    uint64_t carry = counter[i] & bit;
    counter[i] ^= bit;
    bit = carry;
  }
}

static uint64_t Matches(const uint64_t counter[4], unsigned mask) {
  uint64_t any = 0;
  for (unsigned n = 0; n <= 8; n++) {
    if ((mask >> n & 1u) == 0) continue;
    uint64_t equal = ~UINT64_C(0);
    for (unsigned i = 0; i < 4; i++) equal &= (n >> i & 1u) ? counter[i] : ~counter[i];
    any |= equal;
  }
  return any;
}

static void PackedStep(PackedWorld* p, Rule rule) {
  uint64_t last_mask = ~UINT64_C(0) >> (63 - (p->width - 1) % 64);
  for (int y = 0; y < p->height; y++) {
    const uint64_t* rows[3] = {p->bits + Wrap(y - 1, p->height) * p->words, p->bits + y * p->words,
                               p->bits + Wrap(y + 1, p->height) * p->words};
    for (int i = 0; i < p->words; i++) {
      uint64_t counter[4] = {0, 0, 0, 0};
      for (int r = 0; r < 3; r++) {
        CountBit(counter, WestOf(p, rows[r], i));
        CountBit(counter, EastOf(p, rows[r], i));
        if (r != 1) CountBit(counter, rows[r][i]);
      }
      uint64_t alive = rows[1][i];
      uint64_t result =
          (alive & Matches(counter, rule.survive)) | (~alive & Matches(counter, rule.birth));
      if (i == p->words - 1) result &= last_mask;
      p->next[y * p->words + i] = result;
    }
  }
  uint64_t* t = p->bits;
  p->bits = p->next;
  p->next = t;
}

static int PackedPopulation(const PackedWorld* p) {
  int population = 0;
  for (int i = 0; i < p->words * p->height; i++) population += PopCount(p->bits[i]);
  return population;
}

// ---------------------------------------------------------------------------
// Two-dimensional worlds: commands.

static const char* CmdWorld(World* world, const char* line) {
  int width, height;
  if (sscanf(line, "%*s %4d %4d", &width, &height) != 2 || width < 3 || height < 3 ||
      width > kMaxSide || height > kMaxSide) {
    return "bad world size";
  }
  free(world->cell);
  world->cell = Allocate(width * height, 1);
  world->width = width;
  world->height = height;
  world->generation = 0;
  return NULL;
}

// Reads digits 0-8 into a mask and returns the first other character.
static const char* ParseCounts(const char* p, unsigned* mask) {
  *mask = 0;
  for (; *p >= '0' && *p <= '8'; p++) *mask |= 1u << (*p - '0');
  return p;
}

static const char* CmdRule(World* world, const char* line) {
  char text[32];
  Rule rule;
  if (sscanf(line, "%*s %31s", text) != 1 || toupper((unsigned char)text[0]) != 'B') {
    return "bad rule";
  }
  const char* p = ParseCounts(text + 1, &rule.birth);
  if (*p++ != '/' || toupper((unsigned char)*p++) != 'S') return "bad rule";
  if (*ParseCounts(p, &rule.survive) != '\0') return "bad rule";
  world->rule = rule;
  return NULL;
}

static const char* CmdRandom(World* world, const char* line) {
  unsigned seed, percent;
  if (sscanf(line, "%*s %9u %3u", &seed, &percent) != 2 || seed == 0 || percent > 100) {
    return "bad seed or percentage";
  }
  uint32_t state = seed;
  for (int i = 0; i < world->width * world->height; i++) {
    world->cell[i] = (NextRandom(&state) >> 8) % 100 < percent;
  }
  world->generation = 0;
  return NULL;
}

// Run-length encoding: b dead, o alive, $ next row, ! end, with counts.
static const char* CmdRle(World* world, const char* line) {
  int x, y, start = 0;
  if (sscanf(line, "%*s %5d %5d %n", &x, &y, &start) != 2 || start == 0) return "bad position";
  int column = x, count = 0;
  for (const char* p = line + start;; p++) {
    if (*p >= '0' && *p <= '9') {
      count = count * 10 + (*p - '0');
      if (count > kMaxSide) return "run too long";
      continue;
    }
    int times = count > 0 ? count : 1;
    count = 0;
    switch (*p) {
      case 'b':
        column += times;
        break;
      case 'o':
        for (; times > 0; times--, column++) {
          world->cell[Wrap(y, world->height) * world->width + Wrap(column, world->width)] = 1;
        }
        break;
      case '$':
        y += times;
        column = x;
        break;
      case '!':
        return NULL;
      case '\0':
      case '\n':
        return "pattern without end";
      default:
        return "bad character in pattern";
    }
  }
}

// Runs both engines, compares them at the end and looks for a repetition among
// the hashes of the latest generations.
static const char* CmdRun(World* world, const char* line) {
  int steps, most = 0, least = world->width * world->height;
  int period = 0, found_at = 0;
  uint32_t history[kHistory] = {0};
  if (sscanf(line, "%*s %6d", &steps) != 1 || steps < 0 || steps > kMaxSteps) {
    return "bad number of steps";
  }
  int cells = world->width * world->height;
  unsigned char* other = Allocate(cells, 1);
  PackedWorld packed = Pack(world);
  for (int s = 0; s < steps; s++) {
    DenseStep(world, world->cell, other);
    unsigned char* t = world->cell;
    world->cell = other;
    other = t;
    PackedStep(&packed, world->rule);
    int population = PackedPopulation(&packed);
    if (population > most) most = population;
    if (population < least) least = population;
    if (period == 0 && s % 4 == 0) {
      uint32_t hash = HashCells(world->cell, cells);
      for (int back = 1; back <= kHistory && back <= s / 4 && period == 0; back++) {
        if (history[(s / 4 - back) % kHistory] != hash) continue;
        period = 4 * back;
        found_at = world->generation + s + 1;
      }
      history[s / 4 % kHistory] = hash;
    }
  }
  world->generation += steps;
  printf("run %d: generation %d population %d hash %08" PRIx32 " engines %s\n", steps,
         world->generation, CountCells(world->cell, cells, 1), HashCells(world->cell, cells),
         SamePacked(&packed, world) ? "agree" : "DISAGREE");
  if (steps > 0) printf("  population from %d to %d", least, most);
  if (period > 0) printf(", repeats within %d since generation %d", period, found_at);
  if (steps > 0) printf("\n");
  free(other);
  free(packed.bits);
  free(packed.next);
  return NULL;
}

static const char* CmdShow(World* world, const char* line) {
  (void)line;
  if (world->width > 64 || world->height > 40) return "too large to show";
  for (int y = 0; y < world->height; y++) {
    for (int x = 0; x < world->width; x++) {
      putchar(world->cell[y * world->width + x] ? 'o' : '.');
    }
    putchar('\n');
  }
  return NULL;
}

static const char* CmdClear(World* world, const char* line) {
  (void)line;
  memset(world->cell, 0, (size_t)(world->width * world->height));
  world->generation = 0;
  return NULL;
}

// ---------------------------------------------------------------------------
// One-dimensional rules: the next cell is bit (left, here, right) of the rule.

static const char* CmdElementary(World* world, const char* line) {
  unsigned rule;
  int width, steps;
  (void)world;
  if (sscanf(line, "%*s %3u %4d %6d", &rule, &width, &steps) != 3 || rule > 255 || width < 3 ||
      width > kMaxSide || steps < 0 || steps > kMaxSteps) {
    return "bad rule, width or steps";
  }
  unsigned char *row = Allocate(width, 1), *next = Allocate(width, 1);
  uint32_t hash = 2166136261u, centre = 0;
  int live = 0;
  row[width / 2] = 1;
  for (int s = 0; s < steps; s++) {
    unsigned window = (unsigned)row[width - 1] << 1 | row[0];
    for (int x = 0; x < width; x++) {
      window = (window << 1 | row[x == width - 1 ? 0 : x + 1]) & 7u;
      next[x] = (unsigned char)(rule >> window & 1u);
      live += next[x];
    }
    unsigned char* t = row;
    row = next;
    next = t;
    hash = HashByte(hash, HashCells(row, width));
    centre = centre << 1 | row[width / 2];
  }
  printf("elementary %u: live %d centre %08" PRIx32 " hash %08" PRIx32 "\n", rule, live, centre,
         hash);
  free(row);
  free(next);
  return NULL;
}

// ---------------------------------------------------------------------------
// Automata with more than two states share one loop: a function gives the next
// state from the present one and the number of neighbours in state one.

typedef unsigned char (*NextState)(unsigned char state, int excited);

static unsigned char BrainNext(unsigned char state, int excited) {
  if (state == 0) return excited == 2;
  return state == 1 ? 2 : 0;  // firing, then refractory, then ready
}

enum { kEmpty = 0, kHead = 1, kTail = 2, kWire = 3 };

static unsigned char WireNext(unsigned char state, int excited) {
  switch (state) {
    case kHead:
      return kTail;
    case kTail:
      return kWire;
    case kWire:
      return excited == 1 || excited == 2 ? kHead : kWire;
    default:
      return kEmpty;
  }
}

static void StateStep(const unsigned char* from, unsigned char* to, int width, int height,
                      NextState next) {
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      int excited = 0;
      for (int dy = -1; dy <= 1; dy++) {
        const unsigned char* row = from + Wrap(y + dy, height) * width;
        for (int dx = -1; dx <= 1; dx++) {
          if (dx != 0 || dy != 0) excited += row[Wrap(x + dx, width)] == 1;
        }
      }
      to[y * width + x] = next(from[y * width + x], excited);
    }
  }
}

// Returns the final cells in the same buffer; adds up the excited cells.
static int64_t StateRun(unsigned char* cell, int width, int height, int steps, NextState next) {
  int cells = width * height;
  unsigned char* other = Allocate(cells, 1);
  int64_t activity = 0;
  for (int s = 0; s < steps; s++) {
    StateStep(cell, other, width, height, next);
    memcpy(cell, other, (size_t)cells);
    activity += CountCells(cell, cells, 1);
  }
  free(other);
  return activity;
}

static bool GoodSize(int width, int height) {
  return width >= 3 && height >= 1 && width <= kMaxSide && height <= kMaxSide;
}

static const char* CmdBrain(World* world, const char* line) {
  int width, height, steps;
  unsigned seed;
  (void)world;
  if (sscanf(line, "%*s %4d %4d %9u %6d", &width, &height, &seed, &steps) != 4 ||
      !GoodSize(width, height) || seed == 0 || steps < 0 || steps > kMaxSteps) {
    return "bad size, seed or steps";
  }
  unsigned char* cell = Allocate(width * height, 1);
  uint32_t state = seed;
  for (int i = 0; i < width * height; i++) cell[i] = NextRandom(&state) >> 30 == 0;
  int64_t activity = StateRun(cell, width, height, steps, BrainNext);
  printf("brain %dx%d: activity %" PRId64 " firing %d refractory %d hash %08" PRIx32 "\n", width,
         height, activity, CountCells(cell, width * height, 1), CountCells(cell, width * height, 2),
         HashCells(cell, width * height));
  free(cell);
  return NULL;
}

static const char* CmdWire(World* world, const char* line) {
  static const char kSymbols[] = ".Ht#";  // in the order of the states
  int width, height, steps;
  char row[kLineMax];
  const char* problem = NULL;
  (void)world;
  if (sscanf(line, "%*s %4d %4d %6d", &width, &height, &steps) != 3 || !GoodSize(width, height) ||
      steps < 0 || steps > kMaxSteps) {
    return "bad size or steps";
  }
  unsigned char* cell = Allocate(width * height, 1);
  for (int y = 0; y < height && !problem; y++) {
    if (!fgets(row, sizeof(row), stdin)) {
      problem = "circuit ends early";
      break;
    }
    for (int x = 0; x < width && row[x] != '\n' && row[x] != '\0'; x++) {
      const char* symbol = strchr(kSymbols, row[x]);
      if (!symbol) problem = "bad character in circuit";
      if (symbol) cell[y * width + x] = (unsigned char)(symbol - kSymbols);
    }
  }
  if (!problem) {
    int64_t activity = StateRun(cell, width, height, steps, WireNext);
    printf("wire %dx%d: activity %" PRId64 " hash %08" PRIx32 "\n", width, height, activity,
           HashCells(cell, width * height));
    for (int y = 0; y < height && width <= 64 && height <= 16; y++) {
      for (int x = 0; x < width; x++) putchar(kSymbols[cell[y * width + x]]);
      putchar('\n');
    }
  }
  free(cell);
  return problem;
}

// Langton's ants move at the same time over one board, in the order of their
// creation; on a white cell they turn right, on a black one left.
static const char* CmdAnts(World* world, const char* line) {
  static const int kStepX[4] = {0, 1, 0, -1}, kStepY[4] = {-1, 0, 1, 0};
  struct {
    int x, y;
    unsigned heading;
  } ant[kMaxAnts];
  int width, height, count, steps, meetings = 0;
  (void)world;
  if (sscanf(line, "%*s %4d %4d %2d %6d", &width, &height, &count, &steps) != 4 ||
      !GoodSize(width, height) || count < 1 || count > kMaxAnts || steps < 0 || steps > kMaxSteps) {
    return "bad size, count or steps";
  }
  unsigned char* board = Allocate(width * height, 1);
  for (int i = 0; i < count; i++) {
    ant[i].x = (width * (2 * i + 1)) / (2 * count);
    ant[i].y = height / 2;
    ant[i].heading = (unsigned)i & 3u;
  }
  for (int s = 0; s < steps; s++) {
    for (int i = 0; i < count; i++) {
      unsigned char* here = &board[ant[i].y * width + ant[i].x];
      ant[i].heading = (ant[i].heading + (*here ? 3u : 1u)) & 3u;
      *here ^= 1u;
      ant[i].x = Wrap(ant[i].x + kStepX[ant[i].heading], width);
      ant[i].y = Wrap(ant[i].y + kStepY[ant[i].heading], height);
      if (i > 0 && ant[i].x == ant[i - 1].x && ant[i].y == ant[i - 1].y) meetings++;
    }
  }
  printf("ants %dx%d: black %d meetings %d first at %d %d hash %08" PRIx32 "\n", width, height,
         CountCells(board, width * height, 1), meetings, ant[0].x, ant[0].y,
         HashCells(board, width * height));
  free(board);
  return NULL;
}

static const struct {
  const char* name;
  const char* (*run)(World*, const char*);
  bool needs_world;
} kCommands[] = {
    {"world", CmdWorld, false},  {"rule", CmdRule, false},
    {"random", CmdRandom, true}, {"rle", CmdRle, true},
    {"run", CmdRun, true},       {"show", CmdShow, true},
    {"clear", CmdClear, true},   {"elementary", CmdElementary, false},
    {"brain", CmdBrain, false},  {"wire", CmdWire, false},
    {"ants", CmdAnts, false},
};

static const char* Execute(World* world, const char* line, const char* name) {
  for (size_t i = 0; i < sizeof(kCommands) / sizeof(kCommands[0]); i++) {
    if (strcmp(kCommands[i].name, name) != 0) continue;
    if (kCommands[i].needs_world && !world->cell) return "no world";
    return kCommands[i].run(world, line);
  }
  return "unknown command";
}

int main(void) {
  World world = {0, 0, NULL, {1u << 3, 1u << 2 | 1u << 3}, 0};
  char line[kLineMax], name[16];
  int errors = 0;
  while (fgets(line, sizeof(line), stdin)) {
    if (line[0] == '#' || sscanf(line, "%15s", name) != 1) continue;
    const char* problem = Execute(&world, line, name);
    if (problem) {
      printf("%s: error: %s\n", name, problem);
      errors++;
    }
  }
  printf("%d errors\n", errors);
  free(world.cell);
  return 0;
}
