#include "compiler_gym/service/runtime/foreign/ForeignInterface.h"

#include <memory>
#include <string>

#include "compiler_gym/service/runtime/Runtime.h"
#include "compiler_gym/service/runtime/foreign/ForeignCompiler.h"
#include "compiler_gym/util/Process.h"

using compiler_gym::runtime::ForeignClass;
using compiler_gym::runtime::ForeignCompiler;

extern "C" {

void compiler_gym_reply(void* reply, const char* data, size_t size) {
  static_cast<std::string*>(reply)->assign(data, size);
}

void compiler_gym_before_command() { compiler_gym::util::tellProcessObserver(); }

int compiler_gym_run_service(int argc, char** argv, const char* usage, CompilerGymFunction function,
                             uint64_t methods) {
  const ForeignClass foreign = {function, methods};
  return compiler_gym::runtime::createAndRunCompilerGymService(
      argc, argv, usage, [&foreign](const boost::filesystem::path& workingDirectory) {
        return std::make_unique<ForeignCompiler>(foreign, workingDirectory);
      });
}

}  // extern "C"
