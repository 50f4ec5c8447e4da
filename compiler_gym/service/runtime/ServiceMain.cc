#include "compiler_gym/service/runtime/ServiceMain.h"

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

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

int exitCode(const HostedService& service) {
  const int sessions = service.sessionCount();
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

}  // namespace

int runServiceMain(int argc, char** argv, const char* usage, const ServiceFactory& makeService) {
  ServiceFlags flags;
  if (const auto code = parseServiceFlags(argc, argv, usage, &flags)) return *code;
  prepareSignals();

  std::unique_ptr<WorkingDirectory> directory;
  Status status = WorkingDirectory::open(flags.workingDirectory, &directory);
  if (!status.ok()) return failure(status);
  startLogging(argv[0], directory->logs());

  HostedService service;
  status = make(makeService, directory->path(), &service);
  if (!status.ok()) return failure(status);

  std::unique_ptr<ServiceServer> server;
  status = ServiceServer::start(service.service.get(), flags.host, flags.port,
                                flags.maxMessageBytes, &server);
  if (!status.ok()) return failure(status);
  status = directory->writeAddress(server->port(), getpid());
  if (!status.ok()) return failure(status);
  LOG(INFO) << "Service " << directory->path().string() << " listening on port " << server->port()
            << ", PID = " << getpid();
  google::FlushLogFiles(google::INFO);

  waitForStopSignal();
  if (!server->shutdown(kShutdownGrace)) abandon(std::move(directory));
  return exitCode(service);
}

}  // namespace compiler_gym::runtime
