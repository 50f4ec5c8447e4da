// A library to preload into a program that will be started many times. The program is loaded and
// initialised once. In place of main, it then waits for requests. For each request it forks a copy
// of itself, which runs main with the arguments of the request.
//
// The environment variable COMPILER_GYM_STARTER holds the number of the socket for requests, of
// type SOCK_SEQPACKET. The starter writes a byte to it when it is ready. A request is a byte with
// four file descriptors: standard input, output and error, and a stream socket. From that socket
// the copy reads the number of the bytes that follow (32 bits), the working directory and the
// arguments, each with a zero byte at its end. When the copy has ended, the starter writes the
// status of waitpid (32 bits) to the stream socket. If the client shuts down its end of that socket
// for writing, the copy is killed. If the client closes the socket for requests, all copies are
// killed and the starter ends. A copy leads a process group, all of which is killed at its end.
//
// Does not use the C++ library, since the program may have another one.

#include <dlfcn.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "compiler_gym/util/LargePages.h"

namespace {

using compiler_gym::util::moveToLargePages;

constexpr const char* kSocketVariable = "COMPILER_GYM_STARTER";
constexpr const char* kPreloadVariable = "LD_PRELOAD";
constexpr int kMaxCopies = 256;
// To move takes as long as larger pages save in 80 runs of clang or 150 of LLD on a small source. A
// program that has run so often will probably run as often again.
constexpr int kRunsBeforeMoving = 100;
constexpr int kNotStarted = 127;  // The exit code of shells for a program that cannot be started.

using Main = int (*)(int, char**, char**);

Main programMain = nullptr;

struct Request {
  int streams[3];
  int reply;
};

// A running copy.
struct Copy {
  pid_t pid;
  int reply;
};

void closeAll(const cmsghdr* header) {
  const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int file = -1;
    memcpy(&file, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    close(file);
  }
}

enum class Received { kRequest, kIncomplete, kEnd };

// A request is incomplete if this process cannot have more open files. The client notices, as its
// reply socket is closed.
Received receive(int control, Request& request) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(Request))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof(space);
  const ssize_t size = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  if (size != 1) {
    return size < 0 && errno == EINTR ? Received::kIncomplete : Received::kEnd;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) {
    return Received::kIncomplete;
  }
  if (header->cmsg_len != CMSG_LEN(sizeof(Request))) {
    closeAll(header);
    return Received::kIncomplete;
  }
  memcpy(&request, CMSG_DATA(header), sizeof(Request));
  return Received::kRequest;
}

