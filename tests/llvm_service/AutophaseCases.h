#pragma once

// The modules of AutophaseTest. Each is counted by hand, and an element that a case does not
// mention has to be zero, so each also checks all the features that it is not about.

#include <string>
#include <vector>

#include "tests/llvm_service/Counts.h"

namespace compiler_gym::llvm_service {

/// Of the features that single instructions have: opcodes, memory, operands, calls.
std::vector<CountsCase> autophaseInstructionCases();

/// Of the features that functions, blocks, edges and phis have.
std::vector<CountsCase> autophaseControlFlowCases();

/// A function without constants around some instructions or blocks.
inline std::string function(const std::string& body) {
  return "define void @f(i1 %c, i8 %byte, i32 %a, i32 %b, i64 %l, ptr %p, float %x,\n"
         "               <2 x i32> %v, { i32, float } %s) {\n" +
         body + "}\n";
}

/// A module with one block of the given number of instructions, `ret void` included.
inline Counts oneBlock(int64_t instructions, const Counts& more) {
  return with({{"TotalFuncs", 1},
               {"TotalBlocks", 1},
               {"TotalInsts", instructions},
               {"BlockLow", 1},
               {"BBNoPhi", 1},
               {"NumRetInst", 1}},
              more);
}

}  // namespace compiler_gym::llvm_service
