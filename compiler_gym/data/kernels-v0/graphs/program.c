// graphs: classic graph algorithms on graphs that are listed or generated.
// Input words are separated by white space, '#' comments run to the line's end:
//   graph KIND N M (FROM TO WEIGHT)*M  |  random KIND N M SEED MAX_WEIGHT
// with KIND directed, undirected or dag, then queries on the latest graph: bfs S |
//   dfs | dijkstra S SOURCES | bellman S | floyd | mst | topo | scc | flow S T | color

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxVertices = 4000, kMaxEdges = 40000, kMaxFloyd = 256, kWordMax = 24, kMaxShown = 16 };

static const int64_t kFar = INT64_MAX / 4;

typedef struct {
  int from, to;
  int64_t weight;
} Edge;

// Edge list plus, for traversal, all outgoing arcs grouped by vertex: those of
// vertex v are arc[first[v]] to arc[first[v + 1] - 1], in input order.
typedef struct {
  int n, m;
  bool directed;
  Edge* edge;
  int* first;
  struct Arc {
    int to;
    int64_t weight;
  }* arc;
} Graph;

typedef struct {
  int64_t key;
  int vertex;
} HeapItem;

typedef struct {
  HeapItem* item;
  int size, capacity;
} Heap;

// ---------------------------------------------------------------------------
// Memory, hashing and reading.

static void* NewArray(int count, size_t size) {
  void* p = calloc(count > 0 ? (size_t)count : 1, size);
  if (!p) {
    printf("out of memory\n");
    exit(0);
  }
  return p;
}

static int* NewInts(int count, int value) {
  int* p = NewArray(count, sizeof(int));
  for (int i = 0; i < count; i++) p[i] = value;
  return p;
}

static int64_t* NewDistances(int count) {
  int64_t* p = NewArray(count, sizeof(int64_t));
  for (int i = 0; i < count; i++) p[i] = kFar;
  return p;
}

