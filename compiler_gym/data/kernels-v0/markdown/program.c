// Converts a subset of Markdown to HTML: headings, paragraphs, quotes, nested lists, code,
// tables, emphasis, links, images and line breaks, parsed to a tree of blocks first.
// Input: a line "repeat N options M" (bits of M: 1 tables, 2 smart punctuation, 4 heading ids,
// 8 headings one level down), then the document. Every set of options is rendered and hashed.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kOptionTables = 1,
  kOptionSmart = 2,
  kOptionIds = 4,
  kOptionShift = 8,
  kOptionSets = 16,
  kMaxDepth = 24,
  kMaxCells = 16,
  kMaxTags = 6,
  kChunkSize = 32768,
};

typedef struct {
  const char *bytes;
  int length;
} Text;

static void *check(void *memory) {
  if (memory == NULL) {
    printf("out of memory\n");
    exit(1);
  }
  return memory;
}

// All blocks and lines of one parse come from one list of chunks.
typedef struct Chunk {
  struct Chunk *next;
  size_t used, capacity;
  max_align_t data[];
} Chunk;

static void *reserve(Chunk **arena, size_t size) {
  size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
  if (*arena == NULL || (*arena)->capacity - (*arena)->used < size) {
    size_t capacity = size > kChunkSize ? size : kChunkSize;
    Chunk *chunk = check(malloc(sizeof *chunk + capacity));
    *chunk = (Chunk){*arena, 0, capacity};
    *arena = chunk;
  }
  void *result = (char *)(*arena)->data + (*arena)->used;
  (*arena)->used += size;
  return result;
}

static void release(Chunk **arena) {
  while (*arena != NULL) {
    Chunk *next = (*arena)->next;
    free(*arena);
    *arena = next;
  }
}

// ---------------------------------------------------------------------------------------------
// Characters and lines.

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t'; }

static bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

static int indent_of(Text line) {
  int indent = 0;
  while (indent < line.length && line.bytes[indent] == ' ') ++indent;
  return indent;
}

static Text skip(Text text, int count) {
  if (count > text.length) count = text.length;
  return (Text){text.bytes + count, text.length - count};
}

static Text trim_end(Text text) {
  while (text.length > 0 && is_blank(text.bytes[text.length - 1])) --text.length;
  return text;
}

static Text trim(Text text) { return trim_end(skip(text, indent_of(text))); }

static bool is_empty_line(Text line) { return trim_end(line).length == 0; }

static int run_length(Text text, int at) {
  int end = at;
  while (end < text.length && text.bytes[end] == text.bytes[at]) ++end;
  return end - at;
}

// ---------------------------------------------------------------------------------------------
// Blocks.

typedef enum {
  BLOCK_DOCUMENT,
  BLOCK_HEADING,
  BLOCK_PARAGRAPH,
  BLOCK_CODE,
  BLOCK_RULE,
  BLOCK_QUOTE,
  BLOCK_LIST,
  BLOCK_ITEM,
  BLOCK_TABLE,
  BLOCK_KINDS,
} BlockKind;

typedef struct Block {
  BlockKind kind;
  int level;    // of a heading
  int number;   // the first of an ordered list; -1 for bullets
  bool loose;   // the items of the list have paragraphs
  Text info;    // language of a code block
  Text *lines;  // text of a leaf
  int line_count;
  struct Block *first, *last, *next;
} Block;

typedef struct {
  Chunk *arena;
  int options;
  int depth;
  int counts[BLOCK_KINDS];
} Parser;

typedef struct {
  Text *lines;
  int count;
} Lines;

static Block *add_block(Parser *parser, Block *parent, BlockKind kind) {
  Block *block = reserve(&parser->arena, sizeof *block);
  *block = (Block){.kind = kind, .number = -1};
  ++parser->counts[kind];
  if (parent == NULL) return block;
  if (parent->last == NULL) {
    parent->first = block;
  } else {
    parent->last->next = block;
  }
  parent->last = block;
  return block;
}

static int heading_level(Text line) {
  line = skip(line, indent_of(line));
  if (line.length == 0 || line.bytes[0] != '#') return 0;
  int level = run_length(line, 0);
  return level <= 6 && (level == line.length || line.bytes[level] == ' ') ? level : 0;
}

static bool is_rule(Text line) {
  line = trim(line);
  if (line.length < 3) return false;
  char mark = line.bytes[0];
  int marks = 0;
  if (mark != '-' && mark != '*' && mark != '_') return false;
  for (int i = 0; i < line.length; ++i) {
    if (line.bytes[i] == mark) {
      ++marks;
    } else if (line.bytes[i] != ' ') {
      return false;
    }
  }
  return marks >= 3;
}

// The length of the run of ` or ~ that opens a code block, 0 if the line does not.
static int fence_length(Text line) {
  line = skip(line, indent_of(line));
  if (line.length < 3 || (line.bytes[0] != '`' && line.bytes[0] != '~')) return 0;
  int length = run_length(line, 0);
  if (length < 3) return 0;
  if (line.bytes[0] == '`' &&
      memchr(line.bytes + length, '`', (size_t)(line.length - length))) {
    return 0;
  }
  return length;
}

