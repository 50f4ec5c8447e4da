#pragma once

#include <map>
#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace compiler_gym::llvm_service {

/// One-sentence descriptions of LLVM's passes. LLVM itself only has their names.
class Descriptions {
 public:
  /// Reads a file such as descriptions.yaml.
  ///
  /// @return an error that names the line if the text is not a map of texts.
  static llvm::Expected<Descriptions> parse(llvm::StringRef yaml);

  /// The descriptions that this service was built with.
  static const Descriptions& builtin();

  /// The description of a text such as "gvn" or "gvn<no-pre>", or nothing if there is none.
  std::optional<std::string> find(const std::string& text) const;

  std::map<std::string, std::string> texts;
};

}  // namespace compiler_gym::llvm_service
