#include "tests/service/runtime/ToyForkServer.h"

#include <glog/logging.h>
#include <gtest/gtest.h>

#include "compiler_gym/service/runtime/SessionFactory.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {

namespace fs = boost::filesystem;

const fs::path& toyDirectory() {
  static const fs::path path = [] {
    const fs::path made = fs::temp_directory_path() / fs::unique_path();
    fs::create_directory(made);
    fs::permissions(made, fs::owner_all);
    return made;
  }();
  return path;
}

const std::shared_ptr<ForkServerProcess>& toyForkServer() {
  static const std::shared_ptr<ForkServerProcess> server = [] {
    std::unique_ptr<ForkServerProcess> started;
    const grpc::Status status = ForkServerProcess::start(
        makeSessionFactory<toy::ToySession>(), toyDirectory(), Limits(), [] {}, &started);
    CHECK(status.ok()) << status.error_message();
    return started;
  }();
  return server;
}

std::shared_ptr<RpcHandlers> makeToySessions(const Limits& limits) {
  return std::make_shared<RpcHandlers>(toyForkServer(), toyDirectory(), limits);
}

}  // namespace compiler_gym::runtime

int main(int argc, char** argv) {
  compiler_gym::runtime::toyForkServer();
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  compiler_gym::runtime::toyForkServer()->stop();
  boost::filesystem::remove_all(compiler_gym::runtime::toyDirectory());
  return result;
}
