#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "llvm_service/Program.h"

namespace compiler_gym::llvm_service {

/// Loads a program from a bitcode file, as a service does.
///
/// @param path may be relative to the working directory.
/// @return the error of Program::load() if the file cannot be read or is no bitcode.
grpc::Status loadProgramFile(const std::string& path, std::shared_ptr<const Program>& program);

}  // namespace compiler_gym::llvm_service
