// Access control for services over TCP.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "compiler_gym/service/runtime/server/access/TokenCheck.h"

namespace compiler_gym::runtime {

// Access settings from flags. Unused files have empty names.
struct AccessFlags {
  // In PEM format: the service's certificate and key, and the authority for client certificates.
  std::string tlsCertificate;
  std::string tlsKey;
  std::string tlsClientCa;
  // A secret that clients must send.
  std::string tokenFile;
  // Allow anybody to use the service.
  bool isInsecure = false;
};

// Clients with a token or a certificate may connect from anywhere. Without either, only processes
// of the service's user on this machine may connect.
class Access {
 public:
  // For the same user on this machine.
  Access() = default;

  // Reads the files. INVALID_ARGUMENT if the flags contradict each other, or if a file cannot be
  // read, is malformed, or has a secret that other users can read.
  static grpc::Status open(const AccessFlags& flags, Access* access);

  // FAILED_PRECONDITION, with advice, if a service on `host` would serve clients without
  // credentials. `isLoopback` is true if only this machine can reach `host`.
  grpc::Status checkHost(const std::string& host, bool isLoopback) const;

  // True if connections of other users must be refused.
  bool isForOwnerOnly() const { return !isInsecure_ && !asksClients(); }

  bool usesTls() const { return !tls_.pem_key_cert_pairs.empty(); }

  // The credentials of a gRPC server for TCP connections.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;

 private:
  // True if clients must have a token or a certificate.
  bool asksClients() const { return asksForToken_ || !tls_.pem_root_certs.empty(); }

  grpc::Status readTls(const AccessFlags& flags);
  grpc::Status readToken(const AccessFlags& flags);

  bool isInsecure_ = false;
  bool asksForToken_ = false;
  TokenCheck tokenCheck_;
  grpc::SslServerCredentialsOptions tls_;
};

}  // namespace compiler_gym::runtime
