#pragma once

#include <string>

namespace compiler_gym::llvm_service {

/// Returns a text that identifies the code of this process. Another build of this program, of LLVM
/// or of a loaded library gives another text. So does another kind of processor, because libraries
/// choose functions by it whose results differ in the last bit.
///
/// The text has the build ids, which linkers compute from the contents of a file. For a file
/// without one, it has the path, size and time of change.
std::string identityOfLoadedCode();

}  // namespace compiler_gym::llvm_service
