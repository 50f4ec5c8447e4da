#include "llvm_service/Reproducer.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm_service/benchmark/Files.h"

namespace compiler_gym::llvm_service {

namespace {

std::string optCommand(const std::string& pipelines, const std::string& file) {
  return "opt -discard-value-names -passes='module(" + pipelines + ")' " + file + " -o /dev/null\n";
}

}  // namespace

grpc::Status writeReproducer(Compilation& compilation, const std::vector<std::string>& history,
                             const std::string& pipeline,
                             const boost::filesystem::path& directory) {
  std::vector<std::string> all = history;
  all.push_back(pipeline);
  const std::string script = "#!/bin/sh\ncd \"$(dirname \"$0\")\"\n" +
                             optCommand(pipeline, "before.bc") +
                             optCommand(llvm::join(all, ","), "start.bc");
  RETURN_IF_ERROR(writeFile(directory / "before.bc", compilation.bitcode()));
  RETURN_IF_ERROR(writeFile(directory / "start.bc", compilation.program().bitcode()));
  return writeFile(directory / "run.sh", script);
}

}  // namespace compiler_gym::llvm_service
