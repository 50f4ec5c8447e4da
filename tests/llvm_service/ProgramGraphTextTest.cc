// The texts of graphs, compared with what LLVM prints in slower ways.
#include <gtest/gtest.h>

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm_service/Ir.h"
#include "llvm_service/observations/ProgramGraph.h"
#include "tests/llvm_service/RandomWalk.h"

namespace compiler_gym::llvm_service {
namespace {

using NodeType = ProgramGraph::NodeType;

// Printing one instruction alone is slow but simple.
TEST(ProgramGraphTextTest, TextsAreThoseOfThePrintedModule) {
  for (const auto& [name, bitcode] : kernels()) {
    const auto compilation = startCompilation(makeBenchmark(bitcode));
    ASSERT_NE(compilation, nullptr);
    const std::string ir = printIr(compilation->module());
    const ProgramGraph graph = makeProgramGraph(compilation->module());
    size_t position = 0;
    for (size_t i = 1; graph.nodes[i].type == NodeType::kInstruction; ++i) {
      const std::string line = "\n  " + graph.nodes[i].fullText.str() + "\n";
      const size_t found = ir.find(line, position);
      ASSERT_NE(found, std::string::npos) << name << ": " << line;
      // The end of this line is the beginning of the next.
      position = found + line.size() - 1;
    }
  }
}

// The typed operands of a module in the order of their nodes, as LLVM prints them. Making this is
// slow: LLVM numbers the values of a function for each.
std::vector<std::string> printedOperands(const llvm::Module& module) {
  llvm::SetVector<const llvm::Value*> variables;
  llvm::SetVector<const llvm::Value*> constants;
  for (const llvm::Function& function : module) {
    for (const llvm::Argument& argument : function.args()) {
      if (!function.isDeclaration()) {
        variables.insert(&argument);
      }
    }
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!instruction.getType()->isVoidTy()) {
        variables.insert(&instruction);
      }
    }
  }
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      for (const llvm::Use& use : instruction.operands()) {
        if (llvm::isa<llvm::Constant>(use) &&
            !(call != nullptr && call->isCallee(&use) && llvm::isa<llvm::Function>(use))) {
          constants.insert(use);
        }
      }
      if (const auto* branches = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
        for (const auto& branch : branches->cases()) {
          constants.insert(branch.getCaseValue());
        }
      }
    }
  }
  variables.insert(constants.begin(), constants.end());
  std::vector<std::string> result;
  for (const llvm::Value* value : variables) {
    llvm::raw_string_ostream stream(result.emplace_back());
    value->printAsOperand(stream, /*PrintType=*/true, &module);
  }
  return result;
}

TEST(ProgramGraphTextTest, TextsOfValuesAreThoseOfOperands) {
  randomWalk(2, [](Compilation& compilation, bool, const std::string& step) {
    const ProgramGraph graph = makeProgramGraph(compilation.module());
    std::vector<std::string> texts;
    for (const ProgramGraph::Node& node : graph.nodes) {
      if (node.type != NodeType::kInstruction) {
        texts.push_back(node.fullText.str());
        EXPECT_TRUE(node.fullText.starts_with(graph.texts[node.text] + " ")) << step;
      }
    }
    EXPECT_EQ(texts, printedOperands(compilation.module())) << step;
  });
}

}  // namespace
}  // namespace compiler_gym::llvm_service