static uint64_t SplitMix(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

static int RandomBelow(uint64_t* state, int bound) {
  return (int)((SplitMix(state) >> 33) % (uint64_t)bound);
}

static uint32_t HashValue(uint32_t hash, int64_t value) {
  uint64_t bits = (uint64_t)value;
  hash = (hash ^ (uint32_t)(bits & 0xffffffffu)) * 16777619u;
  return (hash ^ (uint32_t)(bits >> 32)) * 16777619u;
}

static int SkipBlanks(void) {
  int c = getchar();
  for (;;) {
    if (c == '#') {
      while (c != EOF && c != '\n') c = getchar();
    } else if (c != EOF && isspace(c)) {
      c = getchar();
    } else {
      return c;
    }
  }
}

static bool ReadWord(char word[kWordMax]) {
  int length = 0;
  int c = SkipBlanks();
  for (; c != EOF && !isspace(c) && c != '#'; c = getchar()) {
    if (length < kWordMax - 1) word[length++] = (char)c;
  }
  if (c == '#') ungetc(c, stdin);
  word[length] = '\0';
  return length > 0;
}

static bool ReadNumber(int64_t low, int64_t high, int64_t* value) {
  char word[kWordMax];
  int64_t v = 0;
  if (!ReadWord(word)) return false;
  const char* p = word[0] == '-' ? word + 1 : word;
  if (*p == '\0' || strlen(p) > 12) return false;
  for (; *p; p++) {
    if (*p < '0' || *p > '9') return false;
    v = v * 10 + (*p - '0');
  }
  if (word[0] == '-') v = -v;
  *value = v;
  return v >= low && v <= high;
}

static bool ReadInt(int low, int high, int* value) {
  int64_t v;
  if (!ReadNumber(low, high, &v)) return false;
  *value = (int)v;
  return true;
}

// ---------------------------------------------------------------------------
// Binary heap ordered by key, then vertex. Stale entries stay until popped.

static bool Before(const HeapItem* a, const HeapItem* b) {
  return a->key != b->key ? a->key < b->key : a->vertex < b->vertex;
}

static void HeapPush(Heap* heap, int64_t key, int vertex) {
  HeapItem item = {key, vertex};
  if (heap->size == heap->capacity) {
    int capacity = heap->capacity ? heap->capacity * 2 : 64;
    HeapItem* grown = realloc(heap->item, (size_t)capacity * sizeof(HeapItem));
    if (!grown) {
      printf("out of memory\n");
      exit(0);
    }
    heap->item = grown;
    heap->capacity = capacity;
  }
  int hole = heap->size++;
  while (hole > 0) {
    int parent = (hole - 1) / 2;
    if (!Before(&item, &heap->item[parent])) break;
    heap->item[hole] = heap->item[parent];
    hole = parent;
  }
  heap->item[hole] = item;
}

static HeapItem HeapPop(Heap* heap) {
  HeapItem top = heap->item[0];
  HeapItem last = heap->item[--heap->size];
  int hole = 0;
  for (;;) {
    int child = 2 * hole + 1;
    if (child >= heap->size) break;
    if (child + 1 < heap->size && Before(&heap->item[child + 1], &heap->item[child])) child++;
    if (!Before(&heap->item[child], &last)) break;
    heap->item[hole] = heap->item[child];
    hole = child;
  }
  heap->item[hole] = last;
  return top;
}

// ---------------------------------------------------------------------------
// Graph construction.

static void FreeGraph(Graph* g) {
  free(g->edge);
  free(g->first);
  free(g->arc);
  memset(g, 0, sizeof(*g));
}

static void BuildArcs(Graph* g) {
  int arcs = g->directed ? g->m : 2 * g->m;
  g->first = NewInts(g->n + 1, 0);
  g->arc = NewArray(arcs, sizeof(*g->arc));
  for (int i = 0; i < g->m; i++) {
    g->first[g->edge[i].from + 1]++;
    if (!g->directed) g->first[g->edge[i].to + 1]++;
  }
  for (int v = 0; v < g->n; v++) g->first[v + 1] += g->first[v];
  int* next = NewInts(g->n, 0);
  memcpy(next, g->first, (size_t)g->n * sizeof(int));
  for (int i = 0; i < g->m; i++) {
    const Edge* e = &g->edge[i];
    g->arc[next[e->from]++] = (struct Arc){e->to, e->weight};
    if (!g->directed) g->arc[next[e->to]++] = (struct Arc){e->from, e->weight};
  }
  free(next);
}

// The same graph with every arc turned around (for Kosaraju's algorithm).
static Graph Reversed(const Graph* g) {
  Graph r = {g->n, g->m, g->directed, NULL, NULL, NULL};
  r.edge = NewArray(g->m, sizeof(Edge));
  for (int i = 0; i < g->m; i++) {
    r.edge[i] = (Edge){g->edge[i].to, g->edge[i].from, g->edge[i].weight};
  }
  BuildArcs(&r);
  return r;
}

static bool HasNegative(const Graph* g) {
  for (int i = 0; i < g->m; i++) {
    if (g->edge[i].weight < 0) return true;
  }
  return false;
}

static const char* ReadHeader(Graph* g, bool* dag) {
  char kind[kWordMax];
  FreeGraph(g);
  if (!ReadWord(kind)) return "missing kind";
  *dag = strcmp(kind, "dag") == 0;
  g->directed = *dag || strcmp(kind, "directed") == 0;
  if (!g->directed && strcmp(kind, "undirected") != 0) return "unknown kind of graph";
  int n, m;
  if (!ReadInt(1, kMaxVertices, &n) || !ReadInt(0, kMaxEdges, &m)) return "bad graph size";
  g->n = n;
  g->edge = NewArray(m, sizeof(Edge));
  g->first = NULL;
  g->m = m;
  return NULL;
}

static const char* CmdGraph(Graph* g) {
  bool dag, ok = true;
  const char* problem = ReadHeader(g, &dag);
  if (problem) {
    FreeGraph(g);
    return problem;
  }
  for (int i = 0; i < g->m && ok; i++) {
    Edge* e = &g->edge[i];
    ok = ReadInt(0, g->n - 1, &e->from) && ReadInt(0, g->n - 1, &e->to) &&
         ReadNumber(-1000000, 1000000, &e->weight) && !(dag && e->from >= e->to);
  }
  if (!ok) {
    FreeGraph(g);
    return "bad edge";
  }
  BuildArcs(g);
  printf("graph: %d vertices, %d edges\n", g->n, g->m);
  return NULL;
}

static const char* CmdRandom(Graph* g) {
  bool dag;
  int64_t seed, most;
  const char* problem = ReadHeader(g, &dag);
  if (!problem && (!ReadNumber(0, 999999999, &seed) || !ReadNumber(1, 1000000, &most))) {
    problem = "bad seed or weight";
  }
  if (!problem && g->n < 2) problem = "random graph is too small";
  if (problem) {
    FreeGraph(g);
    return problem;
  }
  uint64_t state = (uint64_t)seed;
  for (int i = 0; i < g->m; i++) {
    int a = RandomBelow(&state, g->n);
    int b = RandomBelow(&state, g->n - 1);
    if (b >= a) b++;  // no self-loops
    if (dag && a > b) {
      int t = a;
      a = b;
      b = t;
    }
    g->edge[i] = (Edge){a, b, 1 + RandomBelow(&state, (int)most)};
  }
  BuildArcs(g);
  printf("random: %d vertices, %d edges\n", g->n, g->m);
  return NULL;
}

// ---------------------------------------------------------------------------
// Traversals.

static const char* CmdBfs(Graph* g) {
  int source;
  if (!ReadInt(0, g->n - 1, &source)) return "bad vertex";
  int *queue = NewInts(g->n, 0), *level = NewInts(g->n, -1);
  int head = 0, tail = 0, deepest = 0;
  int width[kMaxShown] = {0};
  uint32_t hash = 2166136261u;
  queue[tail++] = source;
  level[source] = 0;
  while (head < tail) {
    int v = queue[head++];
    if (level[v] > deepest) deepest = level[v];
    if (level[v] < kMaxShown) width[level[v]]++;
    hash = HashValue(hash, (int64_t)v * 65536 + level[v]);
    for (int i = g->first[v]; i < g->first[v + 1]; i++) {
      int to = g->arc[i].to;
      if (level[to] >= 0) continue;
      level[to] = level[v] + 1;
      queue[tail++] = to;
    }
  }
  printf("bfs %d: reached %d depth %d levels", source, tail, deepest);
  for (int i = 0; i <= deepest && i < kMaxShown; i++) printf(" %d", width[i]);
  printf(" hash %08" PRIx32 "\n", hash);
  free(queue);
  free(level);
  return NULL;
}

typedef struct {
  const Graph* g;
  int *enter, *leave;  // 0 = not yet
  int clock;
  int tree, back, forward, cross;
} Dfs;

static void DfsVisit(Dfs* dfs, int v) {
  dfs->enter[v] = ++dfs->clock;
  for (int i = dfs->g->first[v]; i < dfs->g->first[v + 1]; i++) {
    int to = dfs->g->arc[i].to;
    if (dfs->enter[to] == 0) {
      dfs->tree++;
      DfsVisit(dfs, to);
    } else if (dfs->leave[to] == 0) {
      dfs->back++;
    } else if (dfs->enter[v] < dfs->enter[to]) {
      dfs->forward++;
    } else {
      dfs->cross++;
    }
  }
  dfs->leave[v] = ++dfs->clock;
}

static const char* CmdDfs(Graph* g) {
  Dfs dfs = {g, NewInts(g->n, 0), NewInts(g->n, 0), 0, 0, 0, 0, 0};
  int roots = 0;
  uint32_t hash = 2166136261u;
  for (int v = 0; v < g->n; v++) {
    if (dfs.enter[v] != 0) continue;
    roots++;
    DfsVisit(&dfs, v);
  }
  for (int v = 0; v < g->n; v++) {
    hash = HashValue(hash, (int64_t)dfs.enter[v] * 100000 + dfs.leave[v]);
  }
  printf("dfs: roots %d tree %d back %d forward %d cross %d hash %08" PRIx32 "\n", roots, dfs.tree,
         dfs.back, dfs.forward, dfs.cross, hash);
  free(dfs.enter);
  free(dfs.leave);
  return NULL;
}

// ---------------------------------------------------------------------------
// Shortest paths.

static void Dijkstra(const Graph* g, int source, Heap* heap, int64_t* distance, int* parent) {
  for (int v = 0; v < g->n; v++) {
    distance[v] = kFar;
    parent[v] = -1;
  }
  distance[source] = 0;
  heap->size = 0;
  HeapPush(heap, 0, source);
  while (heap->size > 0) {
    HeapItem top = HeapPop(heap);
    if (top.key != distance[top.vertex]) continue;  // a stale entry
    for (int i = g->first[top.vertex]; i < g->first[top.vertex + 1]; i++) {
      const struct Arc* arc = &g->arc[i];
      int64_t candidate = top.key + arc->weight;
      if (candidate < distance[arc->to]) {
        distance[arc->to] = candidate;
        parent[arc->to] = top.vertex;
        HeapPush(heap, candidate, arc->to);
      }
    }
  }
}

static void PrintPath(const int* parent, int v) {
  if (parent[v] >= 0) {
    PrintPath(parent, parent[v]);
    printf(">");
  }
  printf("%d", v);
}

static const char* CmdDijkstra(Graph* g) {
  int source, sources;
  if (!ReadInt(0, g->n - 1, &source) || !ReadInt(1, 1000, &sources)) return "bad vertex";
  if (HasNegative(g)) return "negative weight";
  Heap heap = {NULL, 0, 0};
  int64_t* distance = NewDistances(g->n);
  int* parent = NewInts(g->n, -1);
  uint32_t hash = 2166136261u;
  int64_t total = 0;
  for (int s = 0; s < sources; s++) {
    Dijkstra(g, (source + s) % g->n, &heap, distance, parent);
    for (int v = 0; v < g->n; v++) {
      hash = HashValue(hash, distance[v]);
      if (distance[v] < kFar) total += distance[v];
    }
  }
  int reached = 0, farthest = source;
  int64_t longest = -1;
  for (int v = 0; v < g->n; v++) {
    if (distance[v] >= kFar) continue;
    reached++;
    if (distance[v] > longest) {
      longest = distance[v];
      farthest = v;
    }
  }
  printf("dijkstra: total %" PRId64 " hash %08" PRIx32 " last reached %d farthest %" PRId64 " by ",
         total, hash, reached, longest);
  PrintPath(parent, farthest);
  printf("\n");
  free(heap.item);
  free(distance);
  free(parent);
  return NULL;
}

static const char* CmdBellman(Graph* g) {
  int source, rounds = 0;
  if (!ReadInt(0, g->n - 1, &source)) return "bad vertex";
  int64_t* distance = NewDistances(g->n);
  bool changed = true;
  distance[source] = 0;
  while (changed && rounds <= g->n) {
    changed = false;
    rounds++;
    for (int v = 0; v < g->n; v++) {
      if (distance[v] == kFar) continue;
      for (int i = g->first[v]; i < g->first[v + 1]; i++) {
        int64_t candidate = distance[v] + g->arc[i].weight;
        if (candidate < distance[g->arc[i].to]) {
          distance[g->arc[i].to] = candidate;
          changed = true;
        }
      }
    }
  }
  if (changed) {
    printf("bellman %d: negative cycle\n", source);
  } else {
    int64_t low = 0, high = 0, sum = 0;
    for (int v = 0; v < g->n; v++) {
      if (distance[v] == kFar) continue;
      sum += distance[v];
      if (distance[v] < low) low = distance[v];
      if (distance[v] > high) high = distance[v];
    }
    printf("bellman %d: sum %" PRId64 " from %" PRId64 " to %" PRId64 "\n", source, sum, low, high);
  }
  free(distance);
  return NULL;
}

static const char* CmdFloyd(Graph* g) {
  if (g->n > kMaxFloyd) return "too many vertices";
  int n = g->n;
  int64_t* d = NewDistances(n * n);
  for (int v = 0; v < n; v++) d[v * n + v] = 0;
  for (int v = 0; v < n; v++) {
    for (int i = g->first[v]; i < g->first[v + 1]; i++) {
      int64_t* cell = &d[v * n + g->arc[i].to];
      if (g->arc[i].weight < *cell) *cell = g->arc[i].weight;
    }
  }
  bool negative = false;
  for (int k = 0; k < n && !negative; k++) {
    for (int i = 0; i < n; i++) {
      int64_t left = d[i * n + k];
      if (left == kFar) continue;
      for (int j = 0; j < n; j++) {
        int64_t right = d[k * n + j];
        int64_t through = left + right;
        if (right != kFar && through < d[i * n + j]) d[i * n + j] = through;
      }
    }
    // Stop at the first negative cycle, before the values can explode.
    for (int i = 0; i < n; i++) negative |= d[i * n + i] < 0;
  }
  if (negative) {
    printf("floyd: negative cycle\n");
  } else {
    int64_t diameter = 0, total = 0;
    int pairs = 0;
    uint32_t hash = 2166136261u;
    for (int i = 0; i < n * n; i++) {
      hash = HashValue(hash, d[i]);
      if (d[i] == kFar) continue;
      pairs++;
      total += d[i];
      if (d[i] > diameter) diameter = d[i];
    }
    printf("floyd: pairs %d total %" PRId64 " diameter %" PRId64 " hash %08" PRIx32 "\n", pairs,
           total, diameter, hash);
  }
  free(d);
  return NULL;
}

// ---------------------------------------------------------------------------
// Minimum spanning forests: Kruskal, checked by Prim.

static int FindRoot(int* parent, int v) {
  while (parent[v] != v) {
    parent[v] = parent[parent[v]];
    v = parent[v];
  }
  return v;
}

static int CompareEdges(const void* left, const void* right) {
  const Edge *a = left, *b = right;
  if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

static int64_t KruskalWeight(const Graph* g, int* trees) {
  Edge* sorted = NewArray(g->m, sizeof(Edge));
  int* parent = NewInts(g->n, 0);
  int64_t weight = 0;
  memcpy(sorted, g->edge, (size_t)g->m * sizeof(Edge));
  qsort(sorted, (size_t)g->m, sizeof(Edge), CompareEdges);
  for (int v = 0; v < g->n; v++) parent[v] = v;
  *trees = g->n;
  for (int i = 0; i < g->m && *trees > 1; i++) {
    int a = FindRoot(parent, sorted[i].from), b = FindRoot(parent, sorted[i].to);
    if (a == b) continue;
    parent[a < b ? b : a] = a < b ? a : b;
    weight += sorted[i].weight;
    --*trees;
  }
  free(sorted);
  free(parent);
  return weight;
}

static int64_t PrimWeight(const Graph* g) {
  Heap heap = {NULL, 0, 0};
  bool* done = NewArray(g->n, sizeof(bool));
  int64_t weight = 0;
  for (int root = 0; root < g->n; root++) {
    if (done[root]) continue;
    HeapPush(&heap, 0, root);
    while (heap.size > 0) {
      HeapItem top = HeapPop(&heap);
      if (done[top.vertex]) continue;
      done[top.vertex] = true;
      weight += top.key;
      for (int i = g->first[top.vertex]; i < g->first[top.vertex + 1]; i++) {
        if (!done[g->arc[i].to]) HeapPush(&heap, g->arc[i].weight, g->arc[i].to);
      }
    }
  }
  free(heap.item);
  free(done);
  return weight;
}

static const char* CmdMst(Graph* g) {
  int trees;
  if (g->directed) return "needs an undirected graph";
  int64_t kruskal = KruskalWeight(g, &trees);
  printf("mst: weight %" PRId64 " trees %d prim %s\n", kruskal, trees,
         PrimWeight(g) == kruskal ? "agrees" : "DIFFERS");
  return NULL;
}

// ---------------------------------------------------------------------------
// Directed structure: topological order and strongly connected components.

static const char* CmdTopo(Graph* g) {
  if (!g->directed) return "needs a directed graph";
  int *missing = NewInts(g->n, 0), *longest = NewInts(g->n, 0);
  Heap ready = {NULL, 0, 0};
  int placed = 0, critical = 0;
  uint32_t hash = 2166136261u;
  for (int i = 0; i < g->m; i++) missing[g->edge[i].to]++;
  for (int v = 0; v < g->n; v++) {
    if (missing[v] == 0) HeapPush(&ready, v, v);
  }
  printf("topo:");
  while (ready.size > 0) {
    int v = HeapPop(&ready).vertex;
    if (placed++ < kMaxShown) printf(" %d", v);
    hash = HashValue(hash, v);
    if (longest[v] > critical) critical = longest[v];
    for (int i = g->first[v]; i < g->first[v + 1]; i++) {
      int to = g->arc[i].to;
      if (longest[v] + 1 > longest[to]) longest[to] = longest[v] + 1;
      if (--missing[to] == 0) HeapPush(&ready, to, to);
    }
  }
  if (placed < g->n) {
    printf(" ... cycle after %d\n", placed);
  } else {
    printf(" longest chain %d hash %08" PRIx32 "\n", critical, hash);
  }
  free(ready.item);
  free(missing);
  free(longest);
  return NULL;
}

typedef struct {
  const Graph* g;
  int *index, *low, *component, *stack;
  int clock, depth, components;
} Tarjan;

static void TarjanVisit(Tarjan* t, int v) {
  t->index[v] = t->low[v] = ++t->clock;
  t->stack[t->depth++] = v;
  for (int i = t->g->first[v]; i < t->g->first[v + 1]; i++) {
    int to = t->g->arc[i].to;
    if (t->index[to] == 0) {
      TarjanVisit(t, to);
      if (t->low[to] < t->low[v]) t->low[v] = t->low[to];
    } else if (t->component[to] < 0 && t->index[to] < t->low[v]) {
      t->low[v] = t->index[to];
    }
  }
  if (t->low[v] != t->index[v]) return;
  int member;
  do {
    member = t->stack[--t->depth];
    t->component[member] = t->components;
  } while (member != v);
  t->components++;
}

// Kosaraju's algorithm without recursion; returns the number of components.
static int KosarajuCount(const Graph* g) {
  Graph r = Reversed(g);
  int *order = NewInts(g->n, 0), *stack = NewInts(g->n, 0), *cursor = NewInts(g->n, 0);
  bool* seen = NewArray(g->n, sizeof(bool));
  int finished = 0, components = 0;
  for (int pass = 0; pass < 2; pass++) {
    const Graph* side = pass == 0 ? g : &r;
    memset(seen, 0, (size_t)g->n * sizeof(bool));
    memcpy(cursor, side->first, (size_t)g->n * sizeof(int));
    for (int k = 0; k < g->n; k++) {
      int root = pass == 0 ? k : order[g->n - 1 - k], depth = 0;
      if (seen[root]) continue;
      if (pass == 1) components++;
      seen[root] = true;
      stack[depth++] = root;
      while (depth > 0) {
        int v = stack[depth - 1];
        if (cursor[v] == side->first[v + 1]) {
          depth--;
          if (pass == 0) order[finished++] = v;
        } else {
          int to = side->arc[cursor[v]++].to;
          if (!seen[to]) {
            seen[to] = true;
            stack[depth++] = to;
          }
        }
      }
    }
  }
  free(order);
  free(stack);
  free(cursor);
  free(seen);
  FreeGraph(&r);
  return components;
}

static const char* CmdScc(Graph* g) {
  if (!g->directed) return "needs a directed graph";
  Tarjan t = {g, NewInts(g->n, 0), NewInts(g->n, 0), NewInts(g->n, -1), NewInts(g->n, 0), 0, 0, 0};
  for (int v = 0; v < g->n; v++) {
    if (t.index[v] == 0) TarjanVisit(&t, v);
  }
  int* members = NewInts(t.components, 0);
  int largest = 0, crossing = 0;
  for (int v = 0; v < g->n; v++) {
    int size = ++members[t.component[v]];
    if (size > largest) largest = size;
  }
  for (int i = 0; i < g->m; i++) {
    if (t.component[g->edge[i].from] != t.component[g->edge[i].to]) crossing++;
  }
  printf("scc: %d components, largest %d, %d edges between, kosaraju %s\n", t.components, largest,
         crossing, KosarajuCount(g) == t.components ? "agrees" : "DIFFERS");
  free(members);
  free(t.index);
  free(t.low);
  free(t.component);
  free(t.stack);
  return NULL;
}

// ---------------------------------------------------------------------------
// Maximum flow (Dinic) with the weights as capacities, and two-colouring.

typedef struct {
  int n, links;
  int *head, *level, *cursor, *queue;
  struct Link {
    int to, next;
    int64_t left;
  }* link;  // link i ^ 1 is the reverse of link i
} Network;

static void AddLink(Network* net, int from, int to, int64_t capacity, int64_t back) {
  net->link[net->links] = (struct Link){to, net->head[from], capacity};
  net->head[from] = net->links++;
  net->link[net->links] = (struct Link){from, net->head[to], back};
  net->head[to] = net->links++;
}

static bool FlowLevels(Network* net, int source, int sink) {
  int head = 0, tail = 0;
  for (int v = 0; v < net->n; v++) net->level[v] = -1;
  net->level[source] = 0;
  net->queue[tail++] = source;
  while (head < tail) {
    int v = net->queue[head++];
    for (int i = net->head[v]; i >= 0; i = net->link[i].next) {
      int to = net->link[i].to;
      if (net->link[i].left > 0 && net->level[to] < 0) {
        net->level[to] = net->level[v] + 1;
        net->queue[tail++] = to;
      }
    }
  }
  return net->level[sink] >= 0;
}

static int64_t FlowPush(Network* net, int v, int sink, int64_t limit) {
  if (v == sink) return limit;
  for (; net->cursor[v] >= 0; net->cursor[v] = net->link[net->cursor[v]].next) {
    struct Link* link = &net->link[net->cursor[v]];
    if (link->left <= 0 || net->level[link->to] != net->level[v] + 1) continue;
    int64_t pushed = FlowPush(net, link->to, sink, limit < link->left ? limit : link->left);
    if (pushed > 0) {
      link->left -= pushed;
      net->link[net->cursor[v] ^ 1].left += pushed;
      return pushed;
    }
  }
  return 0;
}

static const char* CmdFlow(Graph* g) {
  int source, sink, phases = 0;
  if (!ReadInt(0, g->n - 1, &source) || !ReadInt(0, g->n - 1, &sink)) return "bad vertex";
  if (source == sink) return "source is the sink";
  if (HasNegative(g)) return "negative weight";
  Network net = {g->n, 0, NewInts(g->n, -1), NewInts(g->n, -1), NewInts(g->n, -1), NewInts(g->n, 0),
                 NULL};
  net.link = NewArray(2 * g->m, sizeof(*net.link));
  for (int i = 0; i < g->m; i++) {
    const Edge* e = &g->edge[i];
    AddLink(&net, e->from, e->to, e->weight, g->directed ? 0 : e->weight);
  }
  int64_t flow = 0, cut = 0, pushed;
  while (FlowLevels(&net, source, sink)) {
    phases++;
    memcpy(net.cursor, net.head, (size_t)g->n * sizeof(int));
    while ((pushed = FlowPush(&net, source, sink, kFar)) > 0) flow += pushed;
  }
  // The last level graph marks the source side of a minimum cut.
  for (int i = 0; i < g->m; i++) {
    const Edge* e = &g->edge[i];
    bool from_side = net.level[e->from] >= 0, to_side = net.level[e->to] >= 0;
    if (from_side && !to_side) cut += e->weight;
    if (!g->directed && !from_side && to_side) cut += e->weight;
  }
  printf("flow %d to %d: %" PRId64 " in %d phases, cut %s\n", source, sink, flow, phases,
         cut == flow ? "matches" : "DIFFERS");
  free(net.head);
  free(net.level);
  free(net.cursor);
  free(net.queue);
  free(net.link);
  return NULL;
}

// Greedy colouring in vertex order. It may need more colours than necessary, so
// whether two would do is decided separately, by alternating sides.
static const char* CmdColor(Graph* g) {
  if (g->directed) return "needs an undirected graph";
  int *color = NewInts(g->n, -1), *side = NewInts(g->n, 0), *stack = NewInts(g->n, 0);
  int* mark = NewInts(g->n + 1, -1);
  int used = 0;
  bool bipartite = true;
  for (int v = 0; v < g->n; v++) {
    for (int i = g->first[v]; i < g->first[v + 1]; i++) {
      int c = color[g->arc[i].to];
      if (c >= 0) mark[c] = v;
    }
    int c = 0;
    while (mark[c] == v) c++;
    color[v] = c;
    if (c + 1 > used) used = c + 1;
  }
  for (int root = 0; root < g->n; root++) {
    int depth = 0;
    if (side[root] != 0) continue;
    side[root] = 1;
    stack[depth++] = root;
    while (depth > 0) {
      int v = stack[--depth];
      for (int i = g->first[v]; i < g->first[v + 1]; i++) {
        int to = g->arc[i].to;
        if (side[to] == 0) {
          side[to] = -side[v];
          stack[depth++] = to;
        } else if (side[to] == side[v]) {
          bipartite = false;
        }
      }
    }
  }
  printf("color: greedy uses %d, %s\n", used, bipartite ? "bipartite" : "odd cycle");
  free(color);
  free(side);
  free(stack);
  free(mark);
  return NULL;
}

static const struct {
  const char* name;
  const char* (*run)(Graph*);
  bool needs_graph;
} kCommands[] = {
    {"graph", CmdGraph, false}, {"random", CmdRandom, false},    {"bfs", CmdBfs, true},
    {"dfs", CmdDfs, true},      {"dijkstra", CmdDijkstra, true}, {"bellman", CmdBellman, true},
    {"floyd", CmdFloyd, true},  {"mst", CmdMst, true},           {"topo", CmdTopo, true},
    {"scc", CmdScc, true},      {"flow", CmdFlow, true},         {"color", CmdColor, true},
};

static const char* Execute(Graph* g, const char* name) {
  for (size_t i = 0; i < sizeof(kCommands) / sizeof(kCommands[0]); i++) {
    if (strcmp(kCommands[i].name, name) != 0) continue;
    if (kCommands[i].needs_graph && g->n == 0) return "no graph";
    return kCommands[i].run(g);
  }
  return "unknown word";
}

int main(void) {
  Graph g = {0, 0, false, NULL, NULL, NULL};
  char word[kWordMax];
  int errors = 0;
  while (ReadWord(word)) {
    const char* problem = Execute(&g, word);
    if (problem) {
      printf("%s: error: %s\n", word, problem);
      errors++;
    }
  }
  printf("done, %d errors\n", errors);
  FreeGraph(&g);
  return 0;
}
