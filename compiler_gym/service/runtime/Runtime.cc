#include "compiler_gym/service/runtime/Runtime.h"

#include "compiler_gym/service/runtime/server/ServiceMain.h"

namespace compiler_gym::runtime {

int createAndRunCompilerGymService(int argc, char** argv, const char* usage,
                                   const SessionFactory& makeSession) {
  return runServiceMain(argc, argv, usage, makeSession);
}

}  // namespace compiler_gym::runtime