typedef struct {
  char mark;    // - + * . or ), 0 if the line starts no item
  int number;   // -1 for bullets
  int content;  // the column where the text of the item starts
  bool empty;
} Marker;

static Marker list_marker(Text line) {
  Marker marker = {0, -1, 0, false};
  int at = indent_of(line);
  if (at >= 4 || at == line.length || is_rule(line)) return marker;
  char c = line.bytes[at];
  if (is_digit(c)) {
    int start = at;
    marker.number = 0;
    while (at < line.length && is_digit(line.bytes[at]) && at - start < 9) {
      marker.number = marker.number * 10 + (line.bytes[at++] - '0');
    }
    c = at < line.length ? line.bytes[at] : '\0';
    if (c != '.' && c != ')') return marker;
  } else if (c != '-' && c != '+' && c != '*') {
    return marker;
  }
  ++at;
  if (at < line.length && line.bytes[at] != ' ') return marker;
  int spaces = indent_of(skip(line, at));
  marker.mark = c;
  marker.empty = at + spaces == line.length;
  marker.content = at + (spaces == 0 || spaces > 4 || marker.empty ? 1 : spaces);
  return marker;
}

static bool is_quote(Text line) {
  int at = indent_of(line);
  return at < 4 && at < line.length && line.bytes[at] == '>';
}

// Whether the line ends a paragraph before it, and so is no lazy continuation either.
static bool interrupts(Text line) {
  if (indent_of(line) >= 4) return false;
  Marker marker = list_marker(line);
  return is_empty_line(line) || heading_level(line) > 0 || is_rule(line) || is_quote(line) ||
         fence_length(line) > 0 || (marker.mark != 0 && !marker.empty && marker.number <= 1);
}

// Whether a line that lacks the marks of its quote or list may still go on behind LINE.
static bool may_continue(Text line) {
  return !is_empty_line(line) && heading_level(line) == 0 && !is_rule(line) &&
         fence_length(line) == 0;
}

static bool parse_blocks(Parser *parser, Lines lines, Block *parent);

// The parsers of blocks look at the lines from AT on; they return the first line they do not
// use, or AT when another parser has to try.

static int parse_indented(Parser *parser, Lines lines, int at, Block *parent) {
  if (indent_of(lines.lines[at]) < 4) return at;
  int end = at;
  int used = at;
  for (; end < lines.count; ++end) {
    if (is_empty_line(lines.lines[end])) continue;
    if (indent_of(lines.lines[end]) < 4) break;
    used = end + 1;
  }
  Block *block = add_block(parser, parent, BLOCK_CODE);
  block->lines = reserve(&parser->arena, (size_t)(used - at) * sizeof(Text));
  for (int i = at; i < used; ++i) block->lines[block->line_count++] = skip(lines.lines[i], 4);
  return used;
}

static int parse_heading(Parser *parser, Lines lines, int at, Block *parent) {
  int level = heading_level(lines.lines[at]);
  if (level == 0) return at;
  Text text = trim(skip(trim(lines.lines[at]), level));
  int end = text.length;
  while (end > 0 && text.bytes[end - 1] == '#') --end;
  // A closing row of # needs a space before it.
  if (end == 0 || text.bytes[end - 1] == ' ') text.length = end;
  Block *block = add_block(parser, parent, BLOCK_HEADING);
  block->level = level;
  block->lines = reserve(&parser->arena, sizeof(Text));
  block->lines[block->line_count++] = trim_end(text);
  return at + 1;
}

static int parse_rule(Parser *parser, Lines lines, int at, Block *parent) {
  if (!is_rule(lines.lines[at])) return at;
  add_block(parser, parent, BLOCK_RULE);
  return at + 1;
}

static int parse_fence(Parser *parser, Lines lines, int at, Block *parent) {
  int length = fence_length(lines.lines[at]);
  if (length == 0) return at;
  int indent = indent_of(lines.lines[at]);
  char mark = lines.lines[at].bytes[indent];
  Block *block = add_block(parser, parent, BLOCK_CODE);
  block->info = trim(skip(lines.lines[at], indent + length));
  block->lines = lines.lines + at + 1;
  int end = at + 1;
  for (; end < lines.count; ++end) {
    Text line = trim(lines.lines[end]);
    bool closing = line.length >= length && line.bytes[0] == mark &&
                   run_length(line, 0) == line.length && indent_of(lines.lines[end]) < 4;
    if (closing) return end + 1;
    // The text moves left as far as the fence is indented.
    int spaces = indent_of(lines.lines[end]);
    lines.lines[end] = skip(lines.lines[end], spaces < indent ? spaces : indent);
    ++block->line_count;
  }
  return end;
}

static int parse_quote(Parser *parser, Lines lines, int at, Block *parent) {
  if (!is_quote(lines.lines[at])) return at;
  Lines inner = {reserve(&parser->arena, (size_t)(lines.count - at) * sizeof(Text)), 0};
  int end = at;
  for (; end < lines.count; ++end) {
    Text line = lines.lines[end];
    if (is_quote(line)) {
      line = skip(line, indent_of(line) + 1);
      if (line.length > 0 && line.bytes[0] == ' ') line = skip(line, 1);
    } else if (interrupts(line) || !may_continue(inner.lines[inner.count - 1])) {
      break;
    }
    inner.lines[inner.count++] = line;
  }
  parse_blocks(parser, inner, add_block(parser, parent, BLOCK_QUOTE));
  return end;
}

