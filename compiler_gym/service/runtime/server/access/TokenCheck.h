// The secret that clients of a service know.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
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
  grpc::Status check(const grpc::ServerContextBase* context) const;

  using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;
  // Checks the metadata of a request over TCP, see check().
  grpc::Status checkMetadata(const Metadata& metadata) const;

  // Has gRPC check the token before it reads the message of a request. gRPC supports that on
  // encrypted connections only.
  void addTo(grpc::ServerCredentials& tlsCredentials) const;

 private:
  std::string token_;
};

// Compares two texts in constant time.
bool isSameSecret(const std::string& secret, const std::string& presented);

}  // namespace compiler_gym::runtime
