#include "llvm_service/observations/Observation.h"

#include <iterator>

namespace compiler_gym::llvm_service {

#define OBSERVATIONS(family) Observations family();
#include "llvm_service/observations/Observations.def"
#undef OBSERVATIONS

Observations listObservations() {
  Observations all;
  const auto append = [&all](Observations family) {
    std::move(family.begin(), family.end(), std::back_inserter(all));
  };
#define OBSERVATIONS(family) append(family());
#include "llvm_service/observations/Observations.def"
#undef OBSERVATIONS
  return all;
}

}  // namespace compiler_gym::llvm_service
