#include "compiler_gym/service/runtime/worker/WorkerLoop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "compiler_gym/service/runtime/worker/ForkSibling.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "compiler_gym/util/Process.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

// Time limit for sending a reply to a peer that does not read it.
constexpr std::chrono::seconds kReplyTimeout(60);

// Takes the place of a pid.
constexpr pid_t kNotForkable = -2;

// The timeout in a frame if the service itself limits the time.
constexpr std::chrono::microseconds kNoTime(0);

// Decodes a request, calls `serve`, and encodes the reply.
template <typename Request, typename Reply, typename Serve>
Status handle(const Frame& frame, std::string* reply, const Serve& serve) {
  Request request;
  Reply result;
  RETURN_IF_ERROR(parseMessage(frame.payload, &request));
  RETURN_IF_ERROR(serve(request, &result));
  if (result.SerializeToString(reply)) return Status::OK;
  return Status(StatusCode::RESOURCE_EXHAUSTED,
                "The observations are larger than a message can be");
}

Status unimplemented(const char* text) { return Status(StatusCode::UNIMPLEMENTED, text); }

}  // namespace

WorkerLoop::WorkerLoop(const ServiceDescription& description,
                       std::unique_ptr<CompilationSession> session, const Limits& limits,
                       util::FileDescriptor control, std::unique_ptr<WorkerRecord> record,
                       int forkServerPid, int notices)
    : limits_(limits),
      forkServerPid_(forkServerPid),
      notices_(notices),
      log_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)),
      record_(std::move(record)),
      session_(std::make_unique<GuardedCompiler>(std::move(session), description, *record_)),
      control_(std::move(control)),
      watchdog_(limits.sessionMemoryBytes) {
  if (!limits_.isForeground) {
    // Disables core dumps: sessions may crash as part of normal use, and dumps take long to write.
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    util::setProcessObserver([this] { tellOfCommands(); });
    tieToForkServer();
  }
  reportReady();
  watchdog_.watch(record_.get(), control_.socket().get(), -1);
}

void WorkerLoop::tieToForkServer() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != forkServerPid_) std::_Exit(EXIT_FAILURE);
  record_->adopt();
  hasToldOfCommands_ = false;
}

void WorkerLoop::reportReady() {
  const int32_t pid = getpid();
  const util::FileDescriptor pidfd(util::openPidfd(pid));
  std::string payload(sizeof(pid), '\0');
  std::memcpy(payload.data(), &pid, sizeof(pid));
  if (!pidfd.isOpen()) {
    record_->setEndReason(EndReason::kNoPidfd, static_cast<uint64_t>(errno));
    std::_Exit(EXIT_FAILURE);
  }
  // The session may have been ended already. This process still makes the copies that were promised
  // before, and ends after the last request.
  const Status sent = control_.send(static_cast<uint16_t>(Method::kReady), payload,
                                    Clock::now() + kReplyTimeout, {}, {pidfd.get()});
  if (sent.error_code() != StatusCode::RESOURCE_EXHAUSTED) return;
  record_->setEndReason(EndReason::kNotForked, ETOOMANYREFS);
  std::_Exit(EXIT_FAILURE);
}

void WorkerLoop::tellOfCommands() {
  if (hasToldOfCommands_) return;
  const int32_t pid = getpid();
  hasToldOfCommands_ = send(notices_, &pid, sizeof(pid), MSG_NOSIGNAL) == sizeof(pid);
}

void WorkerLoop::run() {
  Frame frame;
  while (true) {
    Channel& channel = awaitRequest();
    const Status status = channel.receive(&frame, Clock::now() + kReplyTimeout);
    if (!status.ok()) {
      // A request that is too large is the client's error. Reports it before the end.
      sendReply(channel, status, StepReply(), Clock::now() + kReplyTimeout);
      return end();
    }
    if (!serve(channel, frame)) return end();
  }
}

Channel& WorkerLoop::awaitRequest() {
  const Deadline begin = Clock::now();
  std::array<pollfd, 2> files = {
      {{control_.socket().get(), POLLIN, 0}, {direct_.socket().get(), POLLIN, 0}}};
  const auto hasRequest = [&files](int timeout) {
    return poll(files.data(), files.size(), timeout) > 0;
  };
  if (!direct_.isOpen() || !polling_.waitFor([&] { return hasRequest(0); })) {
    while (!hasRequest(-1)) {
    }
  }
  // The client may continue, as if the copy existed, before the order has reached this process.
  if (files[0].revents != 0 || record_->isCopyOrdered()) return control_;
  polling_.noteWait(Clock::now() - begin);
  return direct_;
}

