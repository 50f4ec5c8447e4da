// The secret that clients of a service know.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace compiler_gym::runtime {

// Lets requests pass that come with the token: as metadata "authorization: Bearer TOKEN". gRPC
// checks it before it reads the message. Requests through a Unix socket need none: only the user
// who runs the service can connect to it.
class TokenCheck {
 public:
  using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

  // Without a token, all requests pass.
  explicit TokenCheck(std::string token = "") : token_(std::move(token)) {}

  // UNAUTHENTICATED, with what to do, if a request with this metadata must not pass. The health
  // check needs no token.
  grpc::Status check(const Metadata& metadata) const;

  // Makes gRPC check the tokens of requests on encrypted connections.
  void addTo(grpc::ServerCredentials& tlsCredentials) const;

  // Credentials for connections without encryption, by which gRPC checks tokens in the same way.
  std::shared_ptr<grpc::ServerCredentials> plainCredentials() const;

 private:
  std::string token_;
};

// Compares two texts in constant time.
bool isSameSecret(const std::string& secret, const std::string& presented);

}  // namespace compiler_gym::runtime
