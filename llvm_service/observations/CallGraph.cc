#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

// The callee of calls without a known function.
constexpr int64_t kUnknown = -1;

using Edge = std::pair<int64_t, int64_t>;
// Number of calls by edge, in the order of the first call.
using Edges = llvm::MapVector<Edge, int64_t>;

using Numbers = llvm::DenseMap<const llvm::Function*, int64_t>;

int64_t calleeOf(const llvm::CallBase& call, const Numbers& numbers) {
  // Looks through aliases and casts, as a linker would.
  const auto* callee =
      llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
  return callee == nullptr ? kUnknown : numbers.lookup(callee);
}

Edges findEdges(const llvm::Module& module, const Numbers& numbers) {
  Edges edges;
  for (const llvm::Function& function : module) {
    const int64_t caller = numbers.lookup(&function);
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call != nullptr && !call->isInlineAsm()) {
          ++edges[{caller, calleeOf(*call, numbers)}];
        }
      }
    }
  }
  return edges;
}

void addEdges(const Edges& edges, Event& event) {
  std::vector<int64_t> callers;
  std::vector<int64_t> callees;
  std::vector<int64_t> counts;
  for (const auto& [edge, count] : edges) {
    callers.push_back(edge.first);
    callees.push_back(edge.second);
    counts.push_back(count);
  }
  addIntegers(event, "caller", callers);
  addIntegers(event, "callee", callees);
  addIntegers(event, "calls", counts);
}

grpc::Status computeCallGraph(const ObservationInput& input, Event& event) {
  const llvm::Module& module = input.compilation.module();
  Numbers numbers;
  std::vector<std::string> names;
  std::vector<bool> defined;
  std::vector<bool> addressTaken;
  for (const llvm::Function& function : module) {
    numbers.try_emplace(&function, static_cast<int64_t>(numbers.size()));
    names.push_back(function.getName().str());
    defined.push_back(!function.isDeclaration());
    addressTaken.push_back(function.hasAddressTaken());
  }
  addTexts(event, "function", names);
  addFlags(event, "defined", defined);
  addFlags(event, "address_taken", addressTaken);
  addEdges(findEdges(module, numbers), event);
  return grpc::Status::OK;
}

}  // namespace

/// CallGraph: the calls between functions, as a dictionary of columns. "function", "defined" and
/// "address_taken" have one element for each function of the module in its order, declarations and
/// intrinsics included: the name, whether it has a body, and whether it is used other than by being
/// called. "caller", "callee" and "calls" have one element for each pair of a caller and a callee,
/// in the order of the first call: their places in the columns above, and how many instructions
/// call. The callee -1 stands for all calls through pointers. Inline assembly is not a call.
Observations callGraph() {
  return {{tableSpace("CallGraph", {{"function", Column::kTexts},
                                    {"defined", Column::kFlags},
                                    {"address_taken", Column::kFlags},
                                    {"caller", Column::kIntegers},
                                    {"callee", Column::kIntegers},
                                    {"calls", Column::kIntegers}}),
           computeCallGraph}};
}

}  // namespace compiler_gym::llvm_service