bool WorkerLoop::serve(Channel& channel, Frame& frame) {
  const bool isClient = &channel == &direct_;
  if (!isClient && frame.method() == Method::kFork) {
    fork(frame);
    return true;
  }

  watchdog_.arm(frame.timeout == kNoTime ? std::chrono::microseconds(limits_.requestTimeout)
                                         : frame.timeout);
  std::string reply;
  const Status status =
      util::callWithoutExceptions("the worker", [&] { return dispatch(frame, isClient, &reply); });
  watchdog_.disarm();
  handOutputOn();
  record_->setForkable(isForkable());

  const Deadline deadline = Clock::now() + kReplyTimeout;
  const Status sent = status.ok() ? channel.send(0, reply, deadline)
                                  : sendReply(channel, status, StepReply(), deadline);
  if (!sent.ok()) return false;
  watchdog_.arm(limits_.requestTimeout);
  session_->afterReply();
  watchdog_.disarm();
  return true;
}

void WorkerLoop::handOutputOn() const {
  if (!limits_.isForeground) record_->handOutputOn(log_.get());
}

Status WorkerLoop::dispatch(const Frame& frame, bool isClient, std::string* reply) {
  if (frame.method() == Method::kStep) {
    return handle<StepRequest, StepReply>(frame, reply, [this](const auto& request, auto* result) {
      return session_->step(request, result);
    });
  }
  if (isClient) return unimplemented("This socket serves Step only: ask the service");
  switch (frame.method()) {
    case Method::kStartSession:
      return handle<StartSessionRequest, StartSessionReply>(
          frame, reply,
          [this](const auto& request, auto* result) { return session_->start(request, result); });
    case Method::kObserve:
      return handle<StepRequest, StepReply>(
          frame, reply,
          [this](const auto& request, auto* result) { return session_->observe(request, result); });
    case Method::kSendSessionParameter:
      return handle<SendSessionParameterRequest, SendSessionParameterReply>(
          frame, reply, [this](const auto& request, auto* result) {
            return session_->setParameters(request, result);
          });
    case Method::kSaveReproducer:
      return handle<ListEvent, StepReply>(
          frame, reply,
          [this](const auto& arguments, auto* /*none*/) { return saveReproducer(arguments); });
    default:
      return unimplemented("Not a method of a worker");
  }
}

Status WorkerLoop::saveReproducer(const ListEvent& arguments) {
  if (arguments.event_size() != 2) {
    return Status(StatusCode::INVALID_ARGUMENT, "Expected an action and a directory");
  }
  return session_->saveReproducer(arguments.event(0), arguments.event(1).string_value());
}

bool WorkerLoop::isForkable() const {
  return !limits_.isForeground && hasOneThread() && session_->forkable();
}

void WorkerLoop::fork(Frame& frame) {
  record_->noteCopy();
  if (frame.descriptors.size() != 3) return;
  std::unique_ptr<WorkerRecord> record;
  if (WorkerRecord::open(std::move(frame.descriptors[1]), &record).ok()) {
    // Copied before the fork, since this process may continue before the copy reads it.
    record->copyHistory(*record_);
    const pid_t pid = isForkable() ? forkSibling() : kNotForkable;
    if (pid == 0) return becomeCopy(frame, std::move(record));
    if (pid == kNotForkable) {
      record->setEndReason(EndReason::kNotForkable, 0);
    } else if (pid < 0) {
      record->setEndReason(EndReason::kNotForked, static_cast<uint64_t>(errno));
    }
  }
  // Only the copy may hold these files, so that end of file means that it has ended or never
  // existed.
  frame.descriptors.clear();
}

void WorkerLoop::becomeCopy(Frame& frame, std::unique_ptr<WorkerRecord> record) {
  control_ = Channel(std::move(frame.descriptors[0]));
  direct_ = Channel(std::move(frame.descriptors[2]), limits_.maxMessageBytes);
  session_->setRecord(*record);
  record_ = std::move(record);
  frame.descriptors.clear();
  tieToForkServer();
  reportReady();
  polling_ = Polling();
  // A copy that is no longer needed ends only after this, since it may have resources to release.
  watchdog_.watch(record_.get(), -1, -1);
  watchdog_.arm(limits_.requestTimeout);
  session_->afterFork();
  watchdog_.disarm();
  watchdog_.watch(record_.get(), control_.socket().get(), direct_.socket().get());
  record_->setForkable(isForkable());
}

void WorkerLoop::end() {
  // The session may have files to remove. The watchdog ignores the sockets, since the client is
  // gone already.
  watchdog_.watch(record_.get(), -1, -1);
  if (!limits_.isForeground) watchdog_.arm(std::chrono::seconds(1));
  if (limits_.isForeground || !session_->holdsOnlyMemory()) session_.reset();
  watchdog_.disarm();
  handOutputOn();
}

}  // namespace compiler_gym::runtime
