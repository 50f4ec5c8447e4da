#include "llvm_service/Compilation.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/Fingerprint.h"

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
      fingerprint_(fingerprint(*owned_.module)) {}

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

Status Compilation::apply(llvm::StringRef pipeline, bool& changed) {
  RETURN_IF_ERROR(optimizer_.run(pipeline));
  const uint64_t after = fingerprint(*owned_.module);
  changed = after != fingerprint_;
  if (changed) {
    fingerprint_ = after;
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
  if (!build_ || build_->version != version_) {
    build_.reset();
    Build built{version_, 0};
    RETURN_IF_ERROR(executable_.build(bitcode(), built.seconds));
    build_ = built;
  }
  seconds = build_->seconds;
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
