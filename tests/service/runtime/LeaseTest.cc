// Sessions end with their clients, or when nobody has wanted anything of them for long.
#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/service/runtime/DirectClient.h"
#include "tests/service/runtime/ToyServiceFixture.h"

namespace compiler_gym::runtime {
namespace {

using grpc::StatusCode;
using toy::makeBenchmark;

// A lease held by gRPC.
class Lease {
 public:
  explicit Lease(int port)
      : stub_(CompilerGymService::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                              grpc::InsecureChannelCredentials()))),
        reader_(stub_->HoldLease(&context_, HoldLeaseRequest())) {
    HoldLeaseReply reply;
    EXPECT_TRUE(reader_->Read(&reply));
    id_ = reply.lease_id();
  }
  ~Lease() { context_.TryCancel(); }

  int64_t id() const { return id_; }

 private:
  const std::unique_ptr<CompilerGymService::Stub> stub_;
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReader<HoldLeaseReply>> reader_;
  int64_t id_ = 0;
};

class LeaseTest : public IsolatedServiceTest {
 protected:
  toy::Answer<StartSessionReply> startWith(int64_t lease) const {
    toy::Answer<StartSessionReply> answer;
    StartSessionRequest request;
    *request.mutable_benchmark() = makeBenchmark("benchmark://toy-v0/abc", "abc");
    request.set_lease_id(lease);
    const auto stub = CompilerGymService::NewStub(grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    answer.status = stub->StartSession(&context, request, &answer.reply);
    return answer;
  }

  bool isThere(int64_t session) const {
    return client().step(session, {}).code() != StatusCode::NOT_FOUND;
  }

  // The number of open sessions. Unlike isThere(), it uses none of them.
  int64_t sessionCount() const {
    return client().end(client().startOn("counted")).reply.remaining_sessions();
  }
};

TEST_F(LeaseTest, OfTheDirectChannelEndsWithItsConnection) {
  start();
  Channel holder = connectTo(directSocketOf(port_));
  HoldLeaseReply lease;
  ASSERT_TRUE(roundTrip(holder, Method::kHoldLease, HoldLeaseRequest(), &lease, soon()).ok());
  const int64_t session = startWith(lease.lease_id()).reply.session_id();
  EXPECT_TRUE(isThere(session));
  // A connection has one lease, however often its client asks.
  for (int i = 0; i < 20; ++i) {
    HoldLeaseReply again;
    ASSERT_TRUE(roundTrip(holder, Method::kHoldLease, HoldLeaseRequest(), &again, soon()).ok());
    EXPECT_EQ(again.lease_id(), lease.lease_id());
  }
  EXPECT_TRUE(isThere(session));
  holder.close();
  EXPECT_TRUE(eventually([&] { return !isThere(session); }));
}

TEST_F(LeaseTest, LeasesTakeNoThreads) {
  start();
  const auto countThreads = [this] {
    const boost::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid_) + "/task");
    return std::distance(tasks, boost::filesystem::directory_iterator());
  };
  const Lease first(port_);
  const auto before = countThreads();
  std::vector<std::unique_ptr<Lease>> leases;
  for (int i = 0; i < 30; ++i) leases.push_back(std::make_unique<Lease>(port_));
  // gRPC may have started some for a moment.
  EXPECT_TRUE(eventually([&] { return countThreads() < before + 10; }));
}

TEST_F(LeaseTest, LeasesDoNotKeepTheServiceFromStopping) {
  start();
  const Lease lease(port_);
  expectExit(stop(), 0);
}

// The service does not see the steps on a session's own socket.
TEST_F(LeaseTest, SessionsEndThatNothingUses) {
  start({"--session_idle_seconds=2"});
  const Lease lease(port_);
  const int64_t held = startWith(lease.id()).reply.session_id();
  const int64_t idle = startWith(0).reply.session_id();
  const int64_t used = startWith(0).reply.session_id();
  Channel service = connectTo(directSocketOf(port_));
  StartSessionRequest request;
  *request.mutable_benchmark() = makeBenchmark("benchmark://toy-v0/abc", "abc");
  StartSessionReply started;
  Channel session;
  ASSERT_TRUE(callWithSocket(service, Method::kStartSession, request, &started, &session).ok());
  EXPECT_TRUE(isThere(idle));
  StepReply stepped;
  for (int i = 0; i < 30 || sessionCount() > 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(roundTrip(session, Method::kStep, stepOf(0, {1}), &stepped, soon()).ok());
    ASSERT_TRUE(isThere(used));
  }
  EXPECT_FALSE(isThere(idle));
  EXPECT_TRUE(eventually([this] { return sessionCount() == 1; }));
  EXPECT_FALSE(isThere(started.session_id()));
  EXPECT_FALSE(isThere(used));
  EXPECT_TRUE(isThere(held));
}

}  // namespace
}  // namespace compiler_gym::runtime
