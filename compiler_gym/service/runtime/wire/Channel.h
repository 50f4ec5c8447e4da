// Requests and replies as frames on Unix sockets. docs/contributing/sessions.md has the protocol.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// Trailing metadata of GetVersion and GetSpaces: the name of the socket without the NUL that it
// begins with, and "process": each session is a process.
constexpr char kDirectSocketKey[] = "compiler-gym-direct-socket";
constexpr char kIsolationKey[] = "compiler-gym-isolation";

// The kinds of requests. The numbers below 100 are for clients, the others are used between the
// processes of a service.
enum class Method : uint16_t {
  kGetVersion = 1,
  kGetSpaces = 2,
  kStartSession = 3,
  kForkSession = 4,
  kEndSession = 5,
  kStep = 6,
  kAddBenchmark = 7,
  kSendSessionParameter = 8,
  // The lease of this connection, which has one and lasts as long.
  kHoldLease = 9,

  // To the fork server: start a worker. Descriptors: its control socket and its record. There is no
  // reply.
  kSpawn = 100,
  // From the fork server: a process has ended. Payload: a Death.
  kDied = 101,
  // To the fork server: end all processes, then yourself. There is no reply.
  kQuit = 102,
  // To a worker: copy yourself. Descriptors as of kSpawn, and a socket on which the copy is to
  // serve Step, too. Without descriptors, an announced copy is not made. There is no reply.
  kFork = 103,
  // To a worker: CompilationSession::saveReproducer(). Payload: a ListEvent of the action and the
  // directory. The reply is empty.
  kSaveReproducer = 104,
  // To a worker: compute observations without making a step. Payload: a StepRequest. The reply is a
  // StepReply.
  kObserve = 105,
  // From a worker, before all replies: it is ready. Payload: its pid, int32. Descriptor: its pidfd.
  kReady = 106,
  // From the fork server: its code has moved to large pages, which only new processes have.
  kMoved = 107,
};

// The exit status of a process.
struct Death {
  int32_t pid;
  // The status from waitpid().
  int32_t status;
  // The most memory that it, or a command that it has run, has used at a time.
  int64_t peakKibibytes;
};

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// Longer than any request. The clock's maximum would overflow in sums.
constexpr std::chrono::hours kForever(24 * 365);

// A frame that was received. `code` is the method of a request or the status code of a reply.
struct Frame {
  uint16_t code = 0;
  std::chrono::microseconds timeout{0};
  std::string payload;
  std::vector<util::FileDescriptor> descriptors;

  Method method() const { return static_cast<Method>(code); }
};

// What a user can do if there is no room for more open files or for descriptors on their way.
constexpr char kRoomForFilesHint[] =
    ". End sessions that are not needed any more, or raise the limit of open files (ulimit -n) of "
    "the service";

// One end of a socket that carries frames. To be used by one thread at a time for each direction.
//
// Methods fail with UNAVAILABLE when the other side has closed the socket, DEADLINE_EXCEEDED when
// the time is over, RESOURCE_EXHAUSTED when a frame is larger than the limit. After a failure the
// socket is good for nothing but being closed.
class Channel {
 public:
  // Frames received are limited to `maxBytes`; those sent, to what the header can express.
  explicit Channel(util::FileDescriptor socket = util::FileDescriptor(),
                   size_t maxBytes = INT32_MAX)
      : socket_(std::move(socket)), maxBytes_(maxBytes) {}

  // Two connected ends. RESOURCE_EXHAUSTED if the process may not open more files.
  static grpc::Status pair(util::FileDescriptor* first, util::FileDescriptor* second);

  // Linux limits the descriptors that are on their way between all processes of a user (unix(7),
  // ETOOMANYREFS). With RESOURCE_EXHAUSTED for lack of room for `descriptors`, nothing was sent,
  // and the socket is as good as before.
  grpc::Status send(uint16_t code, std::string_view payload, Deadline deadline,
                    std::chrono::microseconds timeout = {},
                    const std::vector<int>& descriptors = {});

  grpc::Status receive(Frame* frame, Deadline deadline);

  // True if a frame or the end of file can be received without waiting, now or soon.
  bool isReadable(std::chrono::milliseconds soon = std::chrono::milliseconds::zero()) const;

  const util::FileDescriptor& socket() const { return socket_; }
  bool isOpen() const { return socket_.isOpen(); }
  void close() { socket_.close(); }

 private:
  grpc::Status receiveBytes(char* data, size_t size, Deadline deadline, Frame* frame);

  util::FileDescriptor socket_;
  size_t maxBytes_;
};

// Sends a reply: the message if `status` is OK, otherwise the text of the status, cut if it is very
// long.
grpc::Status sendReply(Channel& channel, const grpc::Status& status,
                       const google::protobuf::MessageLite& reply, Deadline deadline,
                       const std::vector<int>& descriptors = {});

// Sends a request and receives its reply. The error is that of the reply, or of the channel;
// `isChannelBroken`, if given, tells which. The other side is told of the deadline.
grpc::Status roundTrip(Channel& channel, Method method,
                       const google::protobuf::MessageLite& request,
                       google::protobuf::MessageLite* reply, Deadline deadline,
                       const std::vector<int>& descriptors = {}, bool* isChannelBroken = nullptr);

// The parts of roundTrip() before and after it receives. The request may be sent until `grace`
// after the deadline that the other side is told of.
grpc::Status sendRequest(Channel& channel, Method method,
                         const google::protobuf::MessageLite& request, Deadline deadline,
                         const std::vector<int>& descriptors = {},
                         std::chrono::milliseconds grace = {});
grpc::Status takeReply(Frame&& frame, google::protobuf::MessageLite* reply);

// Decodes the payload of a request. INVALID_ARGUMENT if it is not such a message.
grpc::Status parseMessage(const std::string& payload, google::protobuf::MessageLite* message);

}  // namespace compiler_gym::runtime
