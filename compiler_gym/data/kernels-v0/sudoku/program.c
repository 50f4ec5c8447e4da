// sudoku: puzzles solved by constraint propagation with backtracking and, as a
// cross-check, by exact cover with dancing links; also n-queens with bit masks,
// Latin squares and knight's tours. Input, one command per line ('#' comments):
//   solve CELLS81 | count LIMIT CELLS81 | rows + nine lines | generate SEED
//   bench REPEAT SEED | queens N | latin N | tour N X Y

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kSide = 9,
  kCells = 81,
  kUnits = 27,
  kPeers = 20,
  kAll = 0x1ff,  // one option bit per digit
  kMaxPuzzles = 16,
  kMaxQueens = 14,
  kMaxLatin = 6,
  kMaxTour = 24,
  kLineMax = 256
};

// Exact cover: 81 cells, 9 digits in each of 27 units; four nodes per row.
enum { kColumns = 324, kChoices = 729, kNodes = 1 + kColumns + 4 * kChoices };

typedef struct {
  unsigned char unit[kUnits][kSide];
  unsigned char units_of[kCells][3];
  unsigned char peer[kCells][kPeers];
} Tables;

typedef struct {
  uint16_t options[kCells];
} Board;

typedef struct {
  const Tables* tables;
  int64_t guesses;
  Board solution;  // the first one found
  int found, limit;
} Solver;

typedef struct {
  int16_t left[kNodes], right[kNodes], up[kNodes], down[kNodes], column[kNodes];
  int16_t size[1 + kColumns];
  bool covered[1 + kColumns];
  int16_t chosen[kCells];
  int depth, found, limit;
  int64_t nodes;
  char solution[kCells + 1];
} Cover;

typedef struct {
  Tables tables;
  Cover cover;
  char puzzle[kMaxPuzzles][kCells + 1];
  int puzzles;
  uint32_t hash;
} State;

// ---------------------------------------------------------------------------
// Bits, random numbers, hashing.

static int CountBits(unsigned v) {
  int count = 0;
  for (; v != 0; v &= v - 1) count++;
  return count;
}

static int LowestBit(unsigned v) {
  int index = 0;
  while ((v & 1u) == 0) {
    v >>= 1;
    index++;
  }
  return index;
}

static int RandomBelow(uint64_t* state, int bound) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((*state >> 33) % (uint64_t)bound);
}

static void Shuffle(uint64_t* state, int* item, int count) {
  for (int i = count - 1; i > 0; i--) {
    int j = RandomBelow(state, i + 1);
    int t = item[i];
    item[i] = item[j];
    item[j] = t;
  }
}

static uint32_t HashText(uint32_t hash, const char* text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
  return hash;
}

// ---------------------------------------------------------------------------
// Constraint propagation.

static void BuildTables(Tables* t) {
  int used[kUnits] = {0};
  for (int cell = 0; cell < kCells; cell++) {
    int row = cell / kSide, column = cell % kSide;
    int units[3] = {row, kSide + column, 2 * kSide + row / 3 * 3 + column / 3};
    for (int k = 0; k < 3; k++) {
      t->units_of[cell][k] = (unsigned char)units[k];
      t->unit[units[k]][used[units[k]]++] = (unsigned char)cell;
    }
  }
  for (int cell = 0; cell < kCells; cell++) {
    int count = 0;
    for (int other = 0; other < kCells; other++) {
      bool shared = false;
      for (int k = 0; k < 3; k++) {
        shared |= t->units_of[cell][k] == t->units_of[other][k];
      }
      if (shared && other != cell) t->peer[cell][count++] = (unsigned char)other;
    }
  }
}

static bool Assign(Solver* s, Board* board, int cell, unsigned bit);

// Removes options from a cell and follows the consequences: a cell with one
// option left decides it, and so does a digit with one place left in a unit.
static bool Eliminate(Solver* s, Board* board, int cell, unsigned mask) {
  unsigned removed = board->options[cell] & mask;
  if (removed == 0) return true;
  board->options[cell] = (uint16_t)(board->options[cell] & ~removed);
  unsigned left = board->options[cell];
  if (left == 0) return false;
  if ((left & (left - 1)) == 0) {
    for (int i = 0; i < kPeers; i++) {
      if (!Eliminate(s, board, s->tables->peer[cell][i], left)) return false;
    }
  }
  for (int k = 0; k < 3; k++) {
    const unsigned char* unit = s->tables->unit[s->tables->units_of[cell][k]];
    unsigned once = 0, twice = 0;
    for (int i = 0; i < kSide; i++) {
      unsigned options = board->options[unit[i]];
      twice |= once & options;
      once |= options;
    }
    if (once != kAll) return false;
    unsigned hidden = removed & once & ~twice;
    for (; hidden != 0; hidden &= hidden - 1) {
      unsigned bit = hidden & (~hidden + 1);
      for (int i = 0; i < kSide; i++) {
        if ((board->options[unit[i]] & bit) == 0) continue;
        if (!Assign(s, board, unit[i], bit)) return false;
        break;
      }
    }
  }
  return true;
}

