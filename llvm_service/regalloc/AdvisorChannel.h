#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <memory>
#include <optional>
#include <string>

#include "compiler_gym/util/FileDescriptor.h"
#include "llvm_service/regalloc/AdvisorFeatures.h"

namespace compiler_gym::llvm_service {

/// The two FIFOs for the questions of one of LLVM's interactive advisors of register allocation,
/// and for the answers.
///
/// One thread serves both sides: it writes the answer into its FIFO before the advisor asks, and
/// reads the question afterwards. Neither side waits, because both fit into a FIFO.
class AdvisorChannel {
 public:
  /// Makes the FIFOs, and sets the option of LLVM that names them.
  ///
  /// @param decision the decision of the advisor.
  /// @param workingDirectory the directory for them. The destructor removes them.
  [[nodiscard]] static grpc::Status open(AllocatorDecision decision,
                                         const boost::filesystem::path& workingDirectory,
                                         std::unique_ptr<AdvisorChannel>& channel);

  /// Removes the FIFOs, and resets the option.
  ~AdvisorChannel();

  AdvisorChannel(const AdvisorChannel&) = delete;
  AdvisorChannel& operator=(const AdvisorChannel&) = delete;

  /// Sets the answer to the advisor's next question: the position of a candidate, or a priority.
  void setAnswer(int64_t answer);

  /// Returns the tensors of the question that the advisor has sent since the last call, or nothing
  /// if there was none. The question has taken the answer.
  ///
  /// @return INTERNAL if this LLVM sends other features than advisorFeatures().
  [[nodiscard]] grpc::Status read(std::optional<std::string>& tensors);

 private:
  explicit AdvisorChannel(AllocatorDecision decision) : decision_(decision) {}

  [[nodiscard]] grpc::Status checkHeader(const std::string& line);

  const AllocatorDecision decision_;
  boost::filesystem::path directory_;
  util::FileDescriptor answers_;
  util::FileDescriptor questions_;
  // The bytes of the answer in its FIFO; 0 if there is none.
  size_t pendingBytes_ = 0;
  bool hasHeader_ = false;
  // The received part of an incomplete message.
  std::string received_;
};

}  // namespace compiler_gym::llvm_service
