#include "llvm_service/benchmark/Files.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace compiler_gym::llvm_service {

boost::filesystem::path uniquePath(const boost::filesystem::path& directory,
                                   const std::string& pattern) {
  return directory / boost::filesystem::unique_path(pattern);
}

grpc::Status writeFile(const boost::filesystem::path& path, const std::string& contents) {
  llvm::Error error = llvm::writeToOutput(path.string(), [&](llvm::raw_ostream& stream) {
    stream << contents;
    return llvm::Error::success();
  });
  if (error) {
    return {grpc::StatusCode::INTERNAL,
            "Cannot write " + path.string() + ": " + llvm::toString(std::move(error))};
  }
  return grpc::Status::OK;
}

}  // namespace compiler_gym::llvm_service
