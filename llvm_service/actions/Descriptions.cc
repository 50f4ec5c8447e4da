#include "llvm_service/actions/Descriptions.h"

#include "llvm/Support/YAMLTraits.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/actions/DescriptionsText.h"

LLVM_YAML_IS_STRING_MAP(std::string)

namespace compiler_gym::llvm_service {

llvm::Expected<Descriptions> Descriptions::parse(llvm::StringRef yaml) {
  std::string message;
  llvm::yaml::Input input(
      yaml, /*Ctxt=*/nullptr,
      [](const llvm::SMDiagnostic& diagnostic, void* text) {
        llvm::raw_string_ostream stream(*static_cast<std::string*>(text));
        diagnostic.print("descriptions", stream, /*ShowColors=*/false);
      },
      &message);
  Descriptions descriptions;
  input >> descriptions.texts;
  if (std::error_code error = input.error()) {
    return llvm::createStringError(error, message);
  }
  return descriptions;
}

const Descriptions& Descriptions::builtin() {
  static const Descriptions descriptions = llvm::cantFail(parse(kDescriptionsText));
  return descriptions;
}

std::optional<std::string> Descriptions::find(const std::string& text) const {
  const auto found = texts.find(text);
  return found == texts.end() ? std::nullopt : std::make_optional(found->second);
}

}  // namespace compiler_gym::llvm_service
