// Texts of observations as UTF-8.
#pragma once

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym::llvm_service {

// Replaces bytes that are not UTF-8 in all texts of a value, as LLVM prints them: "\FF". Names in
// LLVM are arbitrary bytes, and clients cannot read a message with such a text.
void escapeInvalidUtf8(Event& value);

}  // namespace compiler_gym::llvm_service
