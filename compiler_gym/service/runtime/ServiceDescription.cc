#include "compiler_gym/service/runtime/ServiceDescription.h"

#include <utility>

#include "compiler_gym/service/runtime/Requests.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "compiler_gym/util/Version.h"

namespace compiler_gym::runtime {

using grpc::Status;

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
  RETURN_IF_ERROR(
      checkIndex("action_space", index, static_cast<size_t>(spaces_.action_space_list_size())));
  *space = &spaces_.action_space_list(index);
  return Status::OK;
}

Status ServiceDescription::findObservationSpace(int index, const ObservationSpace** space) const {
  RETURN_IF_ERROR(checkIndex("observation_space", index,
                             static_cast<size_t>(spaces_.observation_space_list_size())));
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

}  // namespace compiler_gym::runtime
