// A plugin of `opt` with passes that do what one's first pass may do: what judges passes has to
// find it out.
#include <cstdlib>

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

namespace {

using namespace llvm;

/// Leaves blocks without an end.
struct EraseTerminators : PassInfoMixin<EraseTerminators> {
  PreservedAnalyses run(Function& function, FunctionAnalysisManager&) {
    function.back().getTerminator()->eraseFromParent();
    return PreservedAnalyses::none();
  }
};

/// x * n becomes x * 3.
struct MultiplyByThree : PassInfoMixin<MultiplyByThree> {
  PreservedAnalyses run(Function& function, FunctionAnalysisManager&) {
    for (Instruction& instruction : instructions(function)) {
      if (instruction.getOpcode() == Instruction::Mul &&
          isa<ConstantInt>(instruction.getOperand(1))) {
        instruction.setOperand(1, ConstantInt::get(instruction.getType(), 3));
      }
    }
    return PreservedAnalyses::none();
  }
};

struct Abort : PassInfoMixin<Abort> {
  PreservedAnalyses run(Function&, FunctionAnalysisManager&) { std::abort(); }
};

struct NeverEnd : PassInfoMixin<NeverEnd> {
  PreservedAnalyses run(Function&, FunctionAnalysisManager&) {
    for (volatile bool goesOn = true; goesOn;) {
    }
    return PreservedAnalyses::all();
  }
};

template <typename Pass>
bool add(StringRef wanted, StringRef name, FunctionPassManager& manager) {
  if (wanted != name) {
    return false;
  }
  manager.addPass(Pass());
  return true;
}

struct Chat : PassInfoMixin<Chat> {
  PreservedAnalyses run(Function& function, FunctionAnalysisManager&) {
    errs() << "looked at " << function.getName() << '\n';
    return PreservedAnalyses::all();
  }
};

void registerPasses(PassBuilder& passBuilder) {
  passBuilder.registerPipelineParsingCallback(
      [](StringRef name, FunctionPassManager& manager, ArrayRef<PassBuilder::PipelineElement>) {
        return add<EraseTerminators>("erase-terminators", name, manager) ||
               add<MultiplyByThree>("multiply-by-three", name, manager) ||
               add<Abort>("abort", name, manager) || add<NeverEnd>("never-end", name, manager) ||
               add<Chat>("chat", name, manager);
      });
}

}  // namespace

extern "C" PassPluginLibraryInfo LLVM_ATTRIBUTE_WEAK llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "BrokenPasses", "1.0", registerPasses};
}

extern "C" const char* compilerGymPasses() {
  return "erase-terminators: Leaves blocks without an end\n"
         "multiply-by-three: Whatever the factor was\n"
         "abort: Ends the process\n"
         "never-end: Never ends\n"
         "chat: Prints, and breaks nothing\n";
}
