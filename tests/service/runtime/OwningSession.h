// A compiler whose sessions own what a copy of a process does not get, or shares.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::toy {

// Adds one to a number, and works with a directory, a thread, a child and a socket of its own. The
// program of a benchmark is
//   forkable    its thread ends with each request;
//   threaded    its thread stays, but it does not say that its process cannot be copied;
//   unforkable  its thread stays, and it says so;
//   failing     as forkable, but its copies cannot be set up;
//   slow        as forkable, but it takes a while to set them up;
//   lingering   as forkable, but it takes a while to end.
//
// The only action is to add. Observations:
//   0  number     string: what the file in the directory, the thread, and the child behind the
//                 socket say the number is, with blanks between
//   1  directory  string: the path of the directory
class OwningSession final : public CompilationSession {
 public:
  using CompilationSession::CompilationSession;
  ~OwningSession() override;

  std::vector<ActionSpace> getActionSpaces() const override;
  std::vector<ObservationSpace> getObservationSpaces() const override;
  [[nodiscard]] grpc::Status init(const ActionSpace& actionSpace,
                                  const Benchmark& benchmark) override;
  [[nodiscard]] grpc::Status applyAction(const Event& action, bool& endOfEpisode,
                                         std::optional<ActionSpace>& newActionSpace,
                                         bool& actionHadNoEffect) override;
  [[nodiscard]] grpc::Status computeObservation(const ObservationSpace& observationSpace,
                                                Event& observation) override;
  bool forkable() const override { return program_ != "unforkable"; }
  [[nodiscard]] grpc::Status afterFork() override;

 private:
  // Says a number when asked, from another thread, which allocates memory all the time.
  class Speaker {
   public:
    Speaker();
    ~Speaker();
    std::string say(int64_t number);

   private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    int64_t question_ = 0;
    std::string answer_;
    bool isAsked_ = false;
    bool isStopping_ = false;
    std::thread thread_;
  };

  bool keepsThread() const { return program_ == "threaded" || program_ == "unforkable"; }
  std::string say();
  grpc::Status acquire();
  grpc::Status write() const;
  std::string echo(const std::string& text) const;

  std::string program_;
  int64_t number_ = 0;
  boost::filesystem::path directory_;
  std::unique_ptr<Speaker> speaker_;
  pid_t child_ = 0;
  util::FileDescriptor socket_;
};

}  // namespace compiler_gym::toy
