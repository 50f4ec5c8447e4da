#include "compiler_gym/service/runtime/server/access/RequestCounter.h"

#include <utility>

namespace compiler_gym::runtime {

namespace {

// Counts one request. gRPC creates it for the request and destroys it with it.
class CountingInterceptor final : public grpc::experimental::Interceptor {
 public:
  explicit CountingInterceptor(std::shared_ptr<RequestCounter> counter)
      : counter_(std::move(counter)) {
    counter_->increment();
  }
  ~CountingInterceptor() override { counter_->decrement(); }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    methods->Proceed();
  }

 private:
  const std::shared_ptr<RequestCounter> counter_;
};

class CountingInterceptorFactory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CountingInterceptorFactory(std::shared_ptr<RequestCounter> counter)
      : counter_(std::move(counter)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    // Streams, such as leases, are not counted: their clients decide how long they last.
    if (info->type() != grpc::experimental::ServerRpcInfo::Type::UNARY) return nullptr;
    return new CountingInterceptor(counter_);  // gRPC takes ownership.
  }

 private:
  const std::shared_ptr<RequestCounter> counter_;
};

}  // namespace

void RequestCounter::increment() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

void RequestCounter::decrement() {
  const std::lock_guard lock(mutex_);
  if (--count_ == 0) changed_.notify_all();
}

bool RequestCounter::waitUntilIdle(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return count_ == 0; });
}

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
requestCountingInterceptors(const std::shared_ptr<RequestCounter>& counter) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<CountingInterceptorFactory>(counter));
  return factories;
}

}  // namespace compiler_gym::runtime
