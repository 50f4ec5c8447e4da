#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/benchmark/Files.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

// PATH_MAX of Linux.
constexpr int64_t kMaxPathLength = 4096;

grpc::Status computeBitcodeFile(const ObservationInput& input, Event& event) {
  const boost::filesystem::path path =
      uniquePath(input.compilation.workingDirectory(), "module-%%%%%%%%.bc");
  RETURN_IF_ERROR(writeFile(path, input.compilation.bitcode()));
  event.set_string_value(path.string());
  return grpc::Status::OK;
}

}  // namespace

/// BitcodeFile: the path of a new file, on the machine of the service, that holds the module's
/// bitcode. It belongs to the client, who should delete it.
Observations bitcodeFile() {
  const Properties properties{/*deterministic=*/false, /*platformDependent=*/false};
  return {{textSpace("BitcodeFile", properties, kMaxPathLength), computeBitcodeFile,
           /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