// Parses one item; *BLANK tells that an empty line follows it.
static int parse_item(Parser *parser, Lines lines, int at, Block *list, bool *blank) {
  Marker marker = list_marker(lines.lines[at]);
  Lines inner = {reserve(&parser->arena, (size_t)(lines.count - at) * sizeof(Text)), 0};
  inner.lines[inner.count++] = skip(lines.lines[at], marker.content);
  int end = at + 1;
  int used = end;
  for (; end < lines.count; ++end) {
    Text line = lines.lines[end];
    bool empty = is_empty_line(line);
    if (!empty && indent_of(line) < marker.content) {
      bool lazy = end == used && may_continue(inner.lines[inner.count - 1]);
      if (!lazy || interrupts(line) || list_marker(line).mark != 0) break;
    } else {
      // An item that begins with an empty line has no text behind the next one.
      if (empty && marker.empty && end == at + 1) break;
      line = skip(line, marker.content);
    }
    inner.lines[inner.count++] = line;
    if (!empty) used = end + 1;
  }
  inner.count = used - at;
  *blank = used < lines.count && is_empty_line(lines.lines[used]);
  Block *item = add_block(parser, list, BLOCK_ITEM);
  if (parse_blocks(parser, inner, item)) list->loose = true;
  return used;
}

static int parse_list(Parser *parser, Lines lines, int at, Block *parent) {
  Marker marker = list_marker(lines.lines[at]);
  if (marker.mark == 0) return at;
  Block *list = add_block(parser, parent, BLOCK_LIST);
  bool blank = false;
  list->number = marker.number;
  int end = at;
  int next = at;
  while (next < lines.count && list_marker(lines.lines[next]).mark == marker.mark) {
    if (blank) list->loose = true;
    end = parse_item(parser, lines, next, list, &blank);
    next = end;
    while (next < lines.count && is_empty_line(lines.lines[next])) ++next;
  }
  return end;
}

// Splits a row of a table; the text of the cells is trimmed.
static int split_row(Text line, Text *cells) {
  int count = 0;
  line = trim(line);
  if (line.length > 0 && line.bytes[0] == '|') line = skip(line, 1);
  int start = 0;
  for (int i = 0; i <= line.length && count < kMaxCells; ++i) {
    if (i < line.length && line.bytes[i] == '\\') {
      ++i;
    } else if (i >= line.length || line.bytes[i] == '|') {
      int end = i < line.length ? i : line.length;
      if (i >= line.length && start == end && count > 0) break;  // the closing bar
      cells[count++] = trim((Text){line.bytes + start, end - start});
      start = i + 1;
    }
  }
  return count;
}

static bool is_delimiter_row(Text line, int columns) {
  Text cells[kMaxCells];
  if (columns == 0 || split_row(line, cells) != columns) return false;
  for (int i = 0; i < columns; ++i) {
    Text cell = cells[i];
    if (cell.length > 0 && cell.bytes[0] == ':') cell = skip(cell, 1);
    if (cell.length > 0 && cell.bytes[cell.length - 1] == ':') --cell.length;
    if (cell.length == 0 || cell.bytes[0] != '-' || run_length(cell, 0) != cell.length) {
      return false;
    }
  }
  return true;
}

static int parse_table(Parser *parser, Lines lines, int at, Block *parent) {
  Text cells[kMaxCells];
  Text header = lines.lines[at];
  if (!(parser->options & kOptionTables) || at + 1 >= lines.count) return at;
  if (memchr(header.bytes, '|', (size_t)header.length) == NULL) return at;
  if (!is_delimiter_row(lines.lines[at + 1], split_row(header, cells))) return at;
  int end = at + 2;
  while (end < lines.count && !interrupts(lines.lines[end])) ++end;
  Block *block = add_block(parser, parent, BLOCK_TABLE);
  block->lines = lines.lines + at;
  block->line_count = end - at;
  return end;
}

static int underline_level(Text line) {
  if (indent_of(line) >= 4) return 0;
  line = trim(line);
  if (line.length == 0 || run_length(line, 0) != line.length) return 0;
  return line.bytes[0] == '=' ? 1 : line.bytes[0] == '-' ? 2 : 0;
}

static int parse_paragraph(Parser *parser, Lines lines, int at, Block *parent) {
  Block *block = add_block(parser, parent, BLOCK_PARAGRAPH);
  block->lines = lines.lines + at;
  int end = at;
  do {
    ++end;
    ++block->line_count;
    int level = end < lines.count ? underline_level(lines.lines[end]) : 0;
    if (level > 0) {
      --parser->counts[BLOCK_PARAGRAPH];
      ++parser->counts[BLOCK_HEADING];
      block->kind = BLOCK_HEADING;
      block->level = level;
      return end + 1;
    }
  } while (end < lines.count && !interrupts(lines.lines[end]));
  return end;
}

typedef int (*BlockParser)(Parser *parser, Lines lines, int at, Block *parent);

static const BlockParser kBlockParsers[] = {
    parse_indented, parse_heading, parse_rule,  parse_fence,
    parse_quote,    parse_list,    parse_table, parse_paragraph,
};

