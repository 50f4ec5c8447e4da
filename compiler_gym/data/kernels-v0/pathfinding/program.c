// pathfinding: A* search, breadth-first fields and flood fills on grid mazes that
// are either read or generated. Line-based input, '#' in column one is a comment:
//   grid WIDTH HEIGHT  followed by HEIGHT rows of '#' (wall), '.', '1'-'9' (cost), S, G
//   maze KIND COLUMNS ROWS SEED (KIND backtrack, prim, divide or cave) | braid PERCENT SEED
//   weights MAX SEED | solve HEURISTIC NEIGHBOURS | queries COUNT SEED HEURISTIC NEIGHBOURS
//   flood X Y | regions | steps | show

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxSide = 203, kLineMax = 320, kWall = 0, kStraight = 10, kDiagonal = 14 };

typedef struct {
  int width, height;
  unsigned char* cost;  // kWall or the cost 1..9 of entering the cell
  int start, goal;      // cell numbers, -1 if unknown
} Grid;

typedef struct {
  uint64_t state;
} Random;

// Search state that is reused by consecutive queries on one grid: an entry
// counts only if its stamp is the current one, so nothing has to be cleared.
typedef struct {
  uint32_t *stamp, current;
  int *from_start, *estimate, *parent;
  int *heap, *position, heap_size;
  int expanded;
} Search;

typedef int (*Heuristic)(int dx, int dy);

static const int kDx[8] = {1, 0, -1, 0, 1, -1, -1, 1};
static const int kDy[8] = {0, 1, 0, -1, 1, 1, -1, -1};

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

static uint32_t NextRandom(Random* random) {
  uint64_t old = random->state;
  random->state = old * 6364136223846793005ULL + 1442695040888963407ULL;
  uint32_t mixed = (uint32_t)(((old >> 18) ^ old) >> 27);
  uint32_t turn = (uint32_t)(old >> 59);
  return (mixed >> turn) | (mixed << ((32u - turn) & 31u));
}

static int RandomBelow(Random* random, int bound) {
  return (int)(((uint64_t)NextRandom(random) * (uint32_t)bound) >> 32);
}

static uint32_t Hash(uint32_t hash, int value) {
  return ((hash << 5 | hash >> 27) ^ (uint32_t)value) * 0x9e3779b1u;
}

static int CellAt(const Grid* grid, int x, int y) { return y * grid->width + x; }

static bool Inside(const Grid* grid, int x, int y) {
  return x >= 0 && y >= 0 && x < grid->width && y < grid->height;
}

static bool IsOpen(const Grid* grid, int x, int y) {
  return Inside(grid, x, y) && grid->cost[CellAt(grid, x, y)] != kWall;
}

static int CountOpen(const Grid* grid) {
  int open = 0;
  for (int i = 0; i < grid->width * grid->height; i++) open += grid->cost[i] != kWall;
  return open;
}

static void ResetGrid(Grid* grid, int width, int height, unsigned char fill) {
  free(grid->cost);
  grid->width = width;
  grid->height = height;
  grid->cost = Allocate(width * height, 1);
  memset(grid->cost, fill, (size_t)(width * height));
  grid->start = grid->goal = -1;
}

// ---------------------------------------------------------------------------
// Maze generators. Rooms have odd coordinates, walls between them even ones.

static void MazeBacktrack(Grid* grid, Random* random) {
  int* stack = Allocate(grid->width * grid->height, sizeof(int));
  int depth = 0;
  stack[depth++] = CellAt(grid, 1, 1);
  grid->cost[stack[0]] = 1;
  while (depth > 0) {
    int x = stack[depth - 1] % grid->width, y = stack[depth - 1] / grid->width;
    int choices[4], count = 0;
    for (int d = 0; d < 4; d++) {
      int nx = x + 2 * kDx[d], ny = y + 2 * kDy[d];
      if (Inside(grid, nx, ny) && !IsOpen(grid, nx, ny)) choices[count++] = d;
    }
    if (count == 0) {
      depth--;
      continue;
    }
    int d = choices[RandomBelow(random, count)];
    grid->cost[CellAt(grid, x + kDx[d], y + kDy[d])] = 1;
    int next = CellAt(grid, x + 2 * kDx[d], y + 2 * kDy[d]);
    grid->cost[next] = 1;
    stack[depth++] = next;
  }
  free(stack);
}

