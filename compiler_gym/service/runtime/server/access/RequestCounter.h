// Counts the requests that a gRPC server is working on.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace compiler_gym::runtime {

// A number of requests. May be used by any number of threads.
class RequestCounter {
 public:
  void increment();
  void decrement();

  // Waits until there is no request. False if there still is one after `limit`.
  bool waitUntilIdle(std::chrono::milliseconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// Interceptor factories for grpc::ServerBuilder to have its server's requests, other than streams,
// counted from their arrival until their reply was sent.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
requestCountingInterceptors(const std::shared_ptr<RequestCounter>& counter);

}  // namespace compiler_gym::runtime