// Returns whether empty lines separate two of the blocks.
static bool parse_blocks(Parser *parser, Lines lines, Block *parent) {
  bool loose = false;
  int at = 0;
  int last = -1;  // the end of the previous block
  if (++parser->depth > kMaxDepth) lines.count = 0;
  while (at < lines.count) {
    if (is_empty_line(lines.lines[at])) {
      ++at;
      continue;
    }
    if (last >= 0 && at > last) loose = true;
    last = at;
    for (int i = 0; last == at; ++i) last = kBlockParsers[i](parser, lines, at, parent);
    at = last;
  }
  --parser->depth;
  return loose;
}

// ---------------------------------------------------------------------------------------------
// Inline text becomes a list of tokens; emphasis is found among the runs of * _ and ~.

typedef enum {
  TOKEN_TEXT,
  TOKEN_CODE,
  TOKEN_BREAK,
  TOKEN_AUTOLINK,
  TOKEN_RUN,
  TOKEN_BRACKET,  // [ or ![ that may still open a link
  TOKEN_LINK,
  TOKEN_IMAGE,
  TOKEN_LINK_END,
} TokenKind;

typedef struct {
  TokenKind kind;
  Text text;
  Text title;
  int end;  // of an image: the index of its last token
  // For runs:
  char mark;
  bool can_open, can_close;
  int original, left;
  int open_count, close_count;
  signed char opens[kMaxTags], closes[kMaxTags];  // 1: em, 2: strong
} Token;

typedef struct {
  char *bytes;
  size_t length, capacity;
} Output;

typedef struct {
  Output out;
  int options;
  char previous;  // the last character of text, for the direction of quotes
  Token *tokens;
  int token_count, token_capacity;
  char *joined;  // the lines of the paragraph in one piece
  size_t joined_capacity;
} Renderer;

static Token *add_token(Renderer *renderer, TokenKind kind, Text text) {
  if (renderer->token_count == renderer->token_capacity) {
    renderer->token_capacity = renderer->token_capacity * 2 + 64;
    renderer->tokens = check(
        realloc(renderer->tokens, (size_t)renderer->token_capacity * sizeof *renderer->tokens));
  }
  Token *token = &renderer->tokens[renderer->token_count++];
  *token = (Token){.kind = kind, .text = text};
  return token;
}

static int scan_code(Renderer *renderer, Text text, int at) {
  int length = run_length(text, at);
  int end = at + length;
  while (end < text.length) {
    if (text.bytes[end] != '`') {
      ++end;
      continue;
    }
    int closing = run_length(text, end);
    if (closing == length) {
      Text code = {text.bytes + at + length, end - at - length};
      bool padded = code.length > 2 && is_blank(code.bytes[0]) &&
                    is_blank(code.bytes[code.length - 1]) && trim(code).length > 0;
      if (padded) code = (Text){code.bytes + 1, code.length - 2};
      add_token(renderer, TOKEN_CODE, code);
      return end + length;
    }
    end += closing;
  }
  add_token(renderer, TOKEN_TEXT, (Text){text.bytes + at, length});
  return at + length;
}

static int scan_run(Renderer *renderer, Text text, int at) {
  int length = run_length(text, at);
  char mark = text.bytes[at];
  char before = at > 0 ? text.bytes[at - 1] : ' ';
  char after = at + length < text.length ? text.bytes[at + length] : ' ';
  bool left = !is_blank(after) &&
              (!is_punctuation(after) || is_blank(before) || is_punctuation(before));
  bool right = !is_blank(before) &&
               (!is_punctuation(before) || is_blank(after) || is_punctuation(after));
  Token *token = add_token(renderer, TOKEN_RUN, (Text){text.bytes + at, length});
  token->mark = mark;
  token->original = token->left = length;
  token->can_open = left && (mark != '_' || !right || is_punctuation(before));
  token->can_close = right && (mark != '_' || !left || is_punctuation(after));
  if (mark == '~' && length != 2) token->can_open = token->can_close = false;
  return at + length;
}

static bool can_pair(const Token *opener, const Token *closer) {
  if (opener->kind != TOKEN_RUN || !opener->can_open || opener->left == 0) return false;
  if (opener->mark != closer->mark || opener->open_count == kMaxTags) return false;
  if (opener->mark == '~') return true;
  bool both_ways = opener->can_close || closer->can_open;
  if (both_ways && (opener->original + closer->original) % 3 == 0) {
    return opener->original % 3 == 0 && closer->original % 3 == 0;
  }
  return true;
}

// Pairs up the runs from token BOTTOM on.
static void find_emphasis(Renderer *renderer, int bottom) {
  Token *tokens = renderer->tokens;
  for (int i = bottom; i < renderer->token_count; ++i) {
    Token *closer = &tokens[i];
    if (closer->kind != TOKEN_RUN || !closer->can_close) continue;
    while (closer->left > 0 && closer->close_count < kMaxTags) {
      int j = i - 1;
      while (j >= bottom && !can_pair(&tokens[j], closer)) --j;
      if (j < bottom) break;
      Token *opener = &tokens[j];
      int use = opener->left >= 2 && closer->left >= 2 ? 2 : 1;
      opener->opens[opener->open_count++] = (signed char)use;
      closer->closes[closer->close_count++] = (signed char)use;
      opener->left -= use;
      closer->left -= use;
      // What lies between can no longer reach outside.
      for (int k = j + 1; k < i; ++k) tokens[k].can_open = tokens[k].can_close = false;
    }
  }
  for (int i = bottom; i < renderer->token_count; ++i) {
    tokens[i].can_open = tokens[i].can_close = false;
  }
}

