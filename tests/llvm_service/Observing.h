#pragma once

#include <any>
#include <boost/filesystem.hpp>
#include <memory>
#include <string>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "llvm_service/Compilation.h"
#include "llvm_service/actions/Action.h"
#include "llvm_service/observations/Observation.h"

namespace compiler_gym::llvm_service {

/// Starts on a program. Throws, and so fails the test, if the program cannot be loaded.
std::unique_ptr<Compilation> startCompilation(
    const Benchmark& benchmark,
    const boost::filesystem::path& workingDirectory = boost::filesystem::temp_directory_path());

/// The same for a program alone, as bitcode or text.
std::unique_ptr<Compilation> startCompilation(const std::string& program);

/// Those observations of which this LLVM has all that they need. Only the Ir2vec ones may be
/// missing; Ir2vecTest says what they answer then.
Observations availableObservations();

/// The value of one observation. An error of its computation fails the test. Those of Ir2vec use a
/// vocabulary with vectors of two numbers, of a few names.
Event observe(Compilation& compilation, const std::string& observation,
              const RunCounts& runCounts = {}, std::any* kept = nullptr);

/// The status of the computation of one observation.
grpc::Status tryObserve(Compilation& compilation, const std::string& observation, Event& event,
                        const RunCounts& runCounts = {}, std::any* kept = nullptr);

/// An action that runs a pipeline, which needs no options of `opt`. Lives as long as the process,
/// because histories refer to it.
const Action& actionOf(const std::string& pipeline);

/// Runs a pass. An error fails the test.
///
/// @return whether it changed the module.
bool applyPass(Compilation& compilation, const std::string& pipeline);

}  // namespace compiler_gym::llvm_service
