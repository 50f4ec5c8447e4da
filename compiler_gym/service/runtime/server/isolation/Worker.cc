#include "compiler_gym/service/runtime/server/isolation/Worker.h"

#include <glog/logging.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

namespace {

// A process ends itself at its deadline. After this grace period, it is considered unable to.
constexpr std::chrono::milliseconds kGrace(50);
constexpr std::chrono::milliseconds kDeathNoticeTimeout(2000);
// A killed process closes its sockets shortly before it ends.
constexpr int kEndingMilliseconds = 200;
Status closedWhileWaiting() {
  return Status(StatusCode::NOT_FOUND,
                "Session not found: it was ended while this request waited for it");
}

}  // namespace

Status Worker::prepare(ForkServerProcess& forkServer, const Origin& origin,
                       std::shared_ptr<Worker>* process, FileDescriptor* control) {
  std::unique_ptr<WorkerRecord> record;
  RETURN_IF_ERROR(WorkerRecord::create(&record));
  FileDescriptor ours;
  RETURN_IF_ERROR(Channel::pair(&ours, control));
  process->reset(new Worker(forkServer, origin, Channel(std::move(ours)), std::move(record)));
  return Status::OK;
}

Status Worker::start(ForkServerProcess& forkServer, const Origin& origin, Deadline deadline,
                     std::shared_ptr<Worker>* process) {
  FileDescriptor control;
  RETURN_IF_ERROR(prepare(forkServer, origin, process, &control));
  RETURN_IF_ERROR(forkServer.spawn(control.get(), (*process)->record_->memory()));
  // Only the process may hold this socket, so that end of file means the end of the process.
  control.close();
  StartSessionRequest request;
  *request.mutable_benchmark() = *origin.benchmark;
  request.set_action_space(origin.actionSpace);
  StartSessionReply reply;
  return (*process)->call(Method::kStartSession, request, &reply, deadline);
}

Worker::~Worker() {
  // Otherwise the process would continue to the end of its request. A copy that is still being set
  // up is not killed: it ends in order afterwards, since it may have resources to release.
  if (record_->isAtWork() && !isDead()) kill();
}

