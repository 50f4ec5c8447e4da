// The service's end of the direct channel.
#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "compiler_gym/service/runtime/server/access/Acceptor.h"
#include "compiler_gym/service/runtime/server/rpc/RpcHandlers.h"
#include "compiler_gym/service/runtime/wire/Channel.h"

namespace compiler_gym::runtime {

// Serves all RPCs to clients of the same user on this host, with a thread for each connection.
// Clients beyond a number of connections are turned away.
class DirectServer {
 public:
  // Starts to listen. `handlers` must outlive the server. A client that does not read its reply, or
  // sends half a request, is dropped after `transferTimeout`. RESOURCE_EXHAUSTED if no socket can
  // be made.
  static grpc::Status start(RpcHandlers& handlers, size_t maxMessageBytes,
                            std::unique_ptr<DirectServer>* server,
                            std::chrono::milliseconds transferTimeout = std::chrono::minutes(1));

  // Calls stop() without a time limit.
  ~DirectServer();

  // Closes all connections, and waits for the requests at work. False if one of them takes longer
  // than that.
  [[nodiscard]] bool stop(std::chrono::milliseconds limit);

  // The name of the socket without the NUL that it begins with. It cannot be guessed.
  const std::string& name() const { return name_; }

 private:
  struct Connection {
    Channel channel;
    std::thread thread;
    // The lease of the client, once it has asked for one.
    std::unique_ptr<RpcHandlers::Lease> lease;
    bool isDone = false;
  };

  DirectServer(RpcHandlers& handlers, size_t maxMessageBytes, std::string name,
               std::chrono::milliseconds transferTimeout);

  Deadline transferDeadline() const { return Clock::now() + transferTimeout_; }
  void beginToStop();
  // Starts to serve a client, unless there are too many.
  void add(util::FileDescriptor socket);
  // Joins the threads of clients that are gone. Expects the caller to hold mutex_.
  void removeDone();
  void serve(Connection& connection);
  // Receives a request and replies. An error ends the connection.
  grpc::Status serveFrame(Frame& frame, Connection& connection);
  grpc::Status dispatch(const Frame& frame, Connection& connection);
  grpc::Status holdLease(Connection& connection);

  template <typename Request, typename Reply>
  using Rpc = grpc::Status (RpcHandlers::*)(const Request&, Reply*, const RequestContext&);
  // Decodes the request, has it served, and replies. The socket of a new session goes along.
  template <typename Request, typename Reply>
  grpc::Status serve(const Frame& frame, Channel& channel, Rpc<Request, Reply> rpc);

  RpcHandlers& handlers_;
  const size_t maxMessageBytes_;
  const std::string name_;
  const std::chrono::milliseconds transferTimeout_;
  std::mutex mutex_;
  std::list<Connection> connections_;
  std::condition_variable done_;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace compiler_gym::runtime
