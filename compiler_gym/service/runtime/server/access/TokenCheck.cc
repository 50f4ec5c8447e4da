#include "compiler_gym/service/runtime/server/access/TokenCheck.h"

#include <grpc/grpc_security.h>
#include <openssl/crypto.h>

#include <memory>
#include <stdexcept>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

bool isSameSecret(const std::string& secret, const std::string& presented) {
  if (secret.size() != presented.size()) return false;
  return CRYPTO_memcmp(secret.data(), presented.data(), secret.size()) == 0;
}

namespace {

// Checks the tokens of encrypted connections.
class MetadataCheck final : public grpc::AuthMetadataProcessor {
 public:
  explicit MetadataCheck(TokenCheck check) : check_(std::move(check)) {}

  bool IsBlocking() const override { return false; }

  Status Process(const InputMetadata& metadata, grpc::AuthContext* /*context*/,
                 OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) override {
    return check_.check(metadata);
  }

 private:
  const TokenCheck check_;
};

grpc::string_ref textOf(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// Checks the tokens of connections without encryption. Only the C library of gRPC has credentials
// for that, not the C++ library.
class PlainCredentials final : public grpc::ServerCredentials {
 public:
  explicit PlainCredentials(TokenCheck check) : check_(std::move(check)) {}

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {
    throw std::logic_error("These credentials check tokens");
  }

 private:
  static void process(void* state, grpc_auth_context* /*context*/, const grpc_metadata* entries,
                      size_t count, grpc_process_auth_metadata_done_cb done, void* call) {
    TokenCheck::Metadata metadata;
    for (size_t i = 0; i < count; ++i) {
      metadata.emplace(textOf(entries[i].key), textOf(entries[i].value));
    }
    const Status status = static_cast<const TokenCheck*>(state)->check(metadata);
    done(call, /*consumed_md=*/nullptr, 0, /*response_md=*/nullptr, 0,
         static_cast<grpc_status_code>(status.error_code()), status.error_message().c_str());
  }

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    grpc_server_credentials* credentials = grpc_insecure_server_credentials_create();
    const auto destroy = [](void* state) { delete static_cast<TokenCheck*>(state); };
    grpc_server_credentials_set_auth_metadata_processor(
        credentials, {&process, destroy, new TokenCheck(check_)});
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  const TokenCheck check_;
};

}  // namespace

void TokenCheck::addTo(grpc::ServerCredentials& tlsCredentials) const {
  if (!token_.empty()) {
    tlsCredentials.SetAuthMetadataProcessor(std::make_shared<MetadataCheck>(*this));
  }
}

std::shared_ptr<grpc::ServerCredentials> TokenCheck::plainCredentials() const {
  if (token_.empty()) return grpc::InsecureServerCredentials();
  return std::make_shared<PlainCredentials>(*this);
}

Status TokenCheck::check(const Metadata& metadata) const {
  constexpr char kService[] = "/compiler_gym.CompilerGymService/";
  constexpr char kScheme[] = "Bearer ";
  const auto path = metadata.find(":path");
  if (path != metadata.end() && !path->second.starts_with(kService)) return Status::OK;
  const auto found = metadata.find("authorization");
  if (found == metadata.end()) {
    return Status(StatusCode::UNAUTHENTICATED,
                  "This service needs a token, but the request has none. Send the contents of its "
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
