#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>

#include "compiler_gym/service/runtime/server/isolation/Chores.h"

namespace compiler_gym::runtime {
namespace {

TEST(ChoresTest, ContinueAfterAnException) {
  Chores chores;
  std::promise<void> done;
  chores.add([] { throw std::runtime_error("thrown"); });
  chores.add([&done] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(100)), std::future_status::ready);
}

}  // namespace
}  // namespace compiler_gym::runtime
