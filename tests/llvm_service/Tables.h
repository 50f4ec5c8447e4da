#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym::llvm_service {

/// The columns of an observation that is a table.

inline std::vector<std::string> texts(const Event& table, const std::string& column) {
  const auto& values = table.event_dict().event().at(column).string_tensor().value();
  return {values.begin(), values.end()};
}

inline std::vector<int64_t> integers(const Event& table, const std::string& column) {
  const auto& values = table.event_dict().event().at(column).int64_tensor().value();
  return {values.begin(), values.end()};
}

inline std::vector<bool> flags(const Event& table, const std::string& column) {
  const auto& values = table.event_dict().event().at(column).boolean_tensor().value();
  return {values.begin(), values.end()};
}

}  // namespace compiler_gym::llvm_service
