#include "tests/llvm_service/AutophaseCases.h"

namespace compiler_gym::llvm_service {
namespace {

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

}  // namespace

std::vector<CountsCase> autophaseInstructionCases() {
  return joined({opcodeCases(), memoryCases(), unaryCases(), constantCases(), callCases()});
}

}  // namespace compiler_gym::llvm_service
