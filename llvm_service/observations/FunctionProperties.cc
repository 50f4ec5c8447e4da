#include "llvm_service/observations/FunctionProperties.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/FunctionPropertiesAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Support/CommandLine.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using Info = llvm::FunctionPropertiesInfo;

struct Property {
  const char* name;
  int64_t Info::* value;
};

// The integers of LLVM's structure, with LLVM's names and in its order.
constexpr Property kProperties[] = {
    {"BasicBlockCount", &Info::BasicBlockCount},
    {"BlocksReachedFromConditionalInstruction", &Info::BlocksReachedFromConditionalInstruction},
    {"Uses", &Info::Uses},
    {"DirectCallsToDefinedFunctions", &Info::DirectCallsToDefinedFunctions},
    {"LoadInstCount", &Info::LoadInstCount},
    {"StoreInstCount", &Info::StoreInstCount},
    {"MaxLoopDepth", &Info::MaxLoopDepth},
    {"TopLevelLoopCount", &Info::TopLevelLoopCount},
    {"TotalInstructionCount", &Info::TotalInstructionCount},
    {"BasicBlocksWithSingleSuccessor", &Info::BasicBlocksWithSingleSuccessor},
    {"BasicBlocksWithTwoSuccessors", &Info::BasicBlocksWithTwoSuccessors},
    {"BasicBlocksWithMoreThanTwoSuccessors", &Info::BasicBlocksWithMoreThanTwoSuccessors},
    {"BasicBlocksWithSinglePredecessor", &Info::BasicBlocksWithSinglePredecessor},
    {"BasicBlocksWithTwoPredecessors", &Info::BasicBlocksWithTwoPredecessors},
    {"BasicBlocksWithMoreThanTwoPredecessors", &Info::BasicBlocksWithMoreThanTwoPredecessors},
    {"BigBasicBlocks", &Info::BigBasicBlocks},
    {"MediumBasicBlocks", &Info::MediumBasicBlocks},
    {"SmallBasicBlocks", &Info::SmallBasicBlocks},
    {"CastInstructionCount", &Info::CastInstructionCount},
    {"FloatingPointInstructionCount", &Info::FloatingPointInstructionCount},
    {"IntegerInstructionCount", &Info::IntegerInstructionCount},
    {"ConstantIntOperandCount", &Info::ConstantIntOperandCount},
    {"ConstantFPOperandCount", &Info::ConstantFPOperandCount},
    {"ConstantOperandCount", &Info::ConstantOperandCount},
    {"InstructionOperandCount", &Info::InstructionOperandCount},
    {"BasicBlockOperandCount", &Info::BasicBlockOperandCount},
    {"GlobalValueOperandCount", &Info::GlobalValueOperandCount},
    {"InlineAsmOperandCount", &Info::InlineAsmOperandCount},
    {"ArgumentOperandCount", &Info::ArgumentOperandCount},
    {"UnknownOperandCount", &Info::UnknownOperandCount},
    {"CriticalEdgeCount", &Info::CriticalEdgeCount},
    {"ControlFlowEdgeCount", &Info::ControlFlowEdgeCount},
    {"UnconditionalBranchCount", &Info::UnconditionalBranchCount},
#if LLVM_VERSION_MAJOR >= 22  // LLVM 19 does not count these.
    {"ConditionalBranchCount", &Info::ConditionalBranchCount},
    {"BranchInstructionCount", &Info::BranchInstructionCount},
    {"BranchSuccessorCount", &Info::BranchSuccessorCount},
    {"SwitchInstructionCount", &Info::SwitchInstructionCount},
    {"SwitchSuccessorCount", &Info::SwitchSuccessorCount},
#endif
    {"IntrinsicCount", &Info::IntrinsicCount},
    {"DirectCallCount", &Info::DirectCallCount},
    {"IndirectCallCount", &Info::IndirectCallCount},
    {"CallReturnsIntegerCount", &Info::CallReturnsIntegerCount},
    {"CallReturnsFloatCount", &Info::CallReturnsFloatCount},
    {"CallReturnsPointerCount", &Info::CallReturnsPointerCount},
    {"CallReturnsVectorIntCount", &Info::CallReturnsVectorIntCount},
    {"CallReturnsVectorFloatCount", &Info::CallReturnsVectorFloatCount},
    {"CallReturnsVectorPointerCount", &Info::CallReturnsVectorPointerCount},
    {"CallWithManyArgumentsCount", &Info::CallWithManyArgumentsCount},
    {"CallWithPointerArgumentCount", &Info::CallWithPointerArgumentCount},
};

constexpr char kFunctionColumn[] = "Function";

// Sets the option without which LLVM omits three quarters of the properties. There is no other
// interface, and only printers read the option as well.
void enableDetails() {
  static const bool enabled = [] {
    auto& options = llvm::cl::getRegisteredOptions();
    const auto found = options.find("enable-detailed-function-properties");
    if (found != options.end()) {
      static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
    }
    return true;
  }();
  static_cast<void>(enabled);
}

Info infoOf(const llvm::Function& function) {
  // LLVM's constructor takes a non-const function, but does not change it. Computes its own
  // analyses rather than those of the session, since passes may do more if an analysis is cached.
  const llvm::DominatorTree tree(const_cast<llvm::Function&>(function));
  const llvm::LoopInfo loops(tree);
#if LLVM_VERSION_MAJOR >= 22
  return Info::getFunctionPropertiesInfo(function, tree, loops, /*Vocabulary=*/nullptr);
#else
  return Info::getFunctionPropertiesInfo(function, tree, loops);
#endif
}

grpc::Status computeFunctionProperties(const ObservationInput& input, Event& event) {
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> functions;
  for (const llvm::Function& function : input.compilation.module()) {
    if (!function.isDeclaration()) {
      names.push_back(function.getName().str());
      functions.push_back(propertiesOf(function));
    }
  }
  addTexts(event, kFunctionColumn, names);
  std::vector<int64_t> column(functions.size());
  for (auto [place, property] : llvm::enumerate(kProperties)) {
    for (size_t i = 0; i < functions.size(); ++i) {
      column[i] = functions[i][place];
    }
    addIntegers(event, property.name, column);
  }
  return grpc::Status::OK;
}

}  // namespace

std::vector<std::string> namesOfProperties() {
  std::vector<std::string> names;
  for (const Property& property : kProperties) names.push_back(property.name);
  return names;
}

std::vector<int64_t> propertiesOf(const llvm::Function& function) {
  enableDetails();
  const Info info = infoOf(function);
  std::vector<int64_t> values;
  for (const Property& property : kProperties) values.push_back(info.*property.value);
  return values;
}

/// FunctionProperties: what LLVM's FunctionPropertiesAnalysis counts, its detailed properties
/// included, as a dictionary of columns with one element for each function that has a body, in the
/// order of the module: "Function", the name, and an integer column for each property, e.g.
/// "BasicBlockCount", by LLVM's name. llvm/Analysis/FunctionPropertiesAnalysis.h says what they
/// mean; older versions of LLVM have fewer.
Observations functionProperties() {
  std::vector<std::pair<std::string, Column>> columns = {{kFunctionColumn, Column::kTexts}};
  for (const std::string& name : namesOfProperties()) {
    columns.emplace_back(name, Column::kIntegers);
  }
  return {{tableSpace("FunctionProperties", columns), computeFunctionProperties}};
}

}  // namespace compiler_gym::llvm_service
