#include "llvm_service/RemarkReplay.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm_service/actions/PassPlugins.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;

const char* kindOf(const llvm::DiagnosticInfoOptimizationBase& remark) {
  switch (remark.getKind()) {
    case llvm::DK_OptimizationRemark:
    case llvm::DK_MachineOptimizationRemark:
      return "passed";
    case llvm::DK_OptimizationRemarkMissed:
    case llvm::DK_MachineOptimizationRemarkMissed:
      return "missed";
    case llvm::DK_OptimizationFailure:
      return "failure";
    default:
      return "analysis";
  }
}

Remark toRemark(const llvm::DiagnosticInfoOptimizationBase& remark) {
  return {kindOf(remark), remark.getPassName().str(), remark.getRemarkName().str(),
          remark.getFunction().getName().str(), remark.getMsg()};
}

}  // namespace

Status RemarkReplay::run(const std::string& pipeline, bool isLast) {
  remarks_.clear();
  if (isLast) {
    owned_.context->setRemarkHandler(
        [this](const auto& remark) { remarks_.push_back(toRemark(remark)); });
  }
  const Status status = optimizer_->run(pipeline);
  owned_.context->setRemarkHandler(nullptr);
  // The compilation of the program itself has reported the errors.
  static_cast<void>(owned_.context->takeErrors());
  return status;
}

Status RemarkReplay::remarksOfLast(const std::string& program,
                                   const std::vector<const Action*>& history,
                                   const std::vector<Remark>** remarks) {
  if (!optimizer_) {
    RETURN_IF_ERROR(parseIr(program, owned_));
    optimizer_ = std::make_unique<Optimizer>(*owned_.module, plugins_);
  }
  for (; done_ < history.size(); ++done_) {
    RETURN_IF_ERROR(run(history[done_]->pipeline, /*isLast=*/done_ + 1 == history.size()));
  }
  *remarks = &remarks_;
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
