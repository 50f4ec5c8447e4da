// Ends that nobody has prepared for: what remains of a service and its sessions.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "compiler_gym/util/FileDescriptor.h"
#include "tests/service/runtime/ToyServiceFixture.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using util::ProcessResult;

class NoTracesTest : public IsolatedServiceTest {
 protected:
  // Starts a step in another thread.
  std::future<grpc::Status> stepLater(int64_t session, const std::string& action) {
    return std::async(std::launch::async,
                      [this, session, action] { return client().step(session, {action}).status; });
  }

  // Makes the file by which clients say that the working directory is theirs.
  fs::path makeOwnerFile() const {
    const fs::path path = working() / "owner.lock";
    std::ofstream(path.string()).close();
    return path;
  }

  // Starts the service in its default working directory, which is returned.
  fs::path startInDefaultDirectory() {
    ended_ = std::async(std::launch::async, [this] { return run({}); });
    fs::path made;
    EXPECT_TRUE(eventually([&] {
      for (const auto& entry : fs::directory_iterator(temporary())) {
        if (fs::exists(entry.path() / "port.txt")) made = entry.path();
      }
      return !made.empty() && fs::exists(made / "pid.txt");
    }));
    pid_ = waitForNumber(made / "pid.txt");
    client_.emplace(port_ = waitForNumber(made / "port.txt"));
    return made;
  }
};

TEST_F(NoTracesTest, ServiceIsKilledWhileSessionsAreBusy) {
  const fs::path made = startInDefaultDirectory();
  const int64_t idle = client().startOn("idle");
  EXPECT_GE(idle, 0);
  auto looping = stepLater(client().startOn("abc"), "loop");
  auto running = stepLater(client().startOn("def"), "run");
  EXPECT_TRUE(eventually([&] { return fs::exists(made / "asleep"); }));
  const int command = waitForNumber(made / "command.pid");
  // The fork server, a pristine and an own process for each of three sessions, and the command.
  std::vector<pid_t> all;
  EXPECT_TRUE(eventually([&] { return (all = descendantsOf(pid_)).size() >= 8; }));
  EXPECT_THAT(all, ::testing::Contains(command));
  all.push_back(pid_);

  const ProcessResult result = stop(SIGKILL);
  EXPECT_EQ(result.end, ProcessResult::End::kSignalled);
  expectAllGone(all);
  EXPECT_TRUE(eventually([this] { return fs::is_empty(temporary()); }));
  EXPECT_FALSE(looping.get().ok());
  EXPECT_FALSE(running.get().ok());
}

TEST_F(NoTracesTest, DirectoryOfADeadOwnerIsRemoved) {
  fs::create_directory(working());
  makeOwnerFile();
  start();
  auto looping = stepLater(client().startOn("abc"), "loop");
  awaitAsleep();
  const std::vector<pid_t> all = descendantsOf(pid_);
  stop(SIGKILL);
  expectAllGone(all);
  EXPECT_TRUE(eventually([this] { return !fs::exists(working()); }));
  EXPECT_FALSE(looping.get().ok());
}

