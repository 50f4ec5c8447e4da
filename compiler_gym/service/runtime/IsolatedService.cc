#include "compiler_gym/service/runtime/IsolatedService.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "compiler_gym/service/runtime/Channel.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::ServerContext;
using grpc::Status;
using util::callWithoutExceptions;

namespace {

constexpr std::chrono::milliseconds kMargin(50);
constexpr std::chrono::hours kLongest(24 * 365);

}  // namespace

IsolatedService::IsolatedService(IsolatedSessions& sessions, std::string directSocket)
    : sessions_(sessions), directSocket_(std::move(directSocket)) {}

Deadline IsolatedService::deadlineOf(const ServerContext& context) const {
  const auto deadline = context.deadline();
  // What gRPC gives when the client has set none.
  if (deadline == std::chrono::system_clock::time_point::max()) return sessions_.defaultDeadline();
  const std::chrono::nanoseconds left = deadline - std::chrono::system_clock::now();
  // The client's library gives up at the deadline. The reason must have arrived by then.
  const std::chrono::nanoseconds margin = std::min<std::chrono::nanoseconds>(left / 10, kMargin);
  return Clock::now() + std::min<std::chrono::nanoseconds>(left - margin, kLongest);
}

Status IsolatedService::GetVersion(ServerContext* context, const GetVersionRequest* /*request*/,
                                   GetVersionReply* reply) {
  context->AddTrailingMetadata(kDirectSocketKey, directSocket_);
  *reply = sessions_.description().version();
  return Status::OK;
}

Status IsolatedService::GetSpaces(ServerContext* context, const GetSpacesRequest* /*request*/,
                                  GetSpacesReply* reply) {
  context->AddTrailingMetadata(kDirectSocketKey, directSocket_);
  *reply = sessions_.description().spaces();
  return Status::OK;
}

Status IsolatedService::StartSession(ServerContext* context, const StartSessionRequest* request,
                                     StartSessionReply* reply) {
  return callWithoutExceptions("StartSession", [&] {
    return sessions_.startSession(*request, reply, deadlineOf(*context));
  });
}

Status IsolatedService::ForkSession(ServerContext* context, const ForkSessionRequest* request,
                                    ForkSessionReply* reply) {
  return callWithoutExceptions(
      "ForkSession", [&] { return sessions_.forkSession(*request, reply, deadlineOf(*context)); });
}

Status IsolatedService::EndSession(ServerContext* /*context*/, const EndSessionRequest* request,
                                   EndSessionReply* reply) {
  return callWithoutExceptions("EndSession", [&] { return sessions_.endSession(*request, reply); });
}

Status IsolatedService::Step(ServerContext* context, const StepRequest* request, StepReply* reply) {
  return callWithoutExceptions(
      "Step", [&] { return sessions_.step(*request, reply, deadlineOf(*context)); });
}

Status IsolatedService::AddBenchmark(ServerContext* /*context*/, const AddBenchmarkRequest* request,
                                     AddBenchmarkReply* /*reply*/) {
  return callWithoutExceptions("AddBenchmark", [&] { return sessions_.addBenchmark(*request); });
}

Status IsolatedService::SendSessionParameter(ServerContext* context,
                                             const SendSessionParameterRequest* request,
                                             SendSessionParameterReply* reply) {
  return callWithoutExceptions("SendSessionParameter", [&] {
    return sessions_.sendSessionParameter(*request, reply, deadlineOf(*context));
  });
}

}  // namespace compiler_gym::runtime
