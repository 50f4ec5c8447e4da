#include <gtest/gtest.h>

#include <string>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/util/CanonicalBytes.h"

namespace compiler_gym::util {
namespace {

constexpr int kVariables = 64;

// Commands with the same environment, filled in in two orders.
Command filledForwards() {
  Command command;
  for (int i = 0; i < kVariables; ++i) (*command.mutable_env())["V" + std::to_string(i)] = "x";
  return command;
}

Command filledBackwards() {
  Command command;
  for (int i = kVariables - 1; i >= 0; --i) {
    (*command.mutable_env())["V" + std::to_string(i)] = "x";
  }
  return command;
}

TEST(CanonicalBytesTest, AreThoseOfEqualMessages) {
  const Command first = filledForwards();
  const Command second = filledBackwards();
  ASSERT_NE(first.SerializeAsString(), second.SerializeAsString()) << "The orders are the same";
  EXPECT_EQ(canonicalBytes(first), canonicalBytes(second));
}

TEST(CanonicalBytesTest, DifferIfAnEntryDoes) {
  Command changed = filledForwards();
  (*changed.mutable_env())["V7"] = "y";
  EXPECT_NE(canonicalBytes(changed), canonicalBytes(filledForwards()));
}

TEST(CanonicalBytesTest, ParseBackToTheMessage) {
  Command again;
  ASSERT_TRUE(again.ParseFromString(canonicalBytes(filledForwards())));
  EXPECT_EQ(again.env_size(), kVariables);
}

TEST(CanonicalBytesTest, EmptyMessageHasNoBytes) { EXPECT_EQ(canonicalBytes(Command()), ""); }

}  // namespace
}  // namespace compiler_gym::util
