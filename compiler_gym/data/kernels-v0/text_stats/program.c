// Statistics of an English text: word, bigram and trigram frequencies (hash tables), a Zipf
// table, lengths of words and sentences, letter frequencies, entropy and readability.
// Input: a line "repeat N top K", then the text; everything is counted N times over.

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxWord = 40, kLetters = 26, kLengthBins = 12, kSentenceBins = 8, kBinWidth = 5 };

static void *check(void *memory) {
  if (memory == NULL) {
    printf("out of memory\n");
    exit(1);
  }
  return memory;
}

static bool is_letter(int c) {
  // Bytes beyond ASCII belong to letters of some kind.
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static int to_lower(int c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

// ---------------------------------------------------------------------------------------------
// The vocabulary gives every word a number, in the order of first appearance.

typedef struct {
  uint32_t offset;  // into the text pool
  uint32_t hash;
  int length;
  int count;
  int first_sentence;
} Word;

typedef struct {
  char *pool;
  size_t pool_used, pool_size;
  Word *words;
  int word_count, word_capacity;
  int32_t *slots;  // word numbers; -1 is free
  uint32_t mask;
  int64_t probes;
} Vocabulary;

static void vocabulary_clear(Vocabulary *vocabulary) {
  vocabulary->pool_used = 0;
  vocabulary->word_count = 0;
  vocabulary->probes = 0;
  for (uint32_t i = 0; i <= vocabulary->mask; ++i) vocabulary->slots[i] = -1;
}

static void vocabulary_open(Vocabulary *vocabulary) {
  *vocabulary = (Vocabulary){.mask = 63, .word_capacity = 32, .pool_size = 256};
  vocabulary->slots = check(malloc((vocabulary->mask + 1) * sizeof *vocabulary->slots));
  vocabulary->words =
      check(malloc((size_t)vocabulary->word_capacity * sizeof *vocabulary->words));
  vocabulary->pool = check(malloc(vocabulary->pool_size));
  vocabulary_clear(vocabulary);
}

static void vocabulary_close(Vocabulary *vocabulary) {
  free(vocabulary->slots);
  free(vocabulary->words);
  free(vocabulary->pool);
}

static uint32_t hash_bytes(const char *bytes, int length) {
  uint32_t hash = 0x811C9DC5u;
  for (int i = 0; i < length; ++i) hash = (hash ^ (unsigned char)bytes[i]) * 0x01000193u;
  return hash ^ hash >> 13;
}

static void vocabulary_grow(Vocabulary *vocabulary) {
  uint32_t mask = vocabulary->mask * 2 + 1;
  free(vocabulary->slots);
  vocabulary->slots = check(malloc((mask + (size_t)1) * sizeof *vocabulary->slots));
  vocabulary->mask = mask;
  for (uint32_t i = 0; i <= mask; ++i) vocabulary->slots[i] = -1;
  for (int i = 0; i < vocabulary->word_count; ++i) {
    uint32_t slot = vocabulary->words[i].hash & mask;
    while (vocabulary->slots[slot] >= 0) slot = (slot + 1) & mask;
    vocabulary->slots[slot] = i;
  }
}

static const char *word_text(const Vocabulary *vocabulary, int number) {
  return vocabulary->pool + vocabulary->words[number].offset;
}

static int add_word(Vocabulary *vocabulary, const char *bytes, int length, uint32_t hash) {
  size_t size = (size_t)length + 1;
  if (vocabulary->pool_size - vocabulary->pool_used < size) {
    vocabulary->pool_size = vocabulary->pool_size * 2 + size;
    vocabulary->pool = check(realloc(vocabulary->pool, vocabulary->pool_size));
  }
  if (vocabulary->word_count == vocabulary->word_capacity) {
    vocabulary->word_capacity *= 2;
    vocabulary->words = check(realloc(
        vocabulary->words, (size_t)vocabulary->word_capacity * sizeof *vocabulary->words));
  }
  memcpy(vocabulary->pool + vocabulary->pool_used, bytes, (size_t)length);
  vocabulary->pool[vocabulary->pool_used + (size_t)length] = '\0';
  vocabulary->words[vocabulary->word_count] =
      (Word){(uint32_t)vocabulary->pool_used, hash, length, 0, 0};
  vocabulary->pool_used += size;
  return vocabulary->word_count++;
}

// Finds or adds a word and returns its number.
static int intern(Vocabulary *vocabulary, const char *bytes, int length) {
  uint32_t hash = hash_bytes(bytes, length);
  uint32_t slot = hash & vocabulary->mask;
  while (vocabulary->slots[slot] >= 0) {
    int number = vocabulary->slots[slot];
    const Word *word = &vocabulary->words[number];
    ++vocabulary->probes;
    if (word->hash == hash && word->length == length &&
        memcmp(word_text(vocabulary, number), bytes, (size_t)length) == 0) {
      return number;
    }
    slot = (slot + 1) & vocabulary->mask;
  }
  int number = add_word(vocabulary, bytes, length, hash);
  vocabulary->slots[slot] = number;
  if ((uint32_t)vocabulary->word_count * 4 > vocabulary->mask * 3) vocabulary_grow(vocabulary);
  return number;
}

// ---------------------------------------------------------------------------------------------
// Pairs and triples of words are counted under a key of 20 bits for each word.

typedef struct {
  uint64_t key;  // 0 is free: word numbers in keys start from 1
  int count;
  int order;  // of first appearance
} Gram;

typedef struct {
  Gram *slots;
  uint32_t mask;
  int used;
} GramTable;

static void grams_open(GramTable *table) {
  table->mask = 127;
  table->used = 0;
  table->slots = check(calloc(table->mask + 1, sizeof *table->slots));
}

static uint32_t hash_key(uint64_t key) {
  key *= UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(key >> 32);
}

static Gram *find_gram(const GramTable *table, uint64_t key) {
  uint32_t slot = hash_key(key) & table->mask;
  while (table->slots[slot].key != 0 && table->slots[slot].key != key) {
    slot = (slot + 1) & table->mask;
  }
  return &table->slots[slot];
}

static void grams_grow(GramTable *table) {
  GramTable larger = {NULL, table->mask * 2 + 1, table->used};
  larger.slots = check(calloc(larger.mask + (size_t)1, sizeof *larger.slots));
  for (uint32_t i = 0; i <= table->mask; ++i) {
    if (table->slots[i].key != 0) *find_gram(&larger, table->slots[i].key) = table->slots[i];
  }
  free(table->slots);
  *table = larger;
}

static void count_gram(GramTable *table, uint64_t key) {
  Gram *gram = find_gram(table, key);
  if (gram->key == 0) {
    *gram = (Gram){key, 1, table->used++};
    if ((uint32_t)table->used * 2 > table->mask) grams_grow(table);
  } else {
    ++gram->count;
  }
}

// ---------------------------------------------------------------------------------------------
// Counting.

typedef struct {
  Vocabulary vocabulary;
  GramTable bigrams, trigrams;
  int64_t letters[kLetters];
  int64_t bytes[256];
  int words, sentences, paragraphs, numbers;
  int64_t syllables, characters;
  int word_lengths[kLengthBins];
  int sentence_lengths[kSentenceBins];
  int longest_sentence, longest_sentence_number;
  int sentence_words;  // in the sentence being read
  uint64_t recent;     // keys of the last words of the sentence
} Statistics;

static void statistics_open(Statistics *statistics) {
  memset(statistics, 0, sizeof *statistics);
  vocabulary_open(&statistics->vocabulary);
  grams_open(&statistics->bigrams);
  grams_open(&statistics->trigrams);
}

static void statistics_close(Statistics *statistics) {
  vocabulary_close(&statistics->vocabulary);
  free(statistics->bigrams.slots);
  free(statistics->trigrams.slots);
}

static bool is_vowel(char c) {
  switch (c) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
    case 'y': return true;
    default: return false;
  }
}

// Groups of vowels, without a silent e at the end: a rough but common estimate.
static int count_syllables(const char *word, int length) {
  int count = 0;
  bool inside = false;
  for (int i = 0; i < length; ++i) {
    bool vowel = is_vowel(word[i]);
    if (vowel && !inside) ++count;
    inside = vowel;
  }
  bool silent = length > 2 && word[length - 1] == 'e' && !is_vowel(word[length - 2]) &&
                word[length - 2] != 'l';
  if (silent && count > 1) --count;
  return count > 0 ? count : 1;
}

static bool is_abbreviation(const char *word, int length) {
  static const char *const kAbbreviations[] = {"mr", "mrs", "dr", "st", "etc", "vs", "no"};
  for (size_t i = 0; i < sizeof kAbbreviations / sizeof kAbbreviations[0]; ++i) {
    if ((int)strlen(kAbbreviations[i]) == length &&
        memcmp(kAbbreviations[i], word, (size_t)length) == 0) {
      return true;
    }
  }
  return length == 1 && word[0] != 'i';  // initials
}

static void end_sentence(Statistics *statistics) {
  int length = statistics->sentence_words;
  if (length == 0) return;
  int bin = (length - 1) / kBinWidth;
  ++statistics->sentence_lengths[bin < kSentenceBins ? bin : kSentenceBins - 1];
  ++statistics->sentences;
  if (length > statistics->longest_sentence) {
    statistics->longest_sentence = length;
    statistics->longest_sentence_number = statistics->sentences;
  }
  statistics->sentence_words = 0;
  statistics->recent = 0;
}

static void end_word(Statistics *statistics, const char *word, int length) {
  int number = intern(&statistics->vocabulary, word, length);
  Word *entry = &statistics->vocabulary.words[number];
  if (entry->count++ == 0) entry->first_sentence = statistics->sentences + 1;
  ++statistics->words;
  ++statistics->sentence_words;
  statistics->syllables += count_syllables(word, length);
  statistics->characters += length;
  ++statistics->word_lengths[(length < kLengthBins ? length : kLengthBins) - 1];
  const uint64_t pair_mask = (UINT64_C(1) << 40) - 1;
  uint64_t key = statistics->recent << 20 | (uint64_t)(number + 1);
  if (statistics->sentence_words >= 2) count_gram(&statistics->bigrams, key & pair_mask);
  if (statistics->sentence_words >= 3) count_gram(&statistics->trigrams, key);
  statistics->recent = key & pair_mask;
}

static bool ends_sentence(const char *text, size_t length, size_t at) {
  // Closing quotes and brackets may follow the mark itself.
  size_t next = at + 1;
  while (next < length && strchr("\"')]", text[next]) != NULL && text[next] != '\0') ++next;
  return next >= length || text[next] == ' ' || text[next] == '\n';
}

static void count_text(Statistics *statistics, const char *text, size_t length) {
  char word[kMaxWord];
  int used = 0;
  bool blank_line = true;
  bool abbreviation = false;
  for (size_t i = 0; i < length; ++i) ++statistics->bytes[(unsigned char)text[i]];
  for (size_t i = 0; i <= length; ++i) {
    int c = i < length ? (unsigned char)text[i] : '\n';
    if (is_letter(c)) {
      // What exceeds the longest word is dropped.
      if (used < kMaxWord) word[used++] = (char)to_lower(c);
      if (blank_line) ++statistics->paragraphs;
      blank_line = false;
      continue;
    }
    bool joins = (c == '\'' || c == '-') && used > 0 && i + 1 < length &&
                 is_letter((unsigned char)text[i + 1]);
    if (joins) {
      if (used < kMaxWord) word[used++] = (char)c;
      continue;
    }
    if (used > 0) {
      end_word(statistics, word, used);
      abbreviation = c == '.' && is_abbreviation(word, used);
      used = 0;
    }
    switch (c) {
      case '.':
        if (abbreviation) break;
        // fall through
      case '!':
      case '?':
        if (ends_sentence(text, length, i)) end_sentence(statistics);
        break;
      case '\n':
        if (i + 1 >= length || text[i + 1] == '\n') {
          end_sentence(statistics);
          blank_line = true;
        }
        break;
      default:
        if (c >= '0' && c <= '9' && (i == 0 || text[i - 1] < '0' || text[i - 1] > '9')) {
          ++statistics->numbers;
        }
        break;
    }
    abbreviation = false;
  }
  end_sentence(statistics);
  for (int i = 0; i < kLetters; ++i) {
    statistics->letters[i] = statistics->bytes['a' + i] + statistics->bytes['A' + i];
  }
}

// ---------------------------------------------------------------------------------------------
// Ranking.

typedef struct {
  int number;  // of a word, or the slot of a gram
  int count;
  int order;
} Rank;

static bool ranks_before(const Rank *a, const Rank *b) {
  return a->count > b->count || (a->count == b->count && a->order < b->order);
}

// Heap sort: the last in rank is at the root while sorting.
static void sift(Rank *ranks, int at, int count) {
  Rank moving = ranks[at];
  for (;;) {
    int child = at * 2 + 1;
    if (child >= count) break;
    if (child + 1 < count && ranks_before(&ranks[child], &ranks[child + 1])) ++child;
    if (!ranks_before(&moving, &ranks[child])) break;
    ranks[at] = ranks[child];
    at = child;
  }
  ranks[at] = moving;
}

static void sort_ranks(Rank *ranks, int count) {
  for (int i = count / 2 - 1; i >= 0; --i) sift(ranks, i, count);
  for (int end = count - 1; end > 0; --end) {
    Rank swap = ranks[0];
    ranks[0] = ranks[end];
    ranks[end] = swap;
    sift(ranks, 0, end);
  }
}

static Rank *rank_words(const Vocabulary *vocabulary) {
  Rank *ranks = check(malloc(((size_t)vocabulary->word_count + 1) * sizeof *ranks));
  for (int i = 0; i < vocabulary->word_count; ++i) {
    ranks[i] = (Rank){i, vocabulary->words[i].count, i};
  }
  sort_ranks(ranks, vocabulary->word_count);
  return ranks;
}

static Rank *rank_grams(const GramTable *table) {
  Rank *ranks = check(malloc(((size_t)table->used + 1) * sizeof *ranks));
  int count = 0;
  for (uint32_t i = 0; i <= table->mask; ++i) {
    const Gram *gram = &table->slots[i];
    if (gram->key != 0) ranks[count++] = (Rank){(int)i, gram->count, gram->order};
  }
  sort_ranks(ranks, count);
  return ranks;
}

// ---------------------------------------------------------------------------------------------
// Reports.

static double ratio(double a, double b) { return b > 0.0 ? a / b : 0.0; }

static void report_zipf(const Statistics *statistics, int top) {
  const Vocabulary *vocabulary = &statistics->vocabulary;
  Rank *ranks = rank_words(vocabulary);
  int once = 0;
  double sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
  for (int i = 0; i < vocabulary->word_count; ++i) {
    double x = log(i + 1.0);
    double y = log((double)ranks[i].count);
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
    once += ranks[i].count == 1;
  }
  double n = vocabulary->word_count;
  double slope = ratio(n * sxy - sx * sy, n * sxx - sx * sx);
  printf("rank  count  count*rank  share  word\n");
  for (int i = 0; i < top && i < vocabulary->word_count; ++i) {
    const Word *word = &vocabulary->words[ranks[i].number];
    printf("%4d %6d %11d %6.2f  %s (sentence %d)\n", i + 1, word->count, word->count * (i + 1),
           ratio(100.0 * word->count, statistics->words),
           word_text(vocabulary, ranks[i].number), word->first_sentence);
  }
  printf("once %d, type/token %.4f, zipf slope %.3f\n", once, ratio(n, statistics->words),
         slope);
  free(ranks);
}

static void report_grams(const Statistics *statistics, const GramTable *table, int words,
                         const char *name, int top) {
  const uint64_t word_mask = (UINT64_C(1) << 20) - 1;
  Rank *ranks = rank_grams(table);
  printf("%s: %d different\n", name, table->used);
  for (int i = 0; i < top && i < table->used; ++i) {
    uint64_t key = table->slots[ranks[i].number].key;
    printf("%4d ", ranks[i].count);
    for (int k = words - 1; k >= 0; --k) {
      int number = (int)(key >> (20 * k) & word_mask) - 1;
      printf(" %s", word_text(&statistics->vocabulary, number));
    }
    printf("\n");
  }
  free(ranks);
}

static void report_histogram(const char *name, const int *bins, int count, int width) {
  int largest = 1;
  for (int i = 0; i < count; ++i) largest = bins[i] > largest ? bins[i] : largest;
  printf("%s\n", name);
  for (int i = 0; i < count; ++i) {
    if (bins[i] == 0) continue;
    printf("%4d%s %5d ", i * width + 1, i == count - 1 ? "+" : " ", bins[i]);
    for (int bar = bins[i] * 40 / largest; bar > 0; --bar) putchar('*');
    printf("\n");
  }
}

static void report_letters(const Statistics *statistics, size_t length) {
  int64_t total = 0;
  int64_t pairs = 0;
  for (int i = 0; i < kLetters; ++i) {
    total += statistics->letters[i];
    pairs += statistics->letters[i] * (statistics->letters[i] - 1);
  }
  printf("letters:");
  for (int i = 0; i < kLetters; ++i) {
    if (i % 9 == 0) printf("\n ");
    printf(" %c %5.2f", 'a' + i, ratio(100.0 * (double)statistics->letters[i], (double)total));
  }
  double entropy = 0.0;
  for (int i = 0; i < 256; ++i) {
    if (statistics->bytes[i] == 0) continue;
    double share = (double)statistics->bytes[i] / (double)length;
    entropy -= share * log(share);
  }
  printf("\nindex of coincidence %.4f, entropy %.3f bits per byte\n",
         ratio((double)pairs, (double)total * ((double)total - 1.0)), entropy / log(2.0));
}

static void report(const Statistics *statistics, size_t length, int top) {
  double sentence = ratio(statistics->words, statistics->sentences);
  double syllables = ratio((double)statistics->syllables, statistics->words);
  printf("bytes %zu, words %d, different %d, sentences %d, paragraphs %d, numbers %d\n", length,
         statistics->words, statistics->vocabulary.word_count, statistics->sentences,
         statistics->paragraphs, statistics->numbers);
  printf("mean word %.3f letters, %.3f syllables; mean sentence %.3f words\n",
         ratio((double)statistics->characters, statistics->words), syllables, sentence);
  if (statistics->words > 0) {
    printf("reading ease %.2f, longest sentence: number %d with %d words\n",
           206.835 - 1.015 * sentence - 84.6 * syllables, statistics->longest_sentence_number,
           statistics->longest_sentence);
  }
  report_zipf(statistics, top);
  report_grams(statistics, &statistics->bigrams, 2, "bigrams", top / 2);
  report_grams(statistics, &statistics->trigrams, 3, "trigrams", top / 2);
  report_histogram("word lengths", statistics->word_lengths, kLengthBins, 1);
  report_histogram("sentence lengths", statistics->sentence_lengths, kSentenceBins, kBinWidth);
  report_letters(statistics, length);
}

// A checksum of all counts that depends on the ranking, too.
static uint64_t digest(const Statistics *statistics) {
  uint64_t hash = (uint64_t)statistics->vocabulary.probes;
  Rank *words = rank_words(&statistics->vocabulary);
  Rank *pairs = rank_grams(&statistics->bigrams);
  for (int i = 0; i < statistics->vocabulary.word_count; ++i) {
    hash = hash * 31 + statistics->vocabulary.words[words[i].number].hash;
    hash = hash * 31 + (uint64_t)words[i].count;
  }
  for (int i = 0; i < statistics->bigrams.used; ++i) {
    hash = (hash ^ statistics->bigrams.slots[pairs[i].number].key) * UINT64_C(1099511628211);
  }
  free(words);
  free(pairs);
  return hash ^ (uint64_t)statistics->trigrams.used << 32;
}

// Each round leaves out a little more of the text at its start.
static uint64_t run_rounds(const char *text, size_t length, int repeat) {
  uint64_t checksum = 0;
  for (int round = 0; round < repeat; ++round) {
    Statistics statistics;
    size_t skipped = (size_t)round * 17 % (length / 2 + 1);
    statistics_open(&statistics);
    count_text(&statistics, text + skipped, length - skipped);
    checksum = (checksum << 9 | checksum >> 55) ^ digest(&statistics);
    statistics_close(&statistics);
  }
  return checksum;
}

static char *read_all(size_t *length) {
  size_t capacity = 1024;
  char *text = check(malloc(capacity));
  *length = 0;
  for (;;) {
    size_t got = fread(text + *length, 1, capacity - *length, stdin);
    if (got == 0) break;
    *length += got;
    if (*length == capacity) {
      capacity *= 2;
      text = check(realloc(text, capacity));
    }
  }
  return text;
}

int main(void) {
  char line[80];
  int repeat = 0;
  int top = 0;
  if (fgets(line, sizeof line, stdin) == NULL ||
      sscanf(line, "repeat %6d top %4d", &repeat, &top) != 2 || repeat < 0 || top < 0) {
    printf("the first line has to be: repeat N top K\n");
    return 0;
  }
  size_t length;
  char *text = read_all(&length);
  Statistics statistics;
  statistics_open(&statistics);
  count_text(&statistics, text, length);
  report(&statistics, length, top);
  statistics_close(&statistics);
  printf("rounds %d, checksum %016" PRIx64 "\n", repeat, run_rounds(text, length, repeat));
  free(text);
  return 0;
}