TEST_F(NoTracesTest, DirectoryOfALivingOwnerStays) {
  fs::create_directory(working());
  const util::FileDescriptor owner(open(makeOwnerFile().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(owner.get(), LOCK_EX), 0);
  start();
  const std::vector<pid_t> all = descendantsOf(pid_);
  stop(SIGKILL);
  expectAllGone(all);
  EXPECT_TRUE(fs::is_directory(working() / "logs"));
  EXPECT_FALSE(fs::exists(working() / "pid.txt"));
  EXPECT_FALSE(fs::exists(working() / "service.sock"));
}

TEST_F(NoTracesTest, DirectoryOfAUserStays) {
  fs::create_directory(working());
  std::ofstream((working() / "mine").string()) << "text";
  fs::permissions(working(), fs::perms(0750));
  start();
  expectExit(stop(), 0);
  EXPECT_EQ(fs::status(working()).permissions(), fs::perms(0750));
  EXPECT_EQ(contentsOf(working() / "mine"), "text");
}

TEST_F(NoTracesTest, ServiceEndsWithItsForkServer) {
  start();
  EXPECT_GE(client().startOn("abc"), 0);
  const std::vector<pid_t> all = descendantsOf(pid_);
  ASSERT_EQ(kill(forkServer(), SIGKILL), 0);
  EXPECT_TRUE(eventually([this] { return isGone(pid_); }));
  const ProcessResult result = ended_.get();
  expectExit(result, 6);
  EXPECT_THAT(contentsOf(working() / "logs" / (toyService().filename().string() + ".ERROR")),
              HasSubstr("has ended unexpectedly"));
  expectAllGone(all);
}

TEST_F(NoTracesTest, KilledSessionProcessIsOneLostSession) {
  start({"--pristine_sessions_mib=0"});
  const int64_t victim = client().startOn("victim");
  EXPECT_EQ(client().textOf(victim), "victim");
  // The pristine session has ended, and that of the victim is left.
  ASSERT_TRUE(eventually([this] { return sessionProcesses().size() == 1; }));
  const pid_t process = sessionProcesses().front();
  const int64_t other = client().startOn("other");
  EXPECT_EQ(client().textOf(other), "other");
  ASSERT_EQ(kill(process, SIGKILL), 0);
  const auto answer = client().step(victim, {"reverse"});
  EXPECT_EQ(answer.code(), StatusCode::ABORTED);
  EXPECT_THAT(answer.message(),
              AllOf(HasSubstr("signal 9"), HasSubstr("no action or observation")));
  EXPECT_EQ(client().textOf(other), "other");
  EXPECT_TRUE(client().end(victim).ok());
  expectServes();
}

TEST_F(NoTracesTest, FilesOfAKilledSessionAreRemoved) {
  start({"--pristine_sessions_mib=0", "--spare_sessions=0"});
  const int64_t session = client().startOn("abc");
  auto step = stepLater(session, "run");
  waitForNumber(working() / "command.pid");
  fs::path folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(working())) {
    if (entry.path().stem() == "run") folder = entry.path();
  }
  EXPECT_TRUE(fs::exists(folder / "file"));
  ASSERT_EQ(kill(std::stoi(folder.extension().string().substr(1)), SIGKILL), 0);
  EXPECT_FALSE(step.get().ok());
  EXPECT_TRUE(eventually([&] { return !fs::exists(folder); }));
  expectServes();
}

TEST_F(NoTracesTest, EndingABusySessionKillsItsProcess) {
  start({"--request_timeout_seconds=50", "--pristine_sessions_mib=0"});
  const int64_t session = client().startOn("abc");
  ASSERT_TRUE(eventually([this] { return sessionProcesses().size() == 1; }));
  const std::vector<pid_t> processes = sessionProcesses();
  auto step = stepLater(session, "loop");
  awaitAsleep();
  EXPECT_TRUE(client().end(session).ok());
  EXPECT_EQ(client().step(session, {}).code(), StatusCode::NOT_FOUND);
  expectAllGone(processes);
  EXPECT_EQ(step.get().error_code(), StatusCode::NOT_FOUND);
  EXPECT_FALSE(fs::exists(working() / "reproducers"));
  expectServes();
}

TEST_F(NoTracesTest, CommandsHaveTheLimitsThatTheServiceWasStartedWith) {
  rlimit files = {};
  rlimit data = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &data), 0);
  const rlimit fewFiles = {256, files.rlim_max};
  // More than a session may have, and more than sanitizers use.
  const rlimit someData = {std::min(rlim_t{1} << 50, data.rlim_max), data.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &fewFiles), 0);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &someData), 0);
  start();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &data), 0);
  const int64_t session = client().startOn("abc");
  auto step = stepLater(session, "run");
  waitForNumber(working() / "command.pid");
  EXPECT_EQ(waitForNumber(working() / "command.limit"), 256);
  // Services in Python start their commands themselves, with the limit of their session.
  if (toyService().filename() == "toy_service") {
    std::string dataKib;
    std::ifstream((working() / "command.data").string()) >> dataKib;
    EXPECT_EQ(dataKib, std::to_string(someData.rlim_cur / 1024));
  }
  EXPECT_TRUE(client().end(session).ok());
  EXPECT_FALSE(step.get().ok());
}

// ---------------------------------------------------------------------------
// gRPC's standard services.

// Sends one message, and returns the reply.
std::string callMethod(int port, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(100));
  const grpc::Slice slice(request);
  const grpc::ByteBuffer buffer(&slice, 1);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, method, buffer, &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool isDone = false;
  queue.Next(&tag, &isDone);
  EXPECT_THAT(status, IsOk());
  grpc::Slice bytes;
  if (!status.ok() || !reply.DumpToSingleSlice(&bytes).ok()) return "";
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

TEST_F(IsolatedServiceTest, HealthAndReflectionAnswer) {
  start();
  // HealthCheckResponse{status: SERVING}
  EXPECT_EQ(callMethod(port_, "/grpc.health.v1.Health/Check", ""), "\x08\x01");
  // ServerReflectionRequest{list_services: ""}
  EXPECT_THAT(callMethod(port_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                         std::string("\x3a\x00", 2)),
              AllOf(HasSubstr("CompilerGymService"), HasSubstr("grpc.health.v1.Health")));
  expectExit(stop(), 0);
}

}  // namespace
}  // namespace compiler_gym::runtime
