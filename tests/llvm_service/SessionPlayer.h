#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "llvm_service/LlvmSession.h"
#include "tests/Statuses.h"

namespace compiler_gym::llvm_service {

/// The end of a step.
struct StepEnd {
  bool isLast = false;
  bool hadNoEffect = false;
};

inline Event observe(LlvmSession& session, const std::string& name) {
  ObservationSpace space;
  space.set_name(name);
  Event event;
  EXPECT_THAT(session.computeObservation(space, event), IsOk()) << name;
  return event;
}

inline grpc::Status tryStep(LlvmSession& session, int64_t number, StepEnd* end) {
  Event action;
  action.set_int64_value(number);
  std::optional<ActionSpace> newSpace;
  session.beginStep(1);
  return session.applyAction(action, end->isLast, newSpace, end->hadNoEffect);
}

inline StepEnd step(LlvmSession& session, int64_t number) {
  StepEnd end;
  EXPECT_THAT(tryStep(session, number, &end), IsOk());
  return end;
}

/// The reply to a parameter.
inline std::optional<std::string> send(LlvmSession& session, const std::string& key,
                                       const std::string& value = "") {
  std::optional<std::string> reply;
  EXPECT_THAT(session.handleSessionParameter(key, value, reply), IsOk()) << key;
  return reply;
}

}  // namespace compiler_gym::llvm_service
