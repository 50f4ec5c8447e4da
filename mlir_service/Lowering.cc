#include "mlir_service/Lowering.h"

#include <memory>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir_service/ChildProcess.h"
#include "mlir_service/Diagnostics.h"
#include "mlir_service/Kernel.h"

namespace compiler_gym::mlir_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr char kLowering[] =
    "convert-linalg-to-loops,convert-vector-to-scf{full-unroll},lower-affine,convert-scf-to-cf,"
    "expand-strided-metadata,lower-affine,func.func(lower-vector-multi-reduction),"
    "convert-vector-to-llvm{vector-contract-lowering=outerproduct},convert-math-to-llvm,"
    "finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-ub-to-llvm,"
    "convert-cf-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts";

constexpr std::chrono::seconds kCompileLimit(60);

Status failed(const std::string& text) {
  return {StatusCode::INTERNAL, "The kernel cannot be compiled: " + text};
}

Status lowerToLlvmDialect(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  if (mlir::failed(mlir::parsePassPipeline(kLowering, manager))) {
    return failed("MLIR lacks a pass of " + std::string(kLowering));
  }
  return mlir::succeeded(manager.run(module)) ? Status::OK : failed("lowering it failed");
}

std::unique_ptr<llvm::TargetMachine> makeHostMachine() {
  initializeHostTarget();
  const llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return nullptr;
  std::string features;
  for (const auto& [name, isThere] : llvm::sys::getHostCPUFeatures()) {
    features += (features.empty() ? "" : ",") + std::string(isThere ? "+" : "-") + name.str();
  }
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, llvm::sys::getHostCPUName(), features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Moves stack allocations to the beginning of the function. Otherwise vectors become arrays inside
/// of loops, and the stack grows with each iteration.
void hoistAllocas(llvm::Function& function) {
  llvm::SmallVector<llvm::AllocaInst*> allocas;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (alloca != nullptr && llvm::isa<llvm::Constant>(alloca->getArraySize())) {
      allocas.push_back(alloca);
    }
  }
  llvm::BasicBlock& entry = function.getEntryBlock();
  for (llvm::AllocaInst* alloca : llvm::reverse(allocas)) {
    alloca->moveBefore(entry, entry.begin());
  }
}

/// Adds a function that takes the addresses of the arguments, so that callers need not know their
/// number.
void addEntry(llvm::Module& module, llvm::Function& kernel) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  auto* entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kEntryName, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", entry));
  llvm::SmallVector<llvm::Value*> values;
  for (llvm::Argument& argument : kernel.args()) {
    llvm::Value* place = builder.CreateConstGEP1_64(pointer, entry->getArg(0), argument.getArgNo());
    values.push_back(builder.CreateLoad(argument.getType(), builder.CreateLoad(pointer, place)));
    // The allocated address, which comes first, is not used for access.
    if (argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
  }
  builder.CreateCall(&kernel, values);
  builder.CreateRetVoid();
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

Status emit(llvm::Module& module, llvm::TargetMachine& machine, std::string& object) {
  llvm::SmallVector<char> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return failed("LLVM writes no object files for this processor");
  }
  passes.run(module);
  object.assign(buffer.begin(), buffer.end());
  return Status::OK;
}

Status compileHere(mlir::ModuleOp original, MachineCode& code) {
  const Diagnostics diagnostics(*original.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> module(original.clone());
  if (!lowerToLlvmDialect(*module).ok()) return failed(diagnostics.text());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = mlir::translateModuleToLLVMIR(*module, context);
  if (!llvmModule) return failed(diagnostics.text());
  llvm::Function* kernel = llvmModule->getFunction(kKernelName);
  if (kernel == nullptr || kernel->isDeclaration()) return failed("@kernel is gone");
  std::unique_ptr<llvm::TargetMachine> machine = makeHostMachine();
  if (!machine) return failed("LLVM does not know this processor");
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setTargetTriple(machine->getTargetTriple());
  hoistAllocas(*kernel);
  addEntry(*llvmModule, *kernel);
  optimize(*llvmModule, *machine);
  code.llvmIr.clear();
  llvm::raw_string_ostream(code.llvmIr) << *llvmModule;
  return emit(*llvmModule, *machine, code.object);
}

}  // namespace

void initializeHostTarget() {
  static const bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  static_cast<void>(initialized);
}

Status compile(mlir::ModuleOp module, MachineCode& code) {
  const auto inChild = [module](std::string& output) -> Status {
    MachineCode made;
    RETURN_IF_ERROR(compileHere(module, made));
    output = std::to_string(made.llvmIr.size()) + '\n' + made.llvmIr + made.object;
    return Status::OK;
  };
  std::string output;
  RETURN_IF_ERROR(callInChild("Compiling the kernel", inChild, {kCompileLimit}, output));
  const size_t begin = output.find('\n') + 1;
  const size_t size = std::stoul(output);
  code.llvmIr = output.substr(begin, size);
  code.object = output.substr(begin + size);
  return Status::OK;
}

}  // namespace compiler_gym::mlir_service