static int skip_blanks(Text text, int at) {
  while (at < text.length && is_blank(text.bytes[at])) ++at;
  return at;
}

// Parses "(destination "title")" at AT; returns the position behind it or -1.
static int scan_target(Text text, int at, Text *url, Text *title) {
  int open = 0;
  *title = (Text){NULL, 0};
  if (at >= text.length || text.bytes[at] != '(') return -1;
  at = skip_blanks(text, at + 1);
  int start = at;
  for (; at < text.length && !is_blank(text.bytes[at]); ++at) {
    if (text.bytes[at] == '\\' && at + 1 < text.length) {
      ++at;
    } else if (text.bytes[at] == '(') {
      ++open;
    } else if (text.bytes[at] == ')' && open-- == 0) {
      break;
    }
  }
  *url = (Text){text.bytes + start, at - start};
  at = skip_blanks(text, at);
  if (at < text.length && text.bytes[at] == '"') {
    start = ++at;
    while (at < text.length && text.bytes[at] != '"') at += text.bytes[at] == '\\' ? 2 : 1;
    if (at >= text.length) return -1;
    *title = (Text){text.bytes + start, at - start};
    at = skip_blanks(text, at + 1);
  }
  return at < text.length && text.bytes[at] == ')' ? at + 1 : -1;
}

// A closing bracket: makes a link or an image of the last open bracket if it can.
static int scan_close(Renderer *renderer, Text text, int at) {
  int opener = renderer->token_count - 1;
  Text url, title;
  while (opener >= 0 && renderer->tokens[opener].kind != TOKEN_BRACKET) --opener;
  int end = opener >= 0 ? scan_target(text, at + 1, &url, &title) : -1;
  if (end < 0) {
    if (opener >= 0) renderer->tokens[opener].kind = TOKEN_TEXT;
    add_token(renderer, TOKEN_TEXT, (Text){text.bytes + at, 1});
    return at + 1;
  }
  find_emphasis(renderer, opener + 1);
  Token *token = &renderer->tokens[opener];
  bool image = token->text.length == 2;
  token->kind = image ? TOKEN_IMAGE : TOKEN_LINK;
  token->text = url;
  token->title = title;
  token->end = renderer->token_count;
  add_token(renderer, TOKEN_LINK_END, (Text){text.bytes + at, 0});
  for (int i = 0; i < opener && !image; ++i) {
    // Links do not nest; images may.
    Token *outer = &renderer->tokens[i];
    if (outer->kind == TOKEN_BRACKET && outer->text.length == 1) outer->kind = TOKEN_TEXT;
  }
  return end;
}

static int scan_angle(Renderer *renderer, Text text, int at) {
  int end = at + 1;
  int colon = -1;
  while (end < text.length && text.bytes[end] != '>' && text.bytes[end] != '<' &&
         !is_blank(text.bytes[end])) {
    if (text.bytes[end] == ':' && colon < 0) colon = end;
    ++end;
  }
  bool link = end < text.length && text.bytes[end] == '>' && colon > at + 2 &&
              is_letter(text.bytes[at + 1]);
  add_token(renderer, link ? TOKEN_AUTOLINK : TOKEN_TEXT,
            link ? (Text){text.bytes + at + 1, end - at - 1} : (Text){text.bytes + at, 1});
  return link ? end + 1 : at + 1;
}

static int scan_backslash(Renderer *renderer, Text text, int at) {
  char next = at + 1 < text.length ? text.bytes[at + 1] : 'x';
  if (next == '\n') {
    add_token(renderer, TOKEN_BREAK, (Text){text.bytes + at, 2});
    return at + 2 + indent_of(skip(text, at + 2));
  }
  bool escape = is_punctuation(next);
  add_token(renderer, TOKEN_TEXT, (Text){text.bytes + at + (escape ? 1 : 0), 1});
  return at + (escape ? 2 : 1);
}

// The end of a line: two spaces before it make a line break.
static int scan_newline(Renderer *renderer, Text text, int at) {
  bool hard = at >= 2 && text.bytes[at - 1] == ' ' && text.bytes[at - 2] == ' ';
  Token *last = renderer->token_count > 0 ? &renderer->tokens[renderer->token_count - 1] : NULL;
  if (last != NULL && last->kind == TOKEN_TEXT) last->text = trim_end(last->text);
  add_token(renderer, hard ? TOKEN_BREAK : TOKEN_TEXT, (Text){text.bytes + at, 1});
  return at + 1;
}

