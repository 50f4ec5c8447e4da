// Every module is counted by hand. An element that a case does not mention has to be zero.
#include <gtest/gtest.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/IR/Instruction.h"
#include "tests/llvm_service/Counts.h"

namespace compiler_gym::llvm_service {
namespace {

const std::vector<std::string> kNames = words(R"(
  TotalInsts TotalBlocks TotalFuncs Ret Br Switch IndirectBr Invoke Resume Unreachable
  CleanupRet CatchRet CatchSwitch CallBr FNeg Add FAdd Sub FSub Mul FMul UDiv SDiv FDiv URem
  SRem FRem Shl LShr AShr And Or Xor Alloca Load Store GetElementPtr Fence AtomicCmpXchg
  AtomicRMW Trunc ZExt SExt FPToUI FPToSI UIToFP SIToFP FPTrunc FPExt PtrToInt IntToPtr
  BitCast AddrSpaceCast CleanupPad CatchPad ICmp FCmp PHI Call Select UserOp1 UserOp2 VAArg
  ExtractElement InsertElement ShuffleVector ExtractValue InsertValue LandingPad Freeze
)");

// One instruction followed by `ret void`.
CountsCase instruction(const std::string& name, const std::string& text) {
  return {name, functionOf("  " + text + "\n  ret void\n"),
          "TotalInsts=2 TotalBlocks TotalFuncs Ret " + name};
}

std::vector<CountsCase> instructionCases() {
  std::vector<CountsCase> cases;
  for (const auto& each : kInstructions) cases.push_back(instruction(each.opcode, each.text));
  return cases;
}

std::vector<CountsCase> terminatorCases() {
  return {
      {"Ret", "define void @f() {\n  ret void\n}\n", "TotalInsts TotalBlocks TotalFuncs Ret"},
      {"Br", "define void @f() {\n  br label %1\n1:\n  ret void\n}\n",
       "TotalInsts=2 TotalBlocks=2 TotalFuncs Ret Br"},
      {"Switch",
       "define void @f(i32 %a) {\n  switch i32 %a, label %1 [ i32 7, label %1 ]\n1:\n  ret void\n}",
       "TotalInsts=2 TotalBlocks=2 TotalFuncs Ret Switch"},
      {"IndirectBr", "define void @f(ptr %p) {\n  indirectbr ptr %p, [label %1]\n1:\n  ret void\n}",
       "TotalInsts=2 TotalBlocks=2 TotalFuncs Ret IndirectBr"},
      {"Unreachable", "define void @f() {\n  unreachable\n}\n",
       "TotalInsts TotalBlocks TotalFuncs Unreachable"},
      {"CallBr",
       R"(define void @f() {
            callbr void asm "", "!i"() to label %1 [label %2]
          1:
            ret void
          2:
            ret void
          })",
       "TotalInsts=3 TotalBlocks=3 TotalFuncs Ret=2 CallBr"},
      {"PHI",
       "define void @f(i32 %a) {\n  br label %1\n1:\n  %x = phi i32 [ %a, %0 ]\n  ret void\n}",
       "TotalInsts=3 TotalBlocks=2 TotalFuncs Ret Br PHI"},
  };
}

std::vector<CountsCase> callCases() {
  return {
      {"Call", "declare void @g()\ndefine void @f() {\n  call void @g()\n  ret void\n}\n",
       "TotalInsts=2 TotalBlocks TotalFuncs=2 Ret Call"},
      {"InvokeResumeLandingPad",
       R"(declare void @g()
          declare i32 @__gxx_personality_v0(...)
          define void @f() personality ptr @__gxx_personality_v0 {
            invoke void @g() to label %ok unwind label %bad
          ok:
            ret void
          bad:
            %1 = landingpad { ptr, i32 } cleanup
            resume { ptr, i32 } %1
          })",
       "TotalInsts=4 TotalBlocks=3 TotalFuncs=3 Invoke Ret LandingPad Resume"},
      {"CatchSwitchCatchPadCatchRet",
       R"(declare void @g()
          declare i32 @__CxxFrameHandler3(...)
          define void @f() personality ptr @__CxxFrameHandler3 {
            invoke void @g() to label %ok unwind label %dispatch
          dispatch:
            %switch = catchswitch within none [label %handler] unwind to caller
          handler:
            %pad = catchpad within %switch [ptr null, i32 64, ptr null]
            catchret from %pad to label %ok
          ok:
            ret void
          })",
       "TotalInsts=5 TotalBlocks=4 TotalFuncs=3 Invoke CatchSwitch CatchPad CatchRet Ret"},
      {"CleanupPadCleanupRet",
       R"(declare void @g()
          declare i32 @__CxxFrameHandler3(...)
          define void @f() personality ptr @__CxxFrameHandler3 {
            invoke void @g() to label %ok unwind label %clean
          clean:
            %pad = cleanuppad within none []
            cleanupret from %pad unwind to caller
          ok:
            ret void
          })",
       "TotalInsts=4 TotalBlocks=3 TotalFuncs=3 Invoke CleanupPad CleanupRet Ret"},
  };
}

// Opcodes that LLVM 10, whose opcodes the elements are, did not have.
std::vector<CountsCase> newerOpcodeCases() {
  const auto exists = [](unsigned opcode) {
    return llvm::StringRef(llvm::Instruction::getOpcodeName(opcode)) == "ptrtoaddr";
  };
  if (llvm::none_of(llvm::seq<unsigned>(1, llvm::Instruction::OtherOpsEnd), exists)) {
    return {};
  }
  CountsCase ptrToAddr = instruction("PtrToAddr", "%1 = ptrtoaddr ptr %p to i64");
  ptrToAddr.expected = "TotalInsts=2 TotalBlocks TotalFuncs Ret";
  return {ptrToAddr};
}

std::vector<CountsCase> totalCases() {
  return {
      {"EmptyModule", "; nothing\n", ""},
      {"Declarations", "declare void @g()\ndeclare void @llvm.trap()\n", "TotalFuncs=2"},
      {"TwoFunctions",
       "define i32 @f(i32 %a) {\n  %1 = add i32 %a, %a\n  ret i32 %1\n}\n"
       "define i32 @g(i32 %a) {\n  %1 = add i32 %a, %a\n  %2 = sub i32 %1, %a\n  ret i32 %2\n}\n",
       "TotalInsts=5 TotalBlocks=2 TotalFuncs=2 Add=2 Sub Ret=2"},
  };
}

std::vector<CountsCase> allCases() {
  return joined(
      {instructionCases(), terminatorCases(), callCases(), newerOpcodeCases(), totalCases()});
}

class InstCountTest : public ::testing::TestWithParam<CountsCase> {};

TEST_P(InstCountTest, CountsAsByHand) { expectCounts("InstCount", kNames, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Module, InstCountTest, ::testing::ValuesIn(allCases()),
                         [](const auto& info) { return info.param.name; });

TEST(InstCountNamesTest, EachIsCountedInAModule) {
  ASSERT_EQ(kNames.size(), 70U);
  std::vector<std::string> possible = kNames;
  // LLVM keeps these two numbers for itself: no instruction of a module has them.
  for (const char* name : {"UserOp1", "UserOp2"}) {
    possible.erase(std::find(possible.begin(), possible.end(), name));
  }
  expectAllCovered(possible, allCases());
}

}  // namespace
}  // namespace compiler_gym::llvm_service
