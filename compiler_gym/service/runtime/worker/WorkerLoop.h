// A worker.
#pragma once

#include <boost/filesystem.hpp>
#include <memory>

#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/ServiceDescription.h"
#include "compiler_gym/service/runtime/wire/WorkerRecord.h"
#include "compiler_gym/service/runtime/worker/GuardedCompiler.h"
#include "compiler_gym/service/runtime/worker/Polling.h"
#include "compiler_gym/service/runtime/worker/Watchdog.h"

namespace compiler_gym::runtime {

// Serves one session, in one thread, until the service or the client closes its socket. It has a
// process of its own, which the fork server has forked; with `limits.isForeground` it is in the
// process that the user has started.
class WorkerLoop {
 public:
  // `description` must live as long as this object, `forkServerPid` is the parent of this process.
  // It is told of the first command that this process runs by a datagram of the pid to `notices`.
  // What the compiler prints goes to the standard error of now, after each request.
  WorkerLoop(const ServiceDescription& description, std::unique_ptr<CompilationSession> session,
             const Limits& limits, util::FileDescriptor control,
             std::unique_ptr<WorkerRecord> record, int forkServerPid, int notices);

  // Serves requests. Returns at the end of the session, also in each copy of the process.
  void run();

 private:
  // The socket on which the next request has come.
  Channel& awaitRequest();
  // False if that was the last request.
  bool serve(Channel& channel, Frame& frame);
  grpc::Status dispatch(const Frame& frame, bool isClient, std::string* reply);

  grpc::Status saveReproducer(const ListEvent& arguments);

  // True if forking this process copies the session.
  bool isForkable() const;
  // Copies the process. In the copy it returns with everything set up for a session of its own.
  void fork(Frame& frame);
  void becomeCopy(Frame& frame, std::unique_ptr<WorkerRecord> record);
  // Ties the life of this process to that of the fork server, and its output to the record.
  void tieToForkServer();
  // Tells the service that this process is ready, and which process it is.
  void reportReady();
  void handOutputOn() const;
  void tellOfCommands();
  void end();

  const Limits limits_;
  const int forkServerPid_;
  const int notices_;
  // The destination of the service's own output.
  const util::FileDescriptor log_;
  bool hasToldOfCommands_ = false;
  std::unique_ptr<WorkerRecord> record_;
  std::unique_ptr<GuardedCompiler> session_;
  Channel control_;
  Channel direct_;
  Watchdog watchdog_;
  Polling polling_;
};

}  // namespace compiler_gym::runtime
