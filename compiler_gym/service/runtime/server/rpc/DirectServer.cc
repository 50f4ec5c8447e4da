#include "compiler_gym/service/runtime/server/rpc/DirectServer.h"

#include <glog/logging.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
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
// The maximum number of connections. Each has a thread.
constexpr size_t kMaxConnections = 4096;
constexpr std::chrono::minutes kIdleInterval(1);

std::string randomName() {
  std::random_device random;
  std::string name = "compiler_gym-" + std::to_string(getpid()) + "-";
  for (int i = 0; i < 4; ++i) name += std::to_string(random());
  return name;
}

// Makes an abstract socket, which leaves no file behind, however the process ends.
Status listenAt(const std::string& name, FileDescriptor* listener) {
  *listener = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
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

}  // namespace

Status DirectServer::start(RpcHandlers& handlers, size_t maxMessageBytes,
                           std::unique_ptr<DirectServer>* server,
                           std::chrono::milliseconds transferTimeout) {
  std::string name = randomName();
  FileDescriptor listener;
  RETURN_IF_ERROR(listenAt(name, &listener));
  std::unique_ptr<DirectServer> started(
      new DirectServer(handlers, maxMessageBytes, std::move(name), transferTimeout));
  std::vector<Acceptor::Entrance> entrances;
  entrances.push_back(
      {std::move(listener), /*isForOwnerOnly=*/true,
       [added = started.get()](FileDescriptor client) { added->add(std::move(client)); }});
  RETURN_IF_ERROR(Acceptor::start(std::move(entrances), &started->acceptor_));
  *server = std::move(started);
  return Status::OK;
}

DirectServer::DirectServer(RpcHandlers& handlers, size_t maxMessageBytes, std::string name,
                           std::chrono::milliseconds transferTimeout)
    : handlers_(handlers),
      maxMessageBytes_(maxMessageBytes),
      name_(std::move(name)),
      transferTimeout_(transferTimeout) {}

DirectServer::~DirectServer() {
  beginToStop();
  for (Connection& connection : connections_) connection.thread.join();
}

void DirectServer::beginToStop() {
  if (acceptor_) acceptor_->stop();
  const std::lock_guard lock(mutex_);
  for (const Connection& connection : connections_) {
    shutdown(connection.channel.socket().get(), SHUT_RDWR);
  }
}

bool DirectServer::stop(std::chrono::milliseconds limit) {
  beginToStop();
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, limit, [this] {
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const Connection& connection) { return connection.isDone; });
  });
}

void DirectServer::add(FileDescriptor socket) {
  const std::lock_guard lock(mutex_);
  removeDone();
  if (connections_.size() >= kMaxConnections) {
    LOG(WARNING) << "There are " << connections_.size()
                 << " connections on the direct channel; a further client is turned away";
    return;
  }
  Connection& connection = connections_.emplace_back();
  connection.channel = Channel(std::move(socket), maxMessageBytes_);
  try {
    connection.thread = std::thread([this, &connection] { serve(connection); });
  } catch (const std::system_error& error) {
    LOG(WARNING) << "Cannot make a thread for a client: " << error.what();
    connections_.pop_back();
  }
}

void DirectServer::removeDone() {
  connections_.remove_if([](Connection& connection) {
    if (connection.isDone) connection.thread.join();
    return connection.isDone;
  });
}

void DirectServer::serve(Connection& connection) {
  Frame frame;
  while (util::callWithoutExceptions("the direct channel", [&] {
           return serveFrame(frame, connection);
         }).ok()) {
  }
  connection.lease.reset();
  const std::lock_guard lock(mutex_);
  connection.channel.close();
  connection.isDone = true;
  done_.notify_all();
}

Status DirectServer::serveFrame(Frame& frame, Connection& connection) {
  // A client may be silent for any time between requests.
  while (!connection.channel.isReadable(kIdleInterval)) {
  }
  // An exception leaves the rest of a message in the socket, so that the connection has to end.
  const Status received = util::callWithoutExceptions("receiving a request", [&] {
    return connection.channel.receive(&frame, transferDeadline());
  });
  if (received.error_code() == StatusCode::RESOURCE_EXHAUSTED) {
    sendReply(connection.channel, received, StepReply(), transferDeadline());
  }
  RETURN_IF_ERROR(received);
  return dispatch(frame, connection);
}

template <typename Request, typename Reply>
Status DirectServer::serve(const Frame& frame, Channel& channel, Rpc<Request, Reply> rpc) {
  Request request;
  Reply reply;
  ClientSocket clientSocket;
  const Deadline deadline =
      frame.timeout.count() == 0 ? handlers_.defaultDeadline() : Clock::now() + frame.timeout;
  const Status status = util::callWithoutExceptions("the direct channel", [&] {
    RETURN_IF_ERROR(parseMessage(frame.payload, &request));
    return (handlers_.*rpc)(request, &reply, {deadline, &clientSocket});
  });
  std::vector<int> descriptors;
  if (status.ok() && clientSocket.socket.isOpen()) descriptors.push_back(clientSocket.socket.get());
  return sendReply(channel, status, reply, transferDeadline(), descriptors);
}

Status DirectServer::holdLease(Connection& connection) {
  Status status;
  if (!connection.lease) status = handlers_.openLease(&connection.lease);
  HoldLeaseReply reply;
  if (status.ok()) reply.set_lease_id(connection.lease->id());
  return sendReply(connection.channel, status, reply, transferDeadline());
}

Status DirectServer::dispatch(const Frame& frame, Connection& connection) {
  Channel& channel = connection.channel;
  switch (frame.method()) {
    case Method::kGetVersion:
      return serve(frame, channel, &RpcHandlers::getVersion);
    case Method::kGetSpaces:
      return serve(frame, channel, &RpcHandlers::getSpaces);
    case Method::kStartSession:
      return serve(frame, channel, &RpcHandlers::startSession);
    case Method::kForkSession:
      return serve(frame, channel, &RpcHandlers::forkSession);
    case Method::kEndSession:
      return serve(frame, channel, &RpcHandlers::endSession);
    case Method::kStep:
      return serve(frame, channel, &RpcHandlers::step);
    case Method::kAddBenchmark:
      return serve(frame, channel, &RpcHandlers::addBenchmark);
    case Method::kSendSessionParameter:
      return serve(frame, channel, &RpcHandlers::sendSessionParameter);
    case Method::kHoldLease:
      return holdLease(connection);
    default:
      return sendReply(
          channel,
          Status(StatusCode::UNIMPLEMENTED, "There is no method " + std::to_string(frame.code)),
          StepReply(), transferDeadline());
  }
}

}  // namespace compiler_gym::runtime
