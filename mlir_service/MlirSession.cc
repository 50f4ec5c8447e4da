#include "mlir_service/MlirSession.h"

#include <array>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/TargetParser/Host.h"
#include "mlir_service/actions/Actions.h"

namespace compiler_gym::mlir_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

/// An integer parameter: mlir.set_NAME and mlir.get_NAME.
struct Parameter {
  const char* name;
  int64_t minimum;
  int64_t maximum;
  int64_t (*get)(const Settings&);
  void (*set)(Settings&, int64_t);
};

constexpr std::array<Parameter, 3> kParameters = {{
    {"runtimes_per_observation_count", 1, 1'000'000,
     [](const Settings& settings) { return settings.runCounts.measured; },
     [](Settings& settings, int64_t value) { settings.runCounts.measured = value; }},
    {"warmup_runs_count_per_runtime_observation", 0, 1'000'000,
     [](const Settings& settings) { return settings.runCounts.warmup; },
     [](Settings& settings, int64_t value) { settings.runCounts.warmup = value; }},
    {"runtime_limit_seconds", 1, 86'400,
     [](const Settings& settings) { return int64_t{settings.limit.count()}; },
     [](Settings& settings, int64_t value) { settings.limit = std::chrono::seconds(value); }},
}};

Status setParameter(const Parameter& parameter, const std::string& text, Settings& settings) {
  int64_t value = 0;
  if (llvm::StringRef(text).getAsInteger(10, value) || value < parameter.minimum ||
      value > parameter.maximum) {
    return {StatusCode::INVALID_ARGUMENT,
            std::string("mlir.set_") + parameter.name + " expects an integer from " +
                std::to_string(parameter.minimum) + " to " + std::to_string(parameter.maximum) +
                ", not \"" + text + "\""};
  }
  parameter.set(settings, value);
  return Status::OK;
}

}  // namespace

MlirSession::MlirSession(const boost::filesystem::path& workingDirectory)
    : CompilationSession(workingDirectory), observations_(listObservations()) {}

std::string MlirSession::getCompilerVersion() const {
  return std::string(LLVM_VERSION_STRING) + " " + llvm::sys::getDefaultTargetTriple() + " " +
         llvm::sys::getHostCPUName().str();
}

std::vector<ActionSpace> MlirSession::getActionSpaces() const { return {actionSpace()}; }

std::vector<ObservationSpace> MlirSession::getObservationSpaces() const {
  std::vector<ObservationSpace> spaces;
  for (const Observation& observation : observations_) spaces.push_back(observation.space);
  return spaces;
}

Status MlirSession::init(const ActionSpace& /*actionSpace*/, const Benchmark& benchmark) {
  if (!benchmark.program().has_contents()) {
    return {StatusCode::INVALID_ARGUMENT, "The program has to be given by its contents, as text"};
  }
  return Compilation::start(benchmark.program().contents(), compilation_);
}

Status MlirSession::applyAction(const Event& action, bool& /*endOfEpisode*/,
                                std::optional<ActionSpace>& /*newActionSpace*/,
                                bool& actionHadNoEffect) {
  const auto size = static_cast<int64_t>(allActions().size());
  if (!action.has_int64_value() || action.int64_value() < 0 || action.int64_value() >= size) {
    return {StatusCode::INVALID_ARGUMENT,
            "An action of Passes is an int64_value in the range [0, " + std::to_string(size) + ")"};
  }
  bool changed = false;
  RETURN_IF_ERROR(compilation_->apply(
      allActions()[static_cast<size_t>(action.int64_value())].pipeline, changed));
  actionHadNoEffect = !changed;
  return Status::OK;
}

Status MlirSession::computeObservation(const ObservationSpace& observationSpace,
                                       Event& observation) {
  const auto found = llvm::find_if(observations_, [&](const Observation& each) {
    return each.space.name() == observationSpace.name();
  });
  if (found == observations_.end()) {
    return {StatusCode::INVALID_ARGUMENT,
            "Unknown observation space \"" + observationSpace.name() + "\""};
  }
  return found->compute(*compilation_, settings_, observation);
}

Status MlirSession::handleSessionParameter(const std::string& key, const std::string& value,
                                           std::optional<std::string>& reply) {
  for (const Parameter& parameter : kParameters) {
    const bool isSet = key == std::string("mlir.set_") + parameter.name;
    if (isSet) RETURN_IF_ERROR(setParameter(parameter, value, settings_));
    if (isSet || key == std::string("mlir.get_") + parameter.name) {
      reply = std::to_string(parameter.get(settings_));
    }
  }
  return Status::OK;
}

}  // namespace compiler_gym::mlir_service