void Worker::kill() const {
  const std::lock_guard lock(identityMutex_);
  // A process that is not ready serves no request, and ends when its socket is closed.
  if (pidfd_.isOpen()) syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

int Worker::pid() const {
  const std::lock_guard lock(identityMutex_);
  return pid_;
}

Status Worker::receiveReady(Deadline deadline) {
  Frame frame;
  RETURN_IF_ERROR(control_.receive(&frame, deadline));
  if (frame.method() != Method::kReady || frame.payload.size() != sizeof(int32_t) ||
      frame.descriptors.size() != 1) {
    return Status(StatusCode::INTERNAL, "The session's worker has not reported that it is ready");
  }
  int32_t pid = 0;
  std::memcpy(&pid, frame.payload.data(), sizeof(pid));
  const std::lock_guard lock(identityMutex_);
  pidfd_ = std::move(frame.descriptors[0]);
  pid_ = pid;
  life_ = Life::kReady;
  // A pidfd is readable when the process has ended.
  pollfd process = {pidfd_.get(), POLLIN, 0};
  if (poll(&process, 1, 0) == 0) forkServer_.forgetDeath(pid);
  return Status::OK;
}

bool Worker::hasHungUp() {
  while (control_.isReadable()) {
    if (life_ == Life::kReady || !receiveReady(Clock::now()).ok()) return true;
  }
  return false;
}

Status Worker::lock(Deadline deadline, std::unique_lock<std::timed_mutex>* lock) {
  *lock = std::unique_lock(mutex_, std::defer_lock);
  if (!lock->try_lock_until(deadline)) {
    return Status(StatusCode::DEADLINE_EXCEEDED,
                  "The time limit was reached while an earlier request of the session was running");
  }
  if (isClosed_) return closedWhileWaiting();
  if (isDead()) return endReport_.status;
  if (Clock::now() >= deadline) {
    return Status(StatusCode::DEADLINE_EXCEEDED,
                  "The time limit was reached before the request began");
  }
  return Status::OK;
}

Status Worker::call(Method method, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, Deadline deadline) {
  std::unique_lock<std::timed_mutex> guard;
  RETURN_IF_ERROR(lock(deadline, &guard));
  const auto timeLimit = static_cast<uint64_t>(
      std::chrono::ceil<std::chrono::microseconds>(deadline - Clock::now()).count());
  Frame frame;
  // After an exception, e.g. for lack of memory, the channel may hold a part of the reply.
  const Status status = util::callWithoutExceptions(
      "a request to a worker", [&] { return exchange(method, request, &frame, deadline); });
  if (status.ok()) return takeReply(std::move(frame), reply);
  if (status.error_code() == StatusCode::DEADLINE_EXCEEDED) {
    record_->setEndReason(EndReason::kDeadline, timeLimit);
  }
  die();
  const bool isOurFault = status.error_code() == StatusCode::RESOURCE_EXHAUSTED ||
                          status.error_code() == StatusCode::INTERNAL;
  if (isOurFault && !isClosed_) {
    endReport_.status = Status(status.error_code(),
                               "The service had to end the session, because the exchange with its "
                               "process failed: " +
                                   status.error_message());
  }
  return endReport_.status;
}

Status Worker::exchange(Method method, const google::protobuf::MessageLite& request, Frame* reply,
                        Deadline deadline) {
  RETURN_IF_ERROR(sendRequest(control_, method, request, deadline, {}, kGrace));
  if (life_ == Life::kStarting) {
    RETURN_IF_ERROR(receiveReady(deadline + kGrace));
    // close() could not kill the process before it was ready.
    if (isClosed_) kill();
  }
  return control_.receive(reply, deadline + kGrace);
}

bool Worker::isForkable(Deadline deadline) {
  std::unique_lock<std::timed_mutex> guard;
  // Returns true on errors, which fork() then reports.
  return !lock(deadline, &guard).ok() || record_->isForkable();
}

void Worker::close() {
  isClosed_ = true;
  const std::unique_lock guard(mutex_, std::try_to_lock);
  // Requests on the session's own socket do not hold the lock.
  if (!guard || record_->isAtWork()) kill();
}

Status Worker::endStatus() {
  const std::lock_guard guard(mutex_);
  // A failure on the direct channel has not been noticed here yet.
  if (!isDead() && hasHungUp()) return die();
  return endReport_.status;
}

bool Worker::hasDiedInAction() const {
  return isDead() && !isClosed_ && !endReport_.wasLost && record_->isActing() &&
         record_->endReason() != EndReason::kClientGone;
}

void Worker::appendToEndReport(const std::string& text) {
  const std::lock_guard guard(mutex_);
  Status& status = endReport_.status;
  if (isDead()) status = Status(status.error_code(), status.error_message() + text);
}

Status Worker::die() {
  // A process that never got a request may still have reported that it is ready.
  if (life_ == Life::kStarting) receiveReady(Clock::now());
  const bool hadEnded = record_->endReason() == EndReason::kNone && isEnding();
  kill();
  endReport_ = describeEnd(hadEnded);
  life_ = Life::kDead;
  control_.close();
  VLOG(1) << endReport_.status.error_message();
  return endReport_.status;
}

bool Worker::isEnding() const {
  if (!pidfd_.isOpen()) return false;
  pollfd process = {pidfd_.get(), POLLIN, 0};
  return poll(&process, 1, kEndingMilliseconds) == 1;
}

EndReport Worker::describeEnd(bool hadEnded) const {
  if (isClosed_) return {closedWhileWaiting(), /*wasLost=*/false, /*memoryNote=*/""};
  EndFacts facts;
  facts.wasReady = life_ == Life::kReady;
  facts.isCopy = isCopy_;
  facts.hadEnded = hadEnded;
  facts.memoryLimit = forkServer_.sessionMemoryBytes();
  if (facts.wasReady && record_->endReason() == EndReason::kNone) {
    facts.death = forkServer_.waitForDeath(pid_, kDeathNoticeTimeout);
    facts.forkServerHasEnded = forkServer_.hasEnded();
  }
  return reportEnd(*record_, facts);
}

std::string Worker::memoryNote() {
  const std::lock_guard guard(mutex_);
  return endReport_.memoryNote;
}

size_t Worker::ownMemoryBytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/smaps_rollup");
  const std::string key = "Private_Dirty:";
  size_t kibibytes = 0;
  for (std::string word; file >> word;) {
    if (word == key) file >> kibibytes;
  }
  return kibibytes * 1024;
}

}  // namespace compiler_gym::runtime
