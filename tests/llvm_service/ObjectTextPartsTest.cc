#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/costs/ObjectTextParts.h"
#include "tests/llvm_service/RandomWalk.h"
#include "tests/llvm_service/Statuses.h"

namespace compiler_gym::llvm_service {
namespace {

int64_t wholeSize(Compilation& compilation) {
  int64_t bytes = 0;
  EXPECT_THAT(objectTextSize(compilation.bitcode(), bytes), IsOk());
  return bytes;
}

std::unique_ptr<Compilation> compilationOf(const std::string& functions) {
  return startCompilation(makeBenchmark("target triple = \"x86_64-pc-linux-gnu\"\n" + functions));
}

// The size by parts that are kept, where they are kept; expects it to be that of the whole.
int64_t expectSum(ObjectTextParts& parts, Compilation& compilation, const std::string& when) {
  const std::optional<int64_t> sum = parts.compute(compilation);
  EXPECT_EQ(sum, wholeSize(compilation)) << when;
  return sum.value_or(0);
}

TEST(ObjectTextPartsTest, SumOfPartsIsTheSizeOfTheWhole) {
  std::unique_ptr<ObjectTextParts> parts;
  randomWalk(3, [&](Compilation& compilation, bool changed, const std::string& step) {
    if (compilation.history().size() == 1) {
      parts = std::make_unique<ObjectTextParts>();
    } else if (!changed) {
      return;
    }
    expectSum(*parts, compilation, step);
  });
}

// The assembler shortens them, more of them when what is between becomes small.
TEST(ObjectTextPartsTest, TailCallsToNeighboursAreShort) {
  std::string program = "@sink = internal global i64 0\n";
  for (int i = 0; i < 12; ++i) {
    const std::string number = std::to_string(i);
    const std::string next = std::to_string((i + 1) % 12);
    program += "define internal void @f" + number + "(i64 %x) {\n  %a" + number +
               " = mul i64 %x, " + std::to_string(i * 1000003 + 77) + "\n";
    for (int j = 0; j < i * i; ++j) {
      program += "  %dead" + std::to_string(j) + " = xor i64 %x, " + std::to_string(j) +
                 "\n  store volatile i64 %dead" + std::to_string(j) + ", ptr @sink\n";
    }
    program += "  tail call void @f" + next + "(i64 %a" + number + ")\n  ret void\n}\n";
  }
  const auto compilation = compilationOf(program +
                                         "define void @main() {\n  tail call void @f3(i64 "
                                         "5)\n  ret void\n}\n");
  ObjectTextParts parts;
  expectSum(parts, *compilation, "at first");
  for (const char* pass : {"function(instcombine<no-verify-fixpoint>)", "function(reg2mem)",
                           "function(sroa)", "cgscc(inline)", "globaldce"}) {
    applyPass(*compilation, pass);
    expectSum(parts, *compilation, pass);
  }
}

constexpr char kSwitch[] = R"(
@aligned = constant [40 x i8] c"0123456789012345678901234567890123456789", align 32
@text = private unnamed_addr constant [6 x i8] c"hello\00"
@table = constant [5 x i32] [i32 1, i32 2, i32 3, i32 4, i32 5], align 16
declare i32 @a(i32)
declare i32 @b(ptr)
declare double @c(double)
define i32 @choose(i32 %x) {
  switch i32 %x, label %other [ i32 0, label %zero i32 1, label %one i32 2, label %two
                                i32 3, label %three i32 4, label %four i32 5, label %five ]
zero:
  %r0 = call i32 @a(i32 7)
  ret i32 %r0
one:
  %r1 = call i32 @b(ptr @text)
  ret i32 %r1
two:
  %r2 = call i32 @b(ptr @aligned)
  ret i32 %r2
three:
  %r3 = call i32 @b(ptr @table)
  ret i32 %r3
four:
  ret i32 99
five:
  %r5 = call double @c(double 1.25)
  %r6 = fptosi double %r5 to i32
  ret i32 %r6
other:
  ret i32 0
}
define i32 @same(i32 %x) {
  %r = call i32 @choose(i32 %x)
  ret i32 %r
}
)";

TEST(ObjectTextPartsTest, VariablesAreAlignedBehindTablesOfJumps) {
  const auto compilation = compilationOf(kSwitch);
  ObjectTextParts parts;
  const int64_t before = expectSum(parts, *compilation, "with a switch");
  EXPECT_TRUE(applyPass(*compilation, "function(lower-switch)"));
  EXPECT_NE(expectSum(parts, *compilation, "without it"), before);
}

// That of main stays as it is, but the program's own variables are reached in another way.
TEST(ObjectTextPartsTest, CodeDependsOnAttributesOfOtherFunctions) {
  const auto compilation = compilationOf(R"(
@counter = global i32 0
define void @other() {
  store volatile i32 2, ptr @counter
  ret void
}
define i32 @main() {
  %before = load volatile i32, ptr @counter
  call void @other()
  store volatile i32 1, ptr @counter
  ret i32 %before
}
)");
  ObjectTextParts parts;
  const int64_t before = expectSum(parts, *compilation, "at first");
  EXPECT_TRUE(applyPass(*compilation, "internalize<preserve-gv=main>"));
  EXPECT_THAT(compilation->lastChange().functionsChanged, testing::ElementsAre("other"));
  EXPECT_LT(expectSum(parts, *compilation, "after internalize"), before);
}

TEST(ObjectTextPartsTest, ProgramsWhosePartsMayNotAddUpStayWhole) {
  for (const char* program : {
           "define void @f() align 32 { ret void }",
           "define void @f() optnone noinline { ret void }",
           "define void @f() section \"mine\" { ret void }",
           "define void @f() { call void asm sideeffect \"nop\", \"\"() ret void }",
           "define void @f() alwaysinline { ret void }",
           "$f = comdat any\ndefine linkonce_odr void @f() comdat { ret void }",
           "@alias = alias void (), ptr @f\ndefine void @f() { ret void }",
           "module asm \"nop\"\ndefine void @f() { ret void }",
           "@block = global ptr blockaddress(@f, %a)\n"
           "define void @f(ptr %p) { indirectbr ptr %p, [label %a]\na: ret void }",
           "declare i32 @p(...)\ndefine void @f() personality ptr @p { ret void }",
           "define void @0() { ret void }",
           "define private void @f() noinline { ret void }\n"
           "define void @g() { call void @f() ret void }",
           "define void @\"\\01f\"() { ret void }",
       }) {
    EXPECT_EQ(ObjectTextParts().compute(*compilationOf(program)), std::nullopt) << program;
  }
  EXPECT_EQ(ObjectTextParts().compute(*startCompilation(makeBenchmark(
                "target triple = \"riscv64-linux-gnu\"\ndefine void @f() { ret void }"))),
            std::nullopt);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
