#include "compiler_gym/service/runtime/server/isolation/ProcessHost.h"

#include <glog/logging.h>

#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/isolation/Repetition.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

void attachSocket(Worker& process, const RequestContext& context) {
  if (context.clientSocket) context.clientSocket->socket = process.takeClientSocket();
}

}  // namespace

ProcessHost::ProcessHost(std::shared_ptr<ForkServerProcess> forkServer,
                         const boost::filesystem::path& workingDirectory, const Limits& limits)
    : forkServer_(std::move(forkServer)),
      spareWorkers_(deferredWork_, limits.maxSpares),
      pristine_(*forkServer_, spareWorkers_, limits.pristineBytes,
                static_cast<size_t>(limits.maxPristine)),
      reproducers_(pristine_, workingDirectory, limits.maxReproducers) {}

Status ProcessHost::start(const std::shared_ptr<const Benchmark>& benchmark,
                          const StartSessionRequest& request, const RequestContext& context,
                          StartSessionReply* reply, std::shared_ptr<Worker>* process) {
  // It may turn out only with the observation that a copy could not be made.
  RETURN_IF_ERROR(pristine_.withRoom(
      *process, [&] { return startAndObserve(benchmark, request, context, reply, process); }));
  attachSocket(**process, context);
  return Status::OK;
}

Status ProcessHost::startAndObserve(const std::shared_ptr<const Benchmark>& benchmark,
                                    const StartSessionRequest& request,
                                    const RequestContext& context, StartSessionReply* reply,
                                    std::shared_ptr<Worker>* process) {
  RETURN_IF_ERROR(pristine_.start({benchmark, request.action_space()}, request.observation_space(),
                                  context.deadline, process));
  if (request.observation_space().empty()) return Status::OK;
  StepRequest observe;
  *observe.mutable_observation_space() = request.observation_space();
  StepReply observed;
  RETURN_IF_ERROR((*process)->call(Method::kObserve, observe, &observed, context.deadline));
  *reply->mutable_observation() = std::move(*observed.mutable_observation());
  return Status::OK;
}

Status ProcessHost::fork(const std::shared_ptr<Worker>& original, const RequestContext& context,
                         std::shared_ptr<Worker>* copy) {
  const Status forked = original->isForkable(context.deadline)
                            ? copyProcess(original, context, copy)
                            : repeatInAnother(*original, context, copy);
  if (!forked.ok()) return explain(original, forked, context.deadline);
  attachSocket(**copy, context);
  return Status::OK;
}

Status ProcessHost::copyProcess(const std::shared_ptr<Worker>& original,
                                const RequestContext& context, std::shared_ptr<Worker>* copy) {
  std::unique_ptr<WorkerCopies::PendingCopy> order;
  RETURN_IF_ERROR(pristine_.withRoom(
      *copy, [&] { return spareWorkers_.copy(original, context.deadline, copy, &order); }));
  if (context.clientSocket) context.clientSocket->afterReply = std::move(order);
  return Status::OK;
}

Status ProcessHost::repeatInAnother(const Worker& original, const RequestContext& context,
                                    std::shared_ptr<Worker>* copy) {
  std::vector<HistoryEntry> history;
  if (!original.record().history(&history)) {
    return Status(StatusCode::RESOURCE_EXHAUSTED,
                  "This session cannot be forked: its process cannot be copied "
                  "(CompilationSession::forkable), and it has too many actions to repeat them");
  }
  RETURN_IF_ERROR(pristine_.start(original.origin(), /*observations=*/{}, context.deadline, copy));
  return repeatHistory(**copy, history, context.deadline);
}

Status ProcessHost::call(const std::shared_ptr<Worker>& process, Method method,
                         const google::protobuf::MessageLite& request,
                         google::protobuf::MessageLite* reply, Deadline deadline) {
  const Status status = process->call(method, request, reply, deadline);
  return status.ok() ? status : explain(process, status, deadline);
}

Status ProcessHost::explain(const std::shared_ptr<Worker>& process, const Status& status,
                            Deadline deadline) {
  if (!process->isDead()) return status;
  process->explainOnce([&] {
    // The client already knows of this copy, which could not be made. Makes room for the next.
    if (process->record().endReason() == EndReason::kNotForked) pristine_.makeRoom();
    if (!process->hasDiedInAction()) return;
    // The deadline of the request has passed if the process exceeded it.
    const bool isLate = process->record().endReason() == EndReason::kDeadline;
    process->appendToEndReport(reproducers_.save(process, isLate ? Clock::now() : deadline));
    LOG(WARNING) << process->endStatus().error_message();
  });
  return process->endStatus();
}

void ProcessHost::dispose(std::shared_ptr<Worker> process) {
  deferredWork_.add([process = std::move(process)]() mutable { process.reset(); });
}

}  // namespace compiler_gym::runtime
