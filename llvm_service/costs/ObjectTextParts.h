#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "llvm_service/Compilation.h"
#include "llvm_service/costs/CodeGenerator.h"
#include "llvm_service/costs/CodePart.h"
#include "llvm_service/costs/ModuleShell.h"

namespace compiler_gym::llvm_service {

/// Computes the text size of the object file of a compilation (see CodeSize.h) incrementally: it
/// only generates code of functions that have changed, or that refer to something that has changed.
///
/// A function that jumps to a nearby one, as tail calls do, is combined with it and all functions
/// between them, because the assembler shortens such jumps.
class ObjectTextParts {
 public:
  /// @return Nothing if the size may not be the sum of parts, or if code cannot be generated. After
  ///     reasons that are only visible in the code it is not tried again, because they tend to
  ///     stay.
  std::optional<int64_t> compute(Compilation& compilation);

 private:
  using Functions = llvm::ArrayRef<const ChangeTracker::Function*>;
  // The key of some functions' code: everything it depends on.
  using Key = std::vector<uint64_t>;

  struct Unit {
    std::vector<std::string> functions;
    Key key;
  };

  std::optional<int64_t> sumOfParts(Compilation& compilation);
  std::vector<Unit> divide(Functions functions) const;
  bool generate(const std::vector<Unit>& units, Compilation& compilation);
  bool generateUnit(const Unit& unit, ModuleShell& shell);
  bool joinNeighbours(const std::vector<Unit>& units);
  bool generateVariables(Compilation& compilation, uint64_t before);
  std::optional<int64_t> sizeOf(const std::vector<Unit>& units, Compilation& compilation);
  std::optional<llvm::StringRef> objectOf(ModuleShell& shell,
                                          const std::vector<std::string>& functions);

  bool hasFailed_ = false;
  std::unique_ptr<CodeGenerator> generator_;
  std::map<Key, CodePart> parts_;
  // Functions that stay together with those before them.
  std::set<std::string> joined_;
  // The bytes of read-only variables, and their dependencies.
  uint64_t variablesKey_ = 0;
  int64_t variables_ = 0;
};

}  // namespace compiler_gym::llvm_service
