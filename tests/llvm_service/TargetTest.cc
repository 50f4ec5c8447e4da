#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "llvm_service/Ir.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/Target.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::StatusCode;

TEST(TargetTest, RetargetedModule) {
  constexpr char kText[] = R"(
target triple = "x86_64-pc-linux-gnu"
define i32 @f() "target-cpu"="skylake" "target-features"="+avx2" "tune-cpu"="generic" {
  ret i32 1
}
declare void @g() "target-cpu"="skylake"
)";
  OwnedModule owned;
  ASSERT_THAT(parseIr(kText, owned), IsOk());
  ASSERT_THAT(retarget(*owned.module, "aarch64-linux-gnu"), IsOk());
  EXPECT_EQ(targetName(*owned.module), "aarch64-linux-gnu");
  EXPECT_TRUE(owned.module->getDataLayout().isLittleEndian());
  EXPECT_EQ(printIr(*owned.module).find("skylake"), std::string::npos);
  EXPECT_EQ(printIr(*owned.module).find("avx2"), std::string::npos);
  EXPECT_THAT(verify(*owned.module), IsOk());
  // As clang does, which has multiplication and floating point on riscv64 unless told otherwise.
  ASSERT_THAT(retarget(*owned.module, "riscv64-linux-gnu"), IsOk());
  EXPECT_NE(printIr(*owned.module).find("+m,"), std::string::npos);
}

TEST(TargetTest, UnknownTargetLeavesTheModule) {
  OwnedModule owned;
  ASSERT_THAT(parseIr("target triple = \"x86_64-pc-linux-gnu\"\n", owned), IsOk());
  const std::string before = printIr(*owned.module);
  EXPECT_THAT(retarget(*owned.module, "nosuch"), IsError(StatusCode::INVALID_ARGUMENT, "nosuch"));
  EXPECT_EQ(printIr(*owned.module), before);
}

// LLVM ends the process when it describes such a processor.
TEST(TargetTest, StartOnFunctionsForProcessorsWithoutTheModeOfTheTarget) {
  for (const char* attribute : {"\"target-cpu\"=\"i386\"", "\"target-features\"=\"-64bit\""}) {
    const std::string text = "target triple = \"x86_64-pc-linux-gnu\"\ndefine i32 @f() " +
                             std::string(attribute) + " {\n  ret i32 1\n}\n";
    const std::unique_ptr<Compilation> compilation = startCompilation(text);
    ASSERT_TRUE(compilation);
    EXPECT_FALSE(applyPass(*compilation, "strip-dead-prototypes"));
  }
}

}  // namespace
}  // namespace compiler_gym::llvm_service
