#include "llvm_service/observations/ProgramGraph.h"

#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm_service/Ir.h"

namespace compiler_gym::llvm_service {

namespace {

using Flow = ProgramGraph::Flow;
using NodeType = ProgramGraph::NodeType;

constexpr int64_t kExternal = 0;

class GraphBuilder {
 public:
  explicit GraphBuilder(const llvm::Module& module)
      : module_(module),
        slots_(&module, /*ShouldInitializeAllMetadata=*/false),
        saver_(graph_.storage) {}

  ProgramGraph build() {
    reserve();
    addText("[external]");
    graph_.nodes.push_back({NodeType::kInstruction, 0, 0, /*text=*/0, ""});
    addInstructions();
    addVariables();
    int64_t self = 1;
    for (const llvm::Instruction* instruction : instructions_) {
      addEdges(*instruction, self++);
    }
    graph_.moduleName = module_.getModuleIdentifier();
    // Some versions of LLVM keep the triple as text.
    graph_.targetTriple = llvm::Triple(module_.getTargetTriple()).str();
    graph_.dataLayout = module_.getDataLayoutStr();
    return std::move(graph_);
  }

 private:
  void reserve() {
    const unsigned count = module_.getInstructionCount();
    instructions_.reserve(count);
    data_.reserve(count);
    // Most instructions have a result, one successor and two operands.
    graph_.nodes.reserve(2 * size_t{count});
    graph_.edges.reserve(4 * size_t{count});
  }

  void addInstructions() {
    TextRanges ranges;
    const std::string text = printIr(module_, &ranges);
    int64_t block = 0;
    for (const llvm::Function& function : module_) {
      if (function.isDeclaration()) {
        continue;
      }
      for (const llvm::BasicBlock& basicBlock : function) {
        blocks_[&basicBlock] = static_cast<int64_t>(graph_.nodes.size());
        for (const llvm::Instruction& instruction : basicBlock) {
          const auto [begin, end] = ranges[instructions_.size()];
          const llvm::StringRef printed = llvm::StringRef(text).slice(begin, end).trim(' ');
          instructions_.push_back(&instruction);
          graph_.nodes.push_back({NodeType::kInstruction, functionIndex(), block,
                                  opcodeText(instruction), saver_.save(printed)});
        }
        ++block;
      }
      graph_.functions.push_back(function.getName().str());
    }
  }

  // The index of the function that is being added.
  int64_t functionIndex() const { return static_cast<int64_t>(graph_.functions.size()); }

  void addVariables() {
    int64_t index = 0;
    size_t next = 0;
    for (const llvm::Function& function : module_) {
      if (function.isDeclaration()) {
        continue;
      }
      const int64_t entry = graph_.nodes[blocks_.lookup(&function.getEntryBlock())].block;
      int64_t unnamed = 0;
      for (const llvm::Argument& argument : function.args()) {
        // LLVM numbers arguments without a name first.
        addValue(NodeType::kVariable, index, entry, argument,
                 argument.hasName() ? printOperand(argument, /*withType=*/false)
                                    : "%" + std::to_string(unnamed++));
      }
      for (const size_t end = next + function.getInstructionCount(); next < end; ++next) {
        addResult(*instructions_[next], next + 1, index);
      }
      ++index;
    }
  }

  void addResult(const llvm::Instruction& instruction, size_t self, int64_t function) {
    if (instruction.getType()->isVoidTy()) {
      return;
    }
    const ProgramGraph::Node& node = graph_.nodes[self];
    // The text of the instruction begins with the name of its result: "%5 = ...".
    addValue(NodeType::kVariable, function, node.block, instruction,
             instruction.hasName() ? printOperand(instruction, /*withType=*/false)
                                   : node.fullText.take_until([](char c) { return c == ' '; }));
  }

  void addEdges(const llvm::Instruction& instruction, int64_t self) {
    if (instruction.isTerminator()) {
      for (unsigned i = 0; i < instruction.getNumSuccessors(); ++i) {
        addEdge(self, blocks_.lookup(instruction.getSuccessor(i)), Flow::kControl, i);
      }
    } else {
      addEdge(self, self + 1, Flow::kControl, 0);
    }
    if (const auto variable = data_.find(&instruction); variable != data_.end()) {
      addEdge(self, variable->second, Flow::kData, 0);
    }
    if (const auto* branches = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
      addSwitchData(*branches, self);
    } else {
      addData(instruction, self);
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      addCall(*call, self);
    }
  }

  // Does not visit operands: only in some versions of LLVM, they include the values of cases.
  void addSwitchData(const llvm::SwitchInst& branches, int64_t self) {
    addUse(*branches.getCondition(), self, 0);
    for (const auto& branch : branches.cases()) {
      addUse(*branch.getCaseValue(), self, 2 + 2 * static_cast<int64_t>(branch.getCaseIndex()));
    }
  }

  void addData(const llvm::Instruction& instruction, int64_t self) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    for (const llvm::Use& use : instruction.operands()) {
      const bool named = call != nullptr && call->isCallee(&use) && llvm::isa<llvm::Function>(use);
      if (!named) {
        addUse(*use, self, use.getOperandNo());
      }
    }
  }

