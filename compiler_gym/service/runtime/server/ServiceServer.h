// The gRPC server of a service.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "compiler_gym/service/runtime/server/RequestCounter.h"

namespace compiler_gym::runtime {

// Serves one gRPC service, together with gRPC's health and reflection services, without encryption.
class ServiceServer {
 public:
  // Starts to listen on `port` of `host`; port 0 means any free one. Requests and replies are
  // limited to `maxMessageBytes`, -1 means not at all. `service` must outlive the server.
  // UNAVAILABLE if it is not possible to listen there.
  static grpc::Status start(grpc::Service* service, const std::string& host, int port,
                            int maxMessageBytes, std::unique_ptr<ServiceServer>* server);

  // The port that the server listens on.
  int port() const { return port_; }

  // Waits up to `grace` for the requests at work, then stops listening, cancels those that are
  // left, calls `interrupt`, which should make their handlers return, and waits some seconds for
  // that. False if one did not return; destroying the server waits for it.
  [[nodiscard]] bool shutdown(
      std::chrono::milliseconds grace, const std::function<void()>& interrupt = [] {});

 private:
  ServiceServer(std::unique_ptr<grpc::Server> server, int port,
                std::shared_ptr<RequestCounter> requests);

  const std::shared_ptr<RequestCounter> requests_;
  const std::unique_ptr<grpc::Server> server_;
  const int port_;
  std::future<void> stopped_;
};

}  // namespace compiler_gym::runtime