static bool Assign(Solver* s, Board* board, int cell, unsigned bit) {
  if ((board->options[cell] & bit) == 0) return false;
  return Eliminate(s, board, cell, kAll & ~bit);
}

static int FewestOptions(const Board* board) {
  int best = -1, fewest = kSide + 1;
  for (int cell = 0; cell < kCells; cell++) {
    int count = CountBits(board->options[cell]);
    if (count < 2 || count >= fewest) continue;
    best = cell;
    fewest = count;
    if (count == 2) break;
  }
  return best;
}

static void Search(Solver* s, const Board* board) {
  int cell = FewestOptions(board);
  if (cell < 0) {
    if (s->found++ == 0) s->solution = *board;
    return;
  }
  for (unsigned options = board->options[cell]; options != 0; options &= options - 1) {
    Board copy = *board;
    s->guesses++;
    if (Assign(s, &copy, cell, options & (~options + 1))) Search(s, &copy);
    if (s->found >= s->limit) return;
  }
}

// Finds up to `limit` solutions of a puzzle given as text.
static Solver Solve(const Tables* tables, const char* puzzle, int limit) {
  Solver s;
  Board board;
  bool consistent = true;
  memset(&s, 0, sizeof(s));
  s.tables = tables;
  s.limit = limit;
  for (int i = 0; i < kCells; i++) board.options[i] = kAll;
  for (int i = 0; i < kCells && consistent; i++) {
    if (puzzle[i] != '.') consistent = Assign(&s, &board, i, 1u << (puzzle[i] - '1'));
  }
  if (consistent) Search(&s, &board);
  return s;
}

static void BoardText(const Board* board, char text[kCells + 1]) {
  for (int i = 0; i < kCells; i++) {
    unsigned options = board->options[i];
    text[i] = options == 0 ? '.' : (char)('1' + LowestBit(options));
  }
  text[kCells] = '\0';
}

