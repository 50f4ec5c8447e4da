#include "compiler_gym/service/runtime/server/isolation/SessionProcess.h"

#include <glog/logging.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
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

// A process ends itself at its deadline. After so much more it is taken to be unable to.
constexpr std::chrono::milliseconds kGrace(50);
constexpr std::chrono::milliseconds kDeathNoticeTimeout(2000);
constexpr std::chrono::seconds kSendTimeout(10);
// The fork for which a spare is made may still be under way. Nothing else is worth waiting for.
constexpr std::chrono::milliseconds kSpareTimeout(10);
// The copy of a large process takes some milliseconds.
constexpr std::chrono::milliseconds kMeetingTimeout(100);
// A process that is killed closes its sockets a moment before it has ended.
constexpr int kEndingMilliseconds = 200;
// From this share of its limit on, a process may have failed for want of memory.
constexpr uint64_t kScarcePercent = 90;

Status closedWhileWaiting() {
  return Status(StatusCode::NOT_FOUND,
                "Session not found: it was ended while this request waited for it");
}

std::string inSeconds(uint64_t microseconds) {
  std::ostringstream text;
  text << std::round(static_cast<double>(microseconds) / 1e3) / 1e3 << " s";
  return text.str();
}

// Clients know a session that was lost from one whose compiler has crashed by this beginning.
constexpr char kWasLost[] = "The session was lost: ";

// Whether a signal is one that compilers do not send to themselves.
bool isFromOutside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

std::string inMebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

Status SessionProcess::prepare(ForkServerProcess& forkServer, const Origin& origin,
                               std::shared_ptr<SessionProcess>* process, FileDescriptor* control) {
  std::unique_ptr<SessionRecord> record;
  RETURN_IF_ERROR(SessionRecord::create(&record));
  FileDescriptor ours;
  RETURN_IF_ERROR(Channel::pair(&ours, control));
  process->reset(
      new SessionProcess(forkServer, origin, Channel(std::move(ours)), std::move(record)));
  return Status::OK;
}

Status SessionProcess::start(ForkServerProcess& forkServer, const Origin& origin, Deadline deadline,
                             std::shared_ptr<SessionProcess>* process) {
  FileDescriptor control;
  RETURN_IF_ERROR(prepare(forkServer, origin, process, &control));
  RETURN_IF_ERROR(forkServer.spawn(control.get(), (*process)->record_->memory()));
  // The process alone may hold it, so that its end of file tells of the end of the process.
  control.close();
  StartSessionRequest request;
  *request.mutable_benchmark() = *origin.benchmark;
  request.set_action_space(origin.actionSpace);
  StartSessionReply reply;
  return (*process)->call(Method::kStartSession, request, &reply, deadline);
}

SessionProcess::~SessionProcess() {
  // Left alone it would go on to the end of its request. A copy that is being set up ends in order
  // when it is there: it may have something to give back by then.
  if (record_->isAtWork() && !epitaph_) kill();
}

