// A worker, as the process of the service sees it.
#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/server/isolation/EndReport.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/isolation/WorkerCopies.h"
#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/WorkerRecord.h"

namespace compiler_gym::runtime {

// The arguments that a session was started with.
struct Origin {
  std::shared_ptr<const Benchmark> benchmark;
  int actionSpace = 0;
};

// One process of a session. Methods may be called from any number of threads; requests are made one
// after the other. When the process has died they fail with the status of its end report:
//   ABORTED             it was ended by a signal, or has exited. The text begins with "The session
//                       was lost: " if it was killed from outside, or did nothing
//   DEADLINE_EXCEEDED   its request took longer than it may
//   RESOURCE_EXHAUSTED  it needed more memory than it may have
// with the action that it was applying, and what it has printed last.
class Worker : public std::enable_shared_from_this<Worker> {
 public:
  // Forks one from the fork server, which must live as long, and starts its session.
  static grpc::Status start(ForkServerProcess& forkServer, const Origin& origin, Deadline deadline,
                            std::shared_ptr<Worker>* process);

  // Asks the process to end; kills it if it is at work.
  ~Worker();

  // Makes a request of this process.
  grpc::Status call(Method method, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, Deadline deadline);

  // True if copies().make() is possible, as the session said after its last request; if not, it is
  // to be copied by repeating its history. Waits for a request made by call(), not for one on the
  // session's own socket.
  bool isForkable(Deadline deadline);
  WorkerCopies& copies() { return copies_; }

  // Returns the socket on which a copy serves Step. Closing it ends the process. To be called once.
  util::FileDescriptor takeClientSocket() { return std::move(clientSocket_); }

  // Fails every later request with NOT_FOUND, and so the one at work, whose process is killed.
  void close();

  // OK unless the process has died.
  grpc::Status endStatus();
  // True if a request has found the process dead.
  bool isDead() const { return life_ == Life::kDead; }
  // True if the process died in an action, and not because its client had gone.
  bool hasDiedInAction() const;
  // Appends to the text of endStatus() of a dead process.
  void appendToEndReport(const std::string& text);
  // Calls the function the first time; later callers wait for its end.
  template <typename Function>
  void explainOnce(const Function& function) {
    std::call_once(explained_, function);
  }
  // A note if the dead process had used nearly all of its memory limit, otherwise empty.
  std::string memoryNote();

  // 0 until it is ready.
  int pid() const;
  const Origin& origin() const { return origin_; }
  const WorkerRecord& record() const { return *record_; }
  // Memory that belongs to this process alone, in bytes, as far as the system tells.
  size_t ownMemoryBytes() const;

 private:
  friend class WorkerCopies;

  // A process is ready when it has sent its number. It may die before that.
  enum class Life { kStarting, kReady, kDead };

  Worker(ForkServerProcess& forkServer, Origin origin, Channel control,
         std::unique_ptr<WorkerRecord> record)
      : forkServer_(forkServer),
        origin_(std::move(origin)),
        control_(std::move(control)),
        record_(std::move(record)) {}

  // `control` is the end of the control socket that is for the process itself.
  static grpc::Status prepare(ForkServerProcess& forkServer, const Origin& origin,
                              std::shared_ptr<Worker>* process, util::FileDescriptor* control);
  grpc::Status lock(Deadline deadline, std::unique_lock<std::timed_mutex>* lock);
  // The following methods expect the caller to hold mutex_.
  // True if the process has closed its socket, as far as is known without waiting.
  bool hasHungUp();
  // Receives the number and the pidfd of the process, which it sends first.
  grpc::Status receiveReady(Deadline deadline);
  grpc::Status exchange(Method method, const google::protobuf::MessageLite& request, Frame* reply,
                        Deadline deadline);
  grpc::Status die();
  EndReport describeEnd(bool hadEnded) const;
  // True if the process has ended, or is about to. Waits a moment for that.
  bool isEnding() const;
  void kill() const;

  ForkServerProcess& forkServer_;
  const Origin origin_;
  std::timed_mutex mutex_;
  Channel control_;
  const std::unique_ptr<WorkerRecord> record_;
  util::FileDescriptor clientSocket_;
  bool isCopy_ = false;
  // Changed under mutex_, and only forwards.
  std::atomic<Life> life_ = Life::kStarting;
  // Set when it is dead.
  EndReport endReport_;
  std::once_flag explained_;
  // State that kill() needs without waiting for a request. The pid is for texts, and for what the
  // system tells about processes.
  mutable std::mutex identityMutex_;
  util::FileDescriptor pidfd_;
  int pid_ = 0;
  // True once the session is no longer needed.
  std::atomic<bool> isClosed_ = false;
  WorkerCopies copies_{*this};
};

}  // namespace compiler_gym::runtime
