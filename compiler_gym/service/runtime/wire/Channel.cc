#include "compiler_gym/service/runtime/wire/Channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

namespace {

constexpr size_t kMaxDescriptors = 4;
constexpr size_t kMaxErrorTextBytes = 64 * 1024;
// A frame's memory grows as data arrives, so that a header alone cannot make it large.
constexpr size_t kPieceBytes = 1024 * 1024;
// Descriptors of others are on their way for microseconds, unless their receiver is busy.
constexpr std::chrono::milliseconds kRoomTimeout(500);

struct Header {
  uint32_t size;
  uint16_t code;
  uint16_t zero;
  uint64_t timeoutMicroseconds;
};
static_assert(sizeof(Header) == 16);

Status closedByPeer() {
  return Status(StatusCode::UNAVAILABLE, "The other side has closed the connection");
}

Status failure(const char* what) {
  const int number = errno;
  if (number == ECONNRESET || number == EPIPE) return closedByPeer();
  return Status(StatusCode::UNAVAILABLE,
                std::string(what) + ": " + std::generic_category().message(number));
}

Status noRoomForDescriptors() {
  return Status(StatusCode::RESOURCE_EXHAUSTED,
                "Cannot send files to a process: " + std::generic_category().message(ETOOMANYREFS) +
                    kRoomForFilesHint);
}

// Waits until the socket is ready for `events`.
Status wait(int socket, short events, Deadline deadline) {
  pollfd file = {socket, events, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Status(StatusCode::DEADLINE_EXCEEDED, "The time limit was reached");
    const int ready = poll(&file, 1, static_cast<int>(std::min<int64_t>(left, 1 << 30)));
    if (ready > 0) return Status::OK;
    if (ready < 0 && errno != EINTR) return failure("poll");
  }
}

void takeDescriptors(const msghdr& message, std::vector<FileDescriptor>* descriptors) {
  for (const cmsghdr* control = CMSG_FIRSTHDR(&message); control;
       control = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(control))) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      descriptors->emplace_back(number);
    }
  }
}

// Room for file descriptors beside a message.
struct Ancillary {
  void attachTo(msghdr* message) {
    message->msg_control = bytes.data();
    message->msg_controllen = bytes.size();
  }

  void put(const std::vector<int>& descriptors, msghdr* message) {
    attachTo(message);
    message->msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* const control = CMSG_FIRSTHDR(message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(control), descriptors.data(), descriptors.size() * sizeof(int));
  }

  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes = {};
};

}  // namespace

Status Channel::pair(FileDescriptor* first, FileDescriptor* second) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Status(
        StatusCode::RESOURCE_EXHAUSTED,
        "Cannot make a socket: " + std::generic_category().message(errno) + kRoomForFilesHint);
  }
  *first = FileDescriptor(ends[0]);
  *second = FileDescriptor(ends[1]);
  return Status::OK;
}

Status Channel::send(uint16_t code, std::string_view payload, Deadline deadline,
                     std::chrono::microseconds timeout, const std::vector<int>& descriptors) {
  if (payload.size() > INT32_MAX) {
    return Status(StatusCode::RESOURCE_EXHAUSTED, "A message is larger than 2 GiB");
  }
  Header header = {static_cast<uint32_t>(payload.size()), code, 0,
                   static_cast<uint64_t>(timeout.count())};
  std::array<iovec, 2> pieces = {
      {{&header, sizeof(header)}, {const_cast<char*>(payload.data()), payload.size()}}};
  msghdr message = {};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  Ancillary ancillary;
  if (!descriptors.empty()) ancillary.put(descriptors, &message);

  const Deadline roomDeadline = std::min(deadline, Clock::now() + kRoomTimeout);
  size_t left = sizeof(header) + payload.size();
  while (left > 0) {
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == ETOOMANYREFS) {
        if (Clock::now() >= roomDeadline) return noRoomForDescriptors();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      if (errno != EAGAIN) return failure("send");
      RETURN_IF_ERROR(wait(socket_.get(), POLLOUT, deadline));
      continue;
    }
    left -= static_cast<size_t>(sent);
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    size_t done = static_cast<size_t>(sent);
    for (iovec& piece : pieces) {
      const size_t part = std::min(done, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + part;
      piece.iov_len -= part;
      done -= part;
    }
  }
  return Status::OK;
}

