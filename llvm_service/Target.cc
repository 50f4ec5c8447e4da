#include "llvm_service/Target.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/TargetMachine.h"

namespace compiler_gym::llvm_service {

namespace {

// Features that clang adds to a target's minimum by default. For riscv64 on Linux, these are
// -march=rv64gc, and code that the linker may relax.
const char* defaultFeatures(const llvm::Triple& triple) {
  return triple.getArch() == llvm::Triple::riscv64
             ? "+64bit,+a,+c,+d,+f,+m,+relax,+zaamo,+zalrsc,+zca,+zcd,+zicsr,+zifencei,+zmmul"
             : "";
}

std::string namesOfTargets() {
  std::string names;
  for (const llvm::Target& target : llvm::TargetRegistry::targets()) {
    names += (names.empty() ? "" : ", ") + std::string(target.getName());
  }
  return names;
}

}  // namespace

std::string versionOfLlvm() {
  return std::string(LLVM_VERSION_STRING) + " " + llvm::sys::getDefaultTargetTriple();
}

grpc::Status checkTargetTriple(const std::string& triple) {
  const llvm::Target* target = lookUpTarget(llvm::Triple(triple));
  if (target != nullptr && target->hasTargetMachine() && target->hasMCAsmBackend()) {
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::INVALID_ARGUMENT,
          "This LLVM cannot compile for the target \"" + triple +
              "\". Expected architecture-vendor-system or architecture-system, e.g. "
              "riscv64-linux-gnu; its architectures are " +
              namesOfTargets()};
}

grpc::Status retarget(llvm::Module& module, const std::string& triple) {
  const grpc::Status status = checkTargetTriple(triple);
  if (!status.ok()) {
    return status;
  }
  const llvm::Triple target(triple);
  module.setTargetTriple(asTarget(target));
  module.setDataLayout(
      createTargetMachine(module, llvm::CodeGenOptLevel::None)->createDataLayout());
  const llvm::StringRef features = defaultFeatures(target);
  for (llvm::Function& function : module) {
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu"}) {
      function.removeFnAttr(attribute);
    }
    if (!function.isDeclaration() && !features.empty()) {
      function.addFnAttr("target-features", features);
    }
  }
  return grpc::Status::OK;
}

}  // namespace compiler_gym::llvm_service
