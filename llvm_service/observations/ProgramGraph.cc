#include "llvm_service/observations/ProgramGraph.h"

#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/AssemblyAnnotationWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Support/FormattedStream.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

namespace compiler_gym::llvm_service {

namespace {

using Flow = ProgramGraph::Flow;
using NodeType = ProgramGraph::NodeType;

constexpr int64_t kExternal = 0;

// Notes where each instruction is in the text of its module. Printing the module once is much
// faster than printing its instructions one by one, each of which looks at all globals.
class InstructionRanges final : public llvm::AssemblyAnnotationWriter {
 public:
  void emitInstructionAnnot(const llvm::Instruction*, llvm::formatted_raw_ostream& os) override {
    begin_ = os.tell();
  }

  void printInfoComment(const llvm::Value& value, llvm::formatted_raw_ostream& os) override {
    if (llvm::isa<llvm::Instruction>(value)) {
      ranges_.emplace_back(begin_, os.tell());
    }
  }

  const std::vector<std::pair<size_t, size_t>>& ranges() const { return ranges_; }

 private:
  size_t begin_ = 0;
  std::vector<std::pair<size_t, size_t>> ranges_;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const llvm::Module& module)
      : module_(module), slots_(&module, /*ShouldInitializeAllMetadata=*/false) {}

  ProgramGraph build() {
    addText("[external]");
    graph_.nodes.push_back({NodeType::kInstruction, 0, 0, /*text=*/0, ""});
    addInstructions();
    addVariables();
    for (const llvm::Function& function : module_) {
      // Constants may be printed with the numbers of its blocks.
      slots_.incorporateFunction(function);
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        addEdges(instruction);
      }
    }
    graph_.moduleName = module_.getModuleIdentifier();
    // Some versions of LLVM keep the triple as text.
    graph_.targetTriple = llvm::Triple(module_.getTargetTriple()).str();
    graph_.dataLayout = module_.getDataLayoutStr();
    return std::move(graph_);
  }

 private:
  void addInstructions() {
    InstructionRanges ranges;
    std::string text;
    {
      llvm::raw_string_ostream stream(text);
      module_.print(stream, &ranges);
    }
    size_t number = 0;
    int64_t block = 0;
    for (const llvm::Function& function : module_) {
      if (function.isDeclaration()) {
        continue;
      }
      for (const llvm::BasicBlock& basicBlock : function) {
        for (const llvm::Instruction& instruction : basicBlock) {
          const auto [begin, end] = ranges.ranges()[number++];
          const llvm::StringRef printed = llvm::StringRef(text).slice(begin, end).trim();
          addNode(instruction, {NodeType::kInstruction, functionIndex(), block,
                                addText(instruction.getOpcodeName()), printed.str()});
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
    for (const llvm::Function& function : module_) {
      if (function.isDeclaration()) {
        continue;
      }
      slots_.incorporateFunction(function);
      const int64_t entry = node(function.getEntryBlock().front()).block;
      for (const llvm::Argument& argument : function.args()) {
        variables_[&argument] = addValue(NodeType::kVariable, index, entry, argument);
      }
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        if (!instruction.getType()->isVoidTy()) {
          variables_[&instruction] =
              addValue(NodeType::kVariable, index, node(instruction).block, instruction);
        }
      }
      ++index;
    }
  }

  void addEdges(const llvm::Instruction& instruction) {
    const int64_t self = nodes_.lookup(&instruction);
    if (instruction.isTerminator()) {
      for (unsigned i = 0; i < instruction.getNumSuccessors(); ++i) {
        addEdge(self, nodes_.lookup(&instruction.getSuccessor(i)->front()), Flow::kControl, i);
      }
    } else {
      addEdge(self, nodes_.lookup(instruction.getNextNode()), Flow::kControl, 0);
    }
    if (const auto variable = variables_.find(&instruction); variable != variables_.end()) {
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

  // Not by its operands: in some versions of LLVM, but not in all, the values of cases are among
  // them.
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
    if (const auto variable = variables_.find(&value); variable != variables_.end()) {
      addEdge(variable->second, user, Flow::kData, position);
    } else if (llvm::isa<llvm::Constant>(value)) {
      const auto [constant, added] = nodes_.try_emplace(&value, 0);
      if (added) {
        constant->second = addValue(NodeType::kConstant, 0, 0, value);
      }
      addEdge(constant->second, user, Flow::kData, position);
    }
  }

  void addCall(const llvm::CallBase& call, int64_t self) {
    const auto* callee =
        llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
    if (callee == nullptr || callee->isDeclaration()) {
      addEdge(self, kExternal, Flow::kCall, 0);
      addEdge(kExternal, self, Flow::kCall, 0);
      return;
    }
    addEdge(self, nodes_.lookup(&callee->getEntryBlock().front()), Flow::kCall, 0);
    for (const llvm::BasicBlock& block : *callee) {
      if (const llvm::Instruction* end = block.getTerminator(); llvm::isa<llvm::ReturnInst>(end)) {
        addEdge(nodes_.lookup(end), self, Flow::kCall, 0);
      }
    }
  }

  void addNode(const llvm::Instruction& instruction, ProgramGraph::Node node) {
    nodes_[&instruction] = static_cast<int64_t>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
  }

  const ProgramGraph::Node& node(const llvm::Instruction& instruction) const {
    return graph_.nodes[nodes_.lookup(&instruction)];
  }

  int64_t addValue(NodeType type, int64_t function, int64_t block, const llvm::Value& value) {
    const int64_t index = static_cast<int64_t>(graph_.nodes.size());
    std::string name = nameOf(value);
    const int64_t text = typeText(value, name);
    graph_.nodes.push_back({type, function, block, text, graph_.texts[text] + " " + name});
    return index;
  }

  std::string nameOf(const llvm::Value& value) {
    if (const auto instruction = nodes_.find(&value); instruction != nodes_.end()) {
      // The text of the instruction begins with the name of its result: "%5 = ...".
      const llvm::StringRef text = graph_.nodes[instruction->second].fullText;
      if (llvm::isa<llvm::Instruction>(value) && !value.hasName()) {
        return text.take_until([](char c) { return c == ' '; }).str();
      }
    }
    return printOperand(value, /*withType=*/false);
  }

  // Types are printed as parts of operands: alone, types without a name would be shown by their
  // address.
  int64_t typeText(const llvm::Value& value, llvm::StringRef name) {
    const auto [known, added] = typeTexts_.try_emplace(value.getType(), 0);
    if (added) {
      const std::string operand = printOperand(value, /*withType=*/true);
      known->second = addText(llvm::StringRef(operand).drop_back(name.size() + 1));
    }
    return known->second;
  }

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
  // Of instructions and constants.
  llvm::DenseMap<const llvm::Value*, int64_t> nodes_;
  // Of arguments and of results of instructions.
  llvm::DenseMap<const llvm::Value*, int64_t> variables_;
  llvm::DenseMap<const llvm::Type*, int64_t> typeTexts_;
  llvm::StringMap<int64_t> textIndices_;
};

}  // namespace

std::vector<int64_t> ProgramGraph::edgeKeys() const {
  llvm::DenseMap<std::pair<int64_t, int64_t>, int64_t> counts;
  std::vector<int64_t> keys;
  keys.reserve(edges.size());
  for (const Edge& edge : edges) {
    keys.push_back(counts[{edge.source, edge.target}]++);
  }
  return keys;
}

ProgramGraph makeProgramGraph(const llvm::Module& module) { return GraphBuilder(module).build(); }

}  // namespace compiler_gym::llvm_service
