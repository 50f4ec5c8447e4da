#include "llvm_service/observations/IrTokens.h"

#include <cctype>

#include "llvm/AsmParser/LLLexer.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace compiler_gym::llvm_service {

namespace {

namespace lltok = llvm::lltok;

// The names come from LLVM's header at build time, so they fit any version of LLVM.
constexpr const char* kKindNames[] = {
#define TOKEN_KIND(kind) #kind,
#include "llvm_service/observations/TokenKinds.inc"
#undef TOKEN_KIND
};
constexpr int64_t kKindCount = sizeof(kKindNames) / sizeof(kKindNames[0]);

// The list is complete and in order.
constexpr lltok::Kind kKinds[] = {
#define TOKEN_KIND(kind) lltok::kind,
#include "llvm_service/observations/TokenKinds.inc"
#undef TOKEN_KIND
};
static_assert(lltok::Eof == 0 && lltok::Error == 1);
static_assert(kKinds[kKindCount - 1] == kKindCount - 1);

// Returns the group of a kind, in the order of LLVM's enumeration.
const char* categoryOf(lltok::Kind kind) {
  if (kind <= lltok::Error) {
    return "marker";
  }
  if (kind < lltok::LabelID) {
    return "keyword";
  }
  if (kind < lltok::LabelStr) {
    return "uintval";
  }
  // LLVM 23 reads numbers only when it knows their type. FloatLiteral is not next to APFloat.
  if (llvm::StringRef(kKindNames[kind]).starts_with("Float")) {
    return "apfloat";
  }
  if (kind < lltok::Type) {
    return "strval";
  }
  switch (kind) {
    case lltok::Type:
      return "type";
    case lltok::APFloat:
      return "apfloat";
    case lltok::APSInt:
      return "apsint";
    default:
      return "unknown";
  }
}

// Returns the token at the beginning of a text that ends at the next token. Outside of quotes, no
// token has a space, a semicolon or the beginning of a comment of C in it.
llvm::StringRef cutToken(llvm::StringRef text) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (std::isspace(static_cast<unsigned char>(text[i])) != 0 ||
                           text[i] == ';' || text.substr(i).starts_with("/*"))) {
      return text.take_front(i);
    }
  }
  return text;
}

}  // namespace

int64_t countTokenKinds() { return kKindCount; }

std::vector<IrToken> lexIr(const std::string& text) {
  // The parser adds new types to the context, so it cannot be the program's.
  llvm::LLVMContext context;
  llvm::SourceMgr sources;
  llvm::SMDiagnostic diagnostic;
  const unsigned buffer =
      sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());
  const llvm::StringRef source = sources.getMemoryBuffer(buffer)->getBuffer();
  llvm::LLLexer lexer(source, sources, diagnostic, context);
  std::vector<IrToken> tokens;
  lltok::Kind kind = lexer.Lex();
  while (kind != lltok::Eof) {
    const char* begin = lexer.getLoc().getPointer();
    const lltok::Kind next = lexer.Lex();
    const char* end = next == lltok::Eof ? source.end() : lexer.getLoc().getPointer();
    const llvm::StringRef value = cutToken({begin, static_cast<size_t>(end - begin)});
    tokens.push_back({kind, kKindNames[kind], categoryOf(kind), value.str()});
    kind = next;
  }
  return tokens;
}

}  // namespace compiler_gym::llvm_service