static bool IsSolutionOf(const Tables* tables, const char* solution, const char* puzzle) {
  for (int i = 0; i < kCells; i++) {
    if (puzzle[i] != '.' && puzzle[i] != solution[i]) return false;
  }
  for (int u = 0; u < kUnits; u++) {
    unsigned seen = 0;
    for (int i = 0; i < kSide; i++) seen |= 1u << (solution[tables->unit[u][i]] - '1');
    if (seen != kAll) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------
// Dancing links. Node 0 is the root, 1..324 are the column headers, and row r
// (cell * 9 + digit) owns the four nodes from FirstNode(r) on.

static int FirstNode(int row) { return 1 + kColumns + 4 * row; }

static void BuildCover(const Tables* tables, Cover* c, int limit) {
  memset(c, 0, sizeof(*c));
  c->limit = limit;
  for (int i = 0; i <= kColumns; i++) {
    c->left[i] = (int16_t)(i == 0 ? kColumns : i - 1);
    c->right[i] = (int16_t)(i == kColumns ? 0 : i + 1);
    c->up[i] = c->down[i] = c->column[i] = (int16_t)i;
  }
  for (int row = 0; row < kChoices; row++) {
    int cell = row / kSide, digit = row % kSide, first = FirstNode(row);
    for (int k = 0; k < 4; k++) {
      int column = 1 + (k == 0 ? cell : kCells + tables->units_of[cell][k - 1] * kSide + digit);
      int node = first + k;
      c->column[node] = (int16_t)column;
      c->left[node] = (int16_t)(first + (k + 3) % 4);
      c->right[node] = (int16_t)(first + (k + 1) % 4);
      c->up[node] = c->up[column];
      c->down[node] = (int16_t)column;
      c->down[c->up[column]] = (int16_t)node;
      c->up[column] = (int16_t)node;
      c->size[column]++;
    }
  }
}

static void CoverColumn(Cover* c, int column) {
  c->covered[column] = true;
  c->right[c->left[column]] = c->right[column];
  c->left[c->right[column]] = c->left[column];
  for (int i = c->down[column]; i != column; i = c->down[i]) {
    for (int j = c->right[i]; j != i; j = c->right[j]) {
      c->down[c->up[j]] = c->down[j];
      c->up[c->down[j]] = c->up[j];
      c->size[c->column[j]]--;
    }
  }
}

static void UncoverColumn(Cover* c, int column) {
  for (int i = c->up[column]; i != column; i = c->up[i]) {
    for (int j = c->left[i]; j != i; j = c->left[j]) {
      c->size[c->column[j]]++;
      c->down[c->up[j]] = (int16_t)j;
      c->up[c->down[j]] = (int16_t)j;
    }
  }
  c->right[c->left[column]] = (int16_t)column;
  c->left[c->right[column]] = (int16_t)column;
  c->covered[column] = false;
}

static void CoverSearch(Cover* c) {
  c->nodes++;
  if (c->right[0] == 0) {
    if (c->found++ == 0) {
      for (int i = 0; i < c->depth; i++) {
        c->solution[c->chosen[i] / kSide] = (char)('1' + c->chosen[i] % kSide);
      }
    }
    return;
  }
  int column = c->right[0];
  for (int i = c->right[column]; i != 0; i = c->right[i]) {
    if (c->size[i] < c->size[column]) column = i;
  }
  if (c->size[column] == 0) return;
  CoverColumn(c, column);
  for (int i = c->down[column]; i != column && c->found < c->limit; i = c->down[i]) {
    c->chosen[c->depth++] = (int16_t)((i - 1 - kColumns) / 4);
    for (int j = c->right[i]; j != i; j = c->right[j]) CoverColumn(c, c->column[j]);
    CoverSearch(c);
    for (int j = c->left[i]; j != i; j = c->left[j]) UncoverColumn(c, c->column[j]);
    c->depth--;
  }
  UncoverColumn(c, column);
}

static void SolveByCover(State* state, const char* puzzle, int limit) {
  Cover* c = &state->cover;
  BuildCover(&state->tables, c, limit);
  for (int cell = 0; cell < kCells; cell++) {
    if (puzzle[cell] == '.') continue;
    int row = cell * kSide + (puzzle[cell] - '1'), first = FirstNode(row);
    for (int k = 0; k < 4; k++) {
      if (c->covered[c->column[first + k]]) return;  // two clues collide
      CoverColumn(c, c->column[first + k]);
    }
    c->chosen[c->depth++] = (int16_t)row;
  }
  CoverSearch(c);
}

// ---------------------------------------------------------------------------
// Sudoku commands; all return NULL or an error message.

// Accepts digits and, for empty cells, '.' or '0'.
static bool ParsePuzzle(const char* text, char puzzle[kCells + 1]) {
  if (strlen(text) != kCells) return false;
  for (int i = 0; i < kCells; i++) {
    puzzle[i] = text[i] == '0' ? '.' : text[i];
    if (puzzle[i] != '.' && (puzzle[i] < '1' || puzzle[i] > '9')) return false;
  }
  puzzle[kCells] = '\0';
  return true;
}

static void PrintGrid(const char* cells) {
  for (int row = 0; row < kSide; row++) {
    if (row % 3 == 0 && row > 0) printf("  ---+---+---\n");
    printf("  ");
    for (int column = 0; column < kSide; column++) {
      if (column % 3 == 0 && column > 0) putchar('|');
      putchar(cells[row * kSide + column]);
    }
    putchar('\n');
  }
}

static const char* Agreement(const Solver* s, const Cover* c, const char* text) {
  if (s->found != c->found) return "DISAGREES";
  return s->found != 1 || strcmp(text, c->solution) == 0 ? "agrees" : "DIFFERS";
}

static const char* SolvePuzzle(State* state, const char* puzzle, bool draw) {
  char text[kCells + 1] = "";
  Solver s = Solve(&state->tables, puzzle, 2);
  SolveByCover(state, puzzle, 2);
  if (s.found == 0) {
    printf("solve: impossible");
  } else {
    BoardText(&s.solution, text);
    if (!IsSolutionOf(&state->tables, text, puzzle)) return "wrong solution";
    printf("solve: %s %s", s.found == 1 ? "unique" : "first", draw ? "" : text);
    state->hash = HashText(state->hash, text);
  }
  printf(" guesses %" PRId64 " cover %s in %" PRId64 "\n", s.guesses,
         Agreement(&s, &state->cover, text), state->cover.nodes);
  if (draw && s.found > 0) PrintGrid(text);
  if (s.found == 1 && state->puzzles < kMaxPuzzles) {
    memcpy(state->puzzle[state->puzzles++], puzzle, kCells + 1);
  }
  return NULL;
}

static const char* CmdSolve(State* state, const char* line) {
  char text[kLineMax], puzzle[kCells + 1];
  if (sscanf(line, "%*s %255s", text) != 1 || !ParsePuzzle(text, puzzle)) return "bad puzzle";
  return SolvePuzzle(state, puzzle, false);
}

static const char* CmdRows(State* state, const char* line) {
  char text[kCells + 1], row[kLineMax], puzzle[kCells + 1];
  size_t used = 0;
  (void)line;
  for (int i = 0; i < kSide; i++) {
    if (!fgets(row, sizeof(row), stdin)) return "puzzle ends early";
    // Blanks and bars between the cells are skipped.
    for (const char* p = row; *p; p++) {
      if (strchr(" |\t\r\n", *p)) continue;
      if (used == kCells) return "too many cells";
      text[used++] = *p;
    }
  }
  text[used] = '\0';
  if (!ParsePuzzle(text, puzzle)) return "bad puzzle";
  return SolvePuzzle(state, puzzle, true);
}

static const char* CmdCount(State* state, const char* line) {
  char text[kLineMax], puzzle[kCells + 1];
  int limit;
  if (sscanf(line, "%*s %6d %255s", &limit, text) != 2 || limit < 1 || limit > 20000 ||
      !ParsePuzzle(text, puzzle)) {
    return "bad limit or puzzle";
  }
  Solver s = Solve(&state->tables, puzzle, limit);
  SolveByCover(state, puzzle, limit);
  printf("count: %d%s solutions, %" PRId64 " guesses, cover %s\n", s.found,
         s.found == limit ? " or more" : "", s.guesses,
         state->cover.found == s.found ? "agrees" : "DISAGREES");
  return NULL;
}

// A random puzzle none of whose clues can be spared: the three boxes on the
// diagonal are filled freely, the rest follows, and clues are removed in random
// order as long as the solution stays unique.
static const char* CmdGenerate(State* state, const char* line) {
  unsigned seed;
  char puzzle[kCells + 1];
  int order[kCells], clues = kCells;
  if (sscanf(line, "%*s %9u", &seed) != 1) return "bad seed";
  uint64_t random = seed;
  memset(puzzle, '.', kCells);
  puzzle[kCells] = '\0';
  for (int box = 0; box < 3; box++) {
    int digit[kSide] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    Shuffle(&random, digit, kSide);
    for (int i = 0; i < kSide; i++) {
      puzzle[(box * 3 + i / 3) * kSide + box * 3 + i % 3] = (char)('1' + digit[i]);
    }
  }
  Solver full = Solve(&state->tables, puzzle, 1);
  BoardText(&full.solution, puzzle);
  for (int i = 0; i < kCells; i++) order[i] = i;
  Shuffle(&random, order, kCells);
  for (int i = 0; i < kCells; i++) {
    char clue = puzzle[order[i]];
    puzzle[order[i]] = '.';
    if (Solve(&state->tables, puzzle, 2).found == 1) {
      clues--;
    } else {
      puzzle[order[i]] = clue;
    }
  }
  printf("generate: %s with %d clues\n", puzzle, clues);
  state->hash = HashText(state->hash, puzzle);
  if (state->puzzles < kMaxPuzzles) memcpy(state->puzzle[state->puzzles++], puzzle, kCells + 1);
  return NULL;
}

// Relabels the digits, permutes rows within bands and the bands themselves and
// transposes: the result is as hard, but makes every solver walk another path.
static void Disguise(uint64_t* random, const char* from, char to[kCells + 1]) {
  int digit[kSide] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, band[3] = {0, 1, 2};
  int row[kSide];
  Shuffle(random, digit, kSide);
  Shuffle(random, band, 3);
  for (int b = 0; b < 3; b++) {
    int inner[3] = {0, 1, 2};
    Shuffle(random, inner, 3);
    for (int i = 0; i < 3; i++) row[b * 3 + i] = band[b] * 3 + inner[i];
  }
  bool transpose = RandomBelow(random, 2) == 1;
  for (int r = 0; r < kSide; r++) {
    for (int c = 0; c < kSide; c++) {
      char source = from[row[r] * kSide + c];
      int at = transpose ? c * kSide + r : r * kSide + c;
      to[at] = source == '.' ? '.' : (char)('1' + digit[source - '1']);
    }
  }
  to[kCells] = '\0';
}

static const char* CmdBench(State* state, const char* line) {
  int repeat;
  unsigned seed;
  int64_t guesses = 0, nodes = 0;
  int solved = 0, wrong = 0;
  if (sscanf(line, "%*s %5d %9u", &repeat, &seed) != 2 || repeat < 1) return "bad repeat";
  if (state->puzzles == 0) return "no puzzles";
  uint64_t random = seed;
  for (int r = 0; r < repeat; r++) {
    for (int p = 0; p < state->puzzles; p++) {
      char puzzle[kCells + 1], text[kCells + 1];
      Disguise(&random, state->puzzle[p], puzzle);
      Solver s = Solve(&state->tables, puzzle, 2);
      SolveByCover(state, puzzle, 2);
      BoardText(&s.solution, text);
      if (s.found != 1 || state->cover.found != 1 || strcmp(text, state->cover.solution) != 0 ||
          !IsSolutionOf(&state->tables, text, puzzle)) {
        wrong++;
      }
      solved++;
      guesses += s.guesses;
      nodes += state->cover.nodes;
      state->hash = HashText(state->hash, text);
    }
  }
  printf("bench: %d solved, %d wrong, guesses %" PRId64 " nodes %" PRId64 "\n", solved, wrong,
         guesses, nodes);
  return NULL;
}

// ---------------------------------------------------------------------------
// Queens.

static int64_t CountQueens(unsigned all, unsigned columns, unsigned down, unsigned up) {
  if (columns == all) return 1;
  int64_t count = 0;
  for (unsigned free = all & ~(columns | down | up); free != 0; free &= free - 1) {
    unsigned bit = free & (~free + 1);
    count += CountQueens(all, columns | bit, (down | bit) << 1 & all, (up | bit) >> 1);
  }
  return count;
}

// Is the placement the smallest among its eight images? Then it represents its
// class of symmetric solutions.
static bool IsCanonical(const int* queen, int n) {
  for (int image = 1; image < 8; image++) {
    int other[kMaxQueens];
    for (int r = 0; r < n; r++) {
      int x = image & 1 ? n - 1 - queen[r] : queen[r];
      int y = image & 2 ? n - 1 - r : r;
      if (image & 4) {
        other[x] = y;
      } else {
        other[y] = x;
      }
    }
    for (int r = 0; r < n; r++) {
      if (other[r] < queen[r]) return false;
      if (other[r] > queen[r]) break;
    }
  }
  return true;
}

typedef struct {
  int n, queen[kMaxQueens], first[kMaxQueens];
  int solutions, classes;
} Placement;

static bool Attacked(const Placement* p, int row, int column) {
  for (int r = 0; r < row; r++) {
    int distance = p->queen[r] - column;
    if (distance == 0 || distance == row - r || distance == r - row) return true;
  }
  return false;
}

static void PlaceQueens(Placement* p, int row) {
  if (row == p->n) {
    if (p->solutions++ == 0) memcpy(p->first, p->queen, sizeof(p->first));
    p->classes += IsCanonical(p->queen, p->n);
    return;
  }
  for (int column = 0; column < p->n; column++) {
    if (Attacked(p, row, column)) continue;
    p->queen[row] = column;
    PlaceQueens(p, row + 1);
  }
}

static const char* CmdQueens(State* state, const char* line) {
  int n;
  if (sscanf(line, "%*s %3d", &n) != 1 || n < 1 || n > kMaxQueens) return "bad size";
  int64_t count = CountQueens((1u << n) - 1u, 0, 0, 0);
  printf("queens %d: %" PRId64 " solutions", n, count);
  state->hash = state->hash * 31u + (uint32_t)count;
  if (n <= 9) {
    Placement p;
    memset(&p, 0, sizeof(p));
    p.n = n;
    PlaceQueens(&p, 0);
    printf(", %d classes%s", p.classes, p.solutions == count ? "" : " MISMATCH");
    for (int i = 0; i < n && p.solutions > 0; i++) {
      printf("%s%d", i == 0 ? ", first " : " ", p.first[i] + 1);
    }
  }
  printf("\n");
  return NULL;
}

// ---------------------------------------------------------------------------
// Latin squares with sorted first row and column, and knight's tours.

typedef struct {
  int n;
  unsigned row[kMaxLatin], column[kMaxLatin];  // digits used so far
} Latin;

static int64_t CountLatin(Latin* l, int cell) {
  if (cell == l->n * l->n) return 1;
  int r = cell / l->n, c = cell % l->n;
  unsigned options = ((1u << l->n) - 1u) & ~(l->row[r] | l->column[c]);
  if (r == 0 || c == 0) options &= 1u << (r + c);
  int64_t count = 0;
  for (; options != 0; options &= options - 1) {
    unsigned bit = options & (~options + 1);
    l->row[r] |= bit;
    l->column[c] |= bit;
    count += CountLatin(l, cell + 1);
    l->row[r] &= ~bit;
    l->column[c] &= ~bit;
  }
  return count;
}

static const char* CmdLatin(State* state, const char* line) {
  Latin l;
  memset(&l, 0, sizeof(l));
  if (sscanf(line, "%*s %3d", &l.n) != 1 || l.n < 1 || l.n > kMaxLatin) return "bad size";
  int64_t count = CountLatin(&l, 0);
  printf("latin %d: %" PRId64 " reduced squares\n", l.n, count);
  state->hash = state->hash * 31u + (uint32_t)count;
  return NULL;
}

static int Exits(int n, const int* board, int x, int y) {
  static const int kX[8] = {1, 2, 2, 1, -1, -2, -2, -1};
  static const int kY[8] = {-2, -1, 1, 2, 2, 1, -1, -2};
  int count = 0;
  for (int d = 0; d < 8; d++) {
    int nx = x + kX[d], ny = y + kY[d];
    count += nx >= 0 && ny >= 0 && nx < n && ny < n && board[ny * n + nx] == 0;
  }
  return count;
}

// Warnsdorff's rule: always jump to the free square with the fewest exits.
static const char* CmdTour(State* state, const char* line) {
  static const int kX[8] = {1, 2, 2, 1, -1, -2, -2, -1};
  static const int kY[8] = {-2, -1, 1, 2, 2, 1, -1, -2};
  int n, x, y, steps = 1;
  int board[kMaxTour * kMaxTour] = {0};
  if (sscanf(line, "%*s %3d %3d %3d", &n, &x, &y) != 3 || n < 1 || n > kMaxTour || x < 0 || y < 0 ||
      x >= n || y >= n) {
    return "bad board";
  }
  board[y * n + x] = 1;
  for (;;) {
    int best = -1, fewest = 9;
    for (int d = 0; d < 8; d++) {
      int nx = x + kX[d], ny = y + kY[d];
      if (nx < 0 || ny < 0 || nx >= n || ny >= n || board[ny * n + nx] != 0) continue;
      int exits = Exits(n, board, nx, ny);
      if (exits < fewest) {
        fewest = exits;
        best = d;
      }
    }
    if (best < 0) break;
    x += kX[best];
    y += kY[best];
    board[y * n + x] = ++steps;
  }
  uint32_t hash = 2166136261u;
  for (int i = 0; i < n * n; i++) hash = (hash ^ (uint32_t)board[i]) * 16777619u;
  printf("tour %d: %s after %d squares, hash %08" PRIx32 "\n", n,
         steps == n * n ? "complete" : "stuck", steps, hash);
  state->hash ^= hash;
  return NULL;
}

static const struct {
  const char* name;
  const char* (*run)(State*, const char*);
} kCommands[] = {{"solve", CmdSolve},       {"rows", CmdRows},   {"count", CmdCount},
                 {"generate", CmdGenerate}, {"bench", CmdBench}, {"queens", CmdQueens},
                 {"latin", CmdLatin},       {"tour", CmdTour}};

int main(void) {
  State* state = calloc(1, sizeof(State));
  char line[kLineMax], name[16];
  int errors = 0;
  if (!state) {
    printf("out of memory\n");
    return 0;
  }
  state->hash = 2166136261u;
  BuildTables(&state->tables);
  while (fgets(line, sizeof(line), stdin)) {
    if (line[0] == '#' || sscanf(line, "%15s", name) != 1) continue;
    const char* problem = "unknown command";
    for (size_t i = 0; i < sizeof(kCommands) / sizeof(kCommands[0]); i++) {
      if (strcmp(name, kCommands[i].name) == 0) problem = kCommands[i].run(state, line);
    }
    if (problem) {
      printf("%s: error: %s\n", name, problem);
      errors++;
    }
  }
  printf("%d puzzles kept, %d errors, hash %08" PRIx32 "\n", state->puzzles, errors, state->hash);
  free(state);
  return 0;
}