bool readAll(int file, void* data, size_t size) {
  auto* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = read(file, next, size);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    next += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

// Runs main in a copy, and returns its result.
int runMain(const Request& request) {
  uint32_t size = 0;
  if (!readAll(request.reply, &size, sizeof(size)) || size == 0) {
    return kNotStarted;
  }
  // These are never freed, as main uses them to the end. There are no more words than bytes.
  auto* words = static_cast<char*>(malloc(size));
  auto** arguments = static_cast<char**>(calloc(size_t{size} + 1, sizeof(char*)));
  if (words == nullptr || arguments == nullptr || !readAll(request.reply, words, size) ||
      words[size - 1] != '\0' || chdir(words) != 0) {
    return kNotStarted;
  }
  close(request.reply);
  for (int number = 0; number < 3; ++number) {
    dup2(request.streams[number], number);
    close(request.streams[number]);
  }
  int count = 0;
  for (char* word = words + strlen(words) + 1; word < words + size; word += strlen(word) + 1) {
    arguments[count++] = word;
  }
  return programMain(count, arguments, environ);
}

class Starter {
 public:
  explicit Starter(int control) : control_(control) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &mask_);
    // The end of a child is not reported if the client ignores SIGCHLD, which programs inherit.
    const struct sigaction byDefault{};
    sigaction(SIGCHLD, &byDefault, &inherited_);
    ended_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  // Serves requests. Returns in each copy, with the result of main; never in the starter.
  int serve() {
    const char ready = 1;
    bool isOpen = ended_ >= 0 && write(control_, &ready, 1) == 1;
    while (isOpen) {
      pollfd watched[kMaxCopies + 2];
      watched[0] = {ended_, POLLIN, 0};
      // Requests wait while there are too many copies.
      const int requests = count_ < kMaxCopies ? POLLIN : 0;
      watched[1] = {control_, static_cast<short>(requests | POLLRDHUP), 0};
      const int copies = count_;
      for (int i = 0; i < copies; ++i) {
        watched[i + 2] = {copies_[i].reply, POLLRDHUP, 0};
      }
      if (poll(watched, static_cast<nfds_t>(copies + 2), -1) < 0) {
        continue;
      }
      // From last to first, since the last copy takes the place of one that has ended.
      for (int i = copies - 1; i >= 0; --i) {
        if (watched[i + 2].revents != 0) {
          kill(i);
        }
      }
      if (watched[0].revents != 0) {
        collect();
      }
      if ((watched[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
        isOpen = false;  // Requests may be left, but nobody waits for them.
      } else if (watched[1].revents != 0) {
        Request request{};
        const Received received = receive(control_, request);
        isOpen = received != Received::kEnd;
        if (received == Received::kRequest && start(request)) {
          return runMain(request);
        }
        if (received == Received::kRequest && ++runs_ == kRunsBeforeMoving) {
          moveToLargePages();
        }
      }
    }
    while (count_ > 0) {
      kill(count_ - 1);
    }
    _exit(0);
  }

 private:
  // Forks. Returns true in the copy.
  bool start(const Request& request) {
    const pid_t starter = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != starter) {
        _exit(kNotStarted);  // The starter has ended in between.
      }
      setsid();
      for (int i = 0; i < count_; ++i) {
        close(copies_[i].reply);
      }
      close(control_);
      close(ended_);
      sigaction(SIGCHLD, &inherited_, nullptr);
      sigprocmask(SIG_SETMASK, &mask_, nullptr);
      return true;
    }
    for (const int stream : request.streams) {
      close(stream);
    }
    if (pid < 0) {
      close(request.reply);  // The client notices that no copy was started.
    } else {
      copies_[count_++] = {pid, request.reply};
    }
    return false;
  }

  // Reports the copies that have ended.
  void collect() {
    signalfd_siginfo info;
    while (read(ended_, &info, sizeof(info)) > 0) {
    }
    for (int i = count_ - 1; i >= 0; --i) {
      siginfo_t state{};
      const auto pid = static_cast<id_t>(copies_[i].pid);
      if (waitid(P_PID, pid, &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid != 0) {
        kill(i);
      }
    }
  }

  // Kills a copy with its process group, and reports its status. It may have ended before.
  void kill(int index) {
    const Copy copy = copies_[index];
    killpg(copy.pid, SIGKILL);
    ::kill(copy.pid, SIGKILL);  // There is no process group yet if it has just been forked.
    int32_t status = 0;
    pid_t ended = 0;
    do {
      ended = waitpid(copy.pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended == copy.pid) {  // Else the client notices that there is no status.
      send(copy.reply, &status, sizeof(status), MSG_NOSIGNAL);
    }
    close(copy.reply);
    copies_[index] = copies_[--count_];
  }

  const int control_;
  int ended_;
  sigset_t mask_;
  struct sigaction inherited_{};
  Copy copies_[kMaxCopies];
  int count_ = 0;
  int runs_ = 0;
};

// Returns an environment variable as "NAME=VALUE", or null. Some programs, such as shells, have a
// getenv() of their own, which does not work yet.
char** findVariable(const char* name) {
  const size_t size = strlen(name);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (strncmp(*variable, name, size) == 0 && (*variable)[size] == '=') {
      return variable;
    }
  }
  return nullptr;
}

void removeVariable(char** variable) {
  for (; *variable != nullptr; ++variable) {
    *variable = variable[1];
  }
}

// Removes the library from LD_PRELOAD, where it is first, because copies may start other programs.
void cleanEnvironment() {
  removeVariable(findVariable(kSocketVariable));
  char** preloaded = findVariable(kPreloadVariable);
  if (preloaded == nullptr) {
    return;
  }
  const char* others = strchr(*preloaded, ':');
  if (others == nullptr) {
    removeVariable(preloaded);
  } else {
    char* value = strchr(*preloaded, '=') + 1;
    memmove(value, others + 1, strlen(others));
  }
}

int serveRequests(int, char**, char**) {
  const int control = atoi(*findVariable(kSocketVariable) + strlen(kSocketVariable) + 1);
  cleanEnvironment();
  static Starter starter(control);
  return starter.serve();
}

}  // namespace

// The function of the C library that runs the static constructors of a program, and then its main.
extern "C" __attribute__((visibility("default"))) int __libc_start_main(Main main, int argc,
                                                                        char** argv, void (*init)(),
                                                                        void (*fini)(),
                                                                        void (*loaderFini)(),
                                                                        void* stackEnd) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  programMain = main;
  Main first = findVariable(kSocketVariable) == nullptr ? main : serveRequests;
  return start(first, argc, argv, init, fini, loaderFini, stackEnd);
}
