#include "compiler_gym/service/runtime/DirectServer.h"

#include <glog/logging.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

namespace {

constexpr int kBacklog = 128;
// A client that does not read its reply, or sends half a request, is dropped after this time.
constexpr std::chrono::seconds kTransferTimeout(60);
constexpr std::chrono::milliseconds kAcceptPause(10);

std::string randomName() {
  std::random_device random;
  std::string name = "compiler_gym-" + std::to_string(getpid()) + "-";
  for (int i = 0; i < 4; ++i) name += std::to_string(random());
  return name;
}

// An abstract socket leaves nothing behind in the file system, whatever ends the process.
Status listenAt(const std::string& name, FileDescriptor* listener) {
  *listener = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (listener->isOpen() &&
      bind(listener->get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      listen(listener->get(), kBacklog) == 0) {
    return Status::OK;
  }
  return Status(StatusCode::RESOURCE_EXHAUSTED, "Cannot make the socket of the direct channel: " +
                                                    std::generic_category().message(errno));
}

bool isOfThisUser(const FileDescriptor& socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

// Decodes the request, handles it, and replies. The socket of a new session goes along.
template <typename Request, typename Reply, typename Handler>
Status serveMethod(const Frame& frame, Channel& channel, const Handler& handler) {
  Request request;
  Reply reply;
  Handover handover;
  Status status = parseMessage(frame.payload, &request);
  if (status.ok()) {
    status = util::callWithoutExceptions("the direct channel",
                                         [&] { return handler(request, &reply, &handover); });
  }
  std::vector<int> descriptors;
  if (status.ok() && handover.client.isOpen()) descriptors.push_back(handover.client.get());
  return sendReply(channel, status, reply, Clock::now() + kTransferTimeout, descriptors);
}

}  // namespace

Status DirectServer::start(IsolatedSessions& sessions, size_t maxMessageBytes,
                           std::unique_ptr<DirectServer>* server) {
  std::string name = randomName();
  FileDescriptor listener;
  RETURN_IF_ERROR(listenAt(name, &listener));
  server->reset(new DirectServer(sessions, maxMessageBytes, std::move(name), std::move(listener)));
  return Status::OK;
}

DirectServer::DirectServer(IsolatedSessions& sessions, size_t maxMessageBytes, std::string name,
                           FileDescriptor listener)
    : sessions_(sessions),
      maxMessageBytes_(maxMessageBytes),
      name_(std::move(name)),
      listener_(std::move(listener)),
      acceptor_([this] { accept(); }) {}

DirectServer::~DirectServer() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
    for (const Connection& connection : connections_) {
      shutdown(connection.channel.socket().get(), SHUT_RDWR);
    }
  }
  shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (Connection& connection : connections_) connection.thread.join();
}

void DirectServer::accept() {
  while (true) {
    FileDescriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const int error = errno;
    {
      const std::lock_guard lock(mutex_);
      if (isStopping_) return;
    }
    if (client.isOpen() && isOfThisUser(client)) {
      add(std::move(client));
    } else if (!client.isOpen() && error != EINTR && error != ECONNABORTED) {
      LOG(WARNING) << "Cannot accept a client: " << std::generic_category().message(error);
      std::this_thread::sleep_for(kAcceptPause);
    }
  }
}

void DirectServer::add(FileDescriptor socket) {
  const std::lock_guard lock(mutex_);
  connections_.remove_if([](Connection& connection) {
    if (connection.isDone) connection.thread.join();
    return connection.isDone;
  });
  Connection& connection = connections_.emplace_back();
  connection.channel = Channel(std::move(socket), maxMessageBytes_);
  connection.thread = std::thread([this, &connection] { serve(connection); });
}

void DirectServer::serve(Connection& connection) {
  constexpr std::chrono::hours kForever(24 * 365);
  Frame frame;
  while (true) {
    const Status received = connection.channel.receive(&frame, Clock::now() + kForever);
    if (received.error_code() == StatusCode::RESOURCE_EXHAUSTED) {
      sendReply(connection.channel, received, StepReply(), Clock::now() + kTransferTimeout);
    }
    if (!received.ok() || !dispatch(frame, connection.channel).ok()) break;
  }
  const std::lock_guard lock(mutex_);
  // The descriptor is closed when the connection is removed; the client must know now.
  shutdown(connection.channel.socket().get(), SHUT_RDWR);
  connection.isDone = true;
}

Status DirectServer::dispatch(const Frame& frame, Channel& channel) {
  const Deadline deadline =
      frame.timeout.count() == 0 ? sessions_.defaultDeadline() : Clock::now() + frame.timeout;
  switch (frame.method()) {
    case Method::kGetVersion:
      return serveMethod<GetVersionRequest, GetVersionReply>(
          frame, channel, [&](const auto&, auto* reply, auto*) {
            *reply = sessions_.description().version();
            return Status::OK;
          });
    case Method::kGetSpaces:
      return serveMethod<GetSpacesRequest, GetSpacesReply>(
          frame, channel, [&](const auto&, auto* reply, auto*) {
            *reply = sessions_.description().spaces();
            return Status::OK;
          });
    case Method::kStartSession:
      return serveMethod<StartSessionRequest, StartSessionReply>(
          frame, channel, [&](const auto& request, auto* reply, auto* handover) {
            return sessions_.startSession(request, reply, deadline, handover);
          });
    case Method::kForkSession:
      return serveMethod<ForkSessionRequest, ForkSessionReply>(
          frame, channel, [&](const auto& request, auto* reply, auto* handover) {
            return sessions_.forkSession(request, reply, deadline, handover);
          });
    case Method::kEndSession:
      return serveMethod<EndSessionRequest, EndSessionReply>(
          frame, channel, [&](const auto& request, auto* reply, auto*) {
            return sessions_.endSession(request, reply);
          });
    case Method::kStep:
      return serveMethod<StepRequest, StepReply>(frame, channel,
                                                 [&](const auto& request, auto* reply, auto*) {
                                                   return sessions_.step(request, reply, deadline);
                                                 });
    case Method::kAddBenchmark:
      return serveMethod<AddBenchmarkRequest, AddBenchmarkReply>(
          frame, channel,
          [&](const auto& request, auto*, auto*) { return sessions_.addBenchmark(request); });
    case Method::kSendSessionParameter:
      return serveMethod<SendSessionParameterRequest, SendSessionParameterReply>(
          frame, channel, [&](const auto& request, auto* reply, auto*) {
            return sessions_.sendSessionParameter(request, reply, deadline);
          });
    default:
      return sendReply(
          channel,
          Status(StatusCode::UNIMPLEMENTED, "There is no method " + std::to_string(frame.code)),
          StepReply(), Clock::now() + kTransferTimeout);
  }
}

}  // namespace compiler_gym::runtime
