// Tests of CallGraph and FunctionProperties.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Instructions.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/Tables.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::ElementsAre;

constexpr char kModule[] = R"(
declare i32 @external(i32)
@pointer = global ptr @callback
@alias = alias i32 (i32), ptr @callee
define internal i32 @callee(i32 %a) {
  %doubled = shl i32 %a, 1
  ret i32 %doubled
}
define internal void @callback() {
  ret void
}
define i32 @loop(i32 %n, ptr %p) {
entry:
  br label %header
header:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %done = icmp eq i32 %i, %n
  br i1 %done, label %exit, label %body
body:
  %old = load i32, ptr %p
  %new = call i32 @callee(i32 %old)
  %again = call i32 @callee(i32 %new)
  store i32 %again, ptr %p
  %next = add i32 %i, 1
  br label %header
exit:
  %f = load ptr, ptr @pointer
  call void %f()
  call void asm sideeffect "", ""()
  %result = call i32 @alias(i32 7)
  %other = call i32 @external(i32 %result)
  ret i32 %other
}
)";

TEST(CallGraphTest, HandDrawnExample) {
  const auto compilation = startCompilation(kModule);
  const Event graph = observe(*compilation, "CallGraph");
  EXPECT_THAT(texts(graph, "function"), ElementsAre("external", "callee", "callback", "loop"));
  EXPECT_THAT(flags(graph, "defined"), ElementsAre(false, true, true, true));
  EXPECT_THAT(flags(graph, "address_taken"), ElementsAre(false, true, true, false));
  // The loop calls callee twice by name and once through the alias, a pointer, and external.
  EXPECT_THAT(integers(graph, "caller"), ElementsAre(3, 3, 3));
  EXPECT_THAT(integers(graph, "callee"), ElementsAre(1, -1, 0));
  EXPECT_THAT(integers(graph, "calls"), ElementsAre(3, 1, 1));
}

TEST(CallGraphTest, CountsTheCallsOfTheModule) {
  for (const auto& [name, bitcode] : kernels()) {
    const auto compilation = startCompilation(bitcode);
    int64_t calls = 0;
    for (const llvm::Function& function : compilation->module()) {
      for (const llvm::BasicBlock& block : function) {
        for (const llvm::Instruction& instruction : block) {
          const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
          calls += call != nullptr && !call->isInlineAsm();
        }
      }
    }
    const Event graph = observe(*compilation, "CallGraph");
    int64_t sum = 0;
    for (const int64_t count : integers(graph, "calls")) {
      sum += count;
    }
    EXPECT_EQ(sum, calls) << name;
  }
}

TEST(FunctionPropertiesTest, HandCountedExample) {
  const auto compilation = startCompilation(kModule);
  const Event table = observe(*compilation, "FunctionProperties");
  EXPECT_THAT(texts(table, "Function"), ElementsAre("callee", "callback", "loop"));
  const auto column = [&](const char* name) { return integers(table, name); };
  EXPECT_THAT(column("BasicBlockCount"), ElementsAre(1, 1, 4));
  EXPECT_THAT(column("TotalInstructionCount"), ElementsAre(2, 1, 16));
  EXPECT_THAT(column("LoadInstCount"), ElementsAre(0, 0, 2));
  EXPECT_THAT(column("StoreInstCount"), ElementsAre(0, 0, 1));
  EXPECT_THAT(column("MaxLoopDepth"), ElementsAre(0, 0, 1));
  EXPECT_THAT(column("TopLevelLoopCount"), ElementsAre(0, 0, 1));
  EXPECT_THAT(column("BlocksReachedFromConditionalInstruction"), ElementsAre(0, 0, 2));
  // Those that need LLVM's option for details.
  EXPECT_THAT(column("ControlFlowEdgeCount"), ElementsAre(0, 0, 4));
#if LLVM_VERSION_MAJOR >= 22
  EXPECT_THAT(column("ConditionalBranchCount"), ElementsAre(0, 0, 1));
#endif
  EXPECT_THAT(column("UnconditionalBranchCount"), ElementsAre(0, 0, 2));
  EXPECT_THAT(column("BasicBlocksWithSingleSuccessor"), ElementsAre(0, 0, 2));
  EXPECT_THAT(column("BasicBlocksWithTwoSuccessors"), ElementsAre(0, 0, 1));
  EXPECT_THAT(column("BasicBlocksWithTwoPredecessors"), ElementsAre(0, 0, 1));
}

}  // namespace
}  // namespace compiler_gym::llvm_service
