#include "compiler_gym/service/runtime/server/isolation/IsolatedBackend.h"

#include <glog/logging.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/isolation/Chores.h"
#include "compiler_gym/service/runtime/server/isolation/PristinePool.h"
#include "compiler_gym/service/runtime/server/isolation/Repetition.h"
#include "compiler_gym/service/runtime/server/isolation/Reproducers.h"
#include "compiler_gym/service/runtime/server/isolation/SessionProcess.h"
#include "compiler_gym/service/runtime/server/isolation/Spares.h"
#include "compiler_gym/service/runtime/server/rpc/BuiltinParameters.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

class IsolatedSession final : public ServedSession {
 public:
  IsolatedSession(std::shared_ptr<SessionProcess> process, PristinePool& pristine,
                  Reproducers& reproducers)
      : process_(std::move(process)), pristine_(pristine), reproducers_(reproducers) {}

  Status step(const StepRequest& request, StepReply* reply, Deadline deadline) override {
    return call(Method::kStep, request, reply, deadline);
  }

  Status setParameters(const SendSessionParameterRequest& request, SendSessionParameterReply* reply,
                       Deadline deadline) override {
    return call(Method::kSendSessionParameter, request, reply, deadline);
  }

  uint64_t activity() const override { return process_->record().state(); }

  void close() override { process_->close(); }

  const std::shared_ptr<SessionProcess>& process() const { return process_; }

  // The status of a request to the process. The first to find it dead saves a reproducer.
  Status explain(const Status& status, Deadline deadline) {
    if (!process_->isDead()) return status;
    std::call_once(reproducerOnce_, [&] {
      // A copy is made after its client was told of it. The next one finds room.
      if (process_->record().endReason() == EndReason::kNotForked) pristine_.makeRoom();
      if (!process_->hasDiedInAction()) return;
      // If there was a time limit, it is over.
      const bool isLate = process_->record().endReason() == EndReason::kDeadline;
      process_->appendToEpitaph(reproducers_.save(process_, isLate ? Clock::now() : deadline));
      LOG(WARNING) << process_->epitaph().error_message();
    });
    return process_->epitaph();
  }

 private:
  Status call(Method method, const google::protobuf::MessageLite& request,
              google::protobuf::MessageLite* reply, Deadline deadline) {
    const Status status = process_->call(method, request, reply, deadline);
    return status.ok() ? status : explain(status, deadline);
  }

  const std::shared_ptr<SessionProcess> process_;
  PristinePool& pristine_;
  Reproducers& reproducers_;
  std::once_flag reproducerOnce_;
};

class IsolatedBackend final : public SessionBackend {
 public:
  IsolatedBackend(ForkServerProcess& forkServer, const boost::filesystem::path& workingDirectory,
                  const Limits& limits)
      : forkServer_(forkServer),
        spares_(chores_, limits.maxSpares),
        pristine_(forkServer, spares_, limits.pristineBytes,
                  static_cast<size_t>(limits.maxPristine)),
        reproducers_(pristine_, workingDirectory, limits.maxReproducers) {}

  const ServiceDescription& description() const override { return forkServer_.description(); }
  bool isolatesSessions() const override { return true; }

  Status start(const std::shared_ptr<const Benchmark>& benchmark,
               const StartSessionRequest& request, const RequestContext& context,
               StartSessionReply* reply, std::shared_ptr<ServedSession>* session) override {
    std::shared_ptr<SessionProcess> process;
    while (true) {
      const Status status = startAndObserve(benchmark, request, context, reply, &process);
      if (status.ok()) break;
      const bool isMade =
          !process || !process->isDead() || process->record().endReason() != EndReason::kNotForked;
      if (isMade || !pristine_.makeRoom()) return status;
    }
    *session = serve(std::move(process), context.handover);
    return Status::OK;
  }

  Status fork(const std::shared_ptr<ServedSession>& original, const RequestContext& context,
              std::shared_ptr<ServedSession>* copy) override {
    auto& isolated = static_cast<IsolatedSession&>(*original);
    std::shared_ptr<SessionProcess> process;
    const Status forked = isolated.process()->isForkable(context.deadline)
                              ? copyProcess(isolated.process(), context, &process)
                              : repeatInAnother(*isolated.process(), context, &process);
    if (!forked.ok()) return isolated.explain(forked, context.deadline);
    *copy = serve(std::move(process), context.handover);
    return Status::OK;
  }

  void dispose(std::shared_ptr<ServedSession> session) override {
    chores_.add([session = std::move(session)]() mutable { session.reset(); });
  }

  Status setParameter(const SessionParameter& parameter,
                      std::optional<std::string>& reply) override {
    return handleSizeParameters(kPristinePoolParameters, parameter.key(), parameter.value(),
                                pristine_, reply);
  }

  void stop() override { forkServer_.stop(); }

 private:
  Status startAndObserve(const std::shared_ptr<const Benchmark>& benchmark,
                         const StartSessionRequest& request, const RequestContext& context,
                         StartSessionReply* reply, std::shared_ptr<SessionProcess>* process) {
    RETURN_IF_ERROR(pristine_.start({benchmark, request.action_space()},
                                    request.observation_space(), context.deadline, process));
    if (request.observation_space().empty()) return Status::OK;
    StepRequest observe;
    *observe.mutable_observation_space() = request.observation_space();
    StepReply observed;
    RETURN_IF_ERROR((*process)->call(Method::kObserve, observe, &observed, context.deadline));
    *reply->mutable_observation() = std::move(*observed.mutable_observation());
    return Status::OK;
  }

  Status copyProcess(const std::shared_ptr<SessionProcess>& original, const RequestContext& context,
                     std::shared_ptr<SessionProcess>* copy) {
    std::unique_ptr<SessionProcess::CopyOrder> order;
    Status status;
    do {
      status = spares_.copy(original, context.deadline, copy, &order);
    } while (status.error_code() == StatusCode::RESOURCE_EXHAUSTED && !original->isDead() &&
             pristine_.makeRoom());
    if (!status.ok()) return status;
    if (context.handover) context.handover->afterReply = std::move(order);
    return Status::OK;
  }

  Status repeatInAnother(const SessionProcess& original, const RequestContext& context,
                         std::shared_ptr<SessionProcess>* copy) {
    std::vector<HistoryEntry> history;
    if (!original.record().history(&history)) {
      return Status(StatusCode::RESOURCE_EXHAUSTED,
                    "This session cannot be forked: its process cannot be copied "
                    "(CompilationSession::forkable), and it has too many actions to repeat them");
    }
    RETURN_IF_ERROR(
        pristine_.start(original.origin(), /*observations=*/{}, context.deadline, copy));
    return repeatHistory(**copy, history, context.deadline);
  }

  std::shared_ptr<ServedSession> serve(std::shared_ptr<SessionProcess> process,
                                       Handover* handover) {
    if (handover) handover->client = process->takeClientSocket();
    return std::make_shared<IsolatedSession>(std::move(process), pristine_, reproducers_);
  }

  ForkServerProcess& forkServer_;
  Spares spares_;
  PristinePool pristine_;
  Reproducers reproducers_;
  // Ends the processes of sessions that were ended, and makes spares. Destroyed before all else.
  Chores chores_;
};

}  // namespace

std::unique_ptr<SessionBackend> makeIsolatedBackend(ForkServerProcess& forkServer,
                                                    const boost::filesystem::path& workingDirectory,
                                                    const Limits& limits) {
  return std::make_unique<IsolatedBackend>(forkServer, workingDirectory, limits);
}

}  // namespace compiler_gym::runtime
