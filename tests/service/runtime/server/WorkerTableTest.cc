// The sessions of a service: their number, their leases, and those that nobody uses.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/rpc/WorkerTable.h"
#include "tests/Statuses.h"
#include "tests/service/runtime/ToyForkServer.h"

namespace compiler_gym::runtime {
namespace {

using grpc::StatusCode;

// A worker on a text.
std::shared_ptr<Worker> makeProcess() {
  Benchmark benchmark;
  benchmark.set_uri("benchmark://toy-v0/text");
  benchmark.mutable_program()->set_contents("text");
  std::shared_ptr<Worker> process;
  EXPECT_THAT(Worker::start(*toyForkServer(), {std::make_shared<Benchmark>(benchmark)},
                            Clock::now() + std::chrono::seconds(60), &process),
              IsOk());
  return process;
}

int64_t openLease(WorkerTable& table) {
  int64_t lease = 0;
  EXPECT_THAT(table.openLease(&lease), IsOk());
  return lease;
}

// Adds a session. False if there is no room.
bool add(WorkerTable& table, const std::shared_ptr<Worker>& process, int64_t lease = 0,
         uint64_t* id = nullptr) {
  WorkerTable::Reservation reservation;
  if (!table.reserve(&reservation).ok()) return false;
  uint64_t added = 0;
  EXPECT_TRUE(table.add(std::move(reservation), process, lease, &added).ok());
  if (id) *id = added;
  return true;
}

TEST(WorkerTableTest, TheLimitHoldsForThoseThatAreBeingMade) {
  WorkerTable table(2);
  {
    WorkerTable::Reservation first;
    WorkerTable::Reservation second;
    WorkerTable::Reservation third;
    EXPECT_TRUE(table.reserve(&first).ok());
    EXPECT_TRUE(table.reserve(&second).ok());
    EXPECT_EQ(table.reserve(&third).error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(table.size(), 0u);
  }
  const auto process = makeProcess();
  EXPECT_TRUE(add(table, process));
  EXPECT_TRUE(add(table, process));
  EXPECT_FALSE(add(table, process));
}

TEST(WorkerTableTest, TheLimitHoldsForManyThreads) {
  constexpr int kLimit = 50;
  WorkerTable table(kLimit);
  const auto process = makeProcess();
  std::atomic<int> added = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) added += add(table, process) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(added, kLimit);
  EXPECT_EQ(table.size(), static_cast<size_t>(kLimit));
}

TEST(WorkerTableTest, LeasesHaveALimit) {
  WorkerTable table(1);
  const int64_t first = openLease(table);
  for (size_t i = 1; i < WorkerTable::kMaxLeases; ++i) openLease(table);
  int64_t refused = 0;
  EXPECT_EQ(table.openLease(&refused).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  table.closeLease(first);
  EXPECT_NE(openLease(table), first);
}

}  // namespace
}  // namespace compiler_gym::runtime
