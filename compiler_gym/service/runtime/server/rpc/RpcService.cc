#include "compiler_gym/service/runtime/server/rpc/RpcService.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::ServerContext;
using grpc::Status;
using grpc::StatusCode;

namespace {

constexpr std::chrono::milliseconds kMargin(50);

// A lease. It lasts until the client cancels the call or disappears, or the server shuts down.
class HeldLease final : public grpc::ServerWriteReactor<HoldLeaseReply> {
 public:
  explicit HeldLease(std::unique_ptr<RpcHandlers::Lease> lease) : lease_(std::move(lease)) {
    reply_.set_lease_id(lease_->id());
    StartWrite(&reply_);
  }

  void OnCancel() override { Finish(Status::CANCELLED); }

  // gRPC no longer uses this object.
  void OnDone() override { delete this; }

 private:
  const std::unique_ptr<RpcHandlers::Lease> lease_;
  HoldLeaseReply reply_;
};

// A lease that is refused: the call fails at once.
class RefusedLease final : public grpc::ServerWriteReactor<HoldLeaseReply> {
 public:
  explicit RefusedLease(const Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

RpcService::RpcService(std::shared_ptr<RpcHandlers> handlers, std::string directSocket)
    : handlers_(std::move(handlers)), directSocket_(std::move(directSocket)) {}

Deadline RpcService::deadlineOf(const ServerContext* context) const {
  constexpr auto kNone = std::chrono::system_clock::time_point::max();
  const auto deadline = context ? context->deadline() : kNone;
  // The value that gRPC returns if the client has set no deadline.
  if (deadline == kNone) return handlers_->defaultDeadline();
  const std::chrono::nanoseconds left = deadline - std::chrono::system_clock::now();
  // The client's library gives up at the deadline. The reply must arrive before it.
  const std::chrono::nanoseconds margin = std::min<std::chrono::nanoseconds>(left / 10, kMargin);
  return Clock::now() + std::min<std::chrono::nanoseconds>(left - margin, kForever);
}

template <typename Request, typename Reply>
Status RpcService::serve(const char* name, Rpc<Request, Reply> rpc, ServerContext* context,
                         const Request* request, Reply* reply) {
  return util::callWithoutExceptions(
      name, [&] { return (*handlers_.*rpc)(*request, reply, {deadlineOf(context)}); });
}

template <typename Request, typename Reply>
Status RpcService::serveDescription(const char* name, Rpc<Request, Reply> rpc,
                                    ServerContext* context, const Request* request, Reply* reply) {
  const Status status = serve(name, rpc, context, request, reply);
  if (status.ok() && context) {
    context->AddTrailingMetadata(kIsolationKey, "process");
    if (!directSocket_.empty()) context->AddTrailingMetadata(kDirectSocketKey, directSocket_);
  }
  return status;
}

Status RpcService::GetVersion(ServerContext* context, const GetVersionRequest* request,
                              GetVersionReply* reply) {
  return serveDescription("GetVersion", &RpcHandlers::getVersion, context, request, reply);
}

Status RpcService::GetSpaces(ServerContext* context, const GetSpacesRequest* request,
                             GetSpacesReply* reply) {
  return serveDescription("GetSpaces", &RpcHandlers::getSpaces, context, request, reply);
}

Status RpcService::StartSession(ServerContext* context, const StartSessionRequest* request,
                                StartSessionReply* reply) {
  return serve("StartSession", &RpcHandlers::startSession, context, request, reply);
}

Status RpcService::ForkSession(ServerContext* context, const ForkSessionRequest* request,
                               ForkSessionReply* reply) {
  return serve("ForkSession", &RpcHandlers::forkSession, context, request, reply);
}

Status RpcService::EndSession(ServerContext* context, const EndSessionRequest* request,
                              EndSessionReply* reply) {
  return serve("EndSession", &RpcHandlers::endSession, context, request, reply);
}

Status RpcService::Step(ServerContext* context, const StepRequest* request, StepReply* reply) {
  return serve("Step", &RpcHandlers::step, context, request, reply);
}

Status RpcService::AddBenchmark(ServerContext* context, const AddBenchmarkRequest* request,
                                AddBenchmarkReply* reply) {
  return serve("AddBenchmark", &RpcHandlers::addBenchmark, context, request, reply);
}

Status RpcService::SendSessionParameter(ServerContext* context,
                                        const SendSessionParameterRequest* request,
                                        SendSessionParameterReply* reply) {
  return serve("SendSessionParameter", &RpcHandlers::sendSessionParameter, context, request, reply);
}

grpc::ServerWriteReactor<HoldLeaseReply>* RpcService::HoldLease(
    grpc::CallbackServerContext* /*context*/, const HoldLeaseRequest* /*request*/) {
  std::unique_ptr<RpcHandlers::Lease> lease;
  const Status status = handlers_->openLease(&lease);
  // gRPC calls OnDone() of either, which deletes it.
  if (!status.ok()) return new RefusedLease(status);
  return new HeldLease(std::move(lease));
}

}  // namespace compiler_gym::runtime
