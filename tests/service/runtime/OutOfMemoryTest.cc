// Tests of a service that runs out of memory: a request fails, and the service lives on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "compiler_gym/service/runtime/server/rpc/DirectServer.h"
#include "tests/service/runtime/CompilerGymService.h"
#include "tests/service/runtime/DirectClient.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToyForkServer.h"
#include "tests/service/runtime/ToySession.h"

namespace {

// The largest allocation in this process that succeeds. Sessions are other processes.
std::atomic<size_t> largestAllocation{SIZE_MAX};

}  // namespace

void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return size > largestAllocation ? nullptr : std::malloc(size);
}

void* operator new(size_t size) {
  void* const memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }

void operator delete(void* memory, size_t /*size*/) noexcept { std::free(memory); }

namespace compiler_gym::runtime {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;

// Makes larger allocations fail during its lifetime.
class AllocationLimit {
 public:
  explicit AllocationLimit(size_t bytes) { largestAllocation = bytes; }
  ~AllocationLimit() { largestAllocation = SIZE_MAX; }
};

TEST(OutOfMemoryTest, ReplyOfASessionIsNotReadLater) {
  CompilerGymService<toy::ToySession> service(makeToySessions());
  const toy::ToyClient client(&service);
  const auto started = client.start(toy::makeBenchmark("uri", std::string(20 * kMiB, 'x')));
  ASSERT_THAT(started.status, IsOk());
  const int64_t session = started.reply.session_id();
  EXPECT_TRUE(client.step(session, {}).ok());
  {
    const AllocationLimit limit(8 * kMiB);
    EXPECT_THAT(client.step(session, {}, {toy::kText}).status,
                IsError(StatusCode::RESOURCE_EXHAUSTED, "Out of memory"));
  }
  // The rest of the reply is not taken for another one.
  EXPECT_THAT(client.step(session, {}, {toy::kLength}).status,
              IsError(StatusCode::RESOURCE_EXHAUSTED, "The service had to end the session"));
  EXPECT_EQ(client.textOf(client.startOn("abc")), "abc");
}

TEST(OutOfMemoryTest, RequestOnTheDirectChannelIsRefused) {
  const std::shared_ptr<RpcHandlers> sessions = makeToySessions();
  std::unique_ptr<DirectServer> server;
  ASSERT_TRUE(DirectServer::start(*sessions, 64 * kMiB, &server).ok());
  Channel client = connectTo(server->name());
  const std::string request(20 * kMiB, 'x');
  Frame reply;
  {
    const AllocationLimit limit(8 * kMiB);
    // The server may close the connection before it has read all.
    (void)client.send(static_cast<uint16_t>(Method::kAddBenchmark), request, soon());
    ASSERT_THAT(client.receive(&reply, soon()), IsOk());
  }
  EXPECT_EQ(reply.code, StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(reply.payload, HasSubstr("Out of memory"));
  Channel other = connectTo(server->name());
  GetVersionReply version;
  EXPECT_TRUE(roundTrip(other, Method::kGetVersion, GetVersionRequest(), &version, soon()).ok());
}

}  // namespace
}  // namespace compiler_gym::runtime
