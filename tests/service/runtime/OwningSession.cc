#include "tests/service/runtime/OwningSession.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <fstream>
#include <iterator>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::toy {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;

OwningSession::Speaker::Speaker() : thread_([this] { run(); }) {}

OwningSession::Speaker::~Speaker() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
  }
  thread_.join();
}

std::string OwningSession::Speaker::say(int64_t number) {
  std::unique_lock lock(mutex_);
  question_ = number;
  isAsked_ = true;
  changed_.wait(lock, [this] { return !isAsked_; });
  return answer_;
}

void OwningSession::Speaker::run() {
  std::deque<std::string> blocks;
  for (size_t size = 1;; size = size % 5'000 + 7) {
    blocks.emplace_back(size, ' ');
    if (blocks.size() > 50) blocks.pop_front();
    const std::lock_guard lock(mutex_);
    if (isStopping_) return;
    if (!isAsked_) continue;
    answer_ = std::to_string(question_);
    isAsked_ = false;
    changed_.notify_all();
  }
}

OwningSession::~OwningSession() {
  if (program_ == "lingering") std::this_thread::sleep_for(std::chrono::milliseconds(500));
  boost::system::error_code ignored;
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
  // The child ends when nobody can write to it any more.
  socket_.close();
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

std::vector<ActionSpace> OwningSession::getActionSpaces() const {
  ActionSpace space;
  space.set_name("Add");
  space.mutable_space()->mutable_named_discrete()->add_name("add");
  return {space};
}

std::vector<ObservationSpace> OwningSession::getObservationSpaces() const {
  std::vector<ObservationSpace> spaces(2);
  spaces[0].set_name("number");
  spaces[1].set_name("directory");
  for (ObservationSpace& space : spaces) {
    space.mutable_space()->mutable_string_value()->mutable_length_range()->set_min(0);
  }
  return spaces;
}

Status OwningSession::init(const ActionSpace& /*actionSpace*/, const Benchmark& benchmark) {
  program_ = benchmark.program().contents();
  return acquire();
}

Status OwningSession::acquire() {
  directory_ = workingDirectory() / fs::unique_path("owned-%%%%%%%%");
  fs::create_directory(directory_);
  RETURN_IF_ERROR(write());
  if (keepsThread()) speaker_ = std::make_unique<Speaker>();
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Status(StatusCode::INTERNAL, "Cannot make a socket");
  }
  socket_ = util::FileDescriptor(ends[0]);
  const util::FileDescriptor theirs(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
  std::string program = "/bin/cat";
  const std::array<char*, 2> arguments = {program.data(), nullptr};
  const int error =
      posix_spawn(&child_, program.c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? Status::OK : Status(StatusCode::INTERNAL, "Cannot start cat");
}

Status OwningSession::afterFork() {
  if (program_ == "failing") {
    // The destructor must not take them for its own.
    directory_.clear();
    child_ = 0;
    return Status(StatusCode::UNAVAILABLE, "there is only one of it");
  }
  // The child is one of the original, with which that socket is shared.
  RETURN_IF_ERROR(acquire());
  if (program_ == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return Status::OK;
}

Status OwningSession::write() const {
  std::ofstream((directory_ / "number").string()) << number_;
  return Status::OK;
}

std::string OwningSession::say() {
  if (keepsThread()) return speaker_->say(number_);
  return Speaker().say(number_);
}

std::string OwningSession::echo(const std::string& text) const {
  std::string answer(text.size(), '?');
  if (send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return answer;
  if (recv(socket_.get(), answer.data(), answer.size(), MSG_WAITALL) < 0) return "?";
  return answer;
}

Status OwningSession::applyAction(const Event& /*action*/, bool& /*endOfEpisode*/,
                                  std::optional<ActionSpace>& /*newActionSpace*/,
                                  bool& /*actionHadNoEffect*/) {
  ++number_;
  return write();
}

Status OwningSession::computeObservation(const ObservationSpace& observationSpace,
                                         Event& observation) {
  if (observationSpace.name() == "directory") {
    observation.set_string_value(directory_.string());
    return Status::OK;
  }
  std::ifstream file((directory_ / "number").string());
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  observation.set_string_value(written + " " + say() + " " + echo(std::to_string(number_)));
  return Status::OK;
}

}  // namespace compiler_gym::toy
