#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"
#include "llvm_service/passes/PassLevel.h"

namespace llvm {
class Loop;
class LPMUpdater;
class PassBuilder;
struct LoopStandardAnalysisResults;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// A pass of this project: an action like those that LLVM lists.
///
/// Each is defined in a file of this folder and registered by a line in OwnPasses.def. All of them
/// are also built as a plugin, with which `opt` does what the service does.
struct OwnPass {
  /// Tells LLVM how to make the pass of its text in a pipeline.
  using Register = std::function<void(llvm::PassBuilder&)>;

  /// The `opt -passes=` name.
  std::string name;
  /// One sentence about what it does.
  std::string description;
  PassLevel level;
  Register registerWith;
  /// The parameters worth an action each, e.g. {"25", "100"}; none if the pass has no parameter.
  std::vector<std::string> parameters = {};
  /// Whole parts of pipelines are actions of the space Pipelines only.
  enum class Spaces { kPasses, kPipelines, kBoth };
  Spaces spaces = Spaces::kPasses;

  /// The texts of its actions, with adaptors: "function(x)", or "x<25>", "x<100>".
  std::vector<std::string> pipelines() const;
};

/// All passes of OwnPasses.def.
std::vector<OwnPass> listOwnPasses();

/// Makes all of them known to a pass builder.
void registerOwnPasses(llvm::PassBuilder& passBuilder);

/// A forward declaration. LLVM's header takes ten times as long to compile as this one.
using LoopPassManager =
    llvm::PassManager<llvm::Loop,
                      llvm::AnalysisManager<llvm::Loop, llvm::LoopStandardAnalysisResults&>,
                      llvm::LoopStandardAnalysisResults&, llvm::LPMUpdater&>;

/// Makes a pass without parameters.
///
/// @tparam Manager what holds such passes: of modules, functions or loops.
/// @param add adds the pass to a manager.
template <typename Manager>
OwnPass::Register byName(const std::string& name, std::function<void(Manager&)> add);

/// Makes a module pass with a parameter.
///
/// @param add adds to the manager what "name<parameter>" stands for; false if the parameter makes
///     no sense, which makes the text an error.
using AddModulePass = std::function<bool(llvm::PassBuilder& passBuilder, llvm::StringRef parameter,
                                         llvm::ModulePassManager& manager)>;
OwnPass::Register byParameter(const std::string& name, AddModulePass add);

/// One element of a parameter such as "3=a;0:7=b+c;*=d".
struct NumberedSetting {
  /// The number of a function, call or loop; none for all of them ("*").
  std::optional<size_t> index;
  llvm::StringRef text;
};

/// Parses a parameter into settings, in their order: 3 a, 0 b, 0 c, 7 b, 7 c, all d.
///
/// @return nothing if the parameter is malformed. The texts are parts of the parameter.
std::vector<NumberedSetting> parseSettings(llvm::StringRef parameter);

/// @tparam Pass a pass as LLVM wants it, with a method run(); it can be made without arguments.
template <typename Pass, typename Manager>
void addTo(Manager& manager) {
  manager.addPass(Pass());
}

/// Pass::run(llvm::Module&, llvm::ModuleAnalysisManager&).
template <typename Pass>
OwnPass modulePass(const std::string& name, std::string description) {
  return {name, std::move(description), PassLevel::kModule,
          byName<llvm::ModulePassManager>(name, addTo<Pass, llvm::ModulePassManager>)};
}

/// Pass::run(llvm::Function&, llvm::FunctionAnalysisManager&).
template <typename Pass>
OwnPass functionPass(const std::string& name, std::string description) {
  return {name, std::move(description), PassLevel::kFunction,
          byName<llvm::FunctionPassManager>(name, addTo<Pass, llvm::FunctionPassManager>)};
}

/// Pass::run of a loop: see llvm/Transforms/Scalar/LoopPassManager.h.
template <typename Pass>
OwnPass loopPass(const std::string& name, std::string description) {
  return {name, std::move(description), PassLevel::kLoop,
          byName<LoopPassManager>(name, addTo<Pass, LoopPassManager>)};
}

}  // namespace compiler_gym::llvm_service
