// The toy session as a service program.
#include "compiler_gym/service/runtime/Runtime.h"
#include "tests/service/runtime/ToySession.h"

int main(int argc, char** argv) {
  return compiler_gym::runtime::createAndRunCompilerGymService<compiler_gym::toy::ToySession>(
      argc, argv, "Edits text, for tests of the runtime and its clients.");
}
