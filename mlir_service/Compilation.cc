#include "mlir_service/Compilation.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir_service/Context.h"
#include "mlir_service/actions/Actions.h"

namespace compiler_gym::mlir_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

// A kernel that takes longer is too slow for learning.
constexpr std::chrono::seconds kStartLimit(10);

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return text;
}

/// Identifies the state of a module. MLIR's own fingerprint has the addresses of operations, but
/// not their names. A new operation may be at the address of a deleted one.
class Fingerprint {
 public:
  explicit Fingerprint(mlir::ModuleOp module) : addresses_(module) {
    module->walk([this](mlir::Operation* operation) {
      names_ = llvm::hash_combine(names_, operation->getName().getAsOpaquePointer());
    });
  }

  bool operator==(const Fingerprint& other) const {
    return addresses_ == other.addresses_ && names_ == other.names_;
  }

 private:
  mlir::OperationFingerPrint addresses_;
  llvm::hash_code names_ = 0;
};

}  // namespace

Status Compilation::start(const std::string& text, std::unique_ptr<Compilation>& compilation) {
  std::unique_ptr<Compilation> made(new Compilation);
  RETURN_IF_ERROR(makeContext(made->context_));
  RETURN_IF_ERROR(parseKernel(text, *made->context_, made->kernel_));
  made->ir_ = print(made->module());
  const Status status = made->runStart();
  // A lack of memory, processes or files is no fault of the program.
  if (status.error_code() == StatusCode::RESOURCE_EXHAUSTED) return status;
  if (!status.ok()) return {StatusCode::INVALID_ARGUMENT, status.error_message()};
  compilation = std::move(made);
  return Status::OK;
}

Status Compilation::runStart() {
  RETURN_IF_ERROR(compile(module(), startCode_));
  return Execution(kernel_.arguments, startCode_.object, kStartLimit).run(expected_);
}

Status Compilation::apply(const std::string& pipeline, bool& changed) {
  const Fingerprint before(module());
  RETURN_IF_ERROR(runPass(pipeline, module()));
  changed = !(Fingerprint(module()) == before);
  if (!changed) return Status::OK;
  // Replacing operations by equal ones is not a change.
  std::string ir = print(module());
  changed = ir != ir_;
  if (changed) {
    ir_ = std::move(ir);
    code_.reset();
  }
  return Status::OK;
}

Status Compilation::machineCode(const MachineCode*& code) {
  if (!code_) {
    MachineCode made;
    RETURN_IF_ERROR(compile(module(), made));
    code_ = std::move(made);
  }
  code = &*code_;
  return Status::OK;
}

Status Compilation::measure(const RunCounts& counts, std::chrono::seconds limit,
                            std::vector<double>& seconds) {
  const MachineCode* code = nullptr;
  RETURN_IF_ERROR(machineCode(code));
  return Execution(kernel_.arguments, code->object, limit).measure(expected_, counts, seconds);
}

Status Compilation::measureStart(const RunCounts& counts, std::chrono::seconds limit,
                                 std::vector<double>& seconds) const {
  return Execution(kernel_.arguments, startCode_.object, limit).measure(expected_, counts, seconds);
}

}  // namespace compiler_gym::mlir_service