static void tokenize(Renderer *renderer, Text text) {
  renderer->token_count = 0;
  int at = 0;
  while (at < text.length) {
    switch (text.bytes[at]) {
      case '`': at = scan_code(renderer, text, at); break;
      case '*':
      case '_':
      case '~': at = scan_run(renderer, text, at); break;
      case '[':
        add_token(renderer, TOKEN_BRACKET, (Text){text.bytes + at, 1});
        ++at;
        break;
      case ']': at = scan_close(renderer, text, at); break;
      case '<': at = scan_angle(renderer, text, at); break;
      case '\\': at = scan_backslash(renderer, text, at); break;
      case '\n': at = scan_newline(renderer, text, at); break;
      case '!':
        if (at + 1 < text.length && text.bytes[at + 1] == '[') {
          add_token(renderer, TOKEN_BRACKET, (Text){text.bytes + at, 2});
          at += 2;
          break;
        }
        // fall through
      default: {
        int start = at++;
        while (at < text.length && !strchr("`*_~[]<\\\n!", text.bytes[at])) ++at;
        add_token(renderer, TOKEN_TEXT, (Text){text.bytes + start, at - start});
        break;
      }
    }
  }
  find_emphasis(renderer, 0);
}

// ---------------------------------------------------------------------------------------------
// HTML.

static void put(Renderer *renderer, const char *bytes, size_t length) {
  Output *out = &renderer->out;
  if (out->capacity - out->length < length) {
    out->capacity = out->capacity * 2 + length + 256;
    out->bytes = check(realloc(out->bytes, out->capacity));
  }
  memcpy(out->bytes + out->length, bytes, length);
  out->length += length;
}

static void puts_html(Renderer *renderer, const char *html) {
  put(renderer, html, strlen(html));
}

static void put_escaped(Renderer *renderer, char c) {
  switch (c) {
    case '&': puts_html(renderer, "&amp;"); break;
    case '<': puts_html(renderer, "&lt;"); break;
    case '>': puts_html(renderer, "&gt;"); break;
    case '"': puts_html(renderer, "&quot;"); break;
    default: put(renderer, &c, 1); break;
  }
}

static void put_plain(Renderer *renderer, Text text) {
  for (int i = 0; i < text.length; ++i) put_escaped(renderer, text.bytes[i]);
}

static void put_attribute(Renderer *renderer, const char *name, Text text) {
  puts_html(renderer, name);
  for (int i = 0; i < text.length; ++i) {
    bool escape = text.bytes[i] == '\\' && i + 1 < text.length;
    if (escape && is_punctuation(text.bytes[i + 1])) ++i;
    put_escaped(renderer, text.bytes[i]);
  }
  puts_html(renderer, "\"");
}

// Curly quotes, dashes and ellipses; returns how many characters of TEXT it used.
static int put_smart(Renderer *renderer, Text text) {
  bool opening = is_blank(renderer->previous) || strchr("([-", renderer->previous) != NULL;
  switch (text.bytes[0]) {
    case '"': puts_html(renderer, opening ? "&ldquo;" : "&rdquo;"); return 1;
    case '\'': puts_html(renderer, opening ? "&lsquo;" : "&rsquo;"); return 1;
    case '-':
      if (text.length < 2 || text.bytes[1] != '-') return 0;
      if (text.length > 2 && text.bytes[2] == '-') {
        puts_html(renderer, "&mdash;");
        return 3;
      }
      puts_html(renderer, "&ndash;");
      return 2;
    case '.':
      if (text.length < 3 || memcmp(text.bytes, "...", 3) != 0) return 0;
      puts_html(renderer, "&hellip;");
      return 3;
    default: return 0;
  }
}

static void put_text(Renderer *renderer, Text text) {
  while (text.length > 0) {
    int used = renderer->options & kOptionSmart ? put_smart(renderer, text) : 0;
    if (used == 0) {
      put_escaped(renderer, text.bytes[0]);
      used = 1;
    }
    renderer->previous = text.bytes[used - 1];
    text = skip(text, used);
  }
}

static void put_run(Renderer *renderer, const Token *token) {
  bool struck = token->mark == '~';
  for (int i = 0; i < token->close_count; ++i) {
    puts_html(renderer, struck ? "</s>" : token->closes[i] == 2 ? "</strong>" : "</em>");
  }
  for (int i = 0; i < token->left; ++i) put_escaped(renderer, token->mark);
  for (int i = token->open_count - 1; i >= 0; --i) {
    puts_html(renderer, struck ? "<s>" : token->opens[i] == 2 ? "<strong>" : "<em>");
  }
}

// The description of an image is the text of its tokens without any tags.
static void put_image(Renderer *renderer, int at) {
  const Token *tokens = renderer->tokens;
  put_attribute(renderer, "<img src=\"", tokens[at].text);
  puts_html(renderer, " alt=\"");
  for (int i = at + 1; i < tokens[at].end; ++i) {
    if (tokens[i].kind == TOKEN_RUN) {
      for (int left = tokens[i].left; left > 0; --left) put_escaped(renderer, tokens[i].mark);
    } else if (tokens[i].kind < TOKEN_LINK) {
      put_plain(renderer, tokens[i].text);
    }
  }
  puts_html(renderer, "\"");
  if (tokens[at].title.bytes != NULL) put_attribute(renderer, " title=\"", tokens[at].title);
  puts_html(renderer, " />");
}

