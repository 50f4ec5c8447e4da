// The sessions of a service: their number, their leases, and those that nobody uses.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/rpc/SessionTable.h"
#include "tests/service/runtime/ToyForkServer.h"

namespace compiler_gym::runtime {
namespace {

using grpc::Status;
using grpc::StatusCode;

// A session process on a text.
std::shared_ptr<SessionProcess> makeProcess() {
  Benchmark benchmark;
  benchmark.set_uri("benchmark://toy-v0/text");
  benchmark.mutable_program()->set_contents("text");
  std::shared_ptr<SessionProcess> process;
  const Status status =
      SessionProcess::start(*toyForkServer(), {std::make_shared<Benchmark>(benchmark)},
                            Clock::now() + std::chrono::seconds(60), &process);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return process;
}

Status step(SessionProcess& process) {
  StepReply reply;
  return process.call(Method::kStep, StepRequest(), &reply,
                      Clock::now() + std::chrono::seconds(60));
}

bool isClosed(SessionProcess& process) {
  return step(process).error_code() == StatusCode::NOT_FOUND;
}

// Adds a session. False if there is no room.
bool add(SessionTable& table, const std::shared_ptr<SessionProcess>& process, int64_t lease = 0,
         uint64_t* id = nullptr) {
  SessionTable::Place place;
  if (!table.reserve(&place).ok()) return false;
  uint64_t added = 0;
  EXPECT_TRUE(table.add(std::move(place), process, lease, &added).ok());
  if (id) *id = added;
  return true;
}

// The same with a session of its own, which is returned.
std::shared_ptr<SessionProcess> addNew(SessionTable& table, int64_t lease = 0,
                                       uint64_t* id = nullptr) {
  auto process = makeProcess();
  EXPECT_TRUE(add(table, process, lease, id));
  return process;
}

TEST(SessionTableTest, TheLimitHoldsForThoseThatAreBeingMade) {
  SessionTable table(2);
  {
    SessionTable::Place first;
    SessionTable::Place second;
    SessionTable::Place third;
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

TEST(SessionTableTest, TheLimitHoldsForManyThreads) {
  constexpr int kLimit = 50;
  SessionTable table(kLimit);
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

TEST(SessionTableTest, ALeaseClosesItsSessionsAndNoOthers) {
  SessionTable table(10);
  const int64_t lease = table.openLease();
  const int64_t other = table.openLease();
  EXPECT_NE(lease, other);
  const auto first = addNew(table, lease);
  const auto second = addNew(table, other);
  const auto third = addNew(table);
  EXPECT_EQ(table.closeLease(lease).size(), 1u);
  EXPECT_TRUE(isClosed(*first));
  EXPECT_FALSE(isClosed(*second) || isClosed(*third));
  EXPECT_EQ(table.size(), 2u);
}

// A client can go while its session is started.
// A client of a service that was restarted goes by the number that it had before.
TEST(SessionTableTest, LeasesOfDifferentServicesDiffer) {
  SessionTable before(10);
  SessionTable after(10);
  const int64_t former = before.openLease();
  EXPECT_GT(former, 0);
  EXPECT_NE(after.openLease(), former);
}

TEST(SessionTableTest, NothingIsAddedToALeaseThatHasEnded) {
  SessionTable table(1);
  const int64_t lease = table.openLease();
  SessionTable::Place place;
  ASSERT_TRUE(table.reserve(&place).ok());
  table.closeLease(lease);
  const auto session = makeProcess();
  uint64_t id = 0;
  EXPECT_EQ(table.add(std::move(place), session, lease, &id).error_code(),
            StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(isClosed(*session));
  addNew(table);
}

TEST(SessionTableTest, FoundAndActiveSessionsAreNotIdle) {
  SessionTable table(10);
  uint64_t foundId = 0;
  const auto idle = addNew(table);
  const auto found = addNew(table, 0, &foundId);
  const auto active = addNew(table);
  const auto leased = addNew(table, table.openLease());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Deadline since = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::shared_ptr<SessionProcess> same;
  EXPECT_TRUE(table.find(foundId, &same).ok());
  EXPECT_TRUE(step(*active).ok());
  EXPECT_EQ(table.removeIdle(since).size(), 1u);
  EXPECT_TRUE(isClosed(*idle));
  EXPECT_FALSE(isClosed(*found) || isClosed(*active) || isClosed(*leased));
}

}  // namespace
}  // namespace compiler_gym::runtime
