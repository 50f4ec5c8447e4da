// Every module is counted by hand. An element that a case does not mention has to be zero, so each
// case also checks all the features that it is not about.
#include <gtest/gtest.h>

#include "tests/llvm_service/Counts.h"

namespace compiler_gym::llvm_service {
namespace {

const std::vector<std::string> kFeatures = {
    "BBNumArgsHi",  "BBNumArgsLo",    "onePred",       "onePredOneSuc",  "onePredTwoSuc",
    "oneSuccessor", "twoPred",        "twoPredOneSuc", "twoEach",        "twoSuccessor",
    "morePreds",    "BB03Phi",        "BBHiPhi",       "BBNoPhi",        "BeginPhi",
    "BranchCount",  "returnInt",      "CriticalCount", "NumEdges",       "const32Bit",
    "const64Bit",   "numConstZeroes", "numConstOnes",  "UncondBranches", "binaryConstArg",
    "NumAShrInst",  "NumAddInst",     "NumAllocaInst", "NumAndInst",     "BlockMid",
    "BlockLow",     "NumBitCastInst", "NumBrInst",     "NumCallInst",    "NumGetElementPtrInst",
    "NumICmpInst",  "NumLShrInst",    "NumLoadInst",   "NumMulInst",     "NumOrInst",
    "NumPHIInst",   "NumRetInst",     "NumSExtInst",   "NumSelectInst",  "NumShlInst",
    "NumStoreInst", "NumSubInst",     "NumTruncInst",  "NumXorInst",     "NumZExtInst",
    "TotalBlocks",  "TotalInsts",     "TotalMemInst",  "TotalFuncs",     "ArgsPhi",
    "testUnary",
};

// A function without constants around some instructions or blocks.
std::string function(const std::string& body) {
  return "define void @f(i1 %c, i8 %byte, i32 %a, i32 %b, i64 %l, ptr %p, float %x,\n"
         "               <2 x i32> %v, { i32, float } %s) {\n" +
         body + "}\n";
}

// A module with one block of the given number of instructions, `ret void` included.
Counts oneBlock(int64_t instructions, const Counts& more) {
  return with({{"TotalFuncs", 1},
               {"TotalBlocks", 1},
               {"TotalInsts", instructions},
               {"BlockLow", 1},
               {"BBNoPhi", 1},
               {"NumRetInst", 1}},
              more);
}

// A case of one instruction followed by `ret void`.
CountsCase instruction(const std::string& name, const std::string& text, const Counts& more) {
  return {name, function("  " + text + "\n  ret void\n"), oneBlock(2, more)};
}

// The same for instructions that are only counted by their opcode.
CountsCase opcode(const std::string& feature, const std::string& text) {
  return instruction(feature, text, {{feature, 1}});
}

std::vector<CountsCase> opcodeCases() {
  return {
      opcode("NumAShrInst", "%1 = ashr i32 %a, %b"),
      opcode("NumAddInst", "%1 = add i32 %a, %b"),
      opcode("NumAndInst", "%1 = and i32 %a, %b"),
      opcode("NumICmpInst", "%1 = icmp slt i32 %a, %b"),
      opcode("NumLShrInst", "%1 = lshr i32 %a, %b"),
      opcode("NumMulInst", "%1 = mul i32 %a, %b"),
      opcode("NumOrInst", "%1 = or i32 %a, %b"),
      opcode("NumSelectInst", "%1 = select i1 %c, i32 %a, i32 %b"),
      opcode("NumShlInst", "%1 = shl i32 %a, %b"),
      opcode("NumSubInst", "%1 = sub i32 %a, %b"),
      opcode("NumXorInst", "%1 = xor i32 %a, %b"),
      instruction("NumBitCastInst", "%1 = bitcast i32 %a to float",
                  {{"NumBitCastInst", 1}, {"testUnary", 1}}),
      instruction("NumSExtInst", "%1 = sext i32 %a to i64", {{"NumSExtInst", 1}, {"testUnary", 1}}),
      instruction("NumTruncInst", "%1 = trunc i32 %a to i8",
                  {{"NumTruncInst", 1}, {"testUnary", 1}}),
      instruction("NumZExtInst", "%1 = zext i32 %a to i64", {{"NumZExtInst", 1}, {"testUnary", 1}}),
  };
}

std::vector<CountsCase> memoryCases() {
  return {
      // The number of elements of an allocation is an operand: i32 1 unless it is given.
      instruction("NumAllocaInst", "%1 = alloca i64",
                  {{"NumAllocaInst", 1},
                   {"TotalMemInst", 1},
                   {"testUnary", 1},
                   {"const32Bit", 1},
                   {"numConstOnes", 1}}),
      instruction("AllocaOfVariableSize", "%1 = alloca i64, i32 %a",
                  {{"NumAllocaInst", 1}, {"TotalMemInst", 1}, {"testUnary", 1}}),
      instruction("NumGetElementPtrInst", "%1 = getelementptr i8, ptr %p, i64 %l",
                  {{"NumGetElementPtrInst", 1}, {"TotalMemInst", 1}}),
      instruction("NumLoadInst", "%1 = load i32, ptr %p",
                  {{"NumLoadInst", 1}, {"TotalMemInst", 1}, {"testUnary", 1}}),
      instruction("NumStoreInst", "store i32 %a, ptr %p",
                  {{"NumStoreInst", 1}, {"TotalMemInst", 1}}),
      instruction("AtomicsAreNotMemory", "%1 = atomicrmw add ptr %p, i32 %a seq_cst", {}),
      instruction("FencesAreNotMemory", "fence seq_cst", {}),
  };
}

std::vector<CountsCase> unaryCases() {
  const Counts unary = {{"testUnary", 1}};
  return {
      instruction("UnaryFNeg", "%1 = fneg float %x", unary),
      instruction("UnaryVAArg", "%1 = va_arg ptr %p, i32", unary),
      instruction("UnaryExtractValue", "%1 = extractvalue { i32, float } %s, 0", unary),
      instruction("UnaryFreeze", "%1 = freeze i32 %a", unary),
      instruction("UnaryFPToSI", "%1 = fptosi float %x to i32", unary),
      instruction("UnaryPtrToInt", "%1 = ptrtoint ptr %p to i64", unary),
      instruction("NotUnaryInsertValue", "%1 = insertvalue { i32, float } %s, i32 %a, 0", {}),
      instruction("NotUnaryExtractElement", "%1 = extractelement <2 x i32> %v, i32 %a", {}),
      // Opcodes that no feature is about.
      instruction("NoFeatureSDiv", "%1 = sdiv i32 %a, %b", {}),
      instruction("NoFeatureFAdd", "%1 = fadd float %x, %x", {}),
      instruction("NoFeatureFCmp", "%1 = fcmp oeq float %x, %x", {}),
  };
}

std::vector<CountsCase> constantCases() {
  const Counts addOfConstant = {{"NumAddInst", 1}, {"binaryConstArg", 1}};
  return {
      instruction("const32Bit", "%1 = add i32 %a, 7", with(addOfConstant, {{"const32Bit", 1}})),
      instruction("const32BitMinusOne", "%1 = add i32 %a, -1",
                  with(addOfConstant, {{"const32Bit", 1}})),
      instruction("const64Bit", "%1 = add i64 %l, 7", with(addOfConstant, {{"const64Bit", 1}})),
      instruction("constOfOtherWidth", "%1 = add i8 %byte, 7", addOfConstant),
      instruction("numConstOnes", "%1 = add i8 %byte, 1",
                  with(addOfConstant, {{"numConstOnes", 1}})),
      instruction("numConstOnesTrue", "%1 = add i1 %c, true",
                  with(addOfConstant, {{"numConstOnes", 1}})),
      instruction("numConstZeroes", "%1 = add i8 %byte, 0",
                  with(addOfConstant, {{"numConstZeroes", 1}})),
      instruction(
          "constantsOfBothOperands", "%1 = add i32 1, 0",
          with(addOfConstant, {{"const32Bit", 2}, {"numConstOnes", 1}, {"numConstZeroes", 1}})),
      instruction("floatsAreNotIntegers", "%1 = fadd float %x, 1.0", {{"binaryConstArg", 1}}),
      instruction("vectorsAreNotIntegers", "%1 = add <2 x i32> %v, <i32 1, i32 0>", addOfConstant),
      instruction("undefIsAConstant", "%1 = add i32 %a, undef", addOfConstant),
      instruction("binaryConstArgExpression", "%1 = sub i64 ptrtoint (ptr @f to i64), %l",
                  {{"NumSubInst", 1}, {"binaryConstArg", 1}}),
      instruction("comparisonsAreNotBinary", "%1 = icmp eq i32 %a, 0",
                  {{"NumICmpInst", 1}, {"const32Bit", 1}, {"numConstZeroes", 1}}),
      instruction("selectsAreNotBinary", "%1 = select i1 %c, i32 1, i32 %b",
                  {{"NumSelectInst", 1}, {"const32Bit", 1}, {"numConstOnes", 1}}),
      instruction("constantsOfAddresses", "%1 = getelementptr { i8, i8 }, ptr %p, i64 0, i32 1",
                  {{"NumGetElementPtrInst", 1},
                   {"TotalMemInst", 1},
                   {"const64Bit", 1},
                   {"numConstZeroes", 1},
                   {"const32Bit", 1},
                   {"numConstOnes", 1}}),
      instruction(
          "constantsOfStores", "store i64 0, ptr %p",
          {{"NumStoreInst", 1}, {"TotalMemInst", 1}, {"const64Bit", 1}, {"numConstZeroes", 1}}),
      {"constantsOfReturns", "define i32 @f() {\n  ret i32 0\n}\n",
       oneBlock(1, {{"const32Bit", 1}, {"numConstZeroes", 1}})},
      {"globalsHaveNoOperandsHere", "@g = global [2 x i32] [i32 1, i32 0]\n", {}},
  };
}

// A call in @f of a function @g, both counted as functions.
CountsCase call(const std::string& name, const std::string& declaration, const std::string& text,
                const Counts& more) {
  const Counts base = {{"TotalFuncs", 2}, {"NumCallInst", 1}, {"TotalMemInst", 1}};
  return {name, declaration + "\n" + function("  " + text + "\n  ret void\n"),
          oneBlock(2, with(base, more))};
}

std::vector<CountsCase> callCases() {
  return {
      call("NumCallInst", "declare void @g()", "call void @g()", {}),
      call("returnInt", "declare i32 @g()", "%1 = call i32 @g()", {{"returnInt", 1}}),
      call("returnIntOfAnyWidth", "declare i1 @g()", "%1 = call i1 @g()", {{"returnInt", 1}}),
      call("returnIntOfIntrinsics", "declare i32 @llvm.ctpop.i32(i32)",
           "%1 = call i32 @llvm.ctpop.i32(i32 %a)", {{"returnInt", 1}}),
      call("returnFloat", "declare float @g()", "%1 = call float @g()", {}),
      call("returnPointer", "declare ptr @g()", "%1 = call ptr @g()", {}),
      call("returnVector", "declare <2 x i32> @g()", "%1 = call <2 x i32> @g()", {}),
      call("returnIntOfUnknownCallee", "declare void @g()", "%1 = call i32 %p()", {}),
      call("returnIntOfInlineAssembly", "declare void @g()", "%1 = call i32 asm \"\", \"=r\"()",
           {}),
      call("constantsOfCalls", "declare void @g(i32, i64)", "call void @g(i32 1, i64 0)",
           {{"const32Bit", 1}, {"numConstOnes", 1}, {"const64Bit", 1}, {"numConstZeroes", 1}}),
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
       {{"TotalFuncs", 3},
        {"TotalBlocks", 3},
        {"TotalInsts", 4},
        {"TotalMemInst", 1},
        {"NumRetInst", 1},
        {"NumEdges", 2},
        {"twoSuccessor", 1},
        {"onePred", 2},
        {"BBNoPhi", 3},
        {"BlockLow", 3}}},
  };
}

std::vector<CountsCase> functionCases() {
  return {
      {"emptyModule", "; nothing\n", {}},
      {"TotalFuncsOfDeclarations", "declare void @g()\ndeclare i32 @h(i32)\n", {{"TotalFuncs", 2}}},
      {"TotalFuncsOfIntrinsics", "declare void @llvm.trap()\n", {{"TotalFuncs", 1}}},
      {"TotalFuncsOfBothKinds", "declare void @g()\n" + function("  ret void\n"),
       oneBlock(1, {{"TotalFuncs", 2}})},
      {"variablesAndAliasesAreNotFunctions",
       "@v = global i32 3\n@w = alias i32, ptr @v\n" + function("  ret void\n"), oneBlock(1, {})},
      {"otherTerminators", function("  unreachable\n"), oneBlock(1, {{"NumRetInst", 0}})},
  };
}

std::vector<CountsCase> branchCases() {
  return {
      {"onePredOneSuc",  // A diamond.
       function("  br i1 %c, label %1, label %2\n"
                "1:\n  br label %3\n"
                "2:\n  br label %3\n"
                "3:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 4},
        {"TotalInsts", 4},
        {"NumRetInst", 1},
        {"NumBrInst", 3},
        {"BranchCount", 3},
        {"UncondBranches", 2},
        {"NumEdges", 4},
        {"oneSuccessor", 2},
        {"twoSuccessor", 1},
        {"onePred", 2},
        {"twoPred", 1},
        {"onePredOneSuc", 2},
        {"BBNoPhi", 4},
        {"BlockLow", 4}}},
      {"CriticalCount",  // The edge past the middle of a triangle.
       function("  br i1 %c, label %1, label %2\n"
                "1:\n  br label %2\n"
                "2:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 3},
        {"TotalInsts", 3},
        {"NumRetInst", 1},
        {"NumBrInst", 2},
        {"BranchCount", 2},
        {"UncondBranches", 1},
        {"NumEdges", 3},
        {"oneSuccessor", 1},
        {"twoSuccessor", 1},
        {"onePred", 1},
        {"twoPred", 1},
        {"onePredOneSuc", 1},
        {"CriticalCount", 1},
        {"BBNoPhi", 3},
        {"BlockLow", 3}}},
      {"onePredTwoSuc",
       function("  br label %1\n"
                "1:\n  br i1 %c, label %2, label %3\n"
                "2:\n  ret void\n"
                "3:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 4},
        {"TotalInsts", 4},
        {"NumRetInst", 2},
        {"NumBrInst", 2},
        {"BranchCount", 2},
        {"UncondBranches", 1},
        {"NumEdges", 3},
        {"oneSuccessor", 1},
        {"twoSuccessor", 1},
        {"onePred", 3},
        {"onePredTwoSuc", 1},
        {"BBNoPhi", 4},
        {"BlockLow", 4}}},
      {"twoPredOneSuc",  // A diamond with a tail.
       function("  br i1 %c, label %1, label %2\n"
                "1:\n  br label %3\n"
                "2:\n  br label %3\n"
                "3:\n  br label %4\n"
                "4:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 5},
        {"TotalInsts", 5},
        {"NumRetInst", 1},
        {"NumBrInst", 4},
        {"BranchCount", 4},
        {"UncondBranches", 3},
        {"NumEdges", 5},
        {"oneSuccessor", 3},
        {"twoSuccessor", 1},
        {"onePred", 3},
        {"twoPred", 1},
        {"onePredOneSuc", 2},
        {"twoPredOneSuc", 1},
        {"BBNoPhi", 5},
        {"BlockLow", 5}}},
      {"twoEach",  // A loop of one block; its back edge is critical.
       function("  br label %1\n"
                "1:\n  br i1 %c, label %1, label %2\n"
                "2:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 3},
        {"TotalInsts", 3},
        {"NumRetInst", 1},
        {"NumBrInst", 2},
        {"BranchCount", 2},
        {"UncondBranches", 1},
        {"NumEdges", 3},
        {"oneSuccessor", 1},
        {"twoSuccessor", 1},
        {"onePred", 1},
        {"twoPred", 1},
        {"twoEach", 1},
        {"CriticalCount", 1},
        {"BBNoPhi", 3},
        {"BlockLow", 3}}},
      {"twoPredOfOneBlock",  // Two edges between the same two blocks are two edges.
       function("  br i1 %c, label %1, label %1\n"
                "1:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 2},
        {"TotalInsts", 2},
        {"NumRetInst", 1},
        {"NumBrInst", 1},
        {"BranchCount", 1},
        {"NumEdges", 2},
        {"twoSuccessor", 1},
        {"twoPred", 1},
        {"CriticalCount", 2},
        {"BBNoPhi", 2},
        {"BlockLow", 2}}},
      {"constantConditions",
       function("  br i1 true, label %1, label %2\n"
                "1:\n  ret void\n"
                "2:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 3},
        {"TotalInsts", 3},
        {"NumRetInst", 2},
        {"NumBrInst", 1},
        {"BranchCount", 1},
        {"NumEdges", 2},
        {"twoSuccessor", 1},
        {"onePred", 2},
        {"numConstOnes", 1},
        {"BBNoPhi", 3},
        {"BlockLow", 3}}},
      {"unreachableBlocks",
       function("  ret void\n"
                "1:\n  br label %2\n"
                "2:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 3},
        {"TotalInsts", 3},
        {"NumRetInst", 2},
        {"NumBrInst", 1},
        {"BranchCount", 1},
        {"UncondBranches", 1},
        {"NumEdges", 1},
        {"oneSuccessor", 1},
        {"onePred", 1},
        {"BBNoPhi", 3},
        {"BlockLow", 3}}},
      {"morePreds",  // A switch is not a branch. Its cases are constants.
       function("  switch i32 %a, label %1 [\n    i32 5, label %1\n    i32 1, label %1\n  ]\n"
                "1:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 2},
        {"TotalInsts", 2},
        {"NumRetInst", 1},
        {"NumEdges", 3},
        {"morePreds", 1},
        {"CriticalCount", 3},
        {"const32Bit", 2},
        {"numConstOnes", 1},
        {"BBNoPhi", 2},
        {"BlockLow", 2}}},
      {"oneSuccessorOfSwitches",
       function("  switch i64 0, label %1 []\n"
                "1:\n  ret void\n"),
       {{"TotalFuncs", 1},
        {"TotalBlocks", 2},
        {"TotalInsts", 2},
        {"NumRetInst", 1},
        {"NumEdges", 1},
        {"oneSuccessor", 1},
        {"onePred", 1},
        {"const64Bit", 1},
        {"numConstZeroes", 1},
        {"BBNoPhi", 2},
        {"BlockLow", 2}}},
  };
}

// A diamond whose last block has some phis of two arguments each.
CountsCase phis(int64_t count, const Counts& more) {
  std::string body =
      "  br i1 %c, label %left, label %right\n"
      "left:\n  br label %end\n"
      "right:\n  br label %end\n"
      "end:\n";
  for (int64_t i = 0; i < count; ++i) {
    body += "  %phi" + std::to_string(i) + " = phi i32 [ %a, %left ], [ %b, %right ]\n";
  }
  const Counts base = {{"TotalFuncs", 1},     {"TotalBlocks", 4},    {"TotalInsts", 4 + count},
                       {"NumRetInst", 1},     {"NumBrInst", 3},      {"BranchCount", 3},
                       {"UncondBranches", 2}, {"NumEdges", 4},       {"oneSuccessor", 2},
                       {"twoSuccessor", 1},   {"onePred", 2},        {"twoPred", 1},
                       {"onePredOneSuc", 2},  {"BBNoPhi", 3},        {"BlockLow", 4},
                       {"BeginPhi", 1},       {"NumPHIInst", count}, {"ArgsPhi", 2 * count}};
  return {"phis" + std::to_string(count), function(body + "  ret void\n"), with(base, more)};
}

// A block with one phi of the given number of arguments. The cases 2, 3, ... are constants.
CountsCase phiOfArguments(int64_t count, const Counts& more) {
  std::string cases;
  std::string arguments = "[ %b, %entry ]";
  for (int64_t i = 1; i < count; ++i) {
    cases += "    i32 " + std::to_string(i + 1) + ", label %end\n";
    arguments += ", [ %b, %entry ]";
  }
  const Counts base = {{"TotalFuncs", 1}, {"TotalBlocks", 2},        {"TotalInsts", 3},
                       {"NumRetInst", 1}, {"NumEdges", count},       {"CriticalCount", count},
                       {"morePreds", 1},  {"const32Bit", count - 1}, {"BBNoPhi", 1},
                       {"BlockLow", 2},   {"BeginPhi", 1},           {"BB03Phi", 1},
                       {"NumPHIInst", 1}, {"ArgsPhi", count}};
  return {"phiArguments" + std::to_string(count),
          function("entry:\n  switch i32 %a, label %end [\n" + cases +
                   "  ]\nend:\n  %phi = phi i32 " + arguments + "\n  ret void\n"),
          with(base, more)};
}

std::vector<CountsCase> phiCases() {
  return {
      phis(1, {{"BB03Phi", 1}, {"BBNumArgsLo", 1}}), phis(2, {{"BB03Phi", 1}, {"BBNumArgsLo", 1}}),
      phis(3, {{"BB03Phi", 1}, {"BBNumArgsHi", 1}}), phis(4, {{"BBHiPhi", 1}, {"BBNumArgsHi", 1}}),
      phiOfArguments(5, {{"BBNumArgsLo", 1}}),       phiOfArguments(6, {{"BBNumArgsHi", 1}}),
  };
}

// One block of the given number of instructions, `ret void` included.
CountsCase blockOf(int64_t instructions, const Counts& more) {
  std::string body;
  for (int64_t i = 1; i < instructions; ++i) {
    body += "  %" + std::to_string(i) + " = add i32 %a, %b\n";
  }
  return {"blockOf" + std::to_string(instructions), function(body + "  ret void\n"),
          oneBlock(instructions, with({{"NumAddInst", instructions - 1}}, more))};
}

std::vector<CountsCase> blockSizeCases() {
  return {
      blockOf(14, {{"BlockLow", 1}}),
      blockOf(15, {{"BlockLow", 0}, {"BlockMid", 1}}),
      blockOf(500, {{"BlockLow", 0}, {"BlockMid", 1}}),
      blockOf(501, {{"BlockLow", 0}, {"BlockMid", 0}}),
  };
}

std::vector<CountsCase> allCases() {
  std::vector<CountsCase> all;
  for (const auto& cases :
       {opcodeCases(), memoryCases(), unaryCases(), constantCases(), callCases(), functionCases(),
        branchCases(), phiCases(), blockSizeCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

class AutophaseTest : public ::testing::TestWithParam<CountsCase> {};

TEST_P(AutophaseTest, CountsAsByHand) { expectCounts("Autophase", kFeatures, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Module, AutophaseTest, ::testing::ValuesIn(allCases()),
                         [](const auto& info) { return info.param.name; });

TEST(AutophaseFeaturesTest, EachIsCountedInAModule) { expectAllCovered(kFeatures, allCases()); }

TEST(AutophaseFeaturesTest, AddUpOverFunctions) {
  const std::string body = "() {\n  %1 = alloca i32\n  ret void\n}\n";
  expectCounts("Autophase", kFeatures,
               {"twoFunctions",
                "define void @f" + body + "define void @g" + body,
                {{"TotalFuncs", 2},
                 {"TotalBlocks", 2},
                 {"TotalInsts", 4},
                 {"BlockLow", 2},
                 {"BBNoPhi", 2},
                 {"NumRetInst", 2},
                 {"NumAllocaInst", 2},
                 {"TotalMemInst", 2},
                 {"testUnary", 2},
                 {"const32Bit", 2},
                 {"numConstOnes", 2}}});
}

}  // namespace
}  // namespace compiler_gym::llvm_service
