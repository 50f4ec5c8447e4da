#include <gflags/gflags.h>
#include <glog/logging.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <utility>

#include "compiler_gym/service/runtime/Runtime.h"
#include "compiler_gym/service/runtime/server/ServiceFlags.h"
#include "compiler_gym/service/runtime/server/WorkingDirectory.h"
#include "compiler_gym/service/runtime/server/access/Access.h"
#include "compiler_gym/service/runtime/server/access/ServiceServer.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/rpc/DirectServer.h"
#include "compiler_gym/service/runtime/server/rpc/RpcHandlers.h"
#include "compiler_gym/service/runtime/server/rpc/RpcService.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;

namespace {

constexpr int kExitFailure = 1;
constexpr int kExitSessionsOpen = 6;

// Threads for requests that need no session of their own.
constexpr int kMoreThreads = 64;

// Grace period for running requests after the signal to stop.
constexpr std::chrono::milliseconds kShutdownGrace(300);
// Time limit for closing the direct channel after all sessions have ended.
constexpr std::chrono::milliseconds kDirectGrace(2000);

sigset_t stopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Blocks the signals that waitForStopSignal() handles in all threads started after this call.
// Writing to a closed connection becomes an error instead of a signal.
void prepareSignals() {
  const sigset_t signals = stopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void waitForStopSignal() {
  const sigset_t signals = stopSignals();
  int received = 0;
  sigwait(&signals, &received);
  LOG(INFO) << "Stopping after signal " << received;
}

void startLogging(const char* program, const boost::filesystem::path& directory) {
  if (gflags::GetCommandLineFlagInfoOrDie("log_dir").is_default) {
    FLAGS_log_dir = directory.string();
  }
  google::InitGoogleLogging(program);
}

// Calls a function of the start of the service.
template <typename Function>
Status tryTo(const Function& function) {
  return util::callWithoutExceptions("the start of the service", function);
}

int failure(const Status& status) {
  std::cerr << "ERROR: " << status.error_message() << std::endl;
  return kExitFailure;
}

// The parts of a service, in the order in which they depend on each other.
struct Service {
  // Ends the workers first, because threads that are joined later may wait for one.
  ~Service() {
    if (handlers) handlers->stop();
  }

  std::shared_ptr<RpcHandlers> handlers;
  std::unique_ptr<DirectServer> direct;
  std::unique_ptr<RpcService> rpcs;
};

Status make(const ServiceFlags& flags, std::shared_ptr<ForkServerProcess> forkServer,
            const boost::filesystem::path& directory, Service* service) {
  forkServer->onEnd([] { kill(getpid(), SIGTERM); });
  service->handlers = std::make_shared<RpcHandlers>(std::move(forkServer), directory, flags.limits);
  RETURN_IF_ERROR(
      DirectServer::start(*service->handlers, flags.limits.maxMessageBytes, &service->direct));
  service->rpcs = std::make_unique<RpcService>(service->handlers, service->direct->name());
  return Status::OK;
}

// Each session needs several open files, for the socket and the record of its process.
void raiseOpenFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int exitCode(int sessions) {
  if (sessions == 0) return EXIT_SUCCESS;
  LOG(ERROR) << "The service was stopped while " << sessions << " session(s) were open";
  return kExitSessionsOpen;
}

// Ends the process while a request is still running. Destroys nothing, since the request may use
// it.
[[noreturn]] void abandon(std::unique_ptr<WorkingDirectory> directory) {
  LOG(ERROR) << "The service was stopped although a request did not end";
  google::FlushLogFiles(google::INFO);
  directory.reset();
  std::_Exit(kExitSessionsOpen);
}

// Each session may have a request at work.
int threadsFor(int maxSessions) {
  return std::min(maxSessions, std::numeric_limits<int>::max() - kMoreThreads) + kMoreThreads;
}

// Serves until a signal comes.
Status serve(const ServiceFlags& flags, const Access& access, const WorkingDirectory& directory,
             const Service& service, std::unique_ptr<ServiceServer>* server) {
  const ServerOptions options = {
      flags.host,         flags.port, flags.maxMessageBytes,
      directory.socket(), access,     threadsFor(flags.limits.maxSessions)};
  RETURN_IF_ERROR(ServiceServer::start(service.rpcs.get(), options, server));
  LOG(INFO) << "Service " << directory.path().string() << " listening on port " << (*server)->port()
            << ", PID = " << getpid();
  google::FlushLogFiles(google::INFO);
  // Written last, so that the log is complete once clients know the address.
  RETURN_IF_ERROR(directory.writeAddress((*server)->port(), getpid()));
  waitForStopSignal();
  return Status::OK;
}

}  // namespace

int createAndRunCompilerGymService(int argc, char** argv, const char* usage,
                                   const SessionFactory& makeSession) {
  ServiceFlags flags;
  if (const auto code = parseServiceFlags(argc, argv, usage, &flags)) return *code;
  prepareSignals();

  std::unique_ptr<WorkingDirectory> directory;
  Status status = WorkingDirectory::open(flags.workingDirectory, &directory);
  if (!status.ok()) return failure(status);
  // The fork needs a process without threads and without an open log.
  std::unique_ptr<ForkServerProcess> forkServer;
  status = ForkServerProcess::start(makeSession, directory->path(), flags.limits,
                                    directory->removal(), &forkServer);
  if (!status.ok()) return failure(status);
  // Raised after the fork, so that commands of sessions keep the usual limit.
  raiseOpenFileLimit();
  // Read after the fork, so that processes that run the compiler do not have the secrets in memory.
  Access access;
  status = tryTo([&] { return Access::open(flags.access, &access); });
  if (!status.ok()) return failure(status);
  startLogging(argv[0], directory->logs());
  Service service;
  status = tryTo([&] { return make(flags, std::move(forkServer), directory->path(), &service); });
  if (!status.ok()) return failure(status);

  std::unique_ptr<ServiceServer> server;
  status = tryTo([&] { return serve(flags, access, *directory, service, &server); });
  if (!status.ok()) return failure(status);
  const int openSessions = service.handlers->sessionCount();
  const bool isStopped = server->shutdown(kShutdownGrace, [&] { service.handlers->stop(); });
  if (!isStopped || !service.direct->stop(kDirectGrace)) abandon(std::move(directory));
  return exitCode(openSessions);
}

}  // namespace compiler_gym::runtime
