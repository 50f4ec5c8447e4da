#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "llvm_service/costs/SharedCosts.h"

namespace compiler_gym::llvm_service {
namespace {

SharedCosts::Key keyOf(int64_t number) { return {std::to_string(number), "Cost"}; }

TEST(SharedCostsTest, FindsInsertedCosts) {
  SharedCosts costs;
  EXPECT_EQ(costs.find(keyOf(1)), std::nullopt);
  costs.insert(keyOf(1), 10);
  costs.insert(keyOf(2), 0);
  costs.insert(keyOf(3), -1);
  EXPECT_EQ(costs.find(keyOf(1)), 10);
  EXPECT_EQ(costs.find(keyOf(2)), 0);
  EXPECT_EQ(costs.find(keyOf(3)), -1);
  EXPECT_EQ(costs.find(keyOf(4)), std::nullopt);
  // The two parts of a key are not just put together.
  EXPECT_EQ(costs.find({"1Co", "st"}), std::nullopt);
}

TEST(SharedCostsTest, ProcessesShareThem) {
  SharedCosts costs;
  costs.insert(keyOf(1), 10);
  const pid_t child = fork();
  if (child == 0) {
    const bool isKnown = costs.find(keyOf(1)) == 10;
    costs.insert(keyOf(2), 20);
    _exit(isKnown ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(costs.find(keyOf(2)), 20);
}

// More than there is room for: old ones are forgotten, and none is taken for another.
TEST(SharedCostsTest, ForgetsRatherThanConfuses) {
  constexpr int64_t kCount = 100'000;
  SharedCosts costs;
  for (int64_t i = 0; i < kCount; ++i) {
    costs.insert(keyOf(i), i);
    ASSERT_EQ(costs.find(keyOf(i)), i);
  }
  int64_t found = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    if (const auto cost = costs.find(keyOf(i))) {
      EXPECT_EQ(*cost, i);
      ++found;
    }
  }
  EXPECT_GT(found, 1000);
  EXPECT_LT(found, kCount);
}

TEST(SharedCostsTest, ManyThreads) {
  constexpr int64_t kCount = 50'000;
  SharedCosts costs;
  std::vector<std::thread> threads;
  std::vector<int64_t> wrong(4);
  for (size_t number = 0; number < wrong.size(); ++number) {
    threads.emplace_back([&costs, &count = wrong[number]] {
      for (int64_t i = 0; i < kCount; ++i) {
        costs.insert(keyOf(i), i);
        const auto cost = costs.find(keyOf(i / 2));
        if (cost && *cost != i / 2) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int64_t>(wrong.size(), 0));
}

}  // namespace
}  // namespace compiler_gym::llvm_service
