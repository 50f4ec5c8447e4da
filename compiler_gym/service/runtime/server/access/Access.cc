#include "compiler_gym/service/runtime/server/access/Access.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "compiler_gym/util/FileDescriptor.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kMinTokenCharacters = 16;

Status invalid(const std::string& message) { return Status(StatusCode::INVALID_ARGUMENT, message); }

Status readToEnd(const FileDescriptor& file, std::string* contents) {
  char buffer[4096];
  while (true) {
    const ssize_t size = read(file.get(), buffer, sizeof(buffer));
    if (size == 0) return Status::OK;
    if (size < 0 && errno != EINTR) return invalid(std::generic_category().message(errno));
    if (size > 0) contents->append(buffer, static_cast<size_t>(size));
    if (contents->size() > kMaxFileBytes) return invalid("it is too large");
  }
}

// Returns the problem with a file that should be a secret of this user; empty if there is none.
std::string exposureOf(const FileDescriptor& file) {
  struct stat information = {};
  if (fstat(file.get(), &information) != 0) return std::generic_category().message(errno);
  if (information.st_uid != geteuid() && information.st_uid != 0) {
    return "it belongs to another user";
  }
  if ((information.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return "other users may read or change it. Let nobody else do so: chmod 600";
  }
  return "";
}

Status readFile(const std::string& flag, const std::string& path, bool isSecret,
                std::string* contents) {
  const std::string what = "Cannot use --" + flag + "=" + path + ": ";
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.isOpen()) return invalid(what + std::generic_category().message(errno));
  if (isSecret) {
    const std::string exposure = exposureOf(file);
    if (!exposure.empty()) return invalid(what + exposure);
  }
  const Status status = readToEnd(file, contents);
  return status.ok() ? status : invalid(what + status.error_message());
}

using OpenText = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

OpenText openText(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

// Returns the first certificate in the text, or null.
Certificate certificateIn(const std::string& text) {
  return {PEM_read_bio_X509(openText(text).get(), nullptr, nullptr, nullptr), X509_free};
}

Key keyIn(const std::string& text) {
  // A service cannot ask anybody for a passphrase.
  const auto noPassphrase = [](char*, int, int, void*) { return -1; };
  return {PEM_read_bio_PrivateKey(openText(text).get(), nullptr, noPassphrase, nullptr),
          EVP_PKEY_free};
}

// Checks the files, because gRPC starts with invalid ones and then refuses all clients.
Status checkPair(const AccessFlags& flags, const std::string& certificateText,
                 const std::string& keyText) {
  const Certificate certificate = certificateIn(certificateText);
  if (!certificate) {
    return invalid("--tls_certificate=" + flags.tlsCertificate +
                   " holds no certificate in PEM format");
  }
  const Key key = keyIn(keyText);
  if (!key) {
    return invalid("--tls_key=" + flags.tlsKey + " holds no key in PEM format without passphrase");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return invalid("--tls_key=" + flags.tlsKey +
                   " is not the key of --tls_certificate=" + flags.tlsCertificate);
  }
  return Status::OK;
}

bool isPrintable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

Status Access::open(const AccessFlags& flags, Access* access) {
  Access opened;
  opened.isInsecure_ = flags.isInsecure;
  RETURN_IF_ERROR(opened.readTls(flags));
  RETURN_IF_ERROR(opened.readToken(flags));
  if (opened.isInsecure_ && opened.asksClients()) {
    return invalid(
        "expected --insecure, or --token_file and --tls_client_ca, got both: --insecure lets "
        "anybody in, so leave out one of them");
  }
  *access = std::move(opened);
  return Status::OK;
}

Status Access::readTls(const AccessFlags& flags) {
  if (flags.tlsCertificate.empty() != flags.tlsKey.empty()) {
    return invalid("--tls_certificate and --tls_key need each other");
  }
  if (flags.tlsCertificate.empty()) {
    return flags.tlsClientCa.empty()
               ? Status::OK
               : invalid("--tls_client_ca needs --tls_certificate and --tls_key");
  }
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  RETURN_IF_ERROR(readFile("tls_certificate", flags.tlsCertificate, false, &pair.cert_chain));
  RETURN_IF_ERROR(readFile("tls_key", flags.tlsKey, true, &pair.private_key));
  RETURN_IF_ERROR(checkPair(flags, pair.cert_chain, pair.private_key));
  tls_.pem_key_cert_pairs.push_back(std::move(pair));
  if (!flags.tlsClientCa.empty()) {
    RETURN_IF_ERROR(readFile("tls_client_ca", flags.tlsClientCa, false, &tls_.pem_root_certs));
    if (!certificateIn(tls_.pem_root_certs)) {
      return invalid("--tls_client_ca=" + flags.tlsClientCa +
                     " holds no certificate in PEM format");
    }
    tls_.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return Status::OK;
}

Status Access::readToken(const AccessFlags& flags) {
  if (flags.tokenFile.empty()) return Status::OK;
  std::string token;
  RETURN_IF_ERROR(readFile("token_file", flags.tokenFile, true, &token));
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  if (token.size() < kMinTokenCharacters || !isPrintable(token)) {
    return invalid("Cannot use --token_file=" + flags.tokenFile + ": a token has at least " +
                   std::to_string(kMinTokenCharacters) +
                   " printable characters and no spaces. To make one: openssl rand -hex 32");
  }
  asksForToken_ = true;
  tokenCheck_ = TokenCheck(std::move(token));
  return Status::OK;
}

Status Access::checkHost(const std::string& host, bool isLoopback) const {
  if (isLoopback || isInsecure_ || asksClients()) return Status::OK;
  return Status(StatusCode::FAILED_PRECONDITION,
                "Other machines can reach --host=" + host +
                    ", and clients can make the service run commands. Add one of these: "
                    "--token_file=FILE for clients with a secret, --tls_client_ca=FILE for clients "
                    "with a certificate (both with --tls_certificate and --tls_key, otherwise the "
                    "network can read it), or --insecure for anybody" +
                    (usesTls() ? ". TLS without either does not ask who the client is" : ""));
}

std::shared_ptr<grpc::ServerCredentials> Access::credentials() const {
  if (!usesTls()) return tokenCheck_.plainCredentials();
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::SslServerCredentials(tls_);
  tokenCheck_.addTo(*credentials);
  return credentials;
}

}  // namespace compiler_gym::runtime
