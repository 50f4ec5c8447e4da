#include "llvm_service/Compilation.h"

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::llvm_service {

using grpc::Status;
using grpc::StatusCode;

Compilation::Compilation(std::shared_ptr<const Program> program, OwnedModule owned,
                         const boost::filesystem::path& workingDirectory)
    : program_(std::move(program)),
      workingDirectory_(workingDirectory),
      owned_(std::move(owned)),
      optimizer_(*owned_.module),
      executable_(program_->dynamicConfig(), workingDirectory),
      tracker_(*owned_.module) {}

Status Compilation::start(std::shared_ptr<const Program> program,
                          const boost::filesystem::path& workingDirectory,
                          std::unique_ptr<Compilation>& compilation) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(program->bitcode(), owned));
  compilation.reset(new Compilation(std::move(program), std::move(owned), workingDirectory));
  return Status::OK;
}

Status Compilation::apply(llvm::StringRef pipeline, bool& changed) {
  history_.push_back(pipeline.str());
  RETURN_IF_ERROR(optimizer_.run(pipeline));
  changed = tracker_.update(*owned_.module).changed;
  if (changed) {
    ++version_;
  }
  const std::string errors = owned_.context->takeErrors();
  if (!errors.empty()) {
    return {StatusCode::INTERNAL, "LLVM reports errors in " + pipeline.str() + ": " + errors};
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
