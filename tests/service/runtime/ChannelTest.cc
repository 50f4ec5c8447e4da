// Frames on a socket.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/wire/Channel.h"
#include "tests/Statuses.h"
#include "tests/service/runtime/FilesInFlight.h"

namespace compiler_gym::runtime {
namespace {

using grpc::Status;
using grpc::StatusCode;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using util::FileDescriptor;

constexpr size_t kHeaderBytes = 16;

Deadline soon() { return Clock::now() + std::chrono::seconds(100); }

// The bytes of a header.
std::string header(uint32_t size, uint16_t code, uint64_t timeout) {
  std::string bytes(kHeaderBytes, '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  std::memcpy(bytes.data() + 4, &code, sizeof(code));
  std::memcpy(bytes.data() + 8, &timeout, sizeof(timeout));
  return bytes;
}

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() { connect(INT32_MAX); }

  void connect(size_t maxBytes) {
    FileDescriptor first;
    FileDescriptor second;
    EXPECT_THAT(Channel::pair(&first, &second), IsOk());
    left_ = Channel(std::move(first));
    right_ = Channel(std::move(second), maxBytes);
  }

  void writeBytes(const std::string& bytes) {
    EXPECT_EQ(::send(left_.socket().get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  Channel left_;
  Channel right_;
  Frame frame_;
};

TEST_F(ChannelTest, FrameAsDocumented) {
  ASSERT_TRUE(left_.send(0x1234, "payload", soon(), microseconds(0x0102030405)).ok());
  std::string bytes(kHeaderBytes + 7, '\0');
  ASSERT_EQ(recv(right_.socket().get(), bytes.data(), bytes.size(), MSG_WAITALL),
            static_cast<ssize_t>(bytes.size()));
  const std::string expected("\x07\0\0\0\x34\x12\0\0\x05\x04\x03\x02\x01\0\0\0payload", 23);
  EXPECT_EQ(bytes, expected);
}

TEST_F(ChannelTest, FrameInPieces) {
  const std::string bytes = header(3, 6, 9) + "abc";
  std::thread sender([&] {
    for (const char byte : bytes) {
      writeBytes({byte});
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  const Status status = right_.receive(&frame_, soon());
  sender.join();
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(frame_.payload, "abc");
  EXPECT_EQ(frame_.timeout, microseconds(9));
}

TEST_F(ChannelTest, LargerThanTheSocketsBuffers) {
  std::string large(20 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 251);
  Status sent;
  std::thread sender([&] { sent = left_.send(1, large, soon()); });
  const Status received = right_.receive(&frame_, soon());
  sender.join();
  ASSERT_THAT(sent, IsOk());
  ASSERT_THAT(received, IsOk());
  EXPECT_TRUE(frame_.payload == large);
}

TEST_F(ChannelTest, LimitOfSize) {
  connect(10);
  ASSERT_TRUE(left_.send(1, "0123456789", soon()).ok());
  ASSERT_TRUE(right_.receive(&frame_, soon()).ok());
  writeBytes(header(11, 1, 0));
  EXPECT_THAT(
      right_.receive(&frame_, soon()),
      IsError(StatusCode::RESOURCE_EXHAUSTED, "of 11 bytes is larger than the limit of 10"));
}

TEST_F(ChannelTest, HeaderAloneTakesNoMemory) {
  // As much as a header can claim, and more than the machine would give.
  connect(UINT32_MAX);
  writeBytes(header(UINT32_MAX, 1, 0) + "abc");
  const Status status = right_.receive(&frame_, Clock::now() + milliseconds(50));
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_LE(frame_.payload.capacity(), size_t{4} << 20);
}

TEST_F(ChannelTest, HugeTimeoutIsBounded) {
  writeBytes(header(0, 1, UINT64_MAX));
  ASSERT_TRUE(right_.receive(&frame_, soon()).ok());
  EXPECT_GT(frame_.timeout, std::chrono::hours(24));
  // No overflow when it is added to a point in time.
  EXPECT_GT(Clock::now() + frame_.timeout, Clock::now());
}

TEST_F(ChannelTest, NoRoomForDescriptors) {
  dropPrivilegesOfSockets();
  std::optional<FilesInFlight> others(2);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  const int socket = left_.socket().get();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status refused = left_.send(1, "refused", soon(), {}, {socket});
  const Status alone = left_.send(2, "alone", soon());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  others.reset();
  const Status sent = left_.send(3, "sent", soon(), {}, {socket});
  EXPECT_THAT(refused, IsError(StatusCode::RESOURCE_EXHAUSTED, "raise the limit of open files"));
  EXPECT_THAT(alone, IsOk());
  EXPECT_THAT(sent, IsOk());
  // The one that was refused has left nothing in the socket.
  ASSERT_THAT(right_.receive(&frame_, soon()), IsOk());
  EXPECT_EQ(frame_.payload, "alone");
  ASSERT_THAT(right_.receive(&frame_, soon()), IsOk());
  EXPECT_EQ(frame_.payload, "sent");
  EXPECT_EQ(frame_.descriptors.size(), 1u);
}

TEST_F(ChannelTest, DescriptorsTravelAlong) {
  FileDescriptor ours;
  FileDescriptor theirs;
  ASSERT_TRUE(Channel::pair(&ours, &theirs).ok());
  ASSERT_TRUE(left_.send(1, "x", soon(), {}, {theirs.get(), left_.socket().get()}).ok());
  ASSERT_TRUE(left_.send(2, "y", soon()).ok());
  ASSERT_TRUE(right_.receive(&frame_, soon()).ok());
  ASSERT_EQ(frame_.descriptors.size(), 2u);
  EXPECT_NE(fcntl(frame_.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  Channel passed(std::move(frame_.descriptors[0]));
  Channel own(std::move(ours));
  ASSERT_TRUE(passed.send(3, "through", soon()).ok());
  Frame through;
  ASSERT_TRUE(own.receive(&through, soon()).ok());
  EXPECT_EQ(through.payload, "through");
  ASSERT_TRUE(right_.receive(&frame_, soon()).ok());
  EXPECT_EQ(frame_.payload, "y");
  EXPECT_TRUE(frame_.descriptors.empty());
}

TEST_F(ChannelTest, Deadlines) {
  const Deadline before = Clock::now();
  EXPECT_EQ(right_.receive(&frame_, before + milliseconds(30)).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GE(Clock::now() - before, milliseconds(30));
  // Nobody reads.
  const std::string large(20 << 20, 'x');
  EXPECT_EQ(left_.send(1, large, Clock::now() + milliseconds(30)).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(ChannelTest, ClosedByTheOtherSide) {
  EXPECT_FALSE(right_.isReadable());
  writeBytes(header(10, 1, 0) + "abc");
  left_.close();
  EXPECT_TRUE(right_.isReadable());
  EXPECT_EQ(right_.receive(&frame_, soon()).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(right_.receive(&frame_, soon()).error_code(), StatusCode::UNAVAILABLE);
  // And no SIGPIPE.
  EXPECT_EQ(right_.send(1, "x", soon()).error_code(), StatusCode::UNAVAILABLE);
}

// ---------------------------------------------------------------------------
// Messages.

// Answers one request with `code` and `payload`.
class RoundTripTest : public ChannelTest {
 protected:
  Status roundTripTo(uint16_t code, const std::string& payload, bool* isBroken) {
    std::thread server([&] {
      EXPECT_TRUE(right_.receive(&frame_, soon()).ok());
      EXPECT_TRUE(right_.send(code, payload, soon()).ok());
    });
    StepRequest request;
    request.set_session_id(5);
    const Status status = roundTrip(left_, Method::kStep, request, &reply_, soon(), {}, isBroken);
    server.join();
    return status;
  }

  StepReply reply_;
};

TEST_F(RoundTripTest, ErrorsOfTheReply) {
  bool isBroken = true;
  Status status = roundTripTo(5, "no such thing", &isBroken);
  EXPECT_THAT(status, IsError(StatusCode::NOT_FOUND, "no such thing"));
  EXPECT_FALSE(isBroken);
  status = roundTripTo(999, "odd", &isBroken);
  EXPECT_THAT(status, IsError(StatusCode::INTERNAL, "unknown status code 999: odd"));
  EXPECT_EQ(roundTripTo(0, "\xff\xff", &isBroken).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ChannelTest, LongErrorTextsAreCut) {
  const Status status(StatusCode::ABORTED, std::string(1 << 20, 'x'));
  ASSERT_TRUE(sendReply(left_, status, StepReply(), soon()).ok());
  ASSERT_TRUE(right_.receive(&frame_, soon()).ok());
  EXPECT_EQ(frame_.code, static_cast<uint16_t>(StatusCode::ABORTED));
  EXPECT_EQ(frame_.payload, std::string(64 * 1024, 'x'));
}

}  // namespace
}  // namespace compiler_gym::runtime
