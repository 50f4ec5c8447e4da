// The sessions of a service: their number, their leases, and those that nobody uses.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/rpc/SessionTable.h"

namespace compiler_gym::runtime {
namespace {

using grpc::Status;
using grpc::StatusCode;

class FakeSession final : public ServedSession {
 public:
  Status step(const StepRequest&, StepReply*, Deadline) override { return Status::OK; }
  Status setParameters(const SendSessionParameterRequest&, SendSessionParameterReply*,
                       Deadline) override {
    return Status::OK;
  }
  uint64_t activity() const override { return activity_; }
  void close() override { isClosed_ = true; }

  std::atomic<uint64_t> activity_ = 0;
  bool isClosed_ = false;
};

// Adds a session, which is returned; null if there is no room.
std::shared_ptr<FakeSession> add(SessionTable& table, int64_t lease = 0, uint64_t* id = nullptr) {
  SessionTable::Place place;
  if (!table.reserve(&place).ok()) return nullptr;
  auto session = std::make_shared<FakeSession>();
  uint64_t added = 0;
  EXPECT_TRUE(table.add(std::move(place), session, lease, &added).ok());
  if (id) *id = added;
  return session;
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
  EXPECT_TRUE(add(table));
  EXPECT_TRUE(add(table));
  EXPECT_FALSE(add(table));
}

TEST(SessionTableTest, TheLimitHoldsForManyThreads) {
  constexpr int kLimit = 50;
  SessionTable table(kLimit);
  std::atomic<int> added = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) added += add(table) ? 1 : 0;
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
  const auto first = add(table, lease);
  const auto second = add(table, other);
  const auto third = add(table);
  EXPECT_EQ(table.closeLease(lease).size(), 1u);
  EXPECT_TRUE(first->isClosed_);
  EXPECT_FALSE(second->isClosed_ || third->isClosed_);
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
  const auto session = std::make_shared<FakeSession>();
  uint64_t id = 0;
  EXPECT_EQ(table.add(std::move(place), session, lease, &id).error_code(),
            StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(session->isClosed_);
  EXPECT_TRUE(add(table));
}

TEST(SessionTableTest, IdleIsWhoWasNeitherFoundNorActive) {
  SessionTable table(10);
  uint64_t foundId = 0;
  const auto idle = add(table);
  const auto found = add(table, 0, &foundId);
  const auto active = add(table);
  const auto leased = add(table, table.openLease());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Deadline since = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::shared_ptr<ServedSession> same;
  EXPECT_TRUE(table.find(foundId, &same).ok());
  active->activity_ = 7;
  EXPECT_EQ(table.removeIdle(since).size(), 1u);
  EXPECT_TRUE(idle->isClosed_);
  EXPECT_FALSE(found->isClosed_ || active->isClosed_ || leased->isClosed_);
}

}  // namespace
}  // namespace compiler_gym::runtime
