// The service's end of the direct channel.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "compiler_gym/service/runtime/Channel.h"
#include "compiler_gym/service/runtime/IsolatedSessions.h"

namespace compiler_gym::runtime {

// Serves all RPCs to clients of the same user on this host, as Channel.h documents, with a thread
// for each connection.
class DirectServer {
 public:
  // Starts to listen. `sessions` must outlive the server. RESOURCE_EXHAUSTED if no socket can be
  // made.
  static grpc::Status start(IsolatedSessions& sessions, size_t maxMessageBytes,
                            std::unique_ptr<DirectServer>* server);

  // Closes all connections, and waits for the requests at work.
  ~DirectServer();

  // The name of the socket without the NUL that it begins with. It cannot be guessed.
  const std::string& name() const { return name_; }

 private:
  struct Connection {
    Channel channel;
    std::thread thread;
    bool isDone = false;
  };

  DirectServer(IsolatedSessions& sessions, size_t maxMessageBytes, std::string name,
               util::FileDescriptor listener);

  void accept();
  // Starts to serve a client, and joins the threads of those that are gone.
  void add(util::FileDescriptor socket);
  void serve(Connection& connection);
  grpc::Status dispatch(const Frame& frame, Channel& channel);

  IsolatedSessions& sessions_;
  const size_t maxMessageBytes_;
  const std::string name_;
  const util::FileDescriptor listener_;
  std::mutex mutex_;
  std::list<Connection> connections_;
  bool isStopping_ = false;
  std::thread acceptor_;
};

}  // namespace compiler_gym::runtime
