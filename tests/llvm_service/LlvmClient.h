#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "llvm_service/LlvmSession.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::runtime {
class RpcService;  // Its header takes longer to compile than a test.
}

namespace compiler_gym::llvm_service {

/// The LLVM service in this process, and its RPCs with convenient arguments.
///
/// Methods that return no status fail the test when the service returns an error.
class LlvmClient {
 public:
  LlvmClient();
  ~LlvmClient();

  /// Number of actions of a space.
  int64_t actionCount(int actionSpace) const;
  /// The action's name in its space, and the other way round.
  const std::string& actionName(int actionSpace, int64_t action) const;
  int64_t actionNumber(int actionSpace, const std::string& name) const;
  /// The index of an observation space.
  int observationIndex(const std::string& name) const;

  int64_t start(const Benchmark& benchmark, int actionSpace = 0);
  grpc::Status tryStart(const Benchmark& benchmark, int actionSpace, int64_t& session);

  /// @return whether the step changed anything.
  bool step(int64_t session, const std::vector<int64_t>& actions);
  grpc::Status tryStep(const StepRequest& request, StepReply& reply);

  Event observe(int64_t session, const std::string& observation);
  std::string text(int64_t session, const std::string& observation);
  int64_t number(int64_t session, const std::string& observation);
  std::string bitcode(int64_t session);

  /// The reply to one parameter.
  std::string send(int64_t session, const std::string& key, const std::string& value);
  grpc::Status trySend(int64_t session, const std::string& key, const std::string& value,
                       std::string* reply = nullptr);

  const boost::filesystem::path& workingDirectory() const { return directory_.path(); }
  const GetSpacesReply& spaces() const { return spaces_; }

 private:
  const TemporaryDirectory directory_;
  const std::unique_ptr<runtime::RpcService> service_;
  GetSpacesReply spaces_;
  // The names of each action space.
  std::vector<CommandlineSpace> actions_;
};

}  // namespace compiler_gym::llvm_service
