// A session whose compiler is written in another language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/runtime/foreign/ForeignInterface.h"

namespace compiler_gym::runtime {

// The function that was passed to compiler_gym_run_service(), and the optional methods that it
// supports.
struct ForeignClass {
  CompilerGymFunction function = nullptr;
  uint64_t methods = 0;
};

// A session that calls a ForeignClass for everything. The class must outlive the session.
class ForeignCompiler final : public CompilationSession {
 public:
  ForeignCompiler(const ForeignClass& foreign, const boost::filesystem::path& workingDirectory);
  ~ForeignCompiler() override;

  std::string getCompilerVersion() const override;
  std::vector<ActionSpace> getActionSpaces() const override;
  std::vector<ObservationSpace> getObservationSpaces() const override;
  [[nodiscard]] grpc::Status init(const ActionSpace& actionSpace,
                                  const Benchmark& benchmark) override;
  bool forkable() const override;
  [[nodiscard]] grpc::Status afterFork() override;
  void beginStep(int actions) override;
  [[nodiscard]] grpc::Status applyAction(const Event& action, bool& endOfEpisode,
                                         std::optional<ActionSpace>& newActionSpace,
                                         bool& actionHadNoEffect) override;
  [[nodiscard]] grpc::Status computeObservation(const ObservationSpace& observationSpace,
                                                Event& observation) override;
  [[nodiscard]] grpc::Status endOfStep(bool actionHadNoEffect, bool& endOfEpisode,
                                       std::optional<ActionSpace>& newActionSpace) override;
  void afterReply() override;
  [[nodiscard]] grpc::Status handleSessionParameter(const std::string& key,
                                                    const std::string& value,
                                                    std::optional<std::string>& reply) override;
  [[nodiscard]] grpc::Status saveReproducer(const Event& action,
                                            const boost::filesystem::path& directory) override;
  bool holdsOnlyMemory() const override;

 private:
  bool knows(CompilerGymMethod method) const;
  // Returns the status of the call; `reply` is empty unless that is OK.
  grpc::Status call(CompilerGymMethod method, std::string_view first, std::string_view second,
                    std::string* reply) const;
  // Makes the same call. Returns the reply, and throws an exception for an error.
  std::string callOrThrow(CompilerGymMethod method, std::string_view first = {}) const;
  // Asks a yes-or-no question. Returns false if the call fails.
  bool answersYes(CompilerGymMethod method) const;
  GetSpacesReply spaces() const;

  const ForeignClass& foreign_;
  const uint64_t id_;
};

}  // namespace compiler_gym::runtime