void SessionProcess::kill() const {
  const std::lock_guard lock(identityMutex_);
  // One that has not introduced itself is not at work, and ends when its socket is closed.
  if (pidfd_.isOpen()) syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

int SessionProcess::pid() const {
  const std::lock_guard lock(identityMutex_);
  return pid_;
}

Status SessionProcess::receiveIntroduction(Deadline deadline) {
  Frame frame;
  RETURN_IF_ERROR(control_.receive(&frame, deadline));
  if (frame.method() != Method::kIntroduction || frame.payload.size() != sizeof(int32_t) ||
      frame.descriptors.size() != 1) {
    return Status(StatusCode::INTERNAL, "The session process has not introduced itself");
  }
  int32_t pid = 0;
  std::memcpy(&pid, frame.payload.data(), sizeof(pid));
  const std::lock_guard lock(identityMutex_);
  pidfd_ = std::move(frame.descriptors[0]);
  pid_ = pid;
  // A pidfd is readable when the process has ended.
  pollfd process = {pidfd_.get(), POLLIN, 0};
  if (poll(&process, 1, 0) == 0) forkServer_.forgetDeath(pid);
  return Status::OK;
}

bool SessionProcess::hasHungUp() {
  while (control_.isReadable()) {
    if (pid_ != 0 || !receiveIntroduction(Clock::now()).ok()) return true;
  }
  return false;
}

Status SessionProcess::lock(Deadline deadline, std::unique_lock<std::timed_mutex>* lock) {
  *lock = std::unique_lock(mutex_, std::defer_lock);
  if (!lock->try_lock_until(deadline)) {
    return Status(StatusCode::DEADLINE_EXCEEDED,
                  "The time limit was over while an earlier request for the session was at work");
  }
  if (isClosed_) return closedWhileWaiting();
  if (!epitaph_ && Clock::now() >= deadline) {
    return Status(StatusCode::DEADLINE_EXCEEDED,
                  "The time limit was over before the request began");
  }
  return epitaph_.value_or(Status::OK);
}

Status SessionProcess::call(Method method, const google::protobuf::MessageLite& request,
                            google::protobuf::MessageLite* reply, Deadline deadline) {
  std::unique_lock<std::timed_mutex> guard;
  RETURN_IF_ERROR(lock(deadline, &guard));
  const auto timeLimit = static_cast<uint64_t>(
      std::chrono::ceil<std::chrono::microseconds>(deadline - Clock::now()).count());
  Frame frame;
  const Status status = exchange(method, request, &frame, deadline);
  if (status.ok()) return takeReply(std::move(frame), reply);
  if (status.error_code() == StatusCode::DEADLINE_EXCEEDED) {
    record_->setEndReason(EndReason::kDeadline, timeLimit);
  }
  return die();
}

Status SessionProcess::exchange(Method method, const google::protobuf::MessageLite& request,
                                Frame* reply, Deadline deadline) {
  RETURN_IF_ERROR(sendRequest(control_, method, request, deadline, {}, kGrace));
  if (pid_ == 0) {
    RETURN_IF_ERROR(receiveIntroduction(deadline + kGrace));
    // close() could not kill it before.
    if (isClosed_) kill();
  }
  return control_.receive(reply, deadline + kGrace);
}

bool SessionProcess::isForkable(Deadline deadline) {
  std::unique_lock<std::timed_mutex> guard;
  // If there is something wrong, fork() says what.
  return !lock(deadline, &guard).ok() || record_->isForkable();
}

Status SessionProcess::fork(Deadline deadline, std::shared_ptr<SessionProcess>* copy,
                            std::unique_ptr<CopyOrder>* order) {
  std::unique_lock<std::timed_mutex> guard;
  RETURN_IF_ERROR(lock(deadline, &guard));
  const uint64_t state = record_->state();
  isCopiedAgain_ = std::exchange(copiedState_, state) == state;
  if (hasHungUp()) return die();
  if (hasSpare()) {
    *copy = std::move(spare_);
    return Status::OK;
  }
  spare_.reset();
  Sockets sockets;
  RETURN_IF_ERROR(orderCopy(copy, &sockets));
  *order =
      std::make_unique<CopyOrder>(shared_from_this(), std::move(guard), *copy, std::move(sockets));
  return Status::OK;
}

void SessionProcess::makeSpare() {
  const std::shared_ptr<SessionProcess> spare = orderSpare();
  if (spare) spare->meet();
}

std::shared_ptr<SessionProcess> SessionProcess::orderSpare() {
  const std::unique_lock guard(mutex_, kSpareTimeout);
  if (!guard || isClosed_ || epitaph_ || record_->isBusy() || hasSpare()) return nullptr;
  if (!record_->isForkable()) return nullptr;
  std::shared_ptr<SessionProcess> spare;
  Sockets sockets;
  if (!orderCopy(&spare, &sockets).ok()) return nullptr;
  makeCopy(*spare, sockets);
  spare_ = spare;
  return spare;
}

void SessionProcess::meet() {
  // Whoever has got it already finds out by itself.
  const std::unique_lock guard(mutex_, kSpareTimeout);
  // If it takes longer, or does not come at all, the next request finds out.
  if (guard && pid_ == 0 && !epitaph_ && control_.isReadable(kMeetingTimeout)) hasHungUp();
}

bool SessionProcess::dropSpare() {
  const std::unique_lock guard(mutex_, kSpareTimeout);
  if (guard) spare_.reset();
  return guard.owns_lock();
}

bool SessionProcess::hasSpare() {
  if (!spare_ || spare_->record_->state() != record_->state()) return false;
  const std::unique_lock guard(spare_->mutex_, std::try_to_lock);
  // Nobody has it yet, so whoever holds the lock is waiting for its introduction.
  if (guard && !spare_->epitaph_ && spare_->hasHungUp()) spare_->die();
  return !guard || !spare_->epitaph_;
}

Status SessionProcess::orderCopy(std::shared_ptr<SessionProcess>* copy, Sockets* sockets) {
  RETURN_IF_ERROR(prepare(forkServer_, origin_, copy, &sockets->control));
  RETURN_IF_ERROR(Channel::pair(&(*copy)->clientSocket_, &sockets->direct));
  (*copy)->record_->expectState(record_->state());
  record_->orderCopy();
  return Status::OK;
}

void SessionProcess::makeCopy(const SessionProcess& copy, const Sockets& sockets) {
  const Status status =
      control_.send(static_cast<uint16_t>(Method::kFork), "", Clock::now() + kSendTimeout, {},
                    {sockets.control.get(), copy.record_->memory(), sockets.direct.get()});
  if (!status.ok()) die();
}

SessionProcess::CopyOrder::CopyOrder(std::shared_ptr<SessionProcess> original,
                                     std::unique_lock<std::timed_mutex> guard,
                                     std::shared_ptr<const SessionProcess> copy, Sockets sockets)
    : original_(std::move(original)),
      guard_(std::move(guard)),
      copy_(std::move(copy)),
      sockets_(std::move(sockets)) {}

SessionProcess::CopyOrder::~CopyOrder() { original_->makeCopy(*copy_, sockets_); }

void SessionProcess::close() {
  isClosed_ = true;
  const std::unique_lock guard(mutex_, std::try_to_lock);
  // Requests on the session's own socket hold no lock.
  if (!guard || record_->isAtWork()) kill();
}

Status SessionProcess::epitaph() {
  const std::lock_guard guard(mutex_);
  // Requests on the direct channel do not come through here.
  if (!epitaph_ && hasHungUp()) return die();
  return epitaph_.value_or(Status::OK);
}

bool SessionProcess::hasDiedInAction() const {
  return isDead_ && !isClosed_ && !wasLost_ && record_->isActing() &&
         record_->endReason() != EndReason::kClientGone;
}

void SessionProcess::appendToEpitaph(const std::string& text) {
  const std::lock_guard guard(mutex_);
  if (epitaph_) epitaph_ = Status(epitaph_->error_code(), epitaph_->error_message() + text);
}

Status SessionProcess::die() {
  // One that was never asked anything may have introduced itself all the same.
  if (pid_ == 0) receiveIntroduction(Clock::now());
  hadEnded_ = record_->endReason() == EndReason::kNone && isEnding();
  kill();
  epitaph_ = describeDeath();
  isDead_ = true;
  control_.close();
  VLOG(1) << epitaph_->error_message();
  return *epitaph_;
}

bool SessionProcess::isEnding() const {
  if (!pidfd_.isOpen()) return false;
  pollfd process = {pidfd_.get(), POLLIN, 0};
  return poll(&process, 1, kEndingMilliseconds) == 1;
}

Status SessionProcess::describeDeath() {
  if (isClosed_) return closedWhileWaiting();
  const std::string activity = record_->describeActivity();
  std::string output = record_->outputTail();
  if (!output.empty()) output = ". It printed last:" + output;
  switch (record_->endReason()) {
    case EndReason::kDeadline:
      return Status(
          StatusCode::DEADLINE_EXCEEDED,
          "The time limit of " + inSeconds(record_->limit()) + " was over in " + activity + output);
    case EndReason::kMemory:
      return Status(StatusCode::RESOURCE_EXHAUSTED,
                    "The memory limit of " + inMebibytes(record_->limit()) +
                        " for a session was reached in " + activity +
                        " (--session_memory_mib of the service changes it)" + output);
    case EndReason::kClientGone:
      return Status(StatusCode::ABORTED, std::string(kWasLost) + "its client has gone away");
    case EndReason::kNotForked:
      return Status(StatusCode::RESOURCE_EXHAUSTED,
                    "Cannot make a process for the session: " +
                        std::generic_category().message(static_cast<int>(record_->limit())));
    case EndReason::kNotForkable:
      return Status(StatusCode::ABORTED,
                    "The session of which this one was to be a copy could not be copied any more "
                    "when it had finished what it was at: fork it again");
    case EndReason::kNone:
      break;
  }
  if (pid_ == 0) {
    return Status(StatusCode::ABORTED,
                  "The session of which this one was to be a copy ended before it was copied");
  }
  const std::optional<Death> death = forkServer_.waitForDeath(pid_, kDeathNoticeTimeout);
  if (death) memoryNote_ = describeMemory(*death);
  const std::string note = memoryNote_.empty() ? "" : ". " + memoryNote_;
  wasLost_ = hadEnded_ && death && isLoss(*death);
  if (wasLost_) {
    return Status(StatusCode::ABORTED, kWasLost + ("its process " + describeEnd(death)) +
                                           ", for which no action or observation is to blame" +
                                           note + output);
  }
  return Status(StatusCode::ABORTED,
                "The session's process " + describeEnd(death) + " in " + activity + note + output);
}

bool SessionProcess::isLoss(const Death& death) const {
  // One whose client has closed its socket ends in order.
  return !record_->isAtWork() ||
         (WIFSIGNALED(death.status) && isFromOutside(WTERMSIG(death.status)));
}

std::string SessionProcess::describeEnd(const std::optional<Death>& death) const {
  if (!death) return "ended";
  if (WIFSIGNALED(death->status)) {
    const int signal = WTERMSIG(death->status);
    return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(death->status));
}

// A compiler that gets no memory may crash, far from where it has asked for it.
std::string SessionProcess::describeMemory(const Death& death) const {
  const uint64_t limit = forkServer_.sessionMemoryBytes();
  const uint64_t peak = static_cast<uint64_t>(death.peakKibibytes) << 10;
  if (limit == 0 || peak < limit / 100 * kScarcePercent) return "";
  return "It had used " + inMebibytes(peak) + " of the " + inMebibytes(limit) +
         " of memory that a session may have (--session_memory_mib of the service)";
}

std::string SessionProcess::memoryNote() {
  const std::lock_guard guard(mutex_);
  return memoryNote_;
}

size_t SessionProcess::ownMemoryBytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/smaps_rollup");
  const std::string key = "Private_Dirty:";
  size_t kibibytes = 0;
  for (std::string word; file >> word;) {
    if (word == key) file >> kibibytes;
  }
  return kibibytes * 1024;
}

}  // namespace compiler_gym::runtime
