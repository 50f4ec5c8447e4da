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
      tracker_(*owned_.module),
      optimizer_(*owned_.module, plugins, &tracker_),
      executable_(program_->dynamicConfig(), workingDirectory),
      remarkReplay_(plugins) {}

Status Compilation::start(std::shared_ptr<const Program> program,
                          const boost::filesystem::path& workingDirectory,
                          std::unique_ptr<Compilation>& compilation,
                          llvm::ArrayRef<LoadedPlugin> plugins) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(program->bitcode(), owned));
  compilation = startOn(std::move(program), std::move(owned), workingDirectory, plugins);
  compilation->optimizer_.describeProcessor();
  return Status::OK;
}

std::unique_ptr<Compilation> Compilation::startOn(std::shared_ptr<const Program> program,
                                                  OwnedModule owned,
                                                  const boost::filesystem::path& workingDirectory,
                                                  llvm::ArrayRef<LoadedPlugin> plugins) {
  return std::unique_ptr<Compilation>(
      new Compilation(std::move(program), std::move(owned), workingDirectory, plugins));
}

Status Compilation::apply(const Action& action, bool& changed) {
  tracker_.completeUpdate();
  if (isJudged_) {
    tracker_.follow();
  }
  const uint64_t before = version_;
  RETURN_IF_ERROR(run(action));
  changed = version() != before;
  return Status::OK;
}

Status Compilation::applyUnjudged(const Action& action) {
  tracker_.completeUpdate();
  return run(action);
}

Status Compilation::run(const Action& action) {
  history_.push_back(&action);
  isJudged_ = false;
  RETURN_IF_ERROR(optimizer_.run(action.pipeline));
  const std::string errors = owned_.context->takeErrors();
  if (!errors.empty()) {
    return {StatusCode::INTERNAL, "LLVM reports errors in " + action.pipeline + ": " + errors};
  }
  return Status::OK;
}

void Compilation::judge() {
  if (std::exchange(isJudged_, true)) {
    return;
  }
  if (tracker_.beginUpdate(*owned_.module)) {
    ++version_;
  }
}

uint64_t Compilation::version() {
  judge();
  return version_;
}

const ModuleChange& Compilation::lastChange() {
  judge();
  return tracker_.completeUpdate();
}

uint64_t Compilation::instructionCount() {
  judge();
  return tracker_.instructions();
}

llvm::ArrayRef<ChangeTracker::Function> Compilation::versionsOfFunctions() {
  judge();
  return tracker_.functions();
}

const std::string& Compilation::bitcode() {
  if (!bitcode_ || bitcode_->first != version()) {
    bitcode_.emplace(version(), writeBitcode(module()));
  }
  return bitcode_->second;
}

Status Compilation::verify() {
  if (verifiedVersion_ != version()) {
    RETURN_IF_ERROR(llvm_service::verify(module()));
    verifiedVersion_ = version();
  }
  return Status::OK;
}

Status Compilation::build(double& seconds) {
  if (!build_ || build_->version != version() || !executable_.isBuilt()) {
    build_.reset();
    Build built{version(), 0};
    RETURN_IF_ERROR(executable_.build(bitcode(), built.seconds));
    build_ = built;
  }
  seconds = build_->seconds;
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
