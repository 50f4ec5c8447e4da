#include "compiler_gym/service/runtime/forkserver/Foreground.h"

#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "compiler_gym/service/runtime/forkserver/CompilerDescription.h"
#include "compiler_gym/service/runtime/worker/WorkerLoop.h"

namespace compiler_gym::runtime {

namespace {

// State that the signal handler uses.
std::atomic<pid_t> serviceOfProcess = 0;

// Forwards a signal to the service, which ends in order. This process ends after it.
void passOn(int signal) { kill(serviceOfProcess, signal); }

void passSignalsOn(pid_t servicePid) {
  serviceOfProcess = servicePid;
  struct sigaction action = {};
  action.sa_handler = passOn;
  action.sa_flags = SA_RESTART;
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) {
    sigaction(signal, &action, nullptr);
    sigaddset(&signals, signal);
  }
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

[[noreturn]] void exitAs(pid_t servicePid) {
  int status = 0;
  waitpid(servicePid, &status, 0);
  std::fflush(nullptr);
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

}  // namespace

void runInForeground(const SessionFactory& makeSession,
                     const boost::filesystem::path& workingDirectory, const Limits& limits,
                     pid_t servicePid, Channel service) {
  passSignalsOn(servicePid);
  setenv("TMPDIR", workingDirectory.c_str(), /*overwrite=*/1);
  ServiceDescription description;
  if (!sendDescription(makeSession, workingDirectory, service, &description)) exitAs(servicePid);
  Frame frame;
  while (service.receive(&frame, Clock::now() + kForever).ok() && frame.method() != Method::kQuit) {
    if (frame.method() != Method::kSpawn || frame.descriptors.size() != 2) continue;
    std::unique_ptr<WorkerRecord> record;
    if (WorkerRecord::open(std::move(frame.descriptors[1]), &record).ok()) {
      WorkerLoop(description, makeSession(workingDirectory), limits,
                 std::move(frame.descriptors[0]), std::move(record), /*forkServerPid=*/-1,
                 /*notices=*/-1)
          .run();
    }
    frame.descriptors.clear();
  }
  service.close();
  exitAs(servicePid);
}

}  // namespace compiler_gym::runtime
