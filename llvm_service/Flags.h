#pragma once

#include <gflags/gflags.h>

#include <memory>

#include "llvm_service/LlvmSettings.h"
#include "llvm_service/costs/BaselineFile.h"

DECLARE_string(game);
DECLARE_uint64(max_program_bytes);
DECLARE_string(action_policy);
DECLARE_string(load_pass_plugin);
DECLARE_string(verify);
DECLARE_string(ir2vec_vocabulary);
DECLARE_string(target_triple);
DECLARE_string(baseline_cache);

namespace compiler_gym::llvm_service {

/// The initial settings of sessions, without verification. Call it once, because it may load files.
LlvmSettings settingsOfFlags();

/// The persistent file of costs; null if there is none.
std::shared_ptr<const BaselineFile> openBaselineFile();

}  // namespace compiler_gym::llvm_service
