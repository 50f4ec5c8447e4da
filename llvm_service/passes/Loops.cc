#include "llvm_service/passes/Loops.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/passes/FunctionTraits.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::BasicBlock;
using llvm::BlockFrequencyInfo;
using llvm::Function;
using llvm::FunctionAnalysisManager;
using llvm::Loop;
using llvm::MDNode;
using llvm::Metadata;
using llvm::Module;
using llvm::ModuleAnalysisManager;
using llvm::ModulePassManager;
using llvm::PreservedAnalyses;
using llvm::StringRef;

FunctionAnalysisManager& functionAnalyses(Module& module, ModuleAnalysisManager& analyses) {
  return analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
}

// Returns the loops of all functions that are optimised. Their numbers are their places here.
std::vector<Loop*> loopsOf(Module& module, FunctionAnalysisManager& analyses) {
  std::vector<Loop*> loops;
  for (Function& function : module) {
    if (function.isDeclaration() || function.hasOptNone()) {
      continue;
    }
    const auto found = analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder();
    loops.insert(loops.end(), found.begin(), found.end());
  }
  return loops;
}

bool isInInnerLoop(const Loop& loop, const BasicBlock* block) {
  return llvm::any_of(loop, [&](const Loop* inner) { return inner->contains(block); });
}

// Returns the number of instructions executed in a loop outside of its inner loops.
double workOf(const Loop& loop, const BlockFrequencyInfo& frequencies) {
  double work = 0;
  for (const BasicBlock* block : loop.blocks()) {
    if (!isInInnerLoop(loop, block)) {
      const auto count = frequencies.getBlockProfileCount(block).value_or(0);
      work += static_cast<double>(count) * static_cast<double>(block->size());
    }
  }
  return work;
}

struct ListLoops : llvm::PassInfoMixin<ListLoops> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    FunctionAnalysisManager& ofFunctions = functionAnalyses(module, analyses);
    for (auto [index, loop] : llvm::enumerate(loopsOf(module, ofFunctions))) {
      Function& function = *loop->getHeader()->getParent();
      llvm::json::Object facts{{"index", static_cast<int64_t>(index)},
                               {"function", llvm::json::fixUTF8(function.getName())},
                               {"depth", static_cast<int64_t>(loop->getLoopDepth())},
                               {"innermost", loop->isInnermost()}};
      const auto& frequencies = ofFunctions.getResult<llvm::BlockFrequencyAnalysis>(function);
      if (const auto count = frequencies.getBlockProfileCount(loop->getHeader())) {
        facts["count"] = static_cast<int64_t>(*count);
        facts["work"] = workOf(*loop, frequencies);
      }
      llvm::outs() << llvm::json::Value(std::move(facts)) << "\n";
    }
    return PreservedAnalyses::all();
  }
};

// A hint, with its name and value in the metadata of a loop.
struct Hint {
  std::string name;
  std::optional<int> number;
  bool isFalse = false;

  MDNode* in(llvm::LLVMContext& context) const {
    llvm::SmallVector<Metadata*, 2> operands{llvm::MDString::get(context, name)};
    if (number.has_value()) {
      operands.push_back(llvm::ConstantAsMetadata::get(
          llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), *number)));
    } else if (isFalse) {
      operands.push_back(llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(context)));
    }
    return MDNode::get(context, operands);
  }
};

std::optional<Hint> parseHint(StringRef text) {
  const auto [name, value] = text.split(':');
  if (text == "vectorize.disable") {
    return Hint{.name = "llvm.loop.vectorize.enable", .number = std::nullopt, .isFalse = true};
  }
  if (text == "unroll.disable" || text == "unroll.full" || text == "unroll.runtime.disable") {
    return Hint{.name = "llvm.loop." + text.str(), .number = std::nullopt};
  }
  int number = 0;
  if ((name == "unroll.count" || name == "interleave.count") && !value.getAsInteger(10, number) &&
      number > 0) {
    return Hint{.name = "llvm.loop." + name.str(), .number = number};
  }
  return std::nullopt;
}

// Adds a hint to those that a loop has.
void addHint(Loop& loop, const Hint& hint) {
  llvm::LLVMContext& context = loop.getHeader()->getContext();
  llvm::SmallVector<Metadata*> operands{nullptr};
  if (const MDNode* old = loop.getLoopID()) {
    operands.append(old->op_begin() + 1, old->op_end());
  }
  operands.push_back(hint.in(context));
  MDNode* node = MDNode::getDistinct(context, operands);
  node->replaceOperandWith(0, node);
  loop.setLoopID(node);
}

struct SetLoops : llvm::PassInfoMixin<SetLoops> {
  // The hints, each with the number of its loop.
  std::vector<std::pair<size_t, Hint>> hints;

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    const ModuleTraits traits(module);
    const auto loops = loopsOf(module, functionAnalyses(module, analyses));
    for (const auto& [index, hint] : hints) {
      if (index >= loops.size()) {
        module.getContext().emitError("There is no loop " + llvm::Twine(index) + " in " +
                                      module.getName());
        continue;
      }
      const Function& function = *loops[index]->getHeader()->getParent();
      if (!traits.of(function).isExcluded()) addHint(*loops[index], hint);
    }
    return PreservedAnalyses::none();
  }
};

bool addSetLoops(llvm::PassBuilder& /*passBuilder*/, StringRef parameter,
                 ModulePassManager& manager) {
  SetLoops pass;
  const auto settings = parseSettings(parameter);
  for (const auto& [index, text] : settings) {
    const std::optional<Hint> hint = parseHint(text);
    if (!index.has_value() || !hint.has_value()) {
      return false;
    }
    pass.hints.emplace_back(*index, *hint);
  }
  manager.addPass(std::move(pass));
  return !settings.empty();
}

}  // namespace

void registerLoopTools(llvm::PassBuilder& passBuilder) {
  byName<ModulePassManager>("list-loops", addTo<ListLoops, ModulePassManager>)(passBuilder);
  byParameter("set-loops", addSetLoops)(passBuilder);
}

}  // namespace compiler_gym::llvm_service
