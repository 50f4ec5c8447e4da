#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace compiler_gym::llvm_service {

/// A token of textual IR, as LLVM's own lexer sees it.
struct IrToken {
  /// The number of the kind, an llvm::lltok::Kind: 0 is Eof, 1 is Error.
  int64_t id;
  /// The name of the kind, e.g. "kw_define", "comma" or "GlobalVar".
  const char* kind;
  /// Further facts about the token from the lexer:
  ///   marker   nothing; it is Eof or Error
  ///   keyword  nothing; a word, an opcode or a punctuation mark
  ///   uintval  a number: 42: @42 %42 #42 ^42
  ///   strval   a text: foo: @foo $foo %foo !foo "foo" and names of debug information
  ///   type     a type without parts: i32 float ptr void ...
  ///   apfloat  a floating-point number
  ///   apsint   an integer
  ///   unknown  a kind that is none of these
  const char* category;
  /// The token as it is written.
  std::string value;
};

/// The number of token kinds of the lexer.
int64_t countTokenKinds();

/// The tokens of textual IR without its comments, up to its end, for which there is no token. What
/// the lexer does not understand is an Error.
std::vector<IrToken> lexIr(const std::string& text);

}  // namespace compiler_gym::llvm_service
