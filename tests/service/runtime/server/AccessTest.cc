#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/filesystem.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

#include "compiler_gym/service/runtime/server/access/Access.h"
#include "tests/Statuses.h"
#include "tests/service/runtime/server/OtherUser.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kToken[] = "0123456789abcdef";

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() : directory_(fs::temp_directory_path() / fs::unique_path()) {
    fs::create_directory(directory_);
  }
  ~AccessTest() override { fs::remove_all(directory_); }

  // Makes a certificate and its key.
  void makePair(const std::string& name, std::string* certificate, std::string* key) const {
    *certificate = (directory_ / (name + ".pem")).string();
    *key = (directory_ / (name + ".key")).string();
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test"
        " -keyout " +
        *key + " -out " + *certificate + " 2>/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  std::string file(const std::string& contents, mode_t mode = 0600) const {
    const fs::path path = directory_ / fs::unique_path();
    std::ofstream(path.string()) << contents;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path.string();
  }

  // Opens with a token file.
  Status openToken(const std::string& path) {
    AccessFlags flags;
    flags.tokenFile = path;
    return Access::open(flags, &access_);
  }

  void expectInvalid(const AccessFlags& flags, const std::string& message) {
    EXPECT_THAT(Access::open(flags, &access_), IsError(StatusCode::INVALID_ARGUMENT, message));
  }

  const fs::path directory_;
  Access access_;
};

TEST_F(AccessTest, DefaultIsTheSameUserOnThisMachine) {
  ASSERT_TRUE(Access::open({}, &access_).ok());
  EXPECT_TRUE(access_.isForOwnerOnly());
  EXPECT_FALSE(access_.usesTls());
  EXPECT_TRUE(access_.checkHost("127.0.0.1", true).ok());
  const Status status = access_.checkHost("0.0.0.0", false);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("--host=0.0.0.0"), HasSubstr("--token_file"),
                                            HasSubstr("--tls_client_ca"), HasSubstr("--insecure")));
}

TEST_F(AccessTest, TokenThatOthersCanRead) {
  for (const mode_t mode : {0640, 0604, 0620, 0602}) {
    const Status status = openToken(file(kToken, mode));
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << mode;
    EXPECT_THAT(status.error_message(), AllOf(HasSubstr("--token_file="), HasSubstr("chmod 600")));
  }
}

TEST_F(AccessTest, TokenOfAnotherUser) {
  SKIP_WITHOUT_OTHER_USER();
  const std::string path = file(kToken);
  ASSERT_EQ(chown(path.c_str(), kOtherUser, kOtherUser), 0);
  EXPECT_THAT(openToken(path).error_message(), HasSubstr("belongs to another user"));
}

TEST_F(AccessTest, MalformedToken) {
  for (const char* text :
       {"", "\n", "short", "0123456789 abcdef", "0123456789abcdef\nsecond line"}) {
    EXPECT_THAT(openToken(file(text)), IsError(StatusCode::INVALID_ARGUMENT, "openssl rand"))
        << text;
  }
}

TEST_F(AccessTest, FilesThatCannotBeRead) {
  const std::string missing = (directory_ / "missing").string();
  EXPECT_THAT(openToken(missing).error_message(),
              AllOf(HasSubstr("--token_file=" + missing), HasSubstr("No such file")));
  EXPECT_FALSE(openToken(directory_.string()).ok());
  EXPECT_THAT(openToken(file(std::string(2 << 20, 'x'))).error_message(), HasSubstr("too large"));
}

TEST_F(AccessTest, TlsFiles) {
  std::string certificate, key, otherCertificate, otherKey;
  makePair("a", &certificate, &key);
  makePair("b", &otherCertificate, &otherKey);
  const std::string text = file("text");
  expectInvalid({certificate, "", "", "", false}, "need each other");
  expectInvalid({"", key, "", "", false}, "need each other");
  expectInvalid({"", "", certificate, "", false}, "--tls_client_ca needs");
  expectInvalid({text, key, "", "", false}, "--tls_certificate=" + text + " holds no certificate");
  expectInvalid({certificate, text, "", "", false}, "--tls_key=" + text + " holds no key");
  expectInvalid({certificate, otherKey, "", "", false}, "is not the key of");
  expectInvalid({certificate, key, text, "", false}, "--tls_client_ca=" + text + " holds no");
  ASSERT_EQ(chmod(key.c_str(), 0644), 0);
  expectInvalid({certificate, key, "", "", false}, "chmod 600");
}

TEST_F(AccessTest, KeyWithAPassphrase) {
  AccessFlags flags;
  makePair("a", &flags.tlsCertificate, &flags.tlsKey);
  const std::string locked = file("");
  const std::string command = "openssl ec -aes128 -passout pass:secret -in " + flags.tlsKey +
                              " -out " + locked + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  flags.tlsKey = locked;
  expectInvalid(flags, "without passphrase");
}

TEST_F(AccessTest, Contradictions) {
  expectInvalid({"", "", "", file(kToken), true},
                "expected --insecure, or --token_file and --tls_client_ca, got both");
  AccessFlags flags;
  makePair("a", &flags.tlsCertificate, &flags.tlsKey);
  flags.isInsecure = true;
  // Encrypted, for anybody.
  EXPECT_TRUE(Access::open(flags, &access_).ok());
  flags.tlsClientCa = flags.tlsCertificate;
  expectInvalid(flags, "expected --insecure, or --token_file and --tls_client_ca, got both");
}

TEST(TokenCheck, SameSecret) {
  EXPECT_TRUE(isSameSecret("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "bbc", "abcd"}) {
    EXPECT_FALSE(isSameSecret("abc", other)) << other;
  }
  EXPECT_FALSE(isSameSecret("abc", std::string("abc\0", 4)));
}

// As no gRPC request is.
TEST(TokenCheck, RequestWithoutMetadata) {
  EXPECT_THAT(TokenCheck(kToken).check({}), IsError(StatusCode::UNAUTHENTICATED, "--token_file"));
}

}  // namespace
}  // namespace compiler_gym::runtime
