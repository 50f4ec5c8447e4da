#pragma once

#include <functional>
#include <string>

#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

/// A cost of a program, which players try to reduce.
struct Cost {
  /// Name of the observation of the current module, e.g. "ObjectTextSizeBytes".
  std::string name;
  /// Names of the baselines without their suffix, e.g. "ObjectTextSize".
  std::string baselineName;
  bool platformDependent;
  /// True if the cost needs machine code, so that its baselines are those of clang; see CostTraits.
  bool exports;
  /// See CostTraits.
  bool ofContentAlone;
  /// Computes the cost of the module under compilation. If null, the cost of its bitcode is
  /// computed and cached by content, which suits costs that take longer than writing the bitcode.
  std::function<grpc::Status(Compilation&, int64_t& value)> ofCurrent;
  /// Computes the cost of a program given as bitcode. The compilation has the settings of builds.
  std::function<grpc::Status(const Compilation&, const std::string& bitcode, int64_t& value)>
      ofBitcode;
  /// The cost of the program after -O3, if it is not that of the same bitcode as another module;
  /// none if it is.
  std::function<grpc::Status(const std::string& bitcode, int64_t& value)> ofO3 = nullptr;
};

/// Four observations, each one int64: the cost now, and the costs after the baselines O0, O3, Oz.
/// A baseline is computed when it is first asked for, once for each program.
Observations costFamily(const Cost& cost);

}  // namespace compiler_gym::llvm_service