static void MazePrim(Grid* grid, Random* random) {
  // A frontier entry is a wall cell times four plus the direction beyond it.
  int* frontier = Allocate(grid->width * grid->height * 2, sizeof(int));
  int count = 0, x = 1, y = 1;
  for (;;) {
    grid->cost[CellAt(grid, x, y)] = 1;
    for (int d = 0; d < 4; d++) {
      int nx = x + 2 * kDx[d], ny = y + 2 * kDy[d];
      if (!Inside(grid, nx, ny) || IsOpen(grid, nx, ny)) continue;
      frontier[count++] = CellAt(grid, x + kDx[d], y + kDy[d]) * 4 + d;
    }
    bool found = false;
    while (count > 0 && !found) {
      int pick = RandomBelow(random, count);
      int wall = frontier[pick] / 4, d = frontier[pick] % 4;
      frontier[pick] = frontier[--count];
      x = wall % grid->width + kDx[d];
      y = wall / grid->width + kDy[d];
      if (!IsOpen(grid, x, y)) {
        grid->cost[wall] = 1;
        found = true;
      }
    }
    if (!found) break;
  }
  free(frontier);
}

// Splits the room between the walls x0, x1 and y0, y1 (all even coordinates).
static void DivideRoom(Grid* grid, Random* random, int x0, int y0, int x1, int y1) {
  int columns = (x1 - x0) / 2, rows = (y1 - y0) / 2;
  if (columns < 2 || rows < 2) return;
  if (columns > rows || (columns == rows && RandomBelow(random, 2) == 0)) {
    int wall = x0 + 2 * (1 + RandomBelow(random, columns - 1));
    int door = y0 + 1 + 2 * RandomBelow(random, rows);
    for (int y = y0 + 1; y < y1; y++) {
      if (y != door) grid->cost[CellAt(grid, wall, y)] = kWall;
    }
    DivideRoom(grid, random, x0, y0, wall, y1);
    DivideRoom(grid, random, wall, y0, x1, y1);
  } else {
    int wall = y0 + 2 * (1 + RandomBelow(random, rows - 1));
    int door = x0 + 1 + 2 * RandomBelow(random, columns);
    for (int x = x0 + 1; x < x1; x++) {
      if (x != door) grid->cost[CellAt(grid, x, wall)] = kWall;
    }
    DivideRoom(grid, random, x0, y0, x1, wall);
    DivideRoom(grid, random, x0, wall, x1, y1);
  }
}

static void MazeDivide(Grid* grid, Random* random) {
  for (int y = 1; y < grid->height - 1; y++) {
    memset(grid->cost + CellAt(grid, 1, y), 1, (size_t)(grid->width - 2));
  }
  DivideRoom(grid, random, 0, 0, grid->width - 1, grid->height - 1);
}

// Random noise smoothed by a majority rule gives natural looking caves.
static void MazeCave(Grid* grid, Random* random) {
  size_t cells = (size_t)(grid->width * grid->height);
  unsigned char* next = Allocate((int)cells, 1);
  for (int y = 1; y < grid->height - 1; y++) {
    for (int x = 1; x < grid->width - 1; x++) {
      grid->cost[CellAt(grid, x, y)] = RandomBelow(random, 100) < 56;
    }
  }
  for (int pass = 0; pass < 4; pass++) {
    for (int y = 1; y < grid->height - 1; y++) {
      for (int x = 1; x < grid->width - 1; x++) {
        int open = grid->cost[CellAt(grid, x, y)];
        for (int d = 0; d < 8; d++) {
          open += grid->cost[CellAt(grid, x + kDx[d], y + kDy[d])];
        }
        next[CellAt(grid, x, y)] = open >= 5;
      }
    }
    memcpy(grid->cost, next, cells);
  }
  free(next);
}

