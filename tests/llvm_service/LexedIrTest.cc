#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm_service/Ir.h"
#include "llvm_service/observations/IrTokens.h"
#include "tests/Effort.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;

// Each token as "kind/category/value".
std::vector<std::string> lex(const std::string& text) {
  std::vector<std::string> result;
  for (const IrToken& token : lexIr(text)) {
    result.push_back(std::string(token.kind) + "/" + token.category + "/" + token.value);
  }
  return result;
}

TEST(LexIrTest, Categories) {
  EXPECT_THAT(lex("define i32 @f(...) #0 { ; comment\n"),
              ElementsAre("kw_define/keyword/define", "Type/type/i32", "GlobalVar/strval/@f",
                          "lparen/keyword/(", "dotdotdot/keyword/...", "rparen/keyword/)",
                          "AttrGrpID/uintval/#0", "lbrace/keyword/{"));
  EXPECT_THAT(lex("%1 = fadd double %x, 1.5 ; 2\n"),
              ElementsAre("LocalVarID/uintval/%1", "equal/keyword/=", "kw_fadd/keyword/fadd",
                          "Type/type/double", "LocalVar/strval/%x", "comma/keyword/,",
                          AnyOf("APFloat/apfloat/1.5", "FloatLiteral/apfloat/1.5")));
  EXPECT_THAT(lex("42: foo: -7 !0 !name 0x4000000000000000"),
              ElementsAre("LabelID/uintval/42:", "LabelStr/strval/foo:", "APSInt/apsint/-7",
                          "exclaim/keyword/!", "APSInt/apsint/0", "MetadataVar/strval/!name",
                          AnyOf("APFloat/apfloat/0x4000000000000000",
                                "FloatHexLiteral/apfloat/0x4000000000000000")));
  EXPECT_THAT(lex("noalias nounwind memory"),
              ElementsAre("kw_noalias/keyword/noalias", "kw_nounwind/keyword/nounwind",
                          "kw_memory/keyword/memory"))
      << "Attributes are listed in another header";
}

TEST(LexIrTest, QuotesHideEverything) {
  EXPECT_THAT(lex("@\"a b;c/*d\" = c\"x ; \\22 y\";z\n"),
              ElementsAre("GlobalVar/strval/@\"a b;c/*d\"", "equal/keyword/=", "kw_c/keyword/c",
                          "StringConstant/strval/\"x ; \\22 y\""));
}

TEST(LexIrTest, MarkersHaveTheFirstNumbers) {
  const std::vector<IrToken> tokens = lexIr("ret ? void");
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens[1].id, 1);
  EXPECT_STREQ(tokens[1].kind, "Error");
  EXPECT_STREQ(tokens[1].category, "marker");
  EXPECT_TRUE(lexIr("").empty());
  EXPECT_TRUE(lexIr(" ; nothing").empty());
}

// What is left of a text without comments and white space outside of quotes.
std::string withoutComments(const std::string& text) {
  std::string result;
  bool quoted = false;
  bool comment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!quoted && !comment && text.compare(i, 2, "/*") == 0) {  // As LLVM 23 prints some.
      const size_t end = text.find("*/", i);
      if (end == std::string::npos) break;
      i = end + 1;
      continue;
    }
    const char c = text[i];
    if (c == '\n') {
      comment = false;
    }
    if (c == '"' && !comment) {
      quoted = !quoted;
    }
    comment |= c == ';' && !quoted;
    if (!comment && (quoted || (c != ' ' && c != '\n'))) {
      result += c;
    }
  }
  return result;
}

TEST(LexIrTest, NothingOfTheKernelsIsLost) {
  for (const std::string& name : sample(kernelNames(), 4)) {
    for (const char* pipeline : {"", "default<O3>"}) {
      const auto compilation = startCompilation(kernel(name));
      if (*pipeline != '\0') {
        applyPass(*compilation, pipeline);
      }
      const std::string ir = printIr(compilation->module());
      std::string joined;
      for (const IrToken& token : lexIr(ir)) {
        EXPECT_NE(token.id, 1) << name << ": " << token.value;
        EXPECT_GE(token.id, 0);
        EXPECT_LT(token.id, countTokenKinds());
        EXPECT_STRNE(token.category, "unknown") << token.kind;
        if (llvm::StringRef(token.kind).starts_with("kw_")) {
          EXPECT_STREQ(token.category, "keyword") << token.kind;
        }
        joined += token.value;
      }
      EXPECT_EQ(withoutComments(joined), withoutComments(ir)) << name << " " << pipeline;
    }
  }
}

}  // namespace
}  // namespace compiler_gym::llvm_service
