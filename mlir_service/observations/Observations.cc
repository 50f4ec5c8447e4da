#include "mlir_service/observations/Observations.h"

#include <limits>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "mlir_service/observations/LoopNest.h"

namespace compiler_gym::mlir_service {

namespace {

using grpc::Status;

ObservationSpace makeSpace(const std::string& name, bool deterministic, bool platformDependent) {
  ObservationSpace space;
  space.set_name(name);
  space.set_deterministic(deterministic);
  space.set_platform_dependent(platformDependent);
  return space;
}

ObservationSpace textSpace(const std::string& name, bool platformDependent) {
  ObservationSpace space = makeSpace(name, /*deterministic=*/true, platformDependent);
  space.mutable_space()->mutable_string_value()->mutable_length_range()->set_min(0);
  return space;
}

ObservationSpace secondsSpace(const std::string& name) {
  ObservationSpace space = makeSpace(name, /*deterministic=*/false, /*platformDependent=*/true);
  DoubleSequenceSpace* sequence = space.mutable_space()->mutable_double_sequence();
  sequence->mutable_length_range()->set_min(0);
  sequence->mutable_scalar_range()->set_min(0);
  return space;
}

Observation ir() {
  return {textSpace("Ir", /*platformDependent=*/false),
          [](Compilation& compilation, const Settings&, Event& event) {
            event.set_string_value(compilation.ir());
            return Status::OK;
          }};
}

Int64Tensor filledTensor(int64_t value) {
  Int64Tensor tensor;
  tensor.add_shape(kLoopFeatures);
  tensor.mutable_value()->Resize(kLoopFeatures, value);
  return tensor;
}

Observation loopNestObservation() {
  ObservationSpace space = makeSpace("LoopNest", true, false);
  *space.mutable_space()->mutable_int64_box()->mutable_low() = filledTensor(-1);
  *space.mutable_space()->mutable_int64_box()->mutable_high() =
      filledTensor(std::numeric_limits<int64_t>::max());
  *space.mutable_default_observation()->mutable_int64_tensor() = filledTensor(0);
  return {space, [](Compilation& compilation, const Settings&, Event& event) {
            const std::vector<int64_t> features = loopNest(compilation.module());
            Int64Tensor& tensor = *event.mutable_int64_tensor();
            tensor.add_shape(kLoopFeatures);
            tensor.mutable_value()->Add(features.begin(), features.end());
            return Status::OK;
          }};
}

Observation opCounts() {
  ObservationSpace space = makeSpace("OpCounts", true, false);
  for (const std::string& name : countedDialects()) {
    Space& count = (*space.mutable_space()->mutable_space_dict()->mutable_space())[name];
    count.mutable_int64_value()->set_min(0);
    (*space.mutable_default_observation()->mutable_event_dict()->mutable_event())[name]
        .set_int64_value(0);
  }
  return {space, [](Compilation& compilation, const Settings&, Event& event) {
            auto& values = *event.mutable_event_dict()->mutable_event();
            for (const auto& [name, count] : countOps(compilation.module())) {
              values[name].set_int64_value(count);
            }
            return Status::OK;
          }};
}

Observation llvmIr() {
  return {textSpace("LlvmIr", /*platformDependent=*/true),
          [](Compilation& compilation, const Settings&, Event& event) -> Status {
            const MachineCode* code = nullptr;
            RETURN_IF_ERROR(compilation.machineCode(code));
            event.set_string_value(code->llvmIr);
            return Status::OK;
          }};
}

Observation objectSizeBytes() {
  ObservationSpace space = makeSpace("ObjectSizeBytes", true, /*platformDependent=*/true);
  space.mutable_space()->mutable_int64_value()->set_min(0);
  space.mutable_default_observation()->set_int64_value(0);
  return {space, [](Compilation& compilation, const Settings&, Event& event) -> Status {
            const MachineCode* code = nullptr;
            RETURN_IF_ERROR(compilation.machineCode(code));
            event.set_int64_value(static_cast<int64_t>(code->object.size()));
            return Status::OK;
          }};
}

void setSeconds(const std::vector<double>& seconds, Event& event) {
  DoubleTensor& tensor = *event.mutable_double_tensor();
  tensor.add_shape(static_cast<int64_t>(seconds.size()));
  tensor.mutable_value()->Add(seconds.begin(), seconds.end());
}

Observation runtime() {
  return {secondsSpace("Runtime"),
          [](Compilation& compilation, const Settings& settings, Event& event) -> Status {
            std::vector<double> seconds;
            RETURN_IF_ERROR(compilation.measure(settings.runCounts, settings.limit, seconds));
            setSeconds(seconds, event);
            return Status::OK;
          }};
}

Observation runtimeOfStart() {
  return {secondsSpace("RuntimeOfStart"),
          [](Compilation& compilation, const Settings& settings, Event& event) -> Status {
            std::vector<double> seconds;
            RETURN_IF_ERROR(compilation.measureStart(settings.runCounts, settings.limit, seconds));
            setSeconds(seconds, event);
            return Status::OK;
          }};
}

Observation isCorrect() {
  ObservationSpace space = makeSpace("IsCorrect", true, /*platformDependent=*/true);
  space.mutable_space()->mutable_boolean_value();
  space.mutable_default_observation()->set_boolean_value(false);
  return {space, [](Compilation& compilation, const Settings& settings, Event& event) -> Status {
            std::vector<double> seconds;
            const RunCounts none = {/*warmup=*/0, /*measured=*/0};
            const Status status = compilation.measure(none, settings.limit, seconds);
            if (!status.ok() && status.error_code() != grpc::StatusCode::DATA_LOSS) return status;
            event.set_boolean_value(status.ok());
            return Status::OK;
          }};
}

}  // namespace

std::vector<Observation> listObservations() {
  return {ir(),      loopNestObservation(), opCounts(), llvmIr(), objectSizeBytes(),
          runtime(), runtimeOfStart(),      isCorrect()};
}

}  // namespace compiler_gym::mlir_service