static const struct {
  const char* name;
  void (*generate)(Grid*, Random*);
} kMazes[] = {
    {"backtrack", MazeBacktrack}, {"prim", MazePrim}, {"divide", MazeDivide}, {"cave", MazeCave}};

static int OpenNeighbours(const Grid* grid, int x, int y) {
  int count = 0;
  for (int d = 0; d < 4; d++) count += IsOpen(grid, x + kDx[d], y + kDy[d]);
  return count;
}

// ---------------------------------------------------------------------------
// Binary heap of cells with decrease-key, smallest total estimate first; ties
// go to the cell farther from the start, then to the smaller cell number.

static bool Precedes(const Search* s, int a, int b) {
  if (s->estimate[a] != s->estimate[b]) return s->estimate[a] < s->estimate[b];
  if (s->from_start[a] != s->from_start[b]) return s->from_start[a] > s->from_start[b];
  return a < b;
}

static void PlaceAt(Search* s, int slot, int cell) {
  s->heap[slot] = cell;
  s->position[cell] = slot;
}

static void SiftUp(Search* s, int slot) {
  int cell = s->heap[slot];
  while (slot > 0) {
    int parent = (slot - 1) >> 1;
    if (!Precedes(s, cell, s->heap[parent])) break;
    PlaceAt(s, slot, s->heap[parent]);
    slot = parent;
  }
  PlaceAt(s, slot, cell);
}

static int PopBest(Search* s) {
  int best = s->heap[0], cell = s->heap[--s->heap_size], slot = 0;
  for (;;) {
    int child = 2 * slot + 1;
    if (child >= s->heap_size) break;
    if (child + 1 < s->heap_size && Precedes(s, s->heap[child + 1], s->heap[child])) child++;
    if (!Precedes(s, s->heap[child], cell)) break;
    PlaceAt(s, slot, s->heap[child]);
    slot = child;
  }
  PlaceAt(s, slot, cell);
  s->position[best] = -1;
  return best;
}

static Search NewSearch(const Grid* grid) {
  int cells = grid->width * grid->height;
  Search s;
  memset(&s, 0, sizeof(s));
  s.stamp = Allocate(cells, sizeof(uint32_t));
  s.from_start = Allocate(cells, sizeof(int));
  s.estimate = Allocate(cells, sizeof(int));
  s.parent = Allocate(cells, sizeof(int));
  s.heap = Allocate(cells, sizeof(int));
  s.position = Allocate(cells, sizeof(int));
  return s;
}

static void FreeSearch(Search* s) {
  free(s->stamp);
  free(s->from_start);
  free(s->estimate);
  free(s->parent);
  free(s->heap);
  free(s->position);
}

static int NoEstimate(int dx, int dy) {
  (void)dx;
  (void)dy;
  return 0;
}

static int Manhattan(int dx, int dy) { return kStraight * (dx + dy); }

static int Chebyshev(int dx, int dy) { return kStraight * (dx > dy ? dx : dy); }

static int Octile(int dx, int dy) {
  int low = dx < dy ? dx : dy, high = dx < dy ? dy : dx;
  return kStraight * high + (kDiagonal - kStraight) * low;
}

static int Distance(const Grid* grid, Heuristic heuristic, int a, int b) {
  int dx = abs(a % grid->width - b % grid->width);
  int dy = abs(a / grid->width - b / grid->width);
  return heuristic(dx, dy);
}

// Returns the cost of the best path from start to goal, or -1.
static int FindPath(const Grid* grid, Search* s, int start, int goal, Heuristic heuristic,
                    int neighbours) {
  s->current++;
  s->heap_size = 0;
  s->expanded = 0;
  s->stamp[start] = s->current;
  s->from_start[start] = 0;
  s->estimate[start] = Distance(grid, heuristic, start, goal);
  s->parent[start] = -1;
  PlaceAt(s, s->heap_size++, start);
  while (s->heap_size > 0) {
    int cell = PopBest(s);
    s->expanded++;
    if (cell == goal) return s->from_start[cell];
    int x = cell % grid->width, y = cell / grid->width;
    for (int d = 0; d < neighbours; d++) {
      if (!IsOpen(grid, x + kDx[d], y + kDy[d])) continue;
      // Diagonal moves must not cut the corner of a wall.
      if (d >= 4 && (!IsOpen(grid, x + kDx[d], y) || !IsOpen(grid, x, y + kDy[d]))) continue;
      int next = CellAt(grid, x + kDx[d], y + kDy[d]);
      int cost = s->from_start[cell] + grid->cost[next] * (d < 4 ? kStraight : kDiagonal);
      bool fresh = s->stamp[next] != s->current;
      if (!fresh && cost >= s->from_start[next]) continue;
      s->stamp[next] = s->current;
      s->from_start[next] = cost;
      s->estimate[next] = cost + Distance(grid, heuristic, next, goal);
      s->parent[next] = cell;
      if (fresh) {
        PlaceAt(s, s->heap_size++, next);
      }
      SiftUp(s, s->position[next]);
    }
  }
  return -1;
}

