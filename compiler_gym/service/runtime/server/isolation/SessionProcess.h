// A session process, as the process of the service sees it.
#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/SessionRecord.h"

namespace compiler_gym::runtime {

// What a session was started on.
struct Origin {
  std::shared_ptr<const Benchmark> benchmark;
  int actionSpace = 0;
};

// One process of a session. Methods may be called from any number of threads; requests are made one
// after the other. When the process has died they fail with its epitaph:
//   ABORTED             it was ended by a signal, or has exited. The text begins with "The session
//                       was lost: " if it was killed from outside, or did nothing
//   DEADLINE_EXCEEDED   its request took longer than it may
//   RESOURCE_EXHAUSTED  it needed more memory than it may have
// with the action that it was applying, and what it has printed last.
class SessionProcess : public std::enable_shared_from_this<SessionProcess> {
 public:
  // A copy that is to be made, see fork().
  class CopyOrder;

  // Forks one from the fork server, which must live as long, and starts its session.
  static grpc::Status start(ForkServerProcess& forkServer, const Origin& origin, Deadline deadline,
                            std::shared_ptr<SessionProcess>* process);

  // Asks the process to end; kills it if it is at work.
  ~SessionProcess();

  // Makes a request of this process.
  grpc::Status call(Method method, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, Deadline deadline);

  // Whether fork() is possible, as the session said after its last request; if not, it is to be
  // copied by repeating its history. Waits for a request made by call(), not for one on the
  // session's own socket.
  bool isForkable(Deadline deadline);

  // Copies the process as it is now, or when it has finished what it is at. If there is a spare of
  // its present state, that is the copy. Otherwise the copy is made when `order` is destroyed, best
  // after the client was told, because making it takes a processor. Nobody need wait for it: this
  // process makes it before it serves another request, and what the copy is asked is answered once
  // it is there, or fails as above if it cannot be made.
  grpc::Status fork(Deadline deadline, std::shared_ptr<SessionProcess>* copy,
                    std::unique_ptr<CopyOrder>* order);
  // Whether the last fork() copied a state that had been copied before.
  bool isCopiedAgain() const { return isCopiedAgain_; }
  // Makes the copy of the next fork(), unless the process is at work, and waits for it a moment, so
  // that fork() need not find out about it. See Spares.
  void makeSpare();
  // Ends the spare. False if a request is at work, so that it has to be done later.
  [[nodiscard]] bool dropSpare();

  // A socket on which a process that is a copy serves Step, too. To close it ends the process. To
  // be called once.
  util::FileDescriptor takeClientSocket() { return std::move(clientSocket_); }

  // Fails every later request with NOT_FOUND, and so the one at work, whose process is killed.
  void close();

  // OK unless the process has died.
  grpc::Status epitaph();
  // Whether a request has found it dead. The other three are for this case: whether it died while
  // it applied an action, for another reason than that its client had gone, and
  bool isDead() const { return isDead_; }
  bool hasDiedInAction() const;
  // appends to the epitaph.
  void appendToEpitaph(const std::string& text);
  // Calls the function the first time; later callers wait for its end.
  template <typename Function>
  void explainOnce(const Function& function) {
    std::call_once(explained_, function);
  }
  // If it had used nearly all memory that it may have when it died, this says so.
  std::string memoryNote();

  // 0 until it has introduced itself.
  int pid() const;
  const Origin& origin() const { return origin_; }
  const SessionRecord& record() const { return *record_; }
  // Memory that belongs to this process alone, in bytes, as far as the system tells.
  size_t ownMemoryBytes() const;

 private:
  SessionProcess(ForkServerProcess& forkServer, Origin origin, Channel control,
                 std::unique_ptr<SessionRecord> record)
      : forkServer_(forkServer),
        origin_(std::move(origin)),
        control_(std::move(control)),
        record_(std::move(record)) {}

  // The ends of sockets that are for the process itself.
  struct Sockets {
    util::FileDescriptor control;
    // Of copies alone.
    util::FileDescriptor direct;
  };

  static grpc::Status prepare(ForkServerProcess& forkServer, const Origin& origin,
                              std::shared_ptr<SessionProcess>* process,
                              util::FileDescriptor* control);
  grpc::Status lock(Deadline deadline, std::unique_lock<std::timed_mutex>* lock);
  // These expect the caller to hold mutex_.
  bool hasSpare();
  std::shared_ptr<SessionProcess> orderSpare();
  grpc::Status orderCopy(std::shared_ptr<SessionProcess>* copy, Sockets* sockets);
  void makeCopy(const SessionProcess& copy, const Sockets& sockets);
  // Whether the process has closed its socket, as far as can be told without waiting.
  bool hasHungUp();
  // Waits until the process has introduced itself. Expects that nobody holds mutex_.
  void meet();
  // Receives who the process is, which is the first that it sends.
  grpc::Status receiveIntroduction(Deadline deadline);
  grpc::Status exchange(Method method, const google::protobuf::MessageLite& request, Frame* reply,
                        Deadline deadline);
  grpc::Status die();
  // Whether the process has ended, or is about to. Waits a moment for that.
  bool isEnding() const;
  grpc::Status describeDeath();
  // Whether an end is nothing that the compiler has done.
  bool isLoss(const Death& death) const;
  std::string describeEnd(const std::optional<Death>& death) const;
  std::string describeMemory(const Death& death) const;
  void kill() const;

  ForkServerProcess& forkServer_;
  const Origin origin_;
  std::timed_mutex mutex_;
  Channel control_;
  const std::unique_ptr<SessionRecord> record_;
  std::optional<grpc::Status> epitaph_;
  std::string memoryNote_;
  util::FileDescriptor clientSocket_;
  // What kill() needs without waiting for a request. The pid is for texts, and for what the system
  // tells about processes.
  mutable std::mutex identityMutex_;
  util::FileDescriptor pidfd_;
  int pid_ = 0;
  std::shared_ptr<SessionProcess> spare_;
  std::optional<uint64_t> copiedState_;
  std::atomic<bool> isCopiedAgain_ = false;
  std::atomic<bool> isDead_ = false;
  std::atomic<bool> wasLost_ = false;
  // Whether the process had ended before it was killed from here to be sure.
  bool hadEnded_ = false;
  std::atomic<bool> isClosed_ = false;
  std::once_flag explained_;
};

// Requests of other threads wait until it is destroyed.
class SessionProcess::CopyOrder {
 public:
  CopyOrder(std::shared_ptr<SessionProcess> original, std::unique_lock<std::timed_mutex> guard,
            std::shared_ptr<const SessionProcess> copy, Sockets sockets);
  ~CopyOrder();
  CopyOrder(const CopyOrder&) = delete;
  CopyOrder& operator=(const CopyOrder&) = delete;

 private:
  const std::shared_ptr<SessionProcess> original_;
  const std::unique_lock<std::timed_mutex> guard_;
  const std::shared_ptr<const SessionProcess> copy_;
  const Sockets sockets_;
};

}  // namespace compiler_gym::runtime
