#include "llvm_service/Ir.h"

#include <optional>

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/AssemblyAnnotationWriter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/FormattedStream.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace compiler_gym::llvm_service {

namespace {

// Longer reports of the verifier repeat the same message for each function.
constexpr size_t kMaxReportLength = 2000;

constexpr size_t kPrintBufferBytes = size_t{64} << 10;

// Derives from the default handler, so that remarks are off by default, as in `opt`. Some passes
// compute more if they are on.
class DiagnosticCollector : public llvm::DiagnosticHandler {
 public:
  DiagnosticCollector(std::string& errors, const Context::RemarkHandler& remarkHandler)
      : errors_(errors), remarkHandler_(remarkHandler) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& diagnostic) override {
    if (diagnostic.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      diagnostic.print(printer);
      stream << '\n';
    }
    const auto* remark = llvm::dyn_cast<llvm::DiagnosticInfoOptimizationBase>(&diagnostic);
    if (remark != nullptr && remarkHandler_) {
      remarkHandler_(*remark);
    }
    return true;
  }

  bool isAnalysisRemarkEnabled(llvm::StringRef pass) const override {
    return remarkHandler_ || DiagnosticHandler::isAnalysisRemarkEnabled(pass);
  }

  bool isMissedOptRemarkEnabled(llvm::StringRef pass) const override {
    return remarkHandler_ || DiagnosticHandler::isMissedOptRemarkEnabled(pass);
  }

  bool isPassedOptRemarkEnabled(llvm::StringRef pass) const override {
    return remarkHandler_ || DiagnosticHandler::isPassedOptRemarkEnabled(pass);
  }

  bool isAnyRemarkEnabled() const override {
    return remarkHandler_ || DiagnosticHandler::isAnyRemarkEnabled();
  }

 private:
  std::string& errors_;
  const Context::RemarkHandler& remarkHandler_;
};

// Records the place of each instruction in the text of its module. Printing the module once is much
// faster than printing instructions one by one, since each print visits all globals.
class InstructionRanges final : public llvm::AssemblyAnnotationWriter {
 public:
  explicit InstructionRanges(TextRanges& ranges) : ranges_(ranges) {}

  void emitInstructionAnnot(const llvm::Instruction*, llvm::formatted_raw_ostream& os) override {
    begin_ = os.tell();
  }

  void printInfoComment(const llvm::Value& value, llvm::formatted_raw_ostream& os) override {
    if (llvm::isa<llvm::Instruction>(value)) {
      ranges_.emplace_back(begin_, os.tell());
    }
  }

 private:
  size_t begin_ = 0;
  TextRanges& ranges_;
};

// Returns the place of an error in textual IR, and advice: the form of the text changes with each
// LLVM, while bitcode of all former versions can be read.
std::string describeTextError(const llvm::SMDiagnostic& diagnostic) {
  return "line " + std::to_string(diagnostic.getLineNo()) + ", column " +
         std::to_string(diagnostic.getColumnNo() + 1) + ": " + diagnostic.getMessage().str() +
         ". Textual IR has to be that of LLVM " LLVM_VERSION_STRING
         "; for the text of an older LLVM, give the bitcode that its llvm-as makes, or compile the "
         "source again";
}

}  // namespace

Context::Context() {
  context_.setDiscardValueNames(true);
  context_.enableDebugTypeODRUniquing();
  context_.setDiagnosticHandler(std::make_unique<DiagnosticCollector>(errors_, remarkHandler_));
}

std::string Context::takeErrors() { return std::exchange(errors_, {}); }

grpc::Status parseIr(llvm::StringRef input, OwnedModule& result) {
  using grpc::StatusCode;
  if (input.empty()) {
    return {StatusCode::INVALID_ARGUMENT, "Cannot parse the program: it is empty"};
  }
  const bool isText = !llvm::isBitcode(input.bytes_begin(), input.bytes_end());
  auto context = std::make_unique<Context>();
  // Textual IR refers to values by name.
  context->get().setDiscardValueNames(!isText);
  llvm::SMDiagnostic diagnostic;
  // Textual IR has to end in a zero byte, which a string's buffer does.
  const llvm::MemoryBufferRef buffer(input, "-");
  std::unique_ptr<llvm::Module> module = llvm::parseIR(buffer, diagnostic, context->get());
  const std::string errors = context->takeErrors();
  if (!module || !errors.empty()) {
    std::string reason = module ? errors : diagnostic.getMessage().str();
    if (!module && isText) reason = describeTextError(diagnostic);
    return {StatusCode::INVALID_ARGUMENT,
            "Cannot parse the program as LLVM bitcode or textual IR: " + reason};
  }
  if (isText) {
    return parseIr(writeBitcode(*module), result);
  }
  result = {std::move(context), std::move(module)};
  return grpc::Status::OK;
}

std::string writeBitcode(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream, /*ShouldPreserveUseListOrder=*/true);
  return bitcode;
}

std::string printIr(const llvm::Module& module, TextRanges* instructions) {
  std::optional<InstructionRanges> ranges;
  if (instructions != nullptr) {
    ranges.emplace(*instructions);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Without a buffer, LLVM's printer updates the column count for every word.
  stream.SetBufferSize(kPrintBufferBytes);
  module.print(stream, ranges ? &*ranges : nullptr);
  stream.flush();
  return text;
}

grpc::Status verify(const llvm::Module& module) {
  std::string report;
  llvm::raw_string_ostream stream(report);
  if (!llvm::verifyModule(module, &stream)) {
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::DATA_LOSS,
          "LLVM's verifier rejects the module: " + report.substr(0, kMaxReportLength)};
}

}  // namespace compiler_gym::llvm_service