static void put_inline(Renderer *renderer, Text text) {
  tokenize(renderer, text);
  renderer->previous = ' ';
  for (int i = 0; i < renderer->token_count; ++i) {
    const Token *token = &renderer->tokens[i];
    switch (token->kind) {
      case TOKEN_TEXT:
      case TOKEN_BRACKET: put_text(renderer, token->text); break;
      case TOKEN_CODE:
        puts_html(renderer, "<code>");
        for (int k = 0; k < token->text.length; ++k) {
          char c = token->text.bytes[k];
          put_escaped(renderer, c == '\n' ? ' ' : c);
        }
        puts_html(renderer, "</code>");
        renderer->previous = '`';
        break;
      case TOKEN_BREAK:
        puts_html(renderer, "<br />\n");
        renderer->previous = ' ';
        break;
      case TOKEN_AUTOLINK:
        put_attribute(renderer, "<a href=\"", token->text);
        puts_html(renderer, ">");
        put_plain(renderer, token->text);
        puts_html(renderer, "</a>");
        break;
      case TOKEN_RUN: put_run(renderer, token); break;
      case TOKEN_LINK:
        put_attribute(renderer, "<a href=\"", token->text);
        if (token->title.bytes != NULL) put_attribute(renderer, " title=\"", token->title);
        puts_html(renderer, ">");
        break;
      case TOKEN_IMAGE:
        put_image(renderer, i);
        i = token->end;
        break;
      case TOKEN_LINK_END: puts_html(renderer, "</a>"); break;
    }
  }
}

// Joins the lines of a paragraph, without the spaces at their starts.
static Text join_lines(Renderer *renderer, const Block *block) {
  size_t size = 1;
  for (int i = 0; i < block->line_count; ++i) size += (size_t)block->lines[i].length + 1;
  if (size > renderer->joined_capacity) {
    renderer->joined = check(realloc(renderer->joined, size));
    renderer->joined_capacity = size;
  }
  int length = 0;
  for (int i = 0; i < block->line_count; ++i) {
    Text line = skip(block->lines[i], indent_of(block->lines[i]));
    memcpy(renderer->joined + length, line.bytes, (size_t)line.length);
    length += line.length;
    renderer->joined[length++] = '\n';
  }
  return trim_end((Text){renderer->joined, length});
}

static void put_heading(Renderer *renderer, const Block *block) {
  char tag[16];
  int level = block->level + (renderer->options & kOptionShift && block->level < 6 ? 1 : 0);
  Text text = join_lines(renderer, block);
  snprintf(tag, sizeof tag, "<h%d", level);
  puts_html(renderer, tag);
  if (renderer->options & kOptionIds) {
    puts_html(renderer, " id=\"");
    for (int i = 0; i < text.length; ++i) {
      char c = text.bytes[i];
      if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
      if (is_letter(c) || is_digit(c)) put(renderer, &c, 1);
      if (is_blank(c)) put(renderer, "-", 1);
    }
    puts_html(renderer, "\"");
  }
  puts_html(renderer, ">");
  put_inline(renderer, text);
  snprintf(tag, sizeof tag, "</h%d>\n", level);
  puts_html(renderer, tag);
}

static void put_code(Renderer *renderer, const Block *block) {
  int length = 0;
  while (length < block->info.length && !is_blank(block->info.bytes[length])) ++length;
  puts_html(renderer, "<pre><code");
  if (length > 0) {
    put_attribute(renderer, " class=\"language-", (Text){block->info.bytes, length});
  }
  puts_html(renderer, ">");
  for (int i = 0; i < block->line_count; ++i) {
    put_plain(renderer, block->lines[i]);
    put(renderer, "\n", 1);
  }
  puts_html(renderer, "</code></pre>\n");
}

static void put_row(Renderer *renderer, Text line, const Text *delimiters, int columns,
                    const char *tag) {
  Text cells[kMaxCells];
  int count = split_row(line, cells);
  puts_html(renderer, "<tr>\n");
  for (int i = 0; i < columns; ++i) {
    bool left = delimiters[i].bytes[0] == ':';
    bool right = delimiters[i].bytes[delimiters[i].length - 1] == ':';
    puts_html(renderer, "<");
    puts_html(renderer, tag);
    if (left || right) {
      puts_html(renderer, " style=\"text-align:");
      puts_html(renderer, left && right ? "center\"" : left ? "left\"" : "right\"");
    }
    puts_html(renderer, ">");
    if (i < count) put_inline(renderer, cells[i]);
    puts_html(renderer, "</");
    puts_html(renderer, tag);
    puts_html(renderer, ">\n");
  }
  puts_html(renderer, "</tr>\n");
}

static void put_table(Renderer *renderer, const Block *block) {
  Text delimiters[kMaxCells];
  int columns = split_row(block->lines[1], delimiters);
  puts_html(renderer, "<table>\n<thead>\n");
  put_row(renderer, block->lines[0], delimiters, columns, "th");
  puts_html(renderer, "</thead>\n");
  if (block->line_count > 2) puts_html(renderer, "<tbody>\n");
  for (int i = 2; i < block->line_count; ++i) {
    put_row(renderer, block->lines[i], delimiters, columns, "td");
  }
  if (block->line_count > 2) puts_html(renderer, "</tbody>\n");
  puts_html(renderer, "</table>\n");
}

static void put_blocks(Renderer *renderer, const Block *parent, bool tight);

