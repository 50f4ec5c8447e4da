#pragma once

#include <algorithm>
#include <any>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

/// Calls `use` with the result of `make` for each function, in the order of the module. Results are
/// cached for functions that have not changed since the last observation of that kind. So they may
/// depend only on the function: its body, name, attributes and linkage, and the names of its
/// operands.
template <typename Part>
void forEachFunction(const ObservationInput& input,
                     const std::function<Part(const llvm::Function&)>& make,
                     const std::function<void(const Part&)>& use) {
  using Parts = std::unordered_map<uint64_t, Part>;
  std::any forOnce;
  std::any& kept = input.kept == nullptr ? forOnce : *input.kept;
  if (!kept.has_value()) {
    kept = Parts();
  }
  Parts& before = std::any_cast<Parts&>(kept);
  Parts after;
  for (const ChangeTracker::Function& function : input.compilation.versionsOfFunctions()) {
    auto part = before.extract(function.version);
    const auto place = part.empty()
                           ? after.emplace(function.version, make(*function.function)).first
                           : after.insert(std::move(part)).position;
    use(place->second);
  }
  before = std::move(after);
}

/// Computes a vector of counts as the sum of the counts of all functions.
///
/// @param add adds the counts of one function, which may be a declaration.
inline Observation::Compute sumOverFunctions(
    size_t size, std::function<void(const llvm::Function&, llvm::MutableArrayRef<int64_t>)> add) {
  return [size, add = std::move(add)](const ObservationInput& input, Event& event) {
    std::vector<int64_t> sum(size, 0);
    forEachFunction<std::vector<int64_t>>(
        input,
        [&](const llvm::Function& function) {
          std::vector<int64_t> counts(size, 0);
          add(function, counts);
          return counts;
        },
        [&](const std::vector<int64_t>& counts) {
          std::transform(sum.begin(), sum.end(), counts.begin(), sum.begin(), std::plus<>());
        });
    setCounts(sum, event);
    return grpc::Status::OK;
  };
}

}  // namespace compiler_gym::llvm_service
