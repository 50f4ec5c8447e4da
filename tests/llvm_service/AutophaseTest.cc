#include <gtest/gtest.h>

#include "tests/llvm_service/AutophaseCases.h"

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

std::vector<CountsCase> allCases() {
  return joined({autophaseInstructionCases(), autophaseControlFlowCases()});
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