  void addUse(const llvm::Value& value, int64_t user, int64_t position) {
    auto node = data_.find(&value);
    if (node == data_.end()) {
      if (!llvm::isa<llvm::Constant>(value)) {
        return;  // Labels, metadata and inline assembly.
      }
      addValue(NodeType::kConstant, 0, 0, value, printOperand(value, /*withType=*/false));
      node = data_.find(&value);
    }
    addEdge(node->second, user, Flow::kData, position);
  }

  void addCall(const llvm::CallBase& call, int64_t self) {
    const auto* callee =
        llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
    if (callee == nullptr || callee->isDeclaration()) {
      addEdge(self, kExternal, Flow::kCall, 0);
      addEdge(kExternal, self, Flow::kCall, 0);
      return;
    }
    addEdge(self, blocks_.lookup(&callee->getEntryBlock()), Flow::kCall, 0);
    const auto [returns, added] = returns_.try_emplace(callee);
    if (added) {
      returns->second = returnsOf(*callee);
    }
    for (const int64_t node : returns->second) {
      addEdge(node, self, Flow::kCall, 0);
    }
  }

  llvm::SmallVector<int64_t, 1> returnsOf(const llvm::Function& function) const {
    llvm::SmallVector<int64_t, 1> result;
    for (const llvm::BasicBlock& block : function) {
      if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) {
        result.push_back(blocks_.lookup(&block) + static_cast<int64_t>(block.size()) - 1);
      }
    }
    return result;
  }

  // Adds the node of a value that can be an operand.
  void addValue(NodeType type, int64_t function, int64_t block, const llvm::Value& value,
                const llvm::Twine& name) {
    data_[&value] = static_cast<int64_t>(graph_.nodes.size());
    llvm::SmallString<64> buffer;
    const llvm::StringRef nameText = name.toStringRef(buffer);
    const int64_t text = typeText(value, nameText);
    graph_.nodes.push_back({type, function, block, text,
                            saver_.save(llvm::Twine(graph_.texts[text]) + " " + nameText)});
  }

  int64_t opcodeText(const llvm::Instruction& instruction) {
    const auto [known, added] = opcodeTexts_.try_emplace(instruction.getOpcode(), 0);
    if (added) {
      known->second = addText(instruction.getOpcodeName());
    }
    return known->second;
  }

  // Prints types as part of operands. Alone, LLVM prints the address of types without a name.
  int64_t typeText(const llvm::Value& value, llvm::StringRef name) {
    const auto [known, added] = typeTexts_.try_emplace(value.getType(), 0);
    if (added) {
      if (const llvm::Function* function = functionOf(value)) {
        slots_.incorporateFunction(*function);
      }
      const std::string operand = printOperand(value, /*withType=*/true);
      known->second = addText(llvm::StringRef(operand).drop_back(name.size() + 1));
    }
    return known->second;
  }

  static const llvm::Function* functionOf(const llvm::Value& value) {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
      return argument->getParent();
    }
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    return instruction == nullptr ? nullptr : instruction->getFunction();
  }

  // Has the numbers of values without a name for one function at a time, see typeText().
  std::string printOperand(const llvm::Value& value, bool withType) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    value.printAsOperand(stream, withType, slots_);
    return text;
  }

  int64_t addText(llvm::StringRef text) {
    const auto [known, added] = textIndices_.try_emplace(text, graph_.texts.size());
    if (added) {
      graph_.texts.push_back(text.str());
    }
    return known->second;
  }

  void addEdge(int64_t source, int64_t target, Flow flow, int64_t position) {
    graph_.edges.push_back({source, target, flow, position});
  }

  const llvm::Module& module_;
  llvm::ModuleSlotTracker slots_;
  ProgramGraph graph_;
  llvm::StringSaver saver_;
  // All instructions; the node of each is one more than its place.
  std::vector<const llvm::Instruction*> instructions_;
  // The nodes of the first instructions of blocks.
  llvm::DenseMap<const llvm::BasicBlock*, int64_t> blocks_;
  // The nodes of arguments, of results of instructions, and of constants.
  llvm::DenseMap<const llvm::Value*, int64_t> data_;
  // The nodes of the return instructions of functions that are called.
  llvm::DenseMap<const llvm::Function*, llvm::SmallVector<int64_t, 1>> returns_;
  llvm::DenseMap<unsigned, int64_t> opcodeTexts_;
  llvm::DenseMap<const llvm::Type*, int64_t> typeTexts_;
  llvm::StringMap<int64_t> textIndices_;
};

}  // namespace

std::vector<int64_t> ProgramGraph::edgeKeys() const {
  llvm::DenseMap<std::pair<int64_t, int64_t>, int64_t> counts;
  counts.reserve(edges.size());
  std::vector<int64_t> keys;
  keys.reserve(edges.size());
  for (const Edge& edge : edges) {
    keys.push_back(counts[{edge.source, edge.target}]++);
  }
  return keys;
}

ProgramGraph makeProgramGraph(const llvm::Module& module) { return GraphBuilder(module).build(); }

}  // namespace compiler_gym::llvm_service