Status Channel::receiveBytes(char* data, size_t size, Deadline deadline, Frame* frame) {
  while (size > 0) {
    iovec piece = {data, size};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    Ancillary ancillary;
    if (frame) ancillary.attachTo(&message);
    const ssize_t count =
        recvmsg(socket_.get(), &message, MSG_DONTWAIT | (frame ? MSG_CMSG_CLOEXEC : 0));
    if (count == 0) return closedByPeer();
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return failure("receive");
      RETURN_IF_ERROR(wait(socket_.get(), POLLIN, deadline));
      continue;
    }
    if (frame && message.msg_controllen > 0) takeDescriptors(message, &frame->descriptors);
    data += count;
    size -= static_cast<size_t>(count);
  }
  return Status::OK;
}

Status Channel::receive(Frame* frame, Deadline deadline) {
  Header header;
  frame->descriptors.clear();
  RETURN_IF_ERROR(receiveBytes(reinterpret_cast<char*>(&header), sizeof(header), deadline, frame));
  if (header.size > maxBytes_) {
    return Status(StatusCode::RESOURCE_EXHAUSTED, "A message of " + std::to_string(header.size) +
                                                      " bytes is larger than the limit of " +
                                                      std::to_string(maxBytes_));
  }
  frame->code = header.code;
  frame->timeout = std::chrono::microseconds(
      std::min<uint64_t>(header.timeoutMicroseconds, uint64_t{INT32_MAX} * 1'000'000));
  frame->payload.clear();
  while (frame->payload.size() < header.size) {
    const size_t begin = frame->payload.size();
    frame->payload.resize(std::min<size_t>(header.size, begin + std::max(kPieceBytes, begin)));
    RETURN_IF_ERROR(receiveBytes(frame->payload.data() + begin, frame->payload.size() - begin,
                                 deadline, nullptr));
  }
  return Status::OK;
}

bool Channel::isReadable(std::chrono::milliseconds soon) const {
  pollfd file = {socket_.get(), POLLIN, 0};
  return poll(&file, 1, static_cast<int>(soon.count())) > 0;
}

Status sendReply(Channel& channel, const Status& status, const google::protobuf::MessageLite& reply,
                 Deadline deadline, const std::vector<int>& descriptors) {
  if (!status.ok()) {
    const std::string text = status.error_message().substr(0, kMaxErrorTextBytes);
    return channel.send(static_cast<uint16_t>(status.error_code()), text, deadline);
  }
  std::string payload;
  if (!reply.SerializeToString(&payload)) {
    return channel.send(static_cast<uint16_t>(StatusCode::RESOURCE_EXHAUSTED),
                        "The reply is larger than a message can be", deadline);
  }
  return channel.send(0, payload, deadline, {}, descriptors);
}

Status sendRequest(Channel& channel, Method method, const google::protobuf::MessageLite& request,
                   Deadline deadline, const std::vector<int>& descriptors,
                   std::chrono::milliseconds grace) {
  const auto left = std::chrono::ceil<std::chrono::microseconds>(deadline - Clock::now());
  std::string payload;
  request.SerializeToString(&payload);
  return channel.send(static_cast<uint16_t>(method), payload, deadline + grace,
                      std::max(left, std::chrono::microseconds(1)), descriptors);
}

Status takeReply(Frame&& frame, google::protobuf::MessageLite* reply) {
  if (frame.code > static_cast<uint16_t>(StatusCode::UNAUTHENTICATED)) {
    return Status(StatusCode::INTERNAL, "A reply with the unknown status code " +
                                            std::to_string(frame.code) + ": " + frame.payload);
  }
  if (frame.code != 0) {
    return Status(static_cast<StatusCode>(frame.code), std::move(frame.payload));
  }
  return parseMessage(frame.payload, reply);
}

Status roundTrip(Channel& channel, Method method, const google::protobuf::MessageLite& request,
                 google::protobuf::MessageLite* reply, Deadline deadline,
                 const std::vector<int>& descriptors, bool* isChannelBroken) {
  if (isChannelBroken) *isChannelBroken = true;
  RETURN_IF_ERROR(sendRequest(channel, method, request, deadline, descriptors));
  Frame frame;
  RETURN_IF_ERROR(channel.receive(&frame, deadline));
  if (isChannelBroken) *isChannelBroken = false;
  return takeReply(std::move(frame), reply);
}

Status parseMessage(const std::string& payload, google::protobuf::MessageLite* message) {
  if (message->ParseFromString(payload)) return Status::OK;
  return Status(StatusCode::INVALID_ARGUMENT,
                "The payload is not a serialised " + message->GetTypeName());
}

}  // namespace compiler_gym::runtime
