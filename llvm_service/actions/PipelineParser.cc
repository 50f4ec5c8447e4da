#include "llvm_service/actions/PipelineParser.h"

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/TargetMachine.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

struct PipelineParser::Impl {
  // Some passes need a target machine when they are parsed.
  const std::unique_ptr<llvm::TargetMachine> targetMachine = createHostTargetMachine();
  llvm::PassBuilder passBuilder{targetMachine.get()};
};

PipelineParser::PipelineParser() : impl_(std::make_unique<Impl>()) {
  registerOwnPasses(impl_->passBuilder);
}

PipelineParser::~PipelineParser() = default;

void PipelineParser::load(const llvm::PassPlugin& plugin) {
  plugin.registerPassBuilderCallbacks(impl_->passBuilder);
}

bool PipelineParser::understands(llvm::StringRef pipeline) {
  llvm::ModulePassManager passManager;
  llvm::Error error =
      impl_->passBuilder.parsePassPipeline(passManager, ("module(" + pipeline + ")").str());
  const bool parsed = !error;
  llvm::consumeError(std::move(error));
  return parsed;
}

std::string printPassNames() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::PassBuilder().printPassNames(stream);
  return text;
}

}  // namespace compiler_gym::llvm_service