// ---------------------------------------------------------------------------
// Fills.

// Breadth-first steps (4 neighbours) from one cell; -1 where not reachable.
static int* StepField(const Grid* grid, int from, int* reached) {
  int cells = grid->width * grid->height;
  int *steps = Allocate(cells, sizeof(int)), *queue = Allocate(cells, sizeof(int));
  int head = 0, tail = 0;
  for (int i = 0; i < cells; i++) steps[i] = -1;
  steps[from] = 0;
  queue[tail++] = from;
  while (head < tail) {
    int cell = queue[head++];
    int x = cell % grid->width, y = cell / grid->width;
    for (int d = 0; d < 4; d++) {
      if (!IsOpen(grid, x + kDx[d], y + kDy[d])) continue;
      int next = CellAt(grid, x + kDx[d], y + kDy[d]);
      if (steps[next] >= 0) continue;
      steps[next] = steps[cell] + 1;
      queue[tail++] = next;
    }
  }
  free(queue);
  *reached = tail;
  return steps;
}

// Scanline flood fill: whole runs are marked, then the rows above and below
// are searched for the beginnings of further runs.
static int FloodFill(const Grid* grid, int x, int y, int* spans) {
  bool* filled = Allocate(grid->width * grid->height, sizeof(bool));
  int* stack = Allocate(grid->width * grid->height * 2, sizeof(int));
  int depth = 0, area = 0;
  *spans = 0;
  stack[depth++] = CellAt(grid, x, y);
  while (depth > 0) {
    int cell = stack[--depth];
    if (filled[cell]) continue;
    int row = cell / grid->width, left = cell % grid->width, right = left;
    while (IsOpen(grid, left - 1, row)) left--;
    while (IsOpen(grid, right + 1, row)) right++;
    ++*spans;
    for (int i = left; i <= right; i++) filled[CellAt(grid, i, row)] = true;
    area += right - left + 1;
    for (int side = -1; side <= 1; side += 2) {
      bool in_run = false;
      for (int i = left; i <= right; i++) {
        bool wanted = IsOpen(grid, i, row + side) && !filled[CellAt(grid, i, row + side)];
        if (wanted && !in_run) stack[depth++] = CellAt(grid, i, row + side);
        in_run = wanted;
      }
    }
  }
  free(filled);
  free(stack);
  return area;
}

