// containers: the same operations on five maps (hash table, AVL tree, B-tree, skip
// list, sorted array), two priority queues and two deques, which must all agree.
// Input, one command per line ('#' starts a comment line): put K V | get K | del K |
//   ceil K | list | clear | fill LOW HIGH STEP | drain LOW HIGH STEP |
//   bulk SEED N KEYS | heap SEED N | deque SEED N

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kLineMax = 512,
  kMaxList = 40,
  kTypes = 5,
  kDegree = 4,  // B-tree nodes hold kDegree - 1 to 2 * kDegree - 1 keys
  kMaxKeys = 2 * kDegree - 1,
  kMaxLevel = 14
};

typedef struct {
  int64_t key, value;
} Pair;

typedef void (*Visitor)(void* context, Pair pair);

// What every map can do. `ceiling` (smallest key not below the given one) is
// NULL for the map without order, whose `visit` comes in no special order.
typedef struct {
  const char* name;
  void* (*create)(void);
  void (*destroy)(void* map);
  bool (*put)(void* map, int64_t key, int64_t value);  // true if the key is new
  bool (*get)(void* map, int64_t key, int64_t* value);
  bool (*erase)(void* map, int64_t key);
  bool (*ceiling)(void* map, int64_t key, Pair* found);
  void (*visit)(void* map, Visitor visitor, void* context);
  bool (*valid)(void* map);
} MapType;

// ---------------------------------------------------------------------------
// Helpers.

static void* Allocate(size_t count, size_t size) {
  void* p = calloc(count ? count : 1, size);
  if (!p) {
    printf("out of memory\n");
    exit(0);
  }
  return p;
}

static void* Resize(void* old, size_t count, size_t size) {
  void* p = realloc(old, count * size);
  if (!p) {
    printf("out of memory\n");
    exit(0);
  }
  return p;
}

static uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

static uint64_t Mix(uint64_t hash, int64_t value) {
  hash = (hash ^ (uint64_t)value) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33);
}

// ---------------------------------------------------------------------------
// Hash table: linear probing, erasing by shifting the rest of the cluster back.

typedef struct {
  Pair pair;
  bool used;
} Slot;

typedef struct {
  Slot* slot;
  size_t size;
  unsigned bits;  // capacity is 2^bits
} HashMap;

static void* HashCreate(void) {
  HashMap* m = Allocate(1, sizeof(HashMap));
  m->bits = 3;
  m->slot = Allocate((size_t)1 << m->bits, sizeof(Slot));
  return m;
}

static void HashDestroy(void* map) {
  HashMap* m = map;
  free(m->slot);
  free(m);
}

static size_t HashHome(const HashMap* m, int64_t key) {
  return (size_t)(((uint64_t)key * 0x9e3779b97f4a7c15ULL) >> (64 - m->bits));
}

// The slot of the key, or the free slot where it belongs.
static size_t HashFind(const HashMap* m, int64_t key) {
  size_t mask = ((size_t)1 << m->bits) - 1;
  size_t at = HashHome(m, key);
  while (m->slot[at].used && m->slot[at].pair.key != key) at = (at + 1) & mask;
  return at;
}

static void HashGrow(HashMap* m) {
  Slot* old = m->slot;
  size_t capacity = (size_t)1 << m->bits;
  m->bits++;
  m->slot = Allocate(2 * capacity, sizeof(Slot));
  for (size_t i = 0; i < capacity; i++) {
    if (old[i].used) m->slot[HashFind(m, old[i].pair.key)] = old[i];
  }
  free(old);
}

static bool HashPut(void* map, int64_t key, int64_t value) {
  HashMap* m = map;
  size_t at = HashFind(m, key);
  bool fresh = !m->slot[at].used;
  m->slot[at] = (Slot){{key, value}, true};
  if (fresh && ++m->size * 4 > ((size_t)3 << m->bits)) HashGrow(m);
  return fresh;
}

static bool HashGet(void* map, int64_t key, int64_t* value) {
  const HashMap* m = map;
  size_t at = HashFind(m, key);
  if (!m->slot[at].used) return false;
  *value = m->slot[at].pair.value;
  return true;
}

static bool HashErase(void* map, int64_t key) {
  HashMap* m = map;
  size_t mask = ((size_t)1 << m->bits) - 1;
  size_t hole = HashFind(m, key);
  if (!m->slot[hole].used) return false;
  for (size_t at = (hole + 1) & mask; m->slot[at].used; at = (at + 1) & mask) {
    // An entry may fill the hole unless its home lies after the hole.
    size_t from_home = (at - HashHome(m, m->slot[at].pair.key)) & mask;
    if (from_home < ((at - hole) & mask)) continue;
    m->slot[hole] = m->slot[at];
    hole = at;
  }
  m->slot[hole].used = false;
  m->size--;
  return true;
}

static void HashVisit(void* map, Visitor visitor, void* context) {
  const HashMap* m = map;
  for (size_t i = 0; i < (size_t)1 << m->bits; i++) {
    if (m->slot[i].used) visitor(context, m->slot[i].pair);
  }
}

