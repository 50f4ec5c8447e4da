#include "tests/service/runtime/server/OtherUser.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace compiler_gym::runtime {

namespace {

constexpr int kBecomingFailed = 255;
constexpr timeval kPatience = {20, 0};

// The result of `action` in a new process of the other user.
int resultAsOtherUser(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    const bool isOther =
        setgroups(0, nullptr) == 0 && setgid(kOtherUser) == 0 && setuid(kOtherUser) == 0;
    _exit(isOther ? action() : kBecomingFailed);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status);
}

ConnectionResult greet(const sockaddr* address, socklen_t size) {
  // The first bytes of HTTP/2 clients: a fixed text, and an empty frame of settings.
  constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
  const int client = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  ConnectionResult result = kNotConnected;
  if (connect(client, address, size) == 0) {
    send(client, kPreface, sizeof(kPreface) - 1, MSG_NOSIGNAL);
    char answer = 0;
    const ssize_t received = recv(client, &answer, 1, 0);
    if (received > 0) {
      result = kAnswered;
    } else {
      result = received < 0 && errno == EAGAIN ? kSilent : kClosed;
    }
  }
  close(client);
  return result;
}

}  // namespace

bool canBeOtherUser() {
  return resultAsOtherUser([] { return 0; }) == 0;
}

int runAsOtherUser(const std::function<int()>& action) {
  const int result = resultAsOtherUser(action);
  EXPECT_NE(result, kBecomingFailed) << "Cannot become another user";
  return result;
}

ConnectionResult greetUnixSocket(const char* path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  return greet(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

}  // namespace compiler_gym::runtime
