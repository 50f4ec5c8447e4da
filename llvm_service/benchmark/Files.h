#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem/path.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "llvm/Support/MemoryBuffer.h"

namespace compiler_gym::llvm_service {

/// Returns an unused path in the directory. Each % of the pattern becomes a random digit.
boost::filesystem::path uniquePath(const boost::filesystem::path& directory,
                                   const std::string& pattern);

/// @return INTERNAL, with the reason, if the file cannot be written.
[[nodiscard]] grpc::Status writeFile(const boost::filesystem::path& path,
                                     const std::string& contents);

/// Reads a file, with at most maxBytes in memory.
///
/// @param size the file's size in bytes. The contents are not set if it exceeds maxBytes.
/// @return NOT_FOUND, with the reason, if the file cannot be opened; INVALID_ARGUMENT if it is not
///     an ordinary file, e.g. a directory, a device or a pipe: those may have no end.
[[nodiscard]] grpc::Status readFile(const std::string& path, uint64_t maxBytes, uint64_t& size,
                                    std::string& contents);

/// Opens a file that a program of anybody has left in a folder. Follows no link in the folder and
/// never waits, so it needs no trust.
///
/// @param name the file, relative to the folder.
/// @return NOT_FOUND if there is no such file, with the reason; INVALID_ARGUMENT if it is not an
///     ordinary file.
[[nodiscard]] grpc::Status openLeftFile(const boost::filesystem::path& folder,
                                        const boost::filesystem::path& name,
                                        std::unique_ptr<llvm::MemoryBuffer>& contents);

/// Lets its owner run a file that a program of anybody has left in a folder. Follows no link in the
/// folder.
void makeLeftFileExecutable(const boost::filesystem::path& folder,
                            const boost::filesystem::path& name);

/// Removes what a program of anybody has left in a folder under a name. Follows no link in the
/// folder. Ignores what cannot be removed.
void removeLeftFile(const boost::filesystem::path& folder, const boost::filesystem::path& name);

}  // namespace compiler_gym::llvm_service