static bool HashValid(void* map) {
  const HashMap* m = map;
  size_t used = 0;
  for (size_t i = 0; i < (size_t)1 << m->bits; i++) {
    if (!m->slot[i].used) continue;
    used++;
    if (HashFind(m, m->slot[i].pair.key) != i) return false;
  }
  return used == m->size;
}

// ---------------------------------------------------------------------------
// AVL tree, recursive.

typedef struct AvlNode {
  Pair pair;
  struct AvlNode* child[2];
  int height;
} AvlNode;

typedef struct {
  AvlNode* root;
} AvlMap;

static void* AvlCreate(void) { return Allocate(1, sizeof(AvlMap)); }

static void AvlFree(AvlNode* n) {
  if (!n) return;
  AvlFree(n->child[0]);
  AvlFree(n->child[1]);
  free(n);
}

static void AvlDestroy(void* map) {
  AvlMap* m = map;
  AvlFree(m->root);
  free(m);
}

static int AvlHeight(const AvlNode* n) { return n ? n->height : 0; }

static void AvlUpdate(AvlNode* n) {
  int left = AvlHeight(n->child[0]), right = AvlHeight(n->child[1]);
  n->height = 1 + (left > right ? left : right);
}

// Lifts the child on the given side over n; returns it.
static AvlNode* AvlRotate(AvlNode* n, int side) {
  AvlNode* top = n->child[side];
  n->child[side] = top->child[!side];
  top->child[!side] = n;
  AvlUpdate(n);
  AvlUpdate(top);
  return top;
}

static AvlNode* AvlBalance(AvlNode* n) {
  int tilt = AvlHeight(n->child[1]) - AvlHeight(n->child[0]);
  if (tilt < -1 || tilt > 1) {
    int side = tilt > 0;
    AvlNode* heavy = n->child[side];
    if (AvlHeight(heavy->child[!side]) > AvlHeight(heavy->child[side])) {
      n->child[side] = AvlRotate(heavy, !side);
    }
    return AvlRotate(n, side);
  }
  AvlUpdate(n);
  return n;
}

static AvlNode* AvlInsert(AvlNode* n, Pair pair, bool* fresh) {
  if (!n) {
    n = Allocate(1, sizeof(AvlNode));
    n->pair = pair;
    n->height = 1;
    *fresh = true;
    return n;
  }
  if (pair.key == n->pair.key) {
    n->pair.value = pair.value;
    return n;
  }
  int side = pair.key > n->pair.key;
  n->child[side] = AvlInsert(n->child[side], pair, fresh);
  return AvlBalance(n);
}

static AvlNode* AvlTakeFirst(AvlNode* n, AvlNode** first) {
  if (!n->child[0]) {
    *first = n;
    return n->child[1];
  }
  n->child[0] = AvlTakeFirst(n->child[0], first);
  return AvlBalance(n);
}

static AvlNode* AvlRemove(AvlNode* n, int64_t key, bool* erased) {
  if (!n) return NULL;
  if (key != n->pair.key) {
    int side = key > n->pair.key;
    n->child[side] = AvlRemove(n->child[side], key, erased);
    return AvlBalance(n);
  }
  AvlNode *left = n->child[0], *right = n->child[1], *heir;
  *erased = true;
  free(n);
  if (!right) return left;
  right = AvlTakeFirst(right, &heir);
  heir->child[0] = left;
  heir->child[1] = right;
  return AvlBalance(heir);
}

static bool AvlPut(void* map, int64_t key, int64_t value) {
  AvlMap* m = map;
  bool fresh = false;
  m->root = AvlInsert(m->root, (Pair){key, value}, &fresh);
  return fresh;
}

static bool AvlErase(void* map, int64_t key) {
  AvlMap* m = map;
  bool erased = false;
  m->root = AvlRemove(m->root, key, &erased);
  return erased;
}

static bool AvlCeiling(void* map, int64_t key, Pair* found) {
  const AvlMap* m = map;
  const AvlNode* best = NULL;
  for (const AvlNode* n = m->root; n;) {
    if (n->pair.key >= key) {
      best = n;
      n = n->child[0];
    } else {
      n = n->child[1];
    }
  }
  if (best) *found = best->pair;
  return best != NULL;
}

static bool AvlGet(void* map, int64_t key, int64_t* value) {
  const AvlMap* m = map;
  const AvlNode* n = m->root;
  while (n && n->pair.key != key) n = n->child[key > n->pair.key];
  if (n) *value = n->pair.value;
  return n != NULL;
}

static void AvlWalk(const AvlNode* n, Visitor visitor, void* context) {
  if (!n) return;
  AvlWalk(n->child[0], visitor, context);
  visitor(context, n->pair);
  AvlWalk(n->child[1], visitor, context);
}

static void AvlVisit(void* map, Visitor visitor, void* context) {
  const AvlMap* m = map;
  AvlWalk(m->root, visitor, context);
}

static bool AvlCheck(const AvlNode* n) {
  if (!n) return true;
  int left = AvlHeight(n->child[0]), right = AvlHeight(n->child[1]);
  return left - right <= 1 && right - left <= 1 && n->height == 1 + (left > right ? left : right) &&
         AvlCheck(n->child[0]) && AvlCheck(n->child[1]);
}

