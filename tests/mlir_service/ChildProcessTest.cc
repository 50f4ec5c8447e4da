#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <set>
#include <string>

#include "mlir_service/ChildProcess.h"
#include "tests/Statuses.h"
#include "tests/util/RefusedForks.h"

namespace compiler_gym::mlir_service {
namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr std::chrono::seconds kLong(60);
constexpr std::chrono::milliseconds kShort(100);
// Enough for whatever the load of the machine.
constexpr int kMuchPatience = 1000;

// The status and the output of a function in a child.
Status call(const std::function<Status(std::string&)>& work, std::string& output,
            std::chrono::milliseconds limit = kLong, int patience = kMuchPatience) {
  return callInChild("This", work, {limit, patience}, output);
}

Status call(const std::function<Status(std::string&)>& work) {
  std::string output;
  return call(work, output);
}

Status succeed(std::string&) { return Status::OK; }

TEST(ChildProcessTest, GivesOutputAndChangesNothingHere) {
  std::string output;
  int number = 1;
  const auto write = [&](std::string& written) {
    number = 2;
    written = std::string(1'000'000, 'x') + '\0';
    return Status::OK;
  };
  ASSERT_THAT(call(write, output), IsOk());
  EXPECT_EQ(output, std::string(1'000'000, 'x') + '\0');
  EXPECT_EQ(number, 1);
}

TEST(ChildProcessTest, GivesErrors) {
  EXPECT_THAT(call([](std::string&) { return Status(StatusCode::DATA_LOSS, "wrong"); }),
              IsError(StatusCode::DATA_LOSS, "wrong"));
  EXPECT_THAT(call([](std::string&) -> Status {
                raise(SIGSEGV);
                return Status::OK;
              }),
              IsError(StatusCode::INTERNAL, "This crashed: Segmentation fault"));
  EXPECT_THAT(call([](std::string&) -> Status { _exit(0); }), IsError(StatusCode::INTERNAL, ""));
  EXPECT_THAT(call([](std::string&) -> Status { throw std::bad_alloc(); }),
              IsError(StatusCode::RESOURCE_EXHAUSTED, ""));
}

TEST(ChildProcessTest, Hang) {
  std::string output;
  const auto hang = [](std::string&) -> Status {
    volatile bool goesOn = true;
    while (goesOn) {
    }
    return Status::OK;
  };
  EXPECT_THAT(call(hang, output, kShort), IsError(StatusCode::DEADLINE_EXCEEDED, "0.1 s"));
}

// As on a busy machine, which is not the fault of the function.
TEST(ChildProcessTest, TimeWithoutAProcessorDoesNotCount) {
  std::string output;
  const auto wait = [](std::string& written) {
    usleep(2 * 1000 * kShort.count());
    written = "done";
    return Status::OK;
  };
  EXPECT_THAT(call(wait, output, kShort), IsOk());
  EXPECT_EQ(output, "done");
}

TEST(ChildProcessTest, TooLittleOfTheProcessor) {
  std::string output;
  const auto starve = [](std::string&) -> Status {
    while (true) pause();
  };
  EXPECT_THAT(callInChild("This", starve, {kShort}, output),
              IsError(StatusCode::RESOURCE_EXHAUSTED, "the machine is busy"));
}

TEST(ChildProcessTest, TooMuchOutput) {
  std::string output;
  ChildLimits limits = {kLong};
  limits.outputBytes = 1000;
  const auto writes = [](size_t bytes) {
    return [bytes](std::string& written) {
      written.assign(bytes, 'x');
      return Status::OK;
    };
  };
  EXPECT_THAT(callInChild("This", writes(1000), limits, output), IsOk());
  EXPECT_THAT(callInChild("This", writes(1001), limits, output),
              IsError(StatusCode::RESOURCE_EXHAUSTED, "This wrote more than 1000 bytes"));
}

#ifndef COMPILER_GYM_SANITIZER
/// What a hostile kernel would try. Each gives a negative number if it is refused.
const std::map<std::string, std::function<long()>> kAttacks = {
    // Not fork(): RefusedForks hides that, and has shared memory.
    {"another process", [] { return _Fork(); }},
    {"a signal for the parent", [] { return kill(getppid(), 0); }},
    {"a signal for the session's other threads",
     [] { return syscall(SYS_tgkill, getppid(), getppid(), 0); }},
    {"debugging", [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"another program", [] { return execl("/bin/true", "true", nullptr); }},
    {"a file to read", [] { return open("/etc/passwd", O_RDONLY); }},
    {"a file to write", [] { return open("/tmp", O_TMPFILE | O_WRONLY, 0600); }},
    {"a name", [] { return unlink("/nowhere/at/all") == 0 || errno != EPERM ? 0 : -1; }},
    {"a socket", [] { return socket(AF_UNIX, SOCK_STREAM, 0); }},
    {"the messages of the service", [] { return write(STDERR_FILENO, "", 0); }},
    {"limits",
     [] {
       rlimit limit = {};
       getrlimit(RLIMIT_DATA, &limit);
       return setrlimit(RLIMIT_DATA, &limit);
     }},
    {"memory that nobody counts",
     [] {
       return mmap(nullptr, 1, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
     }},
    {"life after the parent", [] { return prctl(PR_SET_PDEATHSIG, 0); }},
};

/// The names of the attacks that are refused in a child.
template <typename Caller>
std::set<std::string> refusedBy(const Caller& caller) {
  std::set<std::string> refused;
  for (const auto& [name, attack] : kAttacks) {
    std::string output;
    const auto work = [attack = attack](std::string& written) {
      written = attack() < 0 ? "refused" : "done";
      return Status::OK;
    };
    const Status status = caller("This", work, ChildLimits{kLong, kMuchPatience}, output);
    if (status.ok() && output == "refused") refused.insert(name);
  }
  return refused;
}

TEST(ChildProcessTest, ConfinedChildrenCanOnlyCompute) {
  EXPECT_THAT(refusedBy(callInChild), testing::IsEmpty());
  EXPECT_THAT(refusedBy(callConfinedInChild), testing::SizeIs(kAttacks.size()));
}

TEST(ChildProcessTest, ConfinedChildrenHaveNoSharedMemory) {
  void* const memory =
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  volatile int& shared = *static_cast<int*>(memory);
  shared = 1;
  std::string output;
  const auto change = [&](std::string&) {
    shared = 2;
    return Status::OK;
  };
  EXPECT_THAT(callConfinedInChild("This", change, {kLong}, output),
              IsError(StatusCode::INTERNAL, "This crashed"));
  EXPECT_EQ(shared, 1);
  munmap(memory, sizeof(int));
}

TEST(ChildProcessTest, ConfinedChildrenGiveErrors) {
  std::string output;
  const auto fail = [](std::string&) -> Status { throw std::bad_alloc(); };
  EXPECT_THAT(callConfinedInChild("This", fail, {kLong}, output),
              IsError(StatusCode::RESOURCE_EXHAUSTED, ""));
  const auto abort = [](std::string&) -> Status { std::abort(); };
  EXPECT_THAT(callConfinedInChild("This", abort, {kLong}, output),
              IsError(StatusCode::INTERNAL, "This crashed: Aborted"));
}

// Allocates memory that it does not touch.
Status allocate(size_t bytes) {
  volatile char* volatile memory = new char[bytes];
  *memory = 1;
  return Status::OK;
}

TEST(ChildProcessTest, OutOfMemoryDoesNotReachTheHandlerOfThisProcess) {
  const std::new_handler before = std::set_new_handler([] { _exit(7); });
  const Status status = call([](std::string&) { return allocate(size_t{5} << 30); });
  std::set_new_handler(before);
  EXPECT_THAT(status, IsError(StatusCode::RESOURCE_EXHAUSTED, "Out of memory in This"));
}

TEST(ChildProcessTest, LimitExcludesInheritedMemory) {
  const size_t inherited = size_t{3} << 30;
  void* const memory = mmap(nullptr, inherited, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_THAT(call([](std::string&) { return allocate(size_t{2} << 30); }), IsOk());
  munmap(memory, inherited);
}
#endif

TEST(ChildProcessTest, NoDescriptorsLeft) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status status = call(succeed);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(status, IsError(StatusCode::RESOURCE_EXHAUSTED, "Cannot make a pipe"));
}

TEST(ChildProcessTest, NoProcessesLeft) {
  {
    const util::RefusedForks refused(1);
    EXPECT_THAT(call(succeed),
                IsError(StatusCode::RESOURCE_EXHAUSTED, "Resource temporarily unavailable"));
  }
  EXPECT_THAT(call(succeed), IsOk());
}

}  // namespace
}  // namespace compiler_gym::mlir_service
