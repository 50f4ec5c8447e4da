#include "compiler_gym/service/runtime/server/isolation/Repetition.h"

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;

namespace {

class Repetition {
 public:
  Repetition(Worker& process, Deadline deadline) : process_(process), deadline_(deadline) {}

  Status add(const HistoryEntry& entry) {
    if (!entry.isAction || entry.step != stepNumber_) RETURN_IF_ERROR(flush());
    stepNumber_ = entry.step;
    if (entry.isAction) return parseMessage(entry.message, step_.add_action());
    SendSessionParameterRequest request;
    RETURN_IF_ERROR(parseMessage(entry.message, request.add_parameter()));
    SendSessionParameterReply reply;
    return process_.call(Method::kSendSessionParameter, request, &reply, deadline_);
  }

  Status flush() {
    if (step_.action().empty()) return Status::OK;
    StepReply reply;
    const Status status = process_.call(Method::kStep, step_, &reply, deadline_);
    step_.Clear();
    return status;
  }

 private:
  Worker& process_;
  const Deadline deadline_;
  StepRequest step_;
  uint64_t stepNumber_ = 0;
};

}  // namespace

Status repeatHistory(Worker& process, const std::vector<HistoryEntry>& history, Deadline deadline) {
  Repetition repetition(process, deadline);
  for (const HistoryEntry& entry : history) RETURN_IF_ERROR(repetition.add(entry));
  return repetition.flush();
}

}  // namespace compiler_gym::runtime
