#pragma once

#include <memory>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace llvm {
class PassPlugin;
}

namespace compiler_gym::llvm_service {

/// Checks whether LLVM accepts a text as a pipeline, with the project's own passes.
class PipelineParser {
 public:
  PipelineParser();
  ~PipelineParser();
  PipelineParser(const PipelineParser&) = delete;
  PipelineParser& operator=(const PipelineParser&) = delete;

  /// Adds the passes of a plugin.
  void load(const llvm::PassPlugin& plugin);

  /// @param pipeline the text for "module(...)".
  bool understands(llvm::StringRef pipeline);

 private:
  struct Impl;

  const std::unique_ptr<Impl> impl_;
};

/// The passes that LLVM lists, as `opt --print-passes` prints them.
std::string printPassNames();

}  // namespace compiler_gym::llvm_service
