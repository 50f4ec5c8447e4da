#include "llvm_service/regalloc/PlayedAllocation.h"

#include <memory>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm_service/Ir.h"
#include "llvm_service/costs/CodeGenerator.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/SizeMarks.h"
#include "llvm_service/regalloc/AdvisorChannel.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

// Reads what the register allocator reports about a whole function.
void noteSpills(const llvm::DiagnosticInfoOptimizationBase& remark,
                std::vector<SpillCounts>& spills) {
  if (remark.getRemarkName() != "SpillReloadCopies") return;
  SpillCounts counts{remark.getFunction().getName().str()};
  for (const auto& argument : remark.getArgs()) {
    const llvm::StringRef key = argument.Key;
    int64_t count = 0;
    double cost = 0;
    if (key.starts_with("Num") && !llvm::StringRef(argument.Val).getAsInteger(10, count)) {
      (key.contains("Spills")    ? counts.spills
       : key.contains("Reloads") ? counts.reloads
                                 : counts.copies) += count;
    } else if (key.starts_with("Total") && !llvm::StringRef(argument.Val).getAsDouble(cost)) {
      counts.cost += cost;
    }
  }
  spills.push_back(std::move(counts));
}

}  // namespace

Status generateWithAnswers(llvm::StringRef bitcode, AllocatorDecision decision,
                           llvm::ArrayRef<int64_t> answers, const std::string& function,
                           const boost::filesystem::path& workingDirectory,
                           llvm::CodeGenFileType type, PlayedAllocation& allocation) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(bitcode, owned));
  optimizeAsClangAtO0(*owned.module);
  markForSize(*owned.module);
  std::unique_ptr<AdvisorChannel> channel;
  RETURN_IF_ERROR(AdvisorChannel::open(decision, workingDirectory, channel));
  AllocatorPlayer player(decision, answers, function, *channel);
  llvm::Pass* const pass = decision == AllocatorDecision::kEviction
                               ? makeEvictionPass(owned.context->get(), player)
                               : makePriorityPass(player);
  if (pass == nullptr) {
    return {StatusCode::UNIMPLEMENTED,
            "LLVM " LLVM_VERSION_STRING
            " has no interface to its register allocator. Use LLVM 22 or later"};
  }
  std::unique_ptr<CodeGenerator> generator;
  RETURN_IF_ERROR(
      CodeGenerator::make(*owned.module, generator, llvm::CodeGenOptLevel::Default, {pass, type}));
  allocation.spills.clear();
  owned.context->setRemarkHandler(
      [&](const auto& remark) { noteSpills(remark, allocation.spills); });
  allocation.output = generator->run(*owned.module).str();
  RETURN_IF_ERROR(player.status());
  if (const std::string errors = owned.context->takeErrors(); !errors.empty()) {
    return {StatusCode::INVALID_ARGUMENT, "Code generation failed: " + errors};
  }
  allocation.questions = std::move(player.questions());
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
