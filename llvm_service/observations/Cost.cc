#include "llvm_service/observations/Cost.h"

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::llvm_service {

namespace {

grpc::Status computeCurrent(const Cost& cost, const ObservationInput& input, int64_t& value) {
  Compilation& compilation = input.compilation;
  if (cost.ofCurrent) {
    return cost.ofCurrent(compilation, value);
  }
  const auto measure = [&](const std::string& bitcode, int64_t& measured) {
    return cost.ofBitcode(compilation, bitcode, measured);
  };
  return compilation.program().costOf(compilation.bitcode(), cost.name, measure, value);
}

Observation currentCost(const Cost& cost) {
  const Properties properties{/*deterministic=*/true, cost.platformDependent};
  const auto compute = [cost](const ObservationInput& input, Event& event) {
    int64_t value = 0;
    RETURN_IF_ERROR(computeCurrent(cost, input, value));
    event.set_int64_value(value);
    return grpc::Status::OK;
  };
  return {countSpace(cost.name, properties), compute, cost.exports};
}

Observation baselineCost(const Cost& cost, Baseline baseline) {
  const Properties properties{/*deterministic=*/true, cost.platformDependent};
  const bool isOtherCost = baseline == Baseline::kO3 && cost.ofO3;
  const std::string name = isOtherCost ? cost.baselineName + "O3" : cost.name;
  const auto compute = [=](const ObservationInput& input, Event& event) {
    const Compilation& compilation = input.compilation;
    const auto measure = [&](const std::string& bitcode, int64_t& value) {
      return isOtherCost ? cost.ofO3(bitcode, value) : cost.ofBitcode(compilation, bitcode, value);
    };
    int64_t value = 0;
    RETURN_IF_ERROR(compilation.program().baselineCost(baseline, name, measure, value,
                                                       {cost.exports, cost.ofContentAlone}));
    event.set_int64_value(value);
    return grpc::Status::OK;
  };
  return {countSpace(cost.baselineName + nameOf(baseline), properties), compute};
}

}  // namespace

Observations costFamily(const Cost& cost) {
  return {currentCost(cost), baselineCost(cost, Baseline::kO0), baselineCost(cost, Baseline::kO3),
          baselineCost(cost, Baseline::kOz)};
}

}  // namespace compiler_gym::llvm_service
