// The version and the spaces of a service.
#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym::runtime {

// The observation spaces that a request asks for, in its order, with its repetitions.
using RequestedSpaces = std::vector<const ObservationSpace*>;

// The version and the spaces of a service, the same for all of its sessions.
class ServiceDescription {
 public:
  ServiceDescription() = default;
  // Asks a session, which need not be initialised.
  explicit ServiceDescription(const CompilationSession& session);
  // Takes the replies that another process received.
  ServiceDescription(GetVersionReply version, GetSpacesReply spaces);

  const GetVersionReply& version() const { return version_; }
  const GetSpacesReply& spaces() const { return spaces_; }

  // INVALID_ARGUMENT if the index is not in the list. The pointers are valid as long as this
  // object.
  grpc::Status findActionSpace(int index, const ActionSpace** space) const;
  grpc::Status findObservationSpace(int index, const ObservationSpace** space) const;
  grpc::Status findObservationSpaces(const google::protobuf::RepeatedField<int32_t>& indices,
                                     RequestedSpaces* spaces) const;
  // Checks that all spaces in a request exist.
  grpc::Status checkSpaces(const StartSessionRequest& request) const;

 private:
  GetVersionReply version_;
  GetSpacesReply spaces_;
};

}  // namespace compiler_gym::runtime
