#include "llvm_service/observations/Observation.h"

#include <utility>

#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

#define OBSERVATIONS(family) Observations family();
#include "llvm_service/observations/Observations.def"
#undef OBSERVATIONS

Observations listObservations() {
  Observations all;
  const auto append = [&all](Observations family) {
    for (Observation& observation : family) {
      observation.space = forAllClients(std::move(observation.space));
      all.push_back(std::move(observation));
    }
  };
#define OBSERVATIONS(family) append(family());
#include "llvm_service/observations/Observations.def"
#undef OBSERVATIONS
  return all;
}

}  // namespace compiler_gym::llvm_service
