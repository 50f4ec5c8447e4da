#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>

#include "compiler_gym/service/runtime/server/isolation/DeferredWork.h"

namespace compiler_gym::runtime {
namespace {

TEST(DeferredWorkTest, ContinueAfterAnException) {
  DeferredWork work;
  std::promise<void> done;
  work.add([] { throw std::runtime_error("thrown"); });
  work.add([&done] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(100)), std::future_status::ready);
}

}  // namespace
}  // namespace compiler_gym::runtime