static int FindRoot(int* parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void CountRegions(const Grid* grid, int* regions, int* largest) {
  int cells = grid->width * grid->height;
  int *parent = Allocate(cells, sizeof(int)), *size = Allocate(cells, sizeof(int));
  for (int i = 0; i < cells; i++) parent[i] = i;
  for (int y = 0; y < grid->height; y++) {
    for (int x = 0; x < grid->width; x++) {
      if (!IsOpen(grid, x, y)) continue;
      int here = FindRoot(parent, CellAt(grid, x, y));
      if (IsOpen(grid, x - 1, y)) {
        parent[here] = FindRoot(parent, CellAt(grid, x - 1, y));
        here = parent[here];
      }
      if (IsOpen(grid, x, y - 1)) parent[here] = FindRoot(parent, CellAt(grid, x, y - 1));
    }
  }
  *regions = *largest = 0;
  for (int i = 0; i < cells; i++) {
    if (grid->cost[i] == kWall) continue;
    int root = FindRoot(parent, i);
    if (root == i) ++*regions;
    if (++size[root] > *largest) *largest = size[root];
  }
  free(parent);
  free(size);
}

// ---------------------------------------------------------------------------
// Commands; each returns NULL or an error message.

static Heuristic ParseMethod(const char* name, int neighbours) {
  if (neighbours != 4 && neighbours != 8) return NULL;
  if (strcmp(name, "zero") == 0) return NoEstimate;
  if (strcmp(name, "chebyshev") == 0) return Chebyshev;
  if (strcmp(name, "octile") == 0) return Octile;
  // With diagonal moves the Manhattan distance overestimates.
  if (strcmp(name, "manhattan") == 0 && neighbours == 4) return Manhattan;
  return NULL;
}

static const char* CmdGrid(Grid* grid, const char* line) {
  int width, height;
  char row[kLineMax];
  if (sscanf(line, "%*s %4d %4d", &width, &height) != 2 || width < 1 || height < 1 ||
      width > kMaxSide || height > kMaxSide) {
    return "bad grid size";
  }
  ResetGrid(grid, width, height, kWall);
  for (int y = 0; y < height; y++) {
    if (!fgets(row, sizeof(row), stdin)) return "grid ends early";
    for (int x = 0; x < width && row[x] != '\0' && row[x] != '\n'; x++) {
      int cell = CellAt(grid, x, y);
      switch (row[x]) {
        case '#':
          break;
        case 'S':
          grid->start = cell;
          grid->cost[cell] = 1;
          break;
        case 'G':
          grid->goal = cell;
          grid->cost[cell] = 1;
          break;
        case '.':
        case ' ':
          grid->cost[cell] = 1;
          break;
        default:
          if (row[x] < '1' || row[x] > '9') return "bad character in grid";
          grid->cost[cell] = (unsigned char)(row[x] - '0');
      }
    }
  }
  printf("grid %dx%d: %d open\n", width, height, CountOpen(grid));
  return NULL;
}

// Start and goal become the first and the last open cell.
static void PlaceEnds(Grid* grid) {
  grid->start = grid->goal = -1;
  for (int i = 0; i < grid->width * grid->height; i++) {
    if (grid->cost[i] == kWall) continue;
    if (grid->start < 0) grid->start = i;
    grid->goal = i;
  }
}

static const char* CmdMaze(Grid* grid, const char* line) {
  char kind[16];
  int columns, rows;
  unsigned seed;
  if (sscanf(line, "%*s %15s %4d %4d %8u", kind, &columns, &rows, &seed) != 4 || columns < 1 ||
      rows < 1 || 2 * columns + 1 > kMaxSide || 2 * rows + 1 > kMaxSide) {
    return "bad maze parameters";
  }
  for (size_t i = 0; i < sizeof(kMazes) / sizeof(kMazes[0]); i++) {
    if (strcmp(kMazes[i].name, kind) != 0) continue;
    Random random = {seed};
    NextRandom(&random);
    ResetGrid(grid, 2 * columns + 1, 2 * rows + 1, kWall);
    kMazes[i].generate(grid, &random);
    PlaceEnds(grid);
    int ends = 0;
    uint32_t hash = 1;
    for (int c = 0; c < grid->width * grid->height; c++) {
      hash = Hash(hash, grid->cost[c]);
      if (grid->cost[c] == kWall) continue;
      ends += OpenNeighbours(grid, c % grid->width, c / grid->width) == 1;
    }
    printf("maze %s %dx%d: %d open, %d dead ends, hash %08" PRIx32 "\n", kind, columns, rows,
           CountOpen(grid), ends, hash);
    return NULL;
  }
  return "unknown kind of maze";
}

// Opens an inner wall next to the given share of the dead ends.
static const char* CmdBraid(Grid* grid, const char* line) {
  int percent, opened = 0;
  unsigned seed;
  if (sscanf(line, "%*s %3d %8u", &percent, &seed) != 2 || percent < 0 || percent > 100) {
    return "bad percentage or seed";
  }
  Random random = {seed};
  for (int y = 1; y < grid->height - 1; y++) {
    for (int x = 1; x < grid->width - 1; x++) {
      if (!IsOpen(grid, x, y) || OpenNeighbours(grid, x, y) != 1) continue;
      if (RandomBelow(&random, 100) >= percent) continue;
      int turn = RandomBelow(&random, 4);
      for (int i = 0; i < 4; i++) {
        int d = (turn + i) % 4;
        int nx = x + kDx[d], ny = y + kDy[d];
        if (IsOpen(grid, nx, ny) || !IsOpen(grid, nx + kDx[d], ny + kDy[d])) continue;
        grid->cost[CellAt(grid, nx, ny)] = 1;
        opened++;
        break;
      }
    }
  }
  printf("braid: %d walls opened\n", opened);
  return NULL;
}

static const char* CmdWeights(Grid* grid, const char* line) {
  int most, sum = 0;
  unsigned seed;
  if (sscanf(line, "%*s %3d %8u", &most, &seed) != 2 || most < 1 || most > 9) {
    return "bad weight or seed";
  }
  Random random = {seed};
  for (int i = 0; i < grid->width * grid->height; i++) {
    if (grid->cost[i] == kWall) continue;
    grid->cost[i] = (unsigned char)(1 + RandomBelow(&random, most));
    sum += grid->cost[i];
  }
  printf("weights: sum %d\n", sum);
  return NULL;
}

static const char* CmdSolve(Grid* grid, const char* line) {
  char name[16];
  int neighbours;
  if (sscanf(line, "%*s %15s %1d", name, &neighbours) != 2) return "bad method";
  Heuristic heuristic = ParseMethod(name, neighbours);
  if (!heuristic) return "bad method";
  if (grid->start < 0 || grid->goal < 0) return "no start or goal";
  Search s = NewSearch(grid);
  int cost = FindPath(grid, &s, grid->start, grid->goal, heuristic, neighbours);
  if (cost < 0) {
    printf("solve %s %d: no path, expanded %d\n", name, neighbours, s.expanded);
  } else {
    int length = 0;
    uint32_t hash = 1;
    for (int c = grid->goal; c >= 0; c = s.parent[c]) {
      hash = Hash(hash, c);
      length++;
    }
    printf("solve %s %d: cost %d cells %d expanded %d hash %08" PRIx32 "\n", name, neighbours, cost,
           length, s.expanded, hash);
  }
  FreeSearch(&s);
  return NULL;
}

static const char* CmdQueries(Grid* grid, const char* line) {
  char name[16];
  int count, neighbours;
  unsigned seed;
  if (sscanf(line, "%*s %5d %8u %15s %1d", &count, &seed, name, &neighbours) != 4 || count < 0) {
    return "bad query";
  }
  Heuristic heuristic = ParseMethod(name, neighbours);
  if (!heuristic) return "bad method";
  int cells = grid->width * grid->height, open = 0;
  int* list = Allocate(cells, sizeof(int));
  for (int i = 0; i < cells; i++) {
    if (grid->cost[i] != kWall) list[open++] = i;
  }
  if (open == 0) {
    free(list);
    return "no open cell";
  }
  Search s = NewSearch(grid);
  Random random = {seed};
  int64_t total = 0, expanded = 0;
  int failed = 0;
  uint32_t hash = 1;
  for (int q = 0; q < count; q++) {
    int a = list[RandomBelow(&random, open)];
    int b = list[RandomBelow(&random, open)];
    int cost = FindPath(grid, &s, a, b, heuristic, neighbours);
    hash = Hash(hash, cost);
    expanded += s.expanded;
    if (cost < 0) {
      failed++;
    } else {
      total += cost;
    }
  }
  printf("queries %s %d: total %" PRId64 " failed %d expanded %" PRId64 " hash %08" PRIx32 "\n",
         name, neighbours, total, failed, expanded, hash);
  FreeSearch(&s);
  free(list);
  return NULL;
}

static const char* CmdFlood(Grid* grid, const char* line) {
  int x, y, spans, reached;
  if (sscanf(line, "%*s %4d %4d", &x, &y) != 2 || !Inside(grid, x, y)) return "bad position";
  if (!IsOpen(grid, x, y)) return "position is a wall";
  int area = FloodFill(grid, x, y, &spans);
  int* steps = StepField(grid, CellAt(grid, x, y), &reached);
  printf("flood %d %d: area %d spans %d %s\n", x, y, area, spans,
         reached == area ? "ok" : "MISMATCH");
  free(steps);
  return NULL;
}

static const char* CmdRegions(Grid* grid, const char* line) {
  int regions, largest;
  (void)line;
  CountRegions(grid, &regions, &largest);
  printf("regions: %d, largest %d of %d\n", regions, largest, CountOpen(grid));
  return NULL;
}

// Step counts from the start, and the pair of cells farthest apart found by
// two sweeps (the exact diameter if the maze is a tree).
static const char* CmdSteps(Grid* grid, const char* line) {
  int reached, farthest, sweep_steps = 0;
  uint32_t hash = 1;
  (void)line;
  if (grid->start < 0) return "no start";
  farthest = grid->start;
  for (int sweep = 0; sweep < 2; sweep++) {
    int* steps = StepField(grid, farthest, &reached);
    for (int i = 0; i < grid->width * grid->height; i++) {
      hash = Hash(hash, steps[i]);
      if (steps[i] > steps[farthest]) farthest = i;
    }
    sweep_steps = steps[farthest];
    free(steps);
  }
  printf("steps: reached %d longest %d hash %08" PRIx32 "\n", reached, sweep_steps, hash);
  return NULL;
}

// Draws a small grid with the best 8-neighbour path.
static const char* CmdShow(Grid* grid, const char* line) {
  (void)line;
  if (grid->width > 41 || grid->height > 41) return "too large to show";
  Search s = NewSearch(grid);
  bool* on_path = Allocate(grid->width * grid->height, sizeof(bool));
  if (grid->start >= 0 && grid->goal >= 0 &&
      FindPath(grid, &s, grid->start, grid->goal, Octile, 8) >= 0) {
    for (int c = grid->goal; c >= 0; c = s.parent[c]) on_path[c] = true;
  }
  for (int y = 0; y < grid->height; y++) {
    for (int x = 0; x < grid->width; x++) {
      int c = CellAt(grid, x, y);
      if (grid->cost[c] == kWall) {
        putchar('#');
      } else if (c == grid->start || c == grid->goal) {
        putchar(c == grid->start ? 'S' : 'G');
      } else if (on_path[c]) {
        putchar('*');
      } else {
        putchar(grid->cost[c] == 1 ? '.' : '0' + grid->cost[c]);
      }
    }
    putchar('\n');
  }
  free(on_path);
  FreeSearch(&s);
  return NULL;
}

static const struct {
  const char* name;
  const char* (*run)(Grid*, const char*);
  bool needs_grid;
} kCommands[] = {{"grid", CmdGrid, false},  {"maze", CmdMaze, false},
                 {"braid", CmdBraid, true}, {"weights", CmdWeights, true},
                 {"solve", CmdSolve, true}, {"queries", CmdQueries, true},
                 {"flood", CmdFlood, true}, {"regions", CmdRegions, true},
                 {"steps", CmdSteps, true}, {"show", CmdShow, true}};

static const char* Execute(Grid* grid, const char* line, const char* name) {
  for (size_t i = 0; i < sizeof(kCommands) / sizeof(kCommands[0]); i++) {
    if (strcmp(kCommands[i].name, name) != 0) continue;
    if (kCommands[i].needs_grid && !grid->cost) return "no grid";
    return kCommands[i].run(grid, line);
  }
  return "unknown command";
}

int main(void) {
  Grid grid = {0, 0, NULL, -1, -1};
  char line[kLineMax], name[16];
  int errors = 0;
  while (fgets(line, sizeof(line), stdin)) {
    if (line[0] == '#' || sscanf(line, "%15s", name) != 1) continue;
    const char* problem = Execute(&grid, line, name);
    if (problem) {
      printf("%s: error: %s\n", name, problem);
      errors++;
    }
  }
  printf("%d errors\n", errors);
  free(grid.cost);
  return 0;
}
