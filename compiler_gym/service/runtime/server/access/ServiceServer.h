// The gRPC server of a service.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "compiler_gym/service/runtime/server/access/Acceptor.h"
#include "compiler_gym/service/runtime/server/access/Access.h"
#include "compiler_gym/service/runtime/server/access/RequestCounter.h"

namespace compiler_gym::runtime {

// The addresses of a server, and its access control.
struct ServerOptions {
  // Name or address of an interface, and the port there; 0 means any free one.
  std::string host = "127.0.0.1";
  int port = 0;
  // Limit of a request and of a reply; -1 means none.
  int maxMessageBytes = -1;
  // The path of a Unix socket, if the file system supports them; empty for no socket.
  boost::filesystem::path unixSocket;
  // Access control for TCP. By the Unix socket it is always the user who runs the service alone.
  Access access;
  // Threads that serve requests; 0 means no limit. A request that gets none fails with
  // RESOURCE_EXHAUSTED.
  int maxThreads = 0;
};

// Serves one gRPC service, together with gRPC's health and reflection services. These two ask for
// no token: they tell that the service is alive, and its protocol.
class ServiceServer {
 public:
  // Starts to listen. `service` must outlive the server. UNAVAILABLE if it is not possible to
  // listen there, FAILED_PRECONDITION if everybody would be served and nobody said so.
  static grpc::Status start(grpc::Service* service, const ServerOptions& options,
                            std::unique_ptr<ServiceServer>* server);

  // The TCP port that the server listens on.
  int port() const { return port_; }

  // Waits up to `grace` for the requests at work, then stops listening, cancels those that are
  // left, calls `interrupt`, which should make their handlers return, and waits some seconds for
  // that. False if one did not return; destroying the server waits for it.
  [[nodiscard]] bool shutdown(
      std::chrono::milliseconds grace, const std::function<void()>& interrupt = [] {});

 private:
  ServiceServer(int port, std::unique_ptr<grpc::Server> server, std::unique_ptr<Acceptor> acceptor,
                std::shared_ptr<RequestCounter> requests);

  const std::shared_ptr<RequestCounter> requests_;
  const std::unique_ptr<grpc::Server> server_;
  const std::unique_ptr<Acceptor> acceptor_;
  const int port_;
  std::future<void> stopped_;
};

}  // namespace compiler_gym::runtime
