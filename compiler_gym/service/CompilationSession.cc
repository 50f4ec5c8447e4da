#include "compiler_gym/service/CompilationSession.h"

namespace compiler_gym {

using grpc::Status;
using grpc::StatusCode;

CompilationSession::CompilationSession(const boost::filesystem::path& workingDirectory)
    : workingDirectory_(workingDirectory) {}

std::string CompilationSession::getCompilerVersion() const { return ""; }

Status CompilationSession::init(CompilationSession* /*other*/) {
  return Status(StatusCode::UNIMPLEMENTED,
                "This compiler cannot fork sessions: start a new session on the same benchmark and "
                "repeat the actions");
}

bool CompilationSession::forkable() const { return true; }

Status CompilationSession::afterFork() { return Status::OK; }

void CompilationSession::afterReply() {}

void CompilationSession::beginStep(int /*actions*/) {}

Status CompilationSession::endOfStep(bool /*actionHadNoEffect*/, bool& /*endOfEpisode*/,
                                     std::optional<ActionSpace>& /*newActionSpace*/) {
  return Status::OK;
}

Status CompilationSession::handleSessionParameter(const std::string& /*key*/,
                                                  const std::string& /*value*/,
                                                  std::optional<std::string>& /*reply*/) {
  return Status::OK;
}

Status CompilationSession::saveReproducer(const Event& /*action*/,
                                          const boost::filesystem::path& /*directory*/) {
  return Status(StatusCode::UNIMPLEMENTED, "This compiler has no form for reproducers");
}

bool CompilationSession::holdsOnlyMemory() const { return false; }

}  // namespace compiler_gym