static bool AvlValid(void* map) {
  const AvlMap* m = map;
  return AvlCheck(m->root);
}

// ---------------------------------------------------------------------------
// B-tree. Full nodes are split on the way down, lean ones refilled, so that
// neither insertion nor erasure ever has to go back up.

typedef struct BNode {
  int count;
  bool leaf;
  Pair pair[kMaxKeys];
  struct BNode* child[kMaxKeys + 1];
} BNode;

typedef struct {
  BNode* root;
} BMap;

static BNode* BNew(bool leaf) {
  BNode* n = Allocate(1, sizeof(BNode));
  n->leaf = leaf;
  return n;
}

static void* BCreate(void) {
  BMap* m = Allocate(1, sizeof(BMap));
  m->root = BNew(true);
  return m;
}

static void BFree(BNode* n) {
  for (int i = 0; !n->leaf && i <= n->count; i++) BFree(n->child[i]);
  free(n);
}

static void BDestroy(void* map) {
  BMap* m = map;
  BFree(m->root);
  free(m);
}

// Index of the first key that is not below the given one.
static int BLower(const BNode* n, int64_t key) {
  int i = 0;
  while (i < n->count && n->pair[i].key < key) i++;
  return i;
}

static void BInsertAt(BNode* n, int at, Pair pair, BNode* right) {
  for (int i = n->count; i > at; i--) {
    n->pair[i] = n->pair[i - 1];
    n->child[i + 1] = n->child[i];
  }
  n->pair[at] = pair;
  n->child[at + 1] = right;
  n->count++;
}

// Removes a key and the child to its right.
static void BRemoveAt(BNode* n, int at) {
  for (int i = at; i + 1 < n->count; i++) {
    n->pair[i] = n->pair[i + 1];
    n->child[i + 1] = n->child[i + 2];
  }
  n->count--;
}

static void BSplit(BNode* parent, int at) {
  BNode *left = parent->child[at], *right = BNew(left->leaf);
  right->count = kDegree - 1;
  for (int i = 0; i < kDegree - 1; i++) right->pair[i] = left->pair[i + kDegree];
  for (int i = 0; i < kDegree; i++) right->child[i] = left->child[i + kDegree];
  left->count = kDegree - 1;
  BInsertAt(parent, at, left->pair[kDegree - 1], right);
}

static bool BPut(void* map, int64_t key, int64_t value) {
  BMap* m = map;
  BNode* n = m->root;
  if (n->count == kMaxKeys) {
    m->root = BNew(false);
    m->root->child[0] = n;
    BSplit(m->root, 0);
    n = m->root;
  }
  for (;;) {
    int i = BLower(n, key);
    if (i < n->count && n->pair[i].key == key) {
      n->pair[i].value = value;
      return false;
    }
    if (n->leaf) {
      BInsertAt(n, i, (Pair){key, value}, NULL);
      return true;
    }
    if (n->child[i]->count == kMaxKeys) {
      BSplit(n, i);
      continue;  // the key that came up decides where to go
    }
    n = n->child[i];
  }
}

static bool BGet(void* map, int64_t key, int64_t* value) {
  const BMap* m = map;
  for (const BNode* n = m->root;;) {
    int i = BLower(n, key);
    if (i < n->count && n->pair[i].key == key) {
      *value = n->pair[i].value;
      return true;
    }
    if (n->leaf) return false;
    n = n->child[i];
  }
}

// Joins child i, key i and child i + 1 into child i.
static void BMerge(BNode* n, int i) {
  BNode *left = n->child[i], *right = n->child[i + 1];
  left->pair[left->count] = n->pair[i];
  for (int k = 0; k < right->count; k++) left->pair[left->count + 1 + k] = right->pair[k];
  for (int k = 0; k <= right->count; k++) left->child[left->count + 1 + k] = right->child[k];
  left->count += right->count + 1;
  BRemoveAt(n, i);
  free(right);
}

// Makes sure that child i has more than the minimum of keys; returns the child
// to continue in (a merge may have moved it to the left).
static BNode* BRefill(BNode* n, int i) {
  BNode* child = n->child[i];
  if (child->count >= kDegree) return child;
  if (i > 0 && n->child[i - 1]->count >= kDegree) {
    BNode* donor = n->child[i - 1];
    child->child[child->count + 1] = child->child[child->count];
    for (int k = child->count; k > 0; k--) {
      child->pair[k] = child->pair[k - 1];
      child->child[k] = child->child[k - 1];
    }
    child->pair[0] = n->pair[i - 1];
    child->child[0] = donor->child[donor->count];
    child->count++;
    n->pair[i - 1] = donor->pair[--donor->count];
    return child;
  }
  if (i < n->count && n->child[i + 1]->count >= kDegree) {
    BNode* donor = n->child[i + 1];
    BInsertAt(child, child->count, n->pair[i], donor->child[0]);
    n->pair[i] = donor->pair[0];
    donor->child[0] = donor->child[1];
    BRemoveAt(donor, 0);
    return child;
  }
  if (i == n->count) i--;
  BMerge(n, i);
  return n->child[i];
}

