#include "compiler_gym/service/runtime/server/rpc/RpcService.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::ServerContext;
using grpc::Status;

namespace {

constexpr std::chrono::milliseconds kMargin(50);
constexpr std::chrono::hours kLongest(24 * 365);
constexpr std::chrono::milliseconds kLeaseLook(200);

}  // namespace

RpcService::RpcService(std::shared_ptr<Sessions> sessions, std::string directSocket)
    : sessions_(std::move(sessions)), directSocket_(std::move(directSocket)) {}

Deadline RpcService::deadlineOf(const ServerContext* context) const {
  constexpr auto kNone = std::chrono::system_clock::time_point::max();
  const auto deadline = context ? context->deadline() : kNone;
  // What gRPC gives when the client has set none.
  if (deadline == kNone) return sessions_->defaultDeadline();
  const std::chrono::nanoseconds left = deadline - std::chrono::system_clock::now();
  // The client's library gives up at the deadline. The reason must have arrived by then.
  const std::chrono::nanoseconds margin = std::min<std::chrono::nanoseconds>(left / 10, kMargin);
  return Clock::now() + std::min<std::chrono::nanoseconds>(left - margin, kLongest);
}

template <typename Request, typename Reply>
Status RpcService::serve(const char* name, Rpc<Request, Reply> rpc, ServerContext* context,
                         const Request* request, Reply* reply) {
  return util::callWithoutExceptions(name, [&] {
    RETURN_IF_ERROR(tokenCheck_.check(context));
    return (*sessions_.*rpc)(*request, reply, {deadlineOf(context)});
  });
}

template <typename Request, typename Reply>
Status RpcService::introduce(const char* name, Rpc<Request, Reply> rpc, ServerContext* context,
                             const Request* request, Reply* reply) {
  const Status status = serve(name, rpc, context, request, reply);
  if (status.ok() && context) {
    context->AddTrailingMetadata(kIsolationKey,
                                 sessions_->backend().isolatesSessions() ? "process" : "none");
    if (!directSocket_.empty()) context->AddTrailingMetadata(kDirectSocketKey, directSocket_);
  }
  return status;
}

Status RpcService::GetVersion(ServerContext* context, const GetVersionRequest* request,
                              GetVersionReply* reply) {
  return introduce("GetVersion", &Sessions::getVersion, context, request, reply);
}

Status RpcService::GetSpaces(ServerContext* context, const GetSpacesRequest* request,
                             GetSpacesReply* reply) {
  return introduce("GetSpaces", &Sessions::getSpaces, context, request, reply);
}

Status RpcService::StartSession(ServerContext* context, const StartSessionRequest* request,
                                StartSessionReply* reply) {
  return serve("StartSession", &Sessions::startSession, context, request, reply);
}

Status RpcService::ForkSession(ServerContext* context, const ForkSessionRequest* request,
                               ForkSessionReply* reply) {
  return serve("ForkSession", &Sessions::forkSession, context, request, reply);
}

Status RpcService::EndSession(ServerContext* context, const EndSessionRequest* request,
                              EndSessionReply* reply) {
  return serve("EndSession", &Sessions::endSession, context, request, reply);
}

Status RpcService::Step(ServerContext* context, const StepRequest* request, StepReply* reply) {
  return serve("Step", &Sessions::step, context, request, reply);
}

Status RpcService::AddBenchmark(ServerContext* context, const AddBenchmarkRequest* request,
                                AddBenchmarkReply* reply) {
  return serve("AddBenchmark", &Sessions::addBenchmark, context, request, reply);
}

Status RpcService::SendSessionParameter(ServerContext* context,
                                        const SendSessionParameterRequest* request,
                                        SendSessionParameterReply* reply) {
  return serve("SendSessionParameter", &Sessions::sendSessionParameter, context, request, reply);
}

Status RpcService::HoldLease(ServerContext* context, const HoldLeaseRequest* /*request*/,
                             grpc::ServerWriter<HoldLeaseReply>* writer) {
  RETURN_IF_ERROR(tokenCheck_.check(context));
  const int64_t lease = sessions_->openLease();
  HoldLeaseReply reply;
  reply.set_lease_id(lease);
  writer->Write(reply);
  // gRPC cancels the call when the client is gone, or the server shuts down.
  while (!context->IsCancelled()) std::this_thread::sleep_for(kLeaseLook);
  sessions_->closeLease(lease);
  return Status::CANCELLED;
}

}  // namespace compiler_gym::runtime
