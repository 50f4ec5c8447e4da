// The secret that clients of a service know.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>

namespace compiler_gym::runtime {

// Lets requests pass that come with the token: as metadata "authorization: Bearer TOKEN". Those
// that come through a Unix socket need none: only the user who runs the service can connect to it.
class TokenCheck {
 public:
  // Without a token, all requests pass.
  explicit TokenCheck(std::string token = "") : token_(std::move(token)) {}

  // UNAUTHENTICATED, with what to do, if the request must not pass. A call from within the process
  // has no `context`.
  grpc::Status check(const grpc::ServerContext* context) const;

 private:
  std::string token_;
};

// Whether two texts are the same. The time that it takes does not tell where they differ.
bool isSameSecret(const std::string& secret, const std::string& presented);

}  // namespace compiler_gym::runtime