static Pair BTakeEdge(BNode* n, bool last) {
  while (!n->leaf) n = BRefill(n, last ? n->count : 0);
  Pair pair = n->pair[last ? n->count - 1 : 0];
  BRemoveAt(n, last ? n->count - 1 : 0);
  return pair;
}

static bool BErase(void* map, int64_t key) {
  BMap* m = map;
  BNode* n = m->root;
  bool erased = false;
  while (!erased) {
    int i = BLower(n, key);
    bool here = i < n->count && n->pair[i].key == key;
    if (n->leaf) {
      if (!here) break;
      BRemoveAt(n, i);
      erased = true;
    } else if (!here) {
      n = BRefill(n, i);
    } else if (n->child[i]->count >= kDegree) {
      n->pair[i] = BTakeEdge(n->child[i], true);
      erased = true;
    } else if (n->child[i + 1]->count >= kDegree) {
      n->pair[i] = BTakeEdge(n->child[i + 1], false);
      erased = true;
    } else {
      BMerge(n, i);
      n = n->child[i];
    }
  }
  if (m->root->count == 0 && !m->root->leaf) {
    BNode* old = m->root;
    m->root = old->child[0];
    free(old);
  }
  return erased;
}

static bool BCeiling(void* map, int64_t key, Pair* found) {
  const BMap* m = map;
  bool any = false;
  for (const BNode* n = m->root;;) {
    int i = BLower(n, key);
    if (i < n->count) {
      *found = n->pair[i];
      any = true;
      if (n->pair[i].key == key) return true;
    }
    if (n->leaf) return any;
    n = n->child[i];
  }
}

static void BWalk(const BNode* n, Visitor visitor, void* context) {
  for (int i = 0; i < n->count; i++) {
    if (!n->leaf) BWalk(n->child[i], visitor, context);
    visitor(context, n->pair[i]);
  }
  if (!n->leaf) BWalk(n->child[n->count], visitor, context);
}

static void BVisit(void* map, Visitor visitor, void* context) {
  const BMap* m = map;
  BWalk(m->root, visitor, context);
}

// Depth below the node, or -1 if a rule is broken there.
static int BDepth(const BNode* n, bool root) {
  if (n->count > kMaxKeys || (!root && n->count < kDegree - 1)) return -1;
  if (n->leaf) return 0;
  int depth = BDepth(n->child[0], false);
  for (int i = 1; i <= n->count; i++) {
    if (BDepth(n->child[i], false) != depth) return -1;
  }
  return depth < 0 ? -1 : depth + 1;
}

static bool BValid(void* map) {
  const BMap* m = map;
  return BDepth(m->root, true) >= 0;
}

// ---------------------------------------------------------------------------
// Skip list with its own random levels.

typedef struct SkipNode {
  Pair pair;
  int level;
  struct SkipNode* next[];
} SkipNode;

typedef struct {
  SkipNode* head;
  uint64_t random;
  int level;
} SkipMap;

static SkipNode* SkipNew(int level, Pair pair) {
  SkipNode* n = Allocate(1, sizeof(SkipNode) + (size_t)level * sizeof(SkipNode*));
  n->pair = pair;
  n->level = level;
  return n;
}

static void* SkipCreate(void) {
  SkipMap* m = Allocate(1, sizeof(SkipMap));
  m->head = SkipNew(kMaxLevel, (Pair){0, 0});
  m->random = 88172645463325252ULL;
  m->level = 1;
  return m;
}

static void SkipDestroy(void* map) {
  SkipMap* m = map;
  for (SkipNode* n = m->head; n;) {
    SkipNode* next = n->next[0];
    free(n);
    n = next;
  }
  free(m);
}

// The last node before the key on every level; returns the node after it.
static SkipNode* SkipSearch(const SkipMap* m, int64_t key, SkipNode** before) {
  SkipNode* n = m->head;
  for (int level = m->level - 1; level >= 0; level--) {
    while (n->next[level] && n->next[level]->pair.key < key) n = n->next[level];
    if (before) before[level] = n;
  }
  return n->next[0];
}

static bool SkipPut(void* map, int64_t key, int64_t value) {
  SkipMap* m = map;
  SkipNode* before[kMaxLevel];
  SkipNode* n = SkipSearch(m, key, before);
  if (n && n->pair.key == key) {
    n->pair.value = value;
    return false;
  }
  int level = 1;
  for (uint64_t r = NextRandom(&m->random); (r & 3u) == 0 && level < kMaxLevel; r >>= 2) {
    level++;
  }
  for (; m->level < level; m->level++) before[m->level] = m->head;
  n = SkipNew(level, (Pair){key, value});
  for (int i = 0; i < level; i++) {
    n->next[i] = before[i]->next[i];
    before[i]->next[i] = n;
  }
  return true;
}

static bool SkipGet(void* map, int64_t key, int64_t* value) {
  const SkipNode* n = SkipSearch(map, key, NULL);
  if (!n || n->pair.key != key) return false;
  *value = n->pair.value;
  return true;
}

