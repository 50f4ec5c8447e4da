// Random requests in random order from several clients at once.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.grpc.pb.h"
#include "tests/fuzzing/Fuzzing.h"
#include "tests/service/runtime/ToyServiceFixture.h"

namespace compiler_gym::fuzzing {
namespace {

using grpc::ClientContext;
using grpc::Status;
using grpc::StatusCode;
using runtime::expectExit;
using Stub = compiler_gym::CompilerGymService::Stub;

constexpr int kClientCount = 4;

class RpcFuzzer {
 public:
  explicit RpcFuzzer(int port)
      : stub_(compiler_gym::CompilerGymService::NewStub(grpc::CreateChannel(
            "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()))) {}

  void callAnything(Random& random) {
    switch (below(random, 16)) {
      case 0:
        return note(call<GetVersionRequest, GetVersionReply>(random, &Stub::GetVersion).status);
      case 1:
        return note(call<GetSpacesRequest, GetSpacesReply>(random, &Stub::GetSpaces).status);
      case 2:
      case 3:
        return noteSession(
            call<StartSessionRequest, StartSessionReply>(random, &Stub::StartSession));
      case 4:
        return noteSession(call<ForkSessionRequest, ForkSessionReply>(random, &Stub::ForkSession));
      case 5:
      case 6:
        return note(call<EndSessionRequest, EndSessionReply>(random, &Stub::EndSession).status);
      case 7:
        return note(
            call<AddBenchmarkRequest, AddBenchmarkReply>(random, &Stub::AddBenchmark).status);
      case 8:
      case 9:
        return note(call<SendSessionParameterRequest, SendSessionParameterReply>(
                        random, &Stub::SendSessionParameter)
                        .status);
      default:
        return note(call<StepRequest, StepReply>(random, &Stub::Step).status);
    }
  }

  void endAllSessions() {
    for (uint64_t id = 0; id < sessionCount_; ++id) {
      ClientContext context;
      EndSessionRequest request;
      request.set_session_id(id);
      EndSessionReply reply;
      stub_->EndSession(&context, request, &reply);
    }
  }

  // True if requests did what they should, too.
  bool hasStartedSessions() const { return sessionCount_ > 0; }

  // The service itself was there all the time, and served.
  void expectSane() const {
    EXPECT_EQ(unavailable_, 0);
    EXPECT_GT(successes_, 0);
    EXPECT_TRUE(hasStartedSessions());
  }

 private:
  template <typename Reply>
  struct Result {
    Status status;
    Reply reply;
  };

  template <typename Request, typename Reply>
  Result<Reply> call(Random& random,
                     Status (Stub::*method)(ClientContext*, const Request&, Reply*)) {
    Request request;
    fillRandomly(random, sessionCount_, &request);
    ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
    Result<Reply> result;
    result.status = (stub_.get()->*method)(&context, request, &result.reply);
    return result;
  }

  void note(const Status& status) {
    if (status.ok()) ++successes_;
    if (status.error_code() == StatusCode::UNAVAILABLE) ++unavailable_;
  }

  template <typename Reply>
  void noteSession(const Result<Reply>& result) {
    note(result.status);
    if (!result.status.ok()) return;
    uint64_t count = sessionCount_;
    const uint64_t atLeast = result.reply.session_id() + 1;
    while (count < atLeast && !sessionCount_.compare_exchange_weak(count, atLeast)) {
    }
  }

  const std::unique_ptr<Stub> stub_;
  std::atomic<uint64_t> sessionCount_ = 0;
  std::atomic<int64_t> successes_ = 0;
  std::atomic<int64_t> unavailable_ = 0;
};

class RpcFuzzTest : public runtime::IsolatedServiceTest {
 protected:
  // Expects that the started service survives it, and has no session afterwards.
  void fuzz() const {
    RpcFuzzer fuzzer(port_);
    const int64_t calls = runInThreads(
        kClientCount, [&](Random& random) { fuzzer.callAnything(random); },
        [&] { return fuzzer.hasStartedSessions(); });
    std::cout << calls << " requests" << std::endl;
    fuzzer.expectSane();
    fuzzer.endAllSessions();
    expectServes();
  }
};

TEST_F(RpcFuzzTest, IsolatedService) {
  start({"--request_timeout_seconds=30", "--session_memory_mib=300", "--max_sessions=40"});
  fuzz();
  const std::vector<pid_t> all = descendantsOf(pid_);
  expectExit(stop(), 0);
  expectAllGone(all);
}

}  // namespace
}  // namespace compiler_gym::fuzzing
