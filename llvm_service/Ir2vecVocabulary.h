#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
}

namespace compiler_gym::llvm_service {

/// The seed vectors of LLVM's IR2Vec analysis, from which it computes vectors of code.
///
/// LLVM packages contain none. A file is JSON in LLVM's format: an object with the members
/// "Opcodes", "Types" and "Arguments", each an object from names, as `llvm-ir2vec entities` prints
/// them, to arrays of numbers, all of the same length. Missing entries are zero vectors. LLVM's
/// source tree has trained vocabularies in llvm/lib/Analysis/models.
class Ir2vecVocabulary {
 public:
  using Vector = std::vector<double>;

  virtual ~Ir2vecVocabulary() = default;

  /// @return UNIMPLEMENTED if this LLVM has no such analysis: it needs LLVM 22.
  [[nodiscard]] static grpc::Status availability();

  /// @param name The name in error messages.
  /// @return as availability(), or INVALID_ARGUMENT if the text is not a vocabulary.
  [[nodiscard]] static grpc::Status parse(llvm::StringRef json, const std::string& name,
                                          std::shared_ptr<const Ir2vecVocabulary>& vocabulary);

  /// @return as parse(), or NOT_FOUND if the file cannot be read.
  [[nodiscard]] static grpc::Status load(const std::string& path,
                                         std::shared_ptr<const Ir2vecVocabulary>& vocabulary);

  /// The length of each vector.
  virtual size_t dimension() const = 0;

  /// Symbolic embeddings, LLVM's default kind, with its default weights: of the function, of each
  /// block, and of each instruction, in the order of the function. Blocks that cannot be reached
  /// are not part of the function's.
  virtual Vector ofFunction(const llvm::Function& function) const = 0;
  virtual std::vector<Vector> ofBlocks(const llvm::Function& function) const = 0;
  virtual std::vector<Vector> ofInstructions(const llvm::Function& function) const = 0;
};

}  // namespace compiler_gym::llvm_service