static bool SkipErase(void* map, int64_t key) {
  SkipMap* m = map;
  SkipNode* before[kMaxLevel];
  SkipNode* n = SkipSearch(m, key, before);
  if (!n || n->pair.key != key) return false;
  for (int i = 0; i < n->level; i++) before[i]->next[i] = n->next[i];
  while (m->level > 1 && !m->head->next[m->level - 1]) m->level--;
  free(n);
  return true;
}

static bool SkipCeiling(void* map, int64_t key, Pair* found) {
  const SkipNode* n = SkipSearch(map, key, NULL);
  if (n) *found = n->pair;
  return n != NULL;
}

static void SkipVisit(void* map, Visitor visitor, void* context) {
  const SkipMap* m = map;
  for (const SkipNode* n = m->head->next[0]; n; n = n->next[0]) visitor(context, n->pair);
}

static bool SkipValid(void* map) {
  const SkipMap* m = map;
  for (int level = 0; level < m->level; level++) {
    for (const SkipNode* n = m->head->next[level]; n && n->next[level]; n = n->next[level]) {
      if (n->pair.key >= n->next[level]->pair.key) return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------------------
// Sorted array.

typedef struct {
  Pair* item;
  size_t size, capacity;
} ArrayMap;

static void* ArrayCreate(void) { return Allocate(1, sizeof(ArrayMap)); }

static void ArrayDestroy(void* map) {
  ArrayMap* m = map;
  free(m->item);
  free(m);
}

static size_t ArrayLower(const ArrayMap* m, int64_t key) {
  size_t low = 0, high = m->size;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (m->item[middle].key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool ArrayHas(const ArrayMap* m, size_t at, int64_t key) {
  return at < m->size && m->item[at].key == key;
}

static bool ArrayPut(void* map, int64_t key, int64_t value) {
  ArrayMap* m = map;
  size_t at = ArrayLower(m, key);
  if (ArrayHas(m, at, key)) {
    m->item[at].value = value;
    return false;
  }
  if (m->size == m->capacity) {
    m->capacity = m->capacity ? 2 * m->capacity : 16;
    m->item = Resize(m->item, m->capacity, sizeof(Pair));
  }
  memmove(m->item + at + 1, m->item + at, (m->size - at) * sizeof(Pair));
  m->item[at] = (Pair){key, value};
  m->size++;
  return true;
}

static bool ArrayGet(void* map, int64_t key, int64_t* value) {
  const ArrayMap* m = map;
  size_t at = ArrayLower(m, key);
  if (!ArrayHas(m, at, key)) return false;
  *value = m->item[at].value;
  return true;
}

static bool ArrayErase(void* map, int64_t key) {
  ArrayMap* m = map;
  size_t at = ArrayLower(m, key);
  if (!ArrayHas(m, at, key)) return false;
  memmove(m->item + at, m->item + at + 1, (m->size - at - 1) * sizeof(Pair));
  m->size--;
  return true;
}

static bool ArrayCeiling(void* map, int64_t key, Pair* found) {
  const ArrayMap* m = map;
  size_t at = ArrayLower(m, key);
  if (at == m->size) return false;
  *found = m->item[at];
  return true;
}

static void ArrayVisit(void* map, Visitor visitor, void* context) {
  const ArrayMap* m = map;
  for (size_t i = 0; i < m->size; i++) visitor(context, m->item[i]);
}

static bool ArrayValid(void* map) {
  const ArrayMap* m = map;
  for (size_t i = 1; i < m->size; i++) {
    if (m->item[i - 1].key >= m->item[i].key) return false;
  }
  return true;
}

static const MapType kMaps[kTypes] = {
    {"hash", HashCreate, HashDestroy, HashPut, HashGet, HashErase, NULL, HashVisit, HashValid},
    {"avl", AvlCreate, AvlDestroy, AvlPut, AvlGet, AvlErase, AvlCeiling, AvlVisit, AvlValid},
    {"btree", BCreate, BDestroy, BPut, BGet, BErase, BCeiling, BVisit, BValid},
    {"skip", SkipCreate, SkipDestroy, SkipPut, SkipGet, SkipErase, SkipCeiling, SkipVisit,
     SkipValid},
    {"array", ArrayCreate, ArrayDestroy, ArrayPut, ArrayGet, ArrayErase, ArrayCeiling, ArrayVisit,
     ArrayValid},
};

// ---------------------------------------------------------------------------
// The maps side by side.

typedef struct {
  void* map[kTypes];
  int mismatches;
} Suite;

static void CreateAll(Suite* s) {
  for (int i = 0; i < kTypes; i++) s->map[i] = kMaps[i].create();
}

static void DestroyAll(Suite* s) {
  for (int i = 0; i < kTypes; i++) kMaps[i].destroy(s->map[i]);
}

static void Expect(Suite* s, bool ok, const char* what, int type) {
  if (ok) return;
  printf("MISMATCH: %s of %s\n", what, kMaps[type].name);
  s->mismatches++;
}

static bool PutAll(Suite* s, int64_t key, int64_t value) {
  bool first = kMaps[0].put(s->map[0], key, value);
  for (int i = 1; i < kTypes; i++) {
    Expect(s, kMaps[i].put(s->map[i], key, value) == first, "put", i);
  }
  return first;
}

static bool GetAll(Suite* s, int64_t key, int64_t* value) {
  *value = 0;
  bool first = kMaps[0].get(s->map[0], key, value);
  for (int i = 1; i < kTypes; i++) {
    int64_t other = 0;
    bool found = kMaps[i].get(s->map[i], key, &other);
    Expect(s, found == first && other == *value, "get", i);
  }
  return first;
}

static bool EraseAll(Suite* s, int64_t key) {
  bool first = kMaps[0].erase(s->map[0], key);
  for (int i = 1; i < kTypes; i++) {
    Expect(s, kMaps[i].erase(s->map[i], key) == first, "erase", i);
  }
  return first;
}

static bool CeilingAll(Suite* s, int64_t key, Pair* pair) {
  bool first = false;
  *pair = (Pair){0, 0};
  for (int i = 1; i < kTypes; i++) {
    Pair other = {0, 0};
    bool found = kMaps[i].ceiling(s->map[i], key, &other);
    if (i == 1) {
      first = found;
      *pair = other;
    }
    Expect(s, found == first && other.key == pair->key && other.value == pair->value, "ceiling", i);
  }
  return first;
}

typedef struct {
  int64_t count;
  uint64_t ordered, unordered;
} Summary;

static void Summarize(void* context, Pair pair) {
  Summary* sum = context;
  sum->count++;
  sum->ordered = Mix(Mix(sum->ordered, pair.key), pair.value);
  sum->unordered += Mix(Mix(7, pair.key), pair.value);
}

static Summary CheckAll(Suite* s) {
  Summary first = {0, 0, 0}, ordered = {0, 0, 0};
  for (int i = 0; i < kTypes; i++) {
    Summary sum = {0, 0, 0};
    kMaps[i].visit(s->map[i], Summarize, &sum);
    if (i == 0) first = sum;
    if (i == 1) ordered = sum;
    Expect(s, sum.count == first.count && sum.unordered == first.unordered, "contents", i);
    Expect(s, i == 0 || sum.ordered == ordered.ordered, "order", i);
    Expect(s, kMaps[i].valid(s->map[i]), "structure", i);
  }
  return ordered;
}

static void PrintPair(void* context, Pair pair) {
  int* left = context;
  if ((*left)-- > 0) printf(" %" PRId64 ":%" PRId64, pair.key, pair.value);
}

static void PrintSummary(Suite* s, const char* label, uint64_t hash) {
  Summary sum = CheckAll(s);
  printf("%s: size %" PRId64 " hash %016" PRIx64 "\n", label, sum.count,
         Mix(hash, (int64_t)(sum.ordered >> 1)));
}

static const char* CmdBulk(Suite* s, const char* line) {
  int seed, count, keys;
  uint64_t hash = 1;
  if (sscanf(line, "%*s %9d %7d %7d", &seed, &count, &keys) != 3 || seed < 0 || count < 0 ||
      keys < 1) {
    return "needs a seed, a count and a number of keys";
  }
  uint64_t random = (uint64_t)seed;
  for (int n = 0; n < count; n++) {
    uint64_t r = NextRandom(&random);
    int64_t key = (int64_t)((r >> 32) % (uint64_t)keys) - keys / 4;
    int64_t value = (int64_t)(r >> 12 & 0xfffff);
    Pair pair = {0, 0};
    bool result;
    switch (r % 10) {
      case 0:
      case 1:
      case 2:
      case 3:
        result = PutAll(s, key, value);
        break;
      case 4:
      case 5:
        result = GetAll(s, key, &pair.value);
        break;
      case 6:
      case 7:
      case 8:
        result = EraseAll(s, key);
        break;
      default:
        result = CeilingAll(s, key, &pair);
        break;
    }
    hash = Mix(hash, pair.key * 2 + pair.value * 4 + result);
  }
  PrintSummary(s, "bulk", hash);
  return NULL;
}

static bool SeedAndCount(const char* line, int* seed, int* count) {
  return sscanf(line, "%*s %9d %7d", seed, count) == 2 && *seed >= 0 && *count >= 0;
}

// ---------------------------------------------------------------------------
// Priority queues: a binary heap and a pairing heap.

typedef struct {
  uint32_t* item;
  size_t size, capacity;
} BinaryHeap;

static void BinaryPush(BinaryHeap* h, uint32_t v) {
  if (h->size == h->capacity) {
    h->capacity = h->capacity ? 2 * h->capacity : 8;
    h->item = Resize(h->item, h->capacity, sizeof(uint32_t));
  }
  size_t hole = h->size++;
  for (; hole > 0 && v < h->item[(hole - 1) / 2]; hole = (hole - 1) / 2) {
    h->item[hole] = h->item[(hole - 1) / 2];
  }
  h->item[hole] = v;
}

static uint32_t BinaryPop(BinaryHeap* h) {
  uint32_t top = h->item[0], last = h->item[--h->size];
  size_t hole = 0;
  for (size_t child = 1; child < h->size; child = 2 * hole + 1) {
    if (child + 1 < h->size && h->item[child + 1] < h->item[child]) child++;
    if (last <= h->item[child]) break;
    h->item[hole] = h->item[child];
    hole = child;
  }
  h->item[hole] = last;
  return top;
}

typedef struct PairingNode {
  uint32_t value;
  struct PairingNode *child, *sibling;
} PairingNode;

static PairingNode* Meld(PairingNode* a, PairingNode* b) {
  if (!a) return b;
  if (!b) return a;
  if (b->value < a->value) {
    PairingNode* t = a;
    a = b;
    b = t;
  }
  b->sibling = a->child;
  a->child = b;
  return a;
}

static PairingNode* PairingPush(PairingNode* root, uint32_t value) {
  PairingNode* n = Allocate(1, sizeof(PairingNode));
  n->value = value;
  return Meld(root, n);
}

// Melds the children in pairs from the left, then the pairs from the right.
static PairingNode* PairingPop(PairingNode* root, uint32_t* value) {
  PairingNode *pairs = NULL, *result = NULL;
  for (PairingNode* n = root->child; n;) {
    PairingNode *second = n->sibling, *rest = second ? second->sibling : NULL;
    n->sibling = NULL;
    if (second) second->sibling = NULL;
    n = Meld(n, second);
    n->sibling = pairs;
    pairs = n;
    n = rest;
  }
  while (pairs) {
    PairingNode* next = pairs->sibling;
    pairs->sibling = NULL;
    result = Meld(result, pairs);
    pairs = next;
  }
  *value = root->value;
  free(root);
  return result;
}

static const char* CmdHeap(Suite* s, const char* line) {
  int seed, count;
  BinaryHeap binary = {NULL, 0, 0};
  PairingNode* pairing = NULL;
  uint64_t hash = 1;
  uint32_t previous = 0, value;
  size_t largest = 0;
  if (!SeedAndCount(line, &seed, &count)) return "needs a seed and a count";
  uint64_t random = (uint64_t)seed;
  for (int n = 0; n < count || binary.size > 0; n++) {
    uint64_t r = NextRandom(&random);
    if (n < count && (binary.size == 0 || r % 8 < 5)) {
      BinaryPush(&binary, (uint32_t)(r >> 40));
      pairing = PairingPush(pairing, (uint32_t)(r >> 40));
      if (binary.size > largest) largest = binary.size;
      continue;
    }
    uint32_t top = BinaryPop(&binary);
    pairing = PairingPop(pairing, &value);
    // Only while draining must the values come in order.
    if (top != value || (n > count && top < previous)) s->mismatches++;
    previous = top;
    hash = Mix(hash, top);
  }
  if (pairing) s->mismatches++;
  printf("heap: largest %zu hash %016" PRIx64 "\n", largest, hash);
  free(binary.item);
  return NULL;
}

// ---------------------------------------------------------------------------
// Deques: a growing ring buffer and a doubly linked list.

typedef struct {
  int32_t* item;
  size_t capacity, head, size;
} Ring;

static void RingPush(Ring* r, int32_t value, bool front) {
  if (r->size == r->capacity) {
    size_t capacity = r->capacity ? 2 * r->capacity : 4;
    int32_t* item = Allocate(capacity, sizeof(int32_t));
    for (size_t i = 0; i < r->size; i++) item[i] = r->item[(r->head + i) % r->capacity];
    free(r->item);
    *r = (Ring){item, capacity, 0, r->size};
  }
  if (front) {
    r->head = r->head == 0 ? r->capacity - 1 : r->head - 1;
    r->item[r->head] = value;
  } else {
    r->item[(r->head + r->size) % r->capacity] = value;
  }
  r->size++;
}

static int32_t RingPop(Ring* r, bool front) {
  size_t at = front ? r->head : (r->head + r->size - 1) % r->capacity;
  if (front) r->head = (r->head + 1) % r->capacity;
  r->size--;
  return r->item[at];
}

typedef struct ListNode {
  struct ListNode* link[2];  // towards the back, towards the front
  int32_t value;
} ListNode;

typedef struct {
  ListNode* end[2];  // back, front
} List;

static void ListPush(List* l, int32_t value, bool front) {
  ListNode *n = Allocate(1, sizeof(ListNode)), *old = l->end[front];
  n->value = value;
  n->link[!front] = old;
  if (old) {
    old->link[front] = n;
  } else {
    l->end[!front] = n;
  }
  l->end[front] = n;
}

static int32_t ListPop(List* l, bool front) {
  ListNode* n = l->end[front];
  int32_t value = n->value;
  l->end[front] = n->link[!front];
  if (l->end[front]) {
    l->end[front]->link[front] = NULL;
  } else {
    l->end[!front] = NULL;
  }
  free(n);
  return value;
}

static const char* CmdDeque(Suite* s, const char* line) {
  int seed, count;
  Ring ring = {NULL, 0, 0, 0};
  List list = {{NULL, NULL}};
  uint64_t hash = 1;
  size_t largest = 0;
  if (!SeedAndCount(line, &seed, &count)) return "needs a seed and a count";
  uint64_t random = (uint64_t)seed;
  for (int n = 0; n < count || ring.size > 0; n++) {
    uint64_t r = NextRandom(&random);
    bool front = (r & 1u) != 0;
    if (n < count && (ring.size == 0 || (r >> 1) % 7 < 4)) {
      int32_t value = (int32_t)(r >> 34);
      RingPush(&ring, value, front);
      ListPush(&list, value, front);
      if (ring.size > largest) largest = ring.size;
    } else {
      int32_t value = RingPop(&ring, front);
      if (ListPop(&list, front) != value) s->mismatches++;
      hash = Mix(hash, value);
    }
  }
  printf("deque: largest %zu hash %016" PRIx64 "\n", largest, hash);
  free(ring.item);
  return NULL;
}

// ---------------------------------------------------------------------------
// Commands on the maps.

static const char* CmdPut(Suite* s, const char* line) {
  int64_t key, value;
  if (sscanf(line, "%*s %18" SCNd64 " %18" SCNd64, &key, &value) != 2) {
    return "needs a key and a value";
  }
  printf("put %" PRId64 ": %s\n", key, PutAll(s, key, value) ? "new" : "replaced");
  return NULL;
}

static const char* CmdGet(Suite* s, const char* line) {
  int64_t key, value;
  if (sscanf(line, "%*s %18" SCNd64, &key) != 1) return "needs a key";
  if (GetAll(s, key, &value)) {
    printf("get %" PRId64 ": %" PRId64 "\n", key, value);
  } else {
    printf("get %" PRId64 ": absent\n", key);
  }
  return NULL;
}

static const char* CmdDel(Suite* s, const char* line) {
  int64_t key;
  if (sscanf(line, "%*s %18" SCNd64, &key) != 1) return "needs a key";
  printf("del %" PRId64 ": %s\n", key, EraseAll(s, key) ? "erased" : "absent");
  return NULL;
}

static const char* CmdCeil(Suite* s, const char* line) {
  int64_t key;
  Pair pair;
  if (sscanf(line, "%*s %18" SCNd64, &key) != 1) return "needs a key";
  if (CeilingAll(s, key, &pair)) {
    printf("ceil %" PRId64 ": %" PRId64 ":%" PRId64 "\n", key, pair.key, pair.value);
  } else {
    printf("ceil %" PRId64 ": none\n", key);
  }
  return NULL;
}

static const char* CmdList(Suite* s, const char* line) {
  int left = kMaxList;
  (void)line;
  CheckAll(s);
  printf("list:");
  kMaps[kTypes - 1].visit(s->map[kTypes - 1], PrintPair, &left);
  printf("%s\n", left < 0 ? " ..." : "");
  return NULL;
}

static const char* CmdClear(Suite* s, const char* line) {
  (void)line;
  DestroyAll(s);
  CreateAll(s);
  return NULL;
}

// Keys in arithmetic progression: the worst case for naive trees.
static const char* Progression(Suite* s, const char* line, bool put) {
  int low, high, step;
  uint64_t hash = 1;
  if (sscanf(line, "%*s %8d %8d %8d", &low, &high, &step) != 3 || step == 0) {
    return "needs two bounds and a step";
  }
  for (int key = step > 0 ? low : high; key >= low && key <= high; key += step) {
    hash = Mix(hash, put ? PutAll(s, key, (int64_t)key * key) : EraseAll(s, key));
  }
  PrintSummary(s, put ? "fill" : "drain", hash);
  return NULL;
}

static const char* CmdFill(Suite* s, const char* line) { return Progression(s, line, true); }

static const char* CmdDrain(Suite* s, const char* line) { return Progression(s, line, false); }

static const struct {
  const char* name;
  const char* (*run)(Suite*, const char*);
} kCommands[] = {{"put", CmdPut},   {"get", CmdGet},     {"del", CmdDel},    {"ceil", CmdCeil},
                 {"list", CmdList}, {"clear", CmdClear}, {"fill", CmdFill},  {"drain", CmdDrain},
                 {"bulk", CmdBulk}, {"heap", CmdHeap},   {"deque", CmdDeque}};

int main(void) {
  Suite suite;
  char line[kLineMax], name[16];
  int errors = 0;
  suite.mismatches = 0;
  CreateAll(&suite);
  while (fgets(line, sizeof(line), stdin)) {
    const char* problem = "unknown command";
    if (line[0] == '#' || sscanf(line, "%15s", name) != 1) continue;
    for (size_t i = 0; i < sizeof(kCommands) / sizeof(kCommands[0]); i++) {
      if (strcmp(name, kCommands[i].name) == 0) problem = kCommands[i].run(&suite, line);
    }
    if (problem) {
      printf("%s: error: %s\n", name, problem);
      errors++;
    }
  }
  PrintSummary(&suite, "end", 1);
  printf("%d mismatches, %d errors\n", suite.mismatches, errors);
  DestroyAll(&suite);
  return 0;
}
