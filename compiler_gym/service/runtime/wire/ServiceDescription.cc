#include "compiler_gym/service/runtime/wire/ServiceDescription.h"

#include <string>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "compiler_gym/util/Version.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

Status checkIndex(const std::string& list, int index, int size) {
  if (index >= 0 && index < size) return Status::OK;
  return Status(
      StatusCode::INVALID_ARGUMENT,
      list + "(" + std::to_string(index) + ") is not in range [0, " + std::to_string(size) + ")");
}

}  // namespace

ServiceDescription::ServiceDescription(const CompilationSession& session) {
  version_.set_service_version(util::kVersion);
  version_.set_compiler_version(session.getCompilerVersion());
  const std::vector<ActionSpace> actionSpaces = session.getActionSpaces();
  const std::vector<ObservationSpace> observationSpaces = session.getObservationSpaces();
  *spaces_.mutable_action_space_list() = {actionSpaces.begin(), actionSpaces.end()};
  *spaces_.mutable_observation_space_list() = {observationSpaces.begin(), observationSpaces.end()};
}

ServiceDescription::ServiceDescription(GetVersionReply version, GetSpacesReply spaces)
    : version_(std::move(version)), spaces_(std::move(spaces)) {}

Status ServiceDescription::findActionSpace(int index, const ActionSpace** space) const {
  RETURN_IF_ERROR(checkIndex("action_space", index, spaces_.action_space_list_size()));
  *space = &spaces_.action_space_list(index);
  return Status::OK;
}

Status ServiceDescription::findObservationSpace(int index, const ObservationSpace** space) const {
  RETURN_IF_ERROR(checkIndex("observation_space", index, spaces_.observation_space_list_size()));
  *space = &spaces_.observation_space_list(index);
  return Status::OK;
}

Status ServiceDescription::findObservationSpaces(
    const google::protobuf::RepeatedField<int32_t>& indices, RequestedSpaces* spaces) const {
  for (const int32_t index : indices) {
    RETURN_IF_ERROR(findObservationSpace(index, &spaces->emplace_back()));
  }
  return Status::OK;
}

Status ServiceDescription::checkSpaces(const StartSessionRequest& request) const {
  const ActionSpace* actionSpace = nullptr;
  RETURN_IF_ERROR(findActionSpace(request.action_space(), &actionSpace));
  RequestedSpaces spaces;
  return findObservationSpaces(request.observation_space(), &spaces);
}

}  // namespace compiler_gym::runtime
