#include "compiler_gym/service/runtime/server/access/TokenCheck.h"

#include <cstddef>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

bool isSameSecret(const std::string& secret, const std::string& presented) {
  if (secret.size() != presented.size()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < secret.size(); ++i) {
    difference = difference | static_cast<unsigned char>(secret[i] ^ presented[i]);
  }
  return difference == 0;
}

Status TokenCheck::check(const grpc::ServerContext* context) const {
  constexpr char kUnixPeer[] = "unix:";
  constexpr char kScheme[] = "Bearer ";
  if (token_.empty() || context == nullptr) return Status::OK;
  if (context->peer().rfind(kUnixPeer, 0) == 0) return Status::OK;
  const auto found = context->client_metadata().find("authorization");
  if (found == context->client_metadata().end()) {
    return Status(StatusCode::UNAUTHENTICATED,
                  "This service asks for a token, and none came. Send the contents of its "
                  "--token_file as metadata 'authorization: Bearer TOKEN'; in Python, "
                  "ConnectionOpts(token_file=...) does");
  }
  const std::string value(found->second.data(), found->second.size());
  if (!isSameSecret(kScheme + token_, value)) {
    return Status(StatusCode::UNAUTHENTICATED,
                  "The token is not the one of this service. Send the contents of its --token_file "
                  "as metadata 'authorization: Bearer TOKEN'");
  }
  return Status::OK;
}

}  // namespace compiler_gym::runtime
