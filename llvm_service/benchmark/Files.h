#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <string>

namespace compiler_gym::llvm_service {

/// A path in the directory that no file has yet. Each % of the pattern becomes a random digit.
boost::filesystem::path uniquePath(const boost::filesystem::path& directory,
                                   const std::string& pattern);

/// @return INTERNAL, with the reason, if the file cannot be written.
[[nodiscard]] grpc::Status writeFile(const boost::filesystem::path& path,
                                     const std::string& contents);

}  // namespace compiler_gym::llvm_service
