#include "compiler_gym/service/runtime/server/access/Acceptor.h"

#include <glog/logging.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "compiler_gym/service/runtime/server/access/PeerOwner.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

namespace {

// Delay after a pending connection could not be accepted, e.g. for lack of file descriptors.
constexpr std::chrono::milliseconds kPause(10);

// Any user of the machine can cause warnings. The limit keeps them from filling the disk.
constexpr int kSecondsBetweenWarnings = 10;

bool isOfThisUser(const FileDescriptor& client) {
  const std::optional<uid_t> owner = ownerOfPeer(client.get());
  if (owner == geteuid()) return true;
  LOG_EVERY_T(WARNING, kSecondsBetweenWarnings)
      << "Refused a connection of "
      << (owner ? "the user with id " + std::to_string(*owner) : "an unknown user")
      << ": only the user with id " << geteuid()
      << ", who runs this service, may connect. --token_file and --tls_client_ca let others in";
  return false;
}

void acceptAt(const Acceptor::Entrance& entrance) {
  FileDescriptor client(
      accept4(entrance.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!client.isOpen()) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    LOG_EVERY_T(WARNING, kSecondsBetweenWarnings)
        << "Cannot accept a client: " << std::generic_category().message(errno);
    std::this_thread::sleep_for(kPause);
    return;
  }
  if (!entrance.isForOwnerOnly || isOfThisUser(client)) entrance.take(std::move(client));
}

}  // namespace

Status Acceptor::start(std::vector<Entrance> entrances, std::unique_ptr<Acceptor>* acceptor) {
  FileDescriptor stopEvent(eventfd(0, EFD_CLOEXEC));
  try {
    if (!stopEvent.isOpen()) throw std::system_error(errno, std::generic_category());
    acceptor->reset(new Acceptor(std::move(entrances), std::move(stopEvent)));
  } catch (const std::system_error& error) {
    return Status(StatusCode::RESOURCE_EXHAUSTED,
                  std::string("Cannot accept connections: ") + error.what());
  }
  return Status::OK;
}

Acceptor::Acceptor(std::vector<Entrance> entrances, FileDescriptor stopEvent)
    : entrances_(std::move(entrances)),
      stopEvent_(std::move(stopEvent)),
      thread_([this] { run(); }) {}

Acceptor::~Acceptor() { stop(); }

void Acceptor::stop() {
  if (!thread_.joinable()) return;
  constexpr uint64_t kEvent = 1;
  PCHECK(write(stopEvent_.get(), &kEvent, sizeof(kEvent)) == sizeof(kEvent));
  thread_.join();
  entrances_.clear();
}

void Acceptor::run() {
  std::vector<pollfd> polled;
  for (const Entrance& entrance : entrances_)
    polled.push_back({entrance.listener.get(), POLLIN, 0});
  polled.push_back({stopEvent_.get(), POLLIN, 0});
  while (true) {
    if (poll(polled.data(), polled.size(), -1) < 0) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (polled.back().revents != 0) return;
    for (size_t i = 0; i < entrances_.size(); ++i) {
      if (polled[i].revents != 0) acceptAt(entrances_[i]);
    }
  }
}

}  // namespace compiler_gym::runtime
