#include "compiler_gym/service/runtime/server/access/TokenCheck.h"

#include <openssl/crypto.h>

#include <memory>

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
    constexpr char kService[] = "/compiler_gym.CompilerGymService/";
    const auto path = metadata.find(":path");
    // Anybody may ask for the health of the service.
    const bool isOfOther = path != metadata.end() && !path->second.starts_with(kService);
    return isOfOther ? Status::OK : check_.checkMetadata(metadata);
  }

 private:
  const TokenCheck check_;
};

}  // namespace

void TokenCheck::addTo(grpc::ServerCredentials& tlsCredentials) const {
  if (!token_.empty()) {
    tlsCredentials.SetAuthMetadataProcessor(std::make_shared<MetadataCheck>(*this));
  }
}

Status TokenCheck::check(const grpc::ServerContextBase* context) const {
  constexpr char kUnixPeer[] = "unix:";
  if (token_.empty() || context == nullptr) return Status::OK;
  if (context->peer().rfind(kUnixPeer, 0) == 0) return Status::OK;
  return checkMetadata(context->client_metadata());
}

Status TokenCheck::checkMetadata(const Metadata& metadata) const {
  constexpr char kScheme[] = "Bearer ";
  const auto found = metadata.find("authorization");
  if (found == metadata.end()) {
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
