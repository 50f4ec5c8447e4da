// Attempts by another user of the machine to connect.
#pragma once

#include <gtest/gtest.h>

#include <functional>

namespace compiler_gym::runtime {

// The user that tests become: "nobody".
constexpr unsigned kOtherUser = 65534;

// True if this process may become another user: root can, but not in a sandbox that has root only.
bool canBeOtherUser();

// Runs `action` in a new process of kOtherUser, and returns its result (0 to 255). As the new
// process is a copy of one that may have had more threads, `action` must not use what they may have
// locked: memory, gRPC.
int runAsOtherUser(const std::function<int()>& action);

// The outcome of a connection.
enum ConnectionResult {
  // The server said something: it wants to talk.
  kAnswered,
  // The server closed the connection without a word.
  kClosed,
  // There was no connection.
  kNotConnected,
  // Neither happened in time.
  kSilent,
};

// Connects to a Unix socket and begins as a gRPC client does.
ConnectionResult greetUnixSocket(const char* path);

}  // namespace compiler_gym::runtime

#define SKIP_WITHOUT_OTHER_USER()                 \
  if (!::compiler_gym::runtime::canBeOtherUser()) \
  GTEST_SKIP() << "Only root outside of a sandbox can be another user"
