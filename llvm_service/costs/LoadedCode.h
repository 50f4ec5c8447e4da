#pragma once

#include <string>

namespace compiler_gym::llvm_service {

/// Tells the code of this process from all other code: another build of this program, of LLVM or of
/// any library that is loaded gives another text, and so does another kind of processor, by which
/// libraries choose between functions that differ in the last bit.
///
/// The text has the build ids that linkers make of the contents of a file. Where there is none, it
/// has the file's path, size and time of change.
std::string identityOfLoadedCode();

}  // namespace compiler_gym::llvm_service
