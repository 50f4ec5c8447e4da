#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"

#include <glog/logging.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <system_error>

#include "compiler_gym/service/runtime/forkserver/Foreground.h"
#include "compiler_gym/service/runtime/forkserver/ForkServer.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

namespace {

constexpr std::chrono::seconds kStartTimeout(60);
constexpr std::chrono::seconds kSendTimeout(10);
// Most ends are queried soon after they happen. Others are never queried, and must not pile up.
constexpr size_t kMaxRememberedDeaths = 4096;

// Receives one of the replies that the fork server sends at its start.
Status receiveReply(Channel& channel, google::protobuf::MessageLite* reply) {
  Frame frame;
  const Status status = channel.receive(&frame, Clock::now() + kStartTimeout);
  if (!status.ok()) {
    return Status(StatusCode::INTERNAL, "The compiler ended the process in which it was started");
  }
  if (frame.code != 0) return Status(static_cast<StatusCode>(frame.code), frame.payload);
  return parseMessage(frame.payload, reply);
}

}  // namespace

Status ForkServerProcess::start(const SessionFactory& makeSession,
                                const boost::filesystem::path& workingDirectory,
                                const Limits& limits, std::function<void()> removeDirectory,
                                std::unique_ptr<ForkServerProcess>* forkServer) {
  FileDescriptor ours;
  FileDescriptor theirs;
  RETURN_IF_ERROR(Channel::pair(&ours, &theirs));
  const pid_t pid = fork();
  if (pid < 0) {
    return Status(StatusCode::INTERNAL,
                  "Cannot fork the fork server: " + std::generic_category().message(errno));
  }
  if (limits.isForeground && pid != 0) {
    ours.close();
    runInForeground(makeSession, workingDirectory, limits, pid, Channel(std::move(theirs)));
  }
  // Leaves the signals of the terminal to the process in the foreground.
  if (limits.isForeground) setsid();
  if (!limits.isForeground && pid == 0) {
    ours.close();
    runForkServer(makeSession, workingDirectory, limits, removeDirectory,
                  Channel(std::move(theirs)));
  }
  theirs.close();
  Channel channel(std::move(ours));
  GetVersionReply version;
  GetSpacesReply spaces;
  RETURN_IF_ERROR(receiveReply(channel, &version));
  RETURN_IF_ERROR(receiveReply(channel, &spaces));
  forkServer->reset(new ForkServerProcess(limits.isForeground ? getppid() : pid, std::move(channel),
                                          ServiceDescription(std::move(version), std::move(spaces)),
                                          limits));
  return Status::OK;
}

ForkServerProcess::ForkServerProcess(int pid, Channel channel, ServiceDescription description,
                                     const Limits& limits)
    : pid_(pid),
      description_(std::move(description)),
      limits_(limits),
      channel_(std::move(channel)),
      watcher_([this] { watch(); }) {}

ForkServerProcess::~ForkServerProcess() { stop(); }

void ForkServerProcess::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(isStopping_, true)) return;
  }
  {
    const std::lock_guard lock(sendMutex_);
    channel_.send(static_cast<uint16_t>(Method::kQuit), "", Clock::now() + kSendTimeout);
  }
  // The process in the foreground reads this when its session has ended.
  if (limits_.isForeground) shutdown(channel_.socket().get(), SHUT_RD);
  watcher_.join();
  if (!limits_.isForeground) waitpid(pid_, nullptr, 0);
}

void ForkServerProcess::onEnd(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  onEnd_ = std::move(callback);
  if (hasEnded_) onEnd_();
}

Status ForkServerProcess::spawn(int control, int record) {
  const std::lock_guard lock(sendMutex_);
  const Status status = channel_.send(static_cast<uint16_t>(Method::kSpawn), "",
                                      Clock::now() + kSendTimeout, {}, {control, record});
  if (status.ok() || status.error_code() == StatusCode::RESOURCE_EXHAUSTED) return status;
  return Status(StatusCode::UNAVAILABLE, "The fork server has ended: restart the service");
}

void ForkServerProcess::watch() {
  Frame frame;
  while (channel_.receive(&frame, Clock::now() + kForever).ok()) {
    if (frame.method() == Method::kMoved) {
      LOG(INFO) << "The code of new sessions is in large pages now";
      ++generation_;
    }
    Death death = {};
    if (frame.method() != Method::kDied || frame.payload.size() != sizeof(death)) continue;
    std::memcpy(&death, frame.payload.data(), sizeof(death));
    noteDeath(death);
  }
  const std::lock_guard lock(mutex_);
  if (isStopping_) return;
  LOG(ERROR) << (limits_.isForeground ? "The process in the foreground" : "The fork server")
             << " (process " << pid_ << ") has ended unexpectedly";
  hasEnded_ = true;
  died_.notify_all();
  if (onEnd_) onEnd_();
}

void ForkServerProcess::noteDeath(const Death& death) {
  VLOG(2) << "Worker " << death.pid << " has ended with wait status " << death.status;
  const std::lock_guard lock(mutex_);
  deaths_.push_back(death);
  if (deaths_.size() > kMaxRememberedDeaths) deaths_.pop_front();
  died_.notify_all();
}

std::optional<Death> ForkServerProcess::waitForDeath(int pid, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  std::optional<Death> found;
  died_.wait_for(lock, limit, [&] {
    const auto death = std::find_if(deaths_.begin(), deaths_.end(),
                                    [pid](const Death& each) { return each.pid == pid; });
    if (death != deaths_.end()) found = *death;
    return found || hasEnded_;
  });
  return found;
}

bool ForkServerProcess::hasEnded() {
  const std::lock_guard lock(mutex_);
  // In the foreground, the process that has ended is the session itself.
  return hasEnded_ && !limits_.isForeground;
}

void ForkServerProcess::forgetDeath(int pid) {
  const std::lock_guard lock(mutex_);
  deaths_.erase(std::remove_if(deaths_.begin(), deaths_.end(),
                               [pid](const Death& each) { return each.pid == pid; }),
                deaths_.end());
}

}  // namespace compiler_gym::runtime