static void put_list(Renderer *renderer, const Block *list) {
  char tag[32] = "<ul>\n";
  if (list->number == 1) strcpy(tag, "<ol>\n");
  if (list->number == 0 || list->number > 1) {
    snprintf(tag, sizeof tag, "<ol start=\"%d\">\n", list->number);
  }
  puts_html(renderer, tag);
  for (const Block *item = list->first; item != NULL; item = item->next) {
    puts_html(renderer, "<li>");
    bool inline_start =
        !list->loose && item->first != NULL && item->first->kind == BLOCK_PARAGRAPH;
    if (item->first != NULL && !inline_start) puts_html(renderer, "\n");
    put_blocks(renderer, item, !list->loose);
    puts_html(renderer, "</li>\n");
  }
  puts_html(renderer, list->number >= 0 ? "</ol>\n" : "</ul>\n");
}

static void put_blocks(Renderer *renderer, const Block *parent, bool tight) {
  for (const Block *block = parent->first; block != NULL; block = block->next) {
    switch (block->kind) {
      case BLOCK_HEADING: put_heading(renderer, block); break;
      case BLOCK_CODE: put_code(renderer, block); break;
      case BLOCK_RULE: puts_html(renderer, "<hr />\n"); break;
      case BLOCK_LIST: put_list(renderer, block); break;
      case BLOCK_TABLE: put_table(renderer, block); break;
      case BLOCK_QUOTE:
        puts_html(renderer, "<blockquote>\n");
        put_blocks(renderer, block, false);
        puts_html(renderer, "</blockquote>\n");
        break;
      default:
        if (!tight) puts_html(renderer, "<p>");
        put_inline(renderer, join_lines(renderer, block));
        if (!tight) {
          puts_html(renderer, "</p>\n");
        } else if (block->next != NULL) {
          puts_html(renderer, "\n");
        }
        break;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// The driver.

static uint64_t hash_bytes(const char *bytes, size_t length) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < length; ++i) {
    hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
  }
  return hash;
}

static Lines split_lines(Chunk **arena, Text text) {
  int count = 1;
  for (int i = 0; i < text.length; ++i) count += text.bytes[i] == '\n';
  Lines lines = {reserve(arena, (size_t)count * sizeof(Text)), 0};
  int start = 0;
  for (int i = 0; i <= text.length; ++i) {
    if (i < text.length && text.bytes[i] != '\n') continue;
    int end = i > start && text.bytes[i - 1] == '\r' ? i - 1 : i;
    if (i < text.length || end > start) {
      lines.lines[lines.count++] = (Text){text.bytes + start, end - start};
    }
    start = i + 1;
  }
  return lines;
}

// Parses and renders the document; the HTML stays in the renderer.
static void convert(Renderer *renderer, Parser *parser, Text document, int options) {
  *parser = (Parser){.options = options};
  renderer->options = options;
  renderer->out.length = 0;
  Block *root = add_block(parser, NULL, BLOCK_DOCUMENT);
  parse_blocks(parser, split_lines(&parser->arena, document), root);
  put_blocks(renderer, root, false);
  release(&parser->arena);
}

static Text read_all(char **storage) {
  Text text = {NULL, 0};
  size_t capacity = 0;
  size_t length = 0;
  size_t got;
  do {
    capacity = capacity * 2 + 8192;
    *storage = check(realloc(*storage, capacity));
    got = fread(*storage + length, 1, capacity - length - 1, stdin);
    length += got;
  } while (got > 0 && length < (1u << 24));
  (*storage)[length] = '\0';
  text.bytes = *storage;
  text.length = (int)length;
  return text;
}

int main(void) {
  char *storage = NULL;
  Text document = read_all(&storage);
  int repeat = 0;
  int options = 0;
  if (sscanf(document.bytes, "repeat %6d options %3d", &repeat, &options) != 2 || repeat < 0 ||
      options < 0 || options >= kOptionSets) {
    printf("the first line has to be: repeat N options M\n");
    free(storage);
    return 0;
  }
  while (document.length > 0 && document.bytes[0] != '\n') document = skip(document, 1);
  document = skip(document, 1);

  Renderer renderer = {.options = options};
  renderer.out = (Output){check(malloc(kChunkSize)), 0, kChunkSize};
  Parser parser;
  convert(&renderer, &parser, document, options);
  fwrite(renderer.out.bytes, 1, renderer.out.length, stdout);
  static const char *const kKindNames[BLOCK_KINDS] = {
      "document", "heading", "paragraph", "code", "rule", "quote", "list", "item", "table"};
  printf("<!--");
  for (int i = 1; i < BLOCK_KINDS; ++i) printf(" %s %d", kKindNames[i], parser.counts[i]);
  printf(" -->\n");

  uint64_t checksum = 0;
  for (int round = 0; round < repeat || round < kOptionSets; ++round) {
    convert(&renderer, &parser, document, round % kOptionSets);
    uint64_t hash = hash_bytes(renderer.out.bytes, renderer.out.length);
    checksum = (checksum << 5 | checksum >> 59) ^ hash;
    if (round < kOptionSets) {
      printf("<!-- options %2d: %5zu bytes, hash %016" PRIx64 " -->\n", round,
             renderer.out.length, hash);
    }
  }
  printf("<!-- rounds %d, checksum %016" PRIx64 " -->\n", repeat, checksum);
  free(renderer.out.bytes);
  free(renderer.tokens);
  free(renderer.joined);
  free(storage);
  return 0;
}
