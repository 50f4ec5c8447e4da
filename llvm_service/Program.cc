#include "llvm_service/Program.h"

#include "compiler_gym/util/CanonicalBytes.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm_service/Ir.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/Optimizer.h"
#include "llvm_service/Target.h"
#include "llvm_service/TargetMachine.h"
#include "llvm_service/benchmark/Files.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/Levels.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

Status checkSize(size_t size, size_t maxBytes) {
  if (size > maxBytes) {
    return {StatusCode::RESOURCE_EXHAUSTED,
            "The program has " + std::to_string(size) + " bytes, and the service accepts " +
                std::to_string(maxBytes) + " (flag --max_program_bytes)"};
  }
  return Status::OK;
}

Status readUri(llvm::StringRef uri, size_t maxBytes, std::string& contents) {
  llvm::StringRef path = uri;
  if (!path.consume_front("file://") || !path.starts_with("/")) {
    return {StatusCode::INVALID_ARGUMENT,
            "Cannot read the program \"" + uri.str() + "\": expected file:///absolute/path"};
  }
  uint64_t size = 0;
  RETURN_IF_ERROR(llvm_service::readFile(path.str(), maxBytes, size, contents));
  return checkSize(size, maxBytes);
}

Status readProgram(const Benchmark& benchmark, size_t maxBytes, std::string& contents) {
  const File& file = benchmark.program();
  switch (file.data_case()) {
    case File::kContents:
      RETURN_IF_ERROR(checkSize(file.contents().size(), maxBytes));
      contents = file.contents();
      return Status::OK;
    case File::kUri:
      return readUri(file.uri(), maxBytes, contents);
    case File::DATA_NOT_SET:
      break;
  }
  return {StatusCode::INVALID_ARGUMENT, "The benchmark has no program"};
}

// True if passes read the metadata: which memory has `errno`, so that calls of the C library write
// no other. LLVM 22 optimises the same without it, and its programs keep their known hashes.
bool hasMeaning(const llvm::NamedMDNode& named) {
  return LLVM_VERSION_MAJOR >= 23 && named.getName() == "llvm.errno.tbaa";
}

void anonymise(llvm::Module& module) {
  llvm::StripDebugInfo(module);
  for (llvm::NamedMDNode& named : llvm::make_early_inc_range(module.named_metadata())) {
    if (!hasMeaning(named)) module.eraseNamedMetadata(&named);
  }
  module.setModuleIdentifier("-");
  module.setSourceFileName("-");
}

// Sets a default target. Hand-written IR may lack one, and some passes fail without.
void completeTarget(llvm::Module& module) {
  if (module.getTargetTriple().empty()) {
    module.setTargetTriple(asTarget(llvm::Triple(llvm::sys::getDefaultTargetTriple())));
  }
  if (module.getDataLayout().isDefault()) {
    if (const auto machine = createTargetMachine(module, llvm::CodeGenOptLevel::None)) {
      module.setDataLayout(machine->createDataLayout());
    }
  }
}

Status loadContents(const std::string& contents, std::string& bitcode) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(contents, owned));
  completeTarget(*owned.module);
  RETURN_IF_ERROR(verify(*owned.module));
  anonymise(*owned.module);
  bitcode = writeBitcode(*owned.module);
  return Status::OK;
}

}  // namespace

const char* nameOf(Baseline baseline) {
  switch (baseline) {
    case Baseline::kO0:
      return "O0";
    case Baseline::kO3:
      return "O3";
    case Baseline::kOz:
      return "Oz";
  }
  return "";
}

Program::Program(std::string bitcode, BenchmarkDynamicConfig dynamicConfig,
                 std::shared_ptr<SharedCosts> costs,
                 std::shared_ptr<const BaselineFile> baselineFile)
    : bitcode_(std::move(bitcode)),
      dynamicConfig_(std::move(dynamicConfig)),
      commandsKey_(util::canonicalBytes(dynamicConfig_)),
      costs_(std::move(costs)),
      baselineFile_(std::move(baselineFile)) {}

