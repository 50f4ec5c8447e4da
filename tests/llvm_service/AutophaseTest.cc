// Every module is counted by hand. An element that a case does not mention has to be zero, so each
// also checks all the features that it is not about.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/llvm_service/Counts.h"

namespace compiler_gym::llvm_service {
namespace {

const std::vector<std::string> kFeatures = words(R"(
  BBNumArgsHi BBNumArgsLo onePred onePredOneSuc onePredTwoSuc oneSuccessor twoPred
  twoPredOneSuc twoEach twoSuccessor morePreds BB03Phi BBHiPhi BBNoPhi BeginPhi BranchCount
  returnInt CriticalCount NumEdges const32Bit const64Bit numConstZeroes numConstOnes
  UncondBranches binaryConstArg NumAShrInst NumAddInst NumAllocaInst NumAndInst BlockMid
  BlockLow NumBitCastInst NumBrInst NumCallInst NumGetElementPtrInst NumICmpInst NumLShrInst
  NumLoadInst NumMulInst NumOrInst NumPHIInst NumRetInst NumSExtInst NumSelectInst NumShlInst
  NumStoreInst NumSubInst NumTruncInst NumXorInst NumZExtInst TotalBlocks TotalInsts
  TotalMemInst TotalFuncs ArgsPhi testUnary
)");

// The counts of a module with one block of the given number of instructions, `ret void` included.
std::string oneBlock(int64_t instructions, const std::string& more) {
  return "TotalFuncs TotalBlocks BlockLow BBNoPhi NumRetInst TotalInsts=" +
         std::to_string(instructions) + " " + more;
}

// A case of one instruction followed by `ret void`.
CountsCase instruction(const std::string& name, const std::string& text, const std::string& more) {
  return {name, functionOf("  " + text + "\n  ret void\n"), oneBlock(2, more)};
}

std::vector<CountsCase> instructionCases() {
  // The number of elements of an allocation is an operand: i32 1 unless it is given.
  std::vector<CountsCase> cases = {instruction("AllocaOfVariableSize", "%1 = alloca i64, i32 %a",
                                               "NumAllocaInst TotalMemInst testUnary")};
  for (const auto& each : kInstructions) {
    cases.push_back(instruction(each.opcode, each.text, each.features));
  }
  return cases;
}

std::vector<CountsCase> constantCases() {
  const std::string addOfConstant = "NumAddInst binaryConstArg";
  return {
      instruction("const32Bit", "%1 = add i32 %a, 7", addOfConstant + " const32Bit"),
      instruction("const32BitMinusOne", "%1 = add i32 %a, -1", addOfConstant + " const32Bit"),
      instruction("const64Bit", "%1 = add i64 %l, 7", addOfConstant + " const64Bit"),
      instruction("constOfOtherWidth", "%1 = add i8 %byte, 7", addOfConstant),
      instruction("numConstOnes", "%1 = add i8 %byte, 1", addOfConstant + " numConstOnes"),
      instruction("numConstOnesTrue", "%1 = add i1 %c, true", addOfConstant + " numConstOnes"),
      instruction("numConstZeroes", "%1 = add i8 %byte, 0", addOfConstant + " numConstZeroes"),
      instruction("constantsOfBothOperands", "%1 = add i32 1, 0",
                  addOfConstant + " const32Bit=2 numConstOnes numConstZeroes"),
      instruction("floatsAreNotIntegers", "%1 = fadd float %x, 1.0", "binaryConstArg"),
      instruction("vectorsAreNotIntegers", "%1 = add <2 x i32> %v, <i32 1, i32 0>", addOfConstant),
      instruction("undefIsAConstant", "%1 = add i32 %a, undef", addOfConstant),
      instruction("binaryConstArgExpression", "%1 = sub i64 ptrtoint (ptr @f to i64), %l",
                  "NumSubInst binaryConstArg"),
      instruction("comparisonsAreNotBinary", "%1 = icmp eq i32 %a, 0",
                  "NumICmpInst const32Bit numConstZeroes"),
      instruction("selectsAreNotBinary", "%1 = select i1 %c, i32 1, i32 %b",
                  "NumSelectInst const32Bit numConstOnes"),
      instruction(
          "constantsOfAddresses", "%1 = getelementptr { i8, i8 }, ptr %p, i64 0, i32 1",
          "NumGetElementPtrInst TotalMemInst const64Bit numConstZeroes const32Bit numConstOnes"),
      instruction("constantsOfStores", "store i64 0, ptr %p",
                  "NumStoreInst TotalMemInst const64Bit numConstZeroes"),
      {"constantsOfReturns", "define i32 @f() {\n  ret i32 0\n}\n",
       oneBlock(1, "const32Bit numConstZeroes")},
      {"globalsHaveNoOperandsHere", "@g = global [2 x i32] [i32 1, i32 0]\n", ""},
  };
}

// A call in @f of a function @g, both counted as functions.
CountsCase call(const std::string& name, const std::string& declaration, const std::string& text,
                const std::string& more) {
  return {name, declaration + "\n" + functionOf("  " + text + "\n  ret void\n"),
          oneBlock(2, "TotalFuncs=2 NumCallInst TotalMemInst " + more)};
}

std::vector<CountsCase> callCases() {
  return {
      call("NumCallInst", "declare void @g()", "call void @g()", ""),
      call("returnInt", "declare i32 @g()", "%1 = call i32 @g()", "returnInt"),
      call("returnIntOfAnyWidth", "declare i1 @g()", "%1 = call i1 @g()", "returnInt"),
      call("returnIntOfIntrinsics", "declare i32 @llvm.ctpop.i32(i32)",
           "%1 = call i32 @llvm.ctpop.i32(i32 %a)", "returnInt"),
      call("returnFloat", "declare float @g()", "%1 = call float @g()", ""),
      call("returnPointer", "declare ptr @g()", "%1 = call ptr @g()", ""),
      call("returnVector", "declare <2 x i32> @g()", "%1 = call <2 x i32> @g()", ""),
      call("returnIntOfUnknownCallee", "declare void @g()", "%1 = call i32 %p()", ""),
      call("returnIntOfInlineAssembly", "declare void @g()", "%1 = call i32 asm \"\", \"=r\"()",
           ""),
      call("constantsOfCalls", "declare void @g(i32, i64)", "call void @g(i32 1, i64 0)",
           "const32Bit numConstOnes const64Bit numConstZeroes"),
      {"invokesAreNotCalls",
       R"(declare i32 @g()
          declare i32 @__gxx_personality_v0(...)
          define void @f() personality ptr @__gxx_personality_v0 {
            %1 = invoke i32 @g() to label %ok unwind label %bad
          ok:
            ret void
          bad:
            %2 = landingpad { ptr, i32 } cleanup
            resume { ptr, i32 } %2
          })",
       "TotalFuncs=3 TotalBlocks=3 TotalInsts=4 TotalMemInst NumRetInst NumEdges=2 twoSuccessor "
       "onePred=2 BBNoPhi=3 BlockLow=3"},
  };
}

std::vector<CountsCase> functionCases() {
  return {
      {"emptyModule", "; nothing\n", ""},
      {"TotalFuncsOfDeclarations", "declare void @g()\ndeclare i32 @h(i32)\n", "TotalFuncs=2"},
      {"TotalFuncsOfIntrinsics", "declare void @llvm.trap()\n", "TotalFuncs"},
      {"TotalFuncsOfBothKinds", "declare void @g()\n" + functionOf("  ret void\n"),
       oneBlock(1, "TotalFuncs=2")},
      {"variablesAndAliasesAreNotFunctions",
       "@v = global i32 3\n@w = alias i32, ptr @v\n" + functionOf("  ret void\n"), oneBlock(1, "")},
      {"otherTerminators", functionOf("  unreachable\n"), oneBlock(1, "NumRetInst=0")},
  };
}

std::vector<CountsCase> branchCases() {
  return {
      {"onePredOneSuc",  // A diamond.
       functionOf("  br i1 %c, label %1, label %2\n"
                  "1:\n  br label %3\n"
                  "2:\n  br label %3\n"
                  "3:\n  ret void\n"),
       "TotalFuncs TotalBlocks=4 TotalInsts=4 NumRetInst NumBrInst=3 BranchCount=3 "
       "UncondBranches=2 NumEdges=4 oneSuccessor=2 twoSuccessor onePred=2 twoPred onePredOneSuc=2 "
       "BBNoPhi=4 BlockLow=4"},
      {"CriticalCount",  // The edge past the middle of a triangle.
       functionOf("  br i1 %c, label %1, label %2\n"
                  "1:\n  br label %2\n"
                  "2:\n  ret void\n"),
       "TotalFuncs TotalBlocks=3 TotalInsts=3 NumRetInst NumBrInst=2 BranchCount=2 UncondBranches "
       "NumEdges=3 oneSuccessor twoSuccessor onePred twoPred onePredOneSuc CriticalCount BBNoPhi=3 "
       "BlockLow=3"},
      {"onePredTwoSuc",
       functionOf("  br label %1\n"
                  "1:\n  br i1 %c, label %2, label %3\n"
                  "2:\n  ret void\n"
                  "3:\n  ret void\n"),
       "TotalFuncs TotalBlocks=4 TotalInsts=4 NumRetInst=2 NumBrInst=2 BranchCount=2 "
       "UncondBranches NumEdges=3 oneSuccessor twoSuccessor onePred=3 onePredTwoSuc BBNoPhi=4 "
       "BlockLow=4"},
      {"twoPredOneSuc",  // A diamond with a tail.
       functionOf("  br i1 %c, label %1, label %2\n"
                  "1:\n  br label %3\n"
                  "2:\n  br label %3\n"
                  "3:\n  br label %4\n"
                  "4:\n  ret void\n"),
       "TotalFuncs TotalBlocks=5 TotalInsts=5 NumRetInst NumBrInst=4 BranchCount=4 "
       "UncondBranches=3 NumEdges=5 oneSuccessor=3 twoSuccessor onePred=3 twoPred onePredOneSuc=2 "
       "twoPredOneSuc BBNoPhi=5 BlockLow=5"},
      {"twoEach",  // A loop of one block; its back edge is critical.
       functionOf("  br label %1\n"
                  "1:\n  br i1 %c, label %1, label %2\n"
                  "2:\n  ret void\n"),
       "TotalFuncs TotalBlocks=3 TotalInsts=3 NumRetInst NumBrInst=2 BranchCount=2 UncondBranches "
       "NumEdges=3 oneSuccessor twoSuccessor onePred twoPred twoEach CriticalCount BBNoPhi=3 "
       "BlockLow=3"},
      {"twoPredOfOneBlock",  // Two edges between the same two blocks are two edges.
       functionOf("  br i1 %c, label %1, label %1\n"
                  "1:\n  ret void\n"),
       "TotalFuncs TotalBlocks=2 TotalInsts=2 NumRetInst NumBrInst BranchCount NumEdges=2 "
       "twoSuccessor twoPred CriticalCount=2 BBNoPhi=2 BlockLow=2"},
      {"constantConditions",
       functionOf("  br i1 true, label %1, label %2\n"
                  "1:\n  ret void\n"
                  "2:\n  ret void\n"),
       "TotalFuncs TotalBlocks=3 TotalInsts=3 NumRetInst=2 NumBrInst BranchCount NumEdges=2 "
       "twoSuccessor onePred=2 numConstOnes BBNoPhi=3 BlockLow=3"},
      {"unreachableBlocks",
       functionOf("  ret void\n"
                  "1:\n  br label %2\n"
                  "2:\n  ret void\n"),
       "TotalFuncs TotalBlocks=3 TotalInsts=3 NumRetInst=2 NumBrInst BranchCount UncondBranches "
       "NumEdges oneSuccessor onePred BBNoPhi=3 BlockLow=3"},
      {"morePreds",  // A switch is not a branch. Its cases are constants.
       functionOf("  switch i32 %a, label %1 [\n    i32 5, label %1\n    i32 1, label %1\n  ]\n"
                  "1:\n  ret void\n"),
       "TotalFuncs TotalBlocks=2 TotalInsts=2 NumRetInst NumEdges=3 morePreds CriticalCount=3 "
       "const32Bit=2 numConstOnes BBNoPhi=2 BlockLow=2"},
      {"oneSuccessorOfSwitches",
       functionOf("  switch i64 0, label %1 []\n"
                  "1:\n  ret void\n"),
       "TotalFuncs TotalBlocks=2 TotalInsts=2 NumRetInst NumEdges oneSuccessor onePred const64Bit "
       "numConstZeroes BBNoPhi=2 BlockLow=2"},
  };
}

// A diamond whose last block has some phis of two arguments each.
CountsCase phis(int64_t count, const std::string& more) {
  std::string body =
      "  br i1 %c, label %left, label %right\n"
      "left:\n  br label %end\n"
      "right:\n  br label %end\n"
      "end:\n";
  for (int64_t i = 0; i < count; ++i) {
    body += "  %phi" + std::to_string(i) + " = phi i32 [ %a, %left ], [ %b, %right ]\n";
  }
  const std::string number = std::to_string(count);
  const std::string base =
      "TotalFuncs TotalBlocks=4 NumRetInst NumBrInst=3 BranchCount=3 UncondBranches=2 NumEdges=4 "
      "oneSuccessor=2 twoSuccessor onePred=2 twoPred onePredOneSuc=2 BBNoPhi=3 BlockLow=4 BeginPhi "
      "TotalInsts=" +
      std::to_string(4 + count) + " NumPHIInst=" + number +
      " ArgsPhi=" + std::to_string(2 * count) + " ";
  return {"phis" + number, functionOf(body + "  ret void\n"), base + more};
}

// A block with one phi of the given number of arguments. The cases 2, 3, ... are constants.
CountsCase phiOfArguments(int64_t count, const std::string& more) {
  std::string cases;
  std::string arguments = "[ %b, %entry ]";
  for (int64_t i = 1; i < count; ++i) {
    cases += "    i32 " + std::to_string(i + 1) + ", label %end\n";
    arguments += ", [ %b, %entry ]";
  }
  const std::string number = std::to_string(count);
  const std::string base =
      "TotalFuncs TotalBlocks=2 TotalInsts=3 NumRetInst morePreds BBNoPhi BlockLow=2 BeginPhi "
      "BB03Phi NumPHIInst NumEdges=" +
      number + " CriticalCount=" + number + " ArgsPhi=" + number +
      " const32Bit=" + std::to_string(count - 1) + " ";
  return {"phiArguments" + number,
          functionOf("entry:\n  switch i32 %a, label %end [\n" + cases +
                     "  ]\nend:\n  %phi = phi i32 " + arguments + "\n  ret void\n"),
          base + more};
}

std::vector<CountsCase> phiCases() {
  return {
      phis(1, "BB03Phi BBNumArgsLo"),   phis(2, "BB03Phi BBNumArgsLo"),
      phis(3, "BB03Phi BBNumArgsHi"),   phis(4, "BBHiPhi BBNumArgsHi"),
      phiOfArguments(5, "BBNumArgsLo"), phiOfArguments(6, "BBNumArgsHi"),
  };
}

// One block of the given number of instructions, `ret void` included.
CountsCase blockOf(int64_t instructions, const std::string& more) {
  std::string body;
  for (int64_t i = 1; i < instructions; ++i) {
    body += "  %" + std::to_string(i) + " = add i32 %a, %b\n";
  }
  return {"blockOf" + std::to_string(instructions), functionOf(body + "  ret void\n"),
          oneBlock(instructions, "NumAddInst=" + std::to_string(instructions - 1) + " " + more)};
}

std::vector<CountsCase> blockSizeCases() {
  return {
      blockOf(14, "BlockLow"),
      blockOf(15, "BlockLow=0 BlockMid"),
      blockOf(500, "BlockLow=0 BlockMid"),
      blockOf(501, "BlockLow=0 BlockMid=0"),
  };
}

std::vector<CountsCase> allCases() {
  return joined({instructionCases(), constantCases(), callCases(), functionCases(), branchCases(),
                 phiCases(), blockSizeCases()});
}

class AutophaseTest : public ::testing::TestWithParam<CountsCase> {};

TEST_P(AutophaseTest, CountsAsByHand) { expectCounts("Autophase", kFeatures, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Module, AutophaseTest, ::testing::ValuesIn(allCases()),
                         [](const auto& info) { return info.param.name; });

TEST(AutophaseFeaturesTest, EachIsCountedInAModule) { expectAllCovered(kFeatures, allCases()); }

}  // namespace
}  // namespace compiler_gym::llvm_service
