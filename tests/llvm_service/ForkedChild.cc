#include "tests/llvm_service/ForkedChild.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>

namespace compiler_gym::llvm_service {

namespace {

// A text of limited length in memory that the child shares with its parent.
template <size_t kSize>
struct SharedText {
  size_t length = 0;
  std::array<char, kSize> data;

  void append(const std::string& text) {
    const size_t count = std::min(text.size(), kSize - length);
    std::memcpy(data.data() + length, text.data(), count);
    length += count;
  }

  std::string str() const { return {data.data(), length}; }
};

struct SharedMemory : public ChildReport {
  SharedText<1 << 12> lastNote;
  SharedText<1 << 16> complaints;

  void note(const std::string& text) override {
    lastNote.length = 0;
    lastNote.append(text);
  }
  void complain(const std::string& text) override { complaints.append(text + "\n"); }
};

struct Unmap {
  void operator()(SharedMemory* memory) const { munmap(memory, sizeof(SharedMemory)); }
};

std::unique_ptr<SharedMemory, Unmap> makeSharedMemory() {
  void* address = mmap(nullptr, sizeof(SharedMemory), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return std::unique_ptr<SharedMemory, Unmap>(new (address) SharedMemory);
}

std::optional<std::string> waitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      throw std::runtime_error("waitpid failed");
    }
  }
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  }
  if (WEXITSTATUS(status) != 0) {
    return "exit code " + std::to_string(WEXITSTATUS(status));
  }
  return std::nullopt;
}

}  // namespace

ChildEnd runInChild(const std::function<void(ChildReport&)>& work, std::chrono::seconds limit) {
  const auto memory = makeSharedMemory();
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) {
    throw std::runtime_error("fork failed");
  }
  if (child == 0) {
    alarm(static_cast<unsigned>(limit.count()));
    work(*memory);
    _exit(0);
  }
  ChildEnd end;
  end.death = waitFor(child);
  end.note = memory->lastNote.str();
  end.complaints = memory->complaints.str();
  return end;
}

}  // namespace compiler_gym::llvm_service