Status Program::load(const Benchmark& benchmark, size_t maxBytes,
                     std::shared_ptr<const Program>& program, std::shared_ptr<SharedCosts> costs,
                     std::shared_ptr<const BaselineFile> baselineFile) {
  std::string contents;
  std::string bitcode;
  RETURN_IF_ERROR(readProgram(benchmark, maxBytes, contents));
  RETURN_IF_ERROR(loadContents(contents, bitcode));
  program.reset(new Program(std::move(bitcode), benchmark.dynamic_config(), std::move(costs),
                            std::move(baselineFile)));
  return Status::OK;
}

Status Program::forTarget(const std::string& triple,
                          std::shared_ptr<const Program>& program) const {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(bitcode_, owned));
  RETURN_IF_ERROR(retarget(*owned.module, triple));
  RETURN_IF_ERROR(verify(*owned.module));
  program.reset(
      new Program(writeBitcode(*owned.module), BenchmarkDynamicConfig(), costs_, baselineFile_));
  return Status::OK;
}

Status Program::optimised(Baseline baseline, bool ofMachineCode,
                          const std::string** bitcode) const {
  const std::optional<ClangLevel> level = levelOf(nameOf(baseline));
  if (!level) {
    *bitcode = &bitcode_;
    return Status::OK;
  }
  const std::pair key(baseline, ofMachineCode);
  const auto found = optimised_.find(key);
  if (found != optimised_.end()) {
    *bitcode = &found->second;
    return Status::OK;
  }
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(bitcode_, owned));
  if (ofMachineCode) {
    optimizeAsClang(*owned.module, *level);
  } else {
    RETURN_IF_ERROR(Optimizer(*owned.module).run(baselinePipeline(nameOf(baseline))));
  }
  *bitcode = &optimised_.emplace(key, writeBitcode(*owned.module)).first->second;
  return Status::OK;
}

SharedCosts::Key Program::keyOf(const std::string& bitcode, const std::string& name) const {
  return {bitcode, name + " " + commandsKey_};
}

Status Program::costOf(const std::string& bitcode, const std::string& name, const Cost& cost,
                       int64_t& value) const {
  const SharedCosts::Key key = keyOf(bitcode, name);
  if (const auto known = costs_->find(key)) {
    value = *known;
    return Status::OK;
  }
  RETURN_IF_ERROR(cost(bitcode, value));
  costs_->insert(key, value);
  return Status::OK;
}

const BaselineFile::Hash& Program::hash() const {
  if (!hash_) hash_ = BaselineFile::hashOf(bitcode_);
  return *hash_;
}

Status Program::baselineCost(Baseline baseline, const std::string& name, const Cost& cost,
                             int64_t& value, CostTraits traits) const {
  const std::string fullName = name + " " + nameOf(baseline);
  const SharedCosts::Key key = keyOf(bitcode_, fullName);
  const bool isInFile = baselineFile_ != nullptr && traits.ofContentAlone;
  if (const auto known = costs_->find(key)) {
    value = *known;
    return Status::OK;
  }
  if (const auto known = isInFile ? baselineFile_->find(hash(), fullName) : std::nullopt) {
    value = *known;
    costs_->insert(key, value);
    costs_->countReadBaseline();
    return Status::OK;
  }
  const std::string* bitcode = nullptr;
  RETURN_IF_ERROR(optimised(baseline, traits.ofMachineCode, &bitcode));
  // Equal modules have equal costs.
  RETURN_IF_ERROR(costOf(*bitcode, name, cost, value));
  costs_->insert(key, value);
  costs_->countComputedBaseline();
  if (isInFile) baselineFile_->insert(hash(), fullName, value);
  return Status::OK;
}

std::string Program::describeBaselines() const {
  return "computed=" + std::to_string(costs_->computedBaselines()) +
         " read=" + std::to_string(costs_->readBaselines());
}

}  // namespace compiler_gym::llvm_service
