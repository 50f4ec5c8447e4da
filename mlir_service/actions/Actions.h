#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "mlir/IR/BuiltinOps.h"

namespace compiler_gym::mlir_service {

/// One pass, see make_actions.py.
struct Action {
  std::string name;
  /// In the words of mlir-opt -pass-pipeline='builtin.module(...)'.
  std::string pipeline;
  std::string description;
};

/// All actions, in the order of their numbers.
const std::vector<Action>& allActions();

/// The action space "Passes", whose flags are the passes.
ActionSpace actionSpace();

/// Runs a pass as mlir-opt does.
///
/// @return INTERNAL with the reason if it fails. The state of the module is then unknown.
[[nodiscard]] grpc::Status runPass(const std::string& pipeline, mlir::ModuleOp module);

}  // namespace compiler_gym::mlir_service
