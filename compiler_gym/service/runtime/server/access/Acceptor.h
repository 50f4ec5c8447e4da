// Accepts connections.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// Accepts the connections of clients, and checks their owners, for all servers. Refused connections
// are closed before anything is read from them.
class Acceptor {
 public:
  // A socket that listens and does not block.
  struct Entrance {
    util::FileDescriptor listener;
    // Accept only connections from processes of the same user.
    bool isForOwnerOnly = true;
    // Takes over a connection, which does not block. Runs in the thread of the acceptor.
    std::function<void(util::FileDescriptor connection)> take;
  };

  // Starts to accept. RESOURCE_EXHAUSTED if there can be no thread or no file for it.
  static grpc::Status start(std::vector<Entrance> entrances, std::unique_ptr<Acceptor>* acceptor);

  // Stops, if stop() was not called.
  ~Acceptor();

  // Stops accepting, and closes the listening sockets. Accepted connections stay open. May be
  // called repeatedly, by one thread at a time.
  void stop();

 private:
  Acceptor(std::vector<Entrance> entrances, util::FileDescriptor stopEvent);

  void run();

  std::vector<Entrance> entrances_;
  const util::FileDescriptor stopEvent_;
  std::thread thread_;
};

}  // namespace compiler_gym::runtime
