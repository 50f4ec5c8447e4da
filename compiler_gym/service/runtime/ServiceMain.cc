#include "compiler_gym/service/runtime/ServiceMain.h"

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include "compiler_gym/service/runtime/DirectServer.h"
#include "compiler_gym/service/runtime/ForkServer.h"
#include "compiler_gym/service/runtime/IsolatedService.h"
#include "compiler_gym/service/runtime/IsolatedSessions.h"
#include "compiler_gym/service/runtime/ServiceFlags.h"
#include "compiler_gym/service/runtime/ServiceServer.h"
#include "compiler_gym/service/runtime/WorkingDirectory.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "compiler_gym/util/Process.h"

namespace compiler_gym::runtime {

using grpc::Status;

namespace {

constexpr int kExitFailure = 1;
constexpr int kExitSessionsOpen = 6;

// How long requests may go on after the signal to stop, before they are cancelled.
constexpr std::chrono::milliseconds kShutdownGrace(2000);
// The same where the requests at work can be ended safely.
constexpr std::chrono::milliseconds kInterruptGrace(300);

sigset_t stopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Threads started from here on leave the signals to waitForStopSignal(). Writing to a client or a
// log reader that is gone becomes an error of that write.
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

int failure(const Status& status) {
  std::cerr << "ERROR: " << status.error_message() << std::endl;
  return kExitFailure;
}

// Constructors of sessions and of the service may throw.
Status make(const ServiceFactory& makeService, const boost::filesystem::path& directory,
            HostedService* service) {
  return util::callWithoutExceptions("starting the service", [&] {
    *service = makeService(directory);
    return Status::OK;
  });
}

// The parts of a service whose sessions are processes, in the order in which they depend on each
// other.
struct IsolatedParts {
  IsolatedParts(std::unique_ptr<ForkServer> server, const boost::filesystem::path& directory,
                const IsolationLimits& limits)
      : forkServer(std::move(server)), sessions(*forkServer, directory, limits) {}
  // Ends the session processes first: threads that are to be joined may wait for one.
  ~IsolatedParts() { forkServer->stop(); }

  std::unique_ptr<ForkServer> forkServer;
  IsolatedSessions sessions;
  std::unique_ptr<DirectServer> direct;
  std::unique_ptr<IsolatedService> service;
};

Status makeIsolated(std::unique_ptr<ForkServer> forkServer,
                    const boost::filesystem::path& directory, const IsolationLimits& limits,
                    HostedService* service) {
  forkServer->onEnd([] { kill(getpid(), SIGTERM); });
  const auto parts = std::make_shared<IsolatedParts>(std::move(forkServer), directory, limits);
  RETURN_IF_ERROR(DirectServer::start(parts->sessions, limits.maxMessageBytes, &parts->direct));
  parts->service = std::make_unique<IsolatedService>(parts->sessions, parts->direct->name());
  service->service = std::shared_ptr<grpc::Service>(parts, parts->service.get());
  service->sessionCount = [parts] { return parts->sessions.sessionCount(); };
  service->interrupt = [parts] { parts->forkServer->stop(); };
  return Status::OK;
}

// No thread may exist yet, and nothing may be logged: the log would be that of two processes.
Status startForkServer(const ServiceFlags& flags, const SessionFactory& makeSession,
                       const WorkingDirectory& directory, std::unique_ptr<ForkServer>* server) {
  if (!flags.isolatesSessions) return Status::OK;
  return ForkServer::start(makeSession, directory.path(), flags.limits, directory.removal(),
                           server);
}

// Sessions, and the sockets and records of their processes, take some open files each.
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

// Ends the process although a request is at work in it, e.g. in an endless loop of a compiler, and
// so nothing that the request uses can be destroyed.
[[noreturn]] void abandon(std::unique_ptr<WorkingDirectory> directory) {
  LOG(ERROR) << "The service was stopped while a request was at work that did not end";
  util::killRunningProcesses();
  google::FlushLogFiles(google::INFO);
  directory.reset();
  std::_Exit(kExitSessionsOpen);
}

// Serves until a signal comes.
Status serve(const ServiceFlags& flags, const Access& access, const WorkingDirectory& directory,
             const HostedService& service, std::unique_ptr<ServiceServer>* server) {
  const ServerOptions options = {flags.host, flags.port, flags.maxMessageBytes, directory.socket(),
                                 access};
  RETURN_IF_ERROR(ServiceServer::start(service.service.get(), options, server));
  LOG(INFO) << "Service " << directory.path().string() << " listening on port " << (*server)->port()
            << ", PID = " << getpid();
  google::FlushLogFiles(google::INFO);
  // Last, so that who has the address finds the log complete.
  RETURN_IF_ERROR(directory.writeAddress((*server)->port(), getpid()));
  waitForStopSignal();
  return Status::OK;
}

}  // namespace

int runServiceMain(int argc, char** argv, const char* usage, const ServiceFactory& makeService,
                   const SessionFactory& makeSession) {
  ServiceFlags flags;
  if (const auto code = parseServiceFlags(argc, argv, usage, &flags)) return *code;
  prepareSignals();
  raiseOpenFileLimit();

  std::unique_ptr<WorkingDirectory> directory;
  Status status = WorkingDirectory::open(flags.workingDirectory, &directory);
  if (!status.ok()) return failure(status);
  std::unique_ptr<ForkServer> forkServer;
  status = startForkServer(flags, makeSession, *directory, &forkServer);
  if (!status.ok()) return failure(status);
  // After that, so that the secrets are not in the memory of the processes that run the compiler.
  Access access;
  status = Access::open(flags.access, &access);
  if (!status.ok()) return failure(status);
  startLogging(argv[0], directory->logs());

  HostedService service;
  status = forkServer
               ? makeIsolated(std::move(forkServer), directory->path(), flags.limits, &service)
               : make(makeService, directory->path(), &service);
  if (!status.ok()) return failure(status);

  std::unique_ptr<ServiceServer> server;
  status = serve(flags, access, *directory, service, &server);
  if (!status.ok()) return failure(status);
  const int openSessions = service.sessionCount();
  const bool isStopped = service.interrupt ? server->shutdown(kInterruptGrace, service.interrupt)
                                           : server->shutdown(kShutdownGrace);
  if (!isStopped) abandon(std::move(directory));
  return exitCode(openSessions);
}

}  // namespace compiler_gym::runtime
