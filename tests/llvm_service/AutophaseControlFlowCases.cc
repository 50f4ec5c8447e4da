#include "tests/llvm_service/AutophaseCases.h"

namespace compiler_gym::llvm_service {
namespace {

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

}  // namespace

std::vector<CountsCase> autophaseControlFlowCases() {
  return joined({functionCases(), branchCases(), phiCases(), blockSizeCases()});
}

}  // namespace compiler_gym::llvm_service
