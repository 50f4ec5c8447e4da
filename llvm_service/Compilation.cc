#include "llvm_service/Compilation.h"

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::llvm_service {

using grpc::Status;
using grpc::StatusCode;

Compilation::Compilation(std::shared_ptr<const Program> program, OwnedModule owned,
                         const boost::filesystem::path& workingDirectory,
                         llvm::ArrayRef<LoadedPlugin> plugins)
    : program_(std::move(program)),
      workingDirectory_(workingDirectory),
      owned_(std::move(owned)),
      optimizer_(*owned_.module, plugins),
      executable_(program_->dynamicConfig(), workingDirectory),
      tracker_(*owned_.module),
      remarkReplay_(plugins) {}

Status Compilation::start(std::shared_ptr<const Program> program,
                          const boost::filesystem::path& workingDirectory,
                          std::unique_ptr<Compilation>& compilation,
                          llvm::ArrayRef<LoadedPlugin> plugins) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(program->bitcode(), owned));
  compilation.reset(
      new Compilation(std::move(program), std::move(owned), workingDirectory, plugins));
  return Status::OK;
}

Status Compilation::apply(const Action& action, bool& changed) {
  history_.push_back(action);
  RETURN_IF_ERROR(optimizer_.run(action.pipeline));
  changed = tracker_.update(*owned_.module).changed;
  if (changed) {
    ++version_;
  }
  const std::string errors = owned_.context->takeErrors();
  if (!errors.empty()) {
    return {StatusCode::INTERNAL, "LLVM reports errors in " + action.pipeline + ": " + errors};
  }
  return Status::OK;
}

const std::string& Compilation::bitcode() {
  if (!bitcode_ || bitcode_->first != version_) {
    bitcode_.emplace(version_, writeBitcode(module()));
  }
  return bitcode_->second;
}

Status Compilation::verify() {
  if (verifiedVersion_ != version_) {
    RETURN_IF_ERROR(llvm_service::verify(module()));
    verifiedVersion_ = version_;
  }
  return Status::OK;
}

Status Compilation::build(double& seconds) {
  if (!build_ || build_->version != version_ || !executable_.isBuilt()) {
    build_.reset();
    Build built{version_, 0};
    RETURN_IF_ERROR(executable_.build(bitcode(), built.seconds));
    build_ = built;
  }
  seconds = build_->seconds;
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
