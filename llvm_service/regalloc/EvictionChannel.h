#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <memory>
#include <optional>
#include <string>

#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::llvm_service {

/// The two FIFOs for the questions of LLVM's interactive advisor of register allocation and for the
/// answers.
///
/// One thread serves both sides: it writes the answer into its FIFO before the advisor asks, and
/// reads the question afterwards. Neither side waits, because both fit into a FIFO.
class EvictionChannel {
 public:
  /// Makes the FIFOs, and sets the option of LLVM that names them.
  ///
  /// @param workingDirectory the directory for them. The destructor removes them.
  [[nodiscard]] static grpc::Status open(const boost::filesystem::path& workingDirectory,
                                         std::unique_ptr<EvictionChannel>& channel);

  /// Removes the FIFOs, and resets the option.
  ~EvictionChannel();

  EvictionChannel(const EvictionChannel&) = delete;
  EvictionChannel& operator=(const EvictionChannel&) = delete;

  /// Sets the position that answers the advisor's next question.
  void setAnswer(int64_t position);

  /// Returns the tensors of the question that the advisor has sent since the last call, or nothing
  /// if there was none. The question has taken the answer.
  ///
  /// @return INTERNAL if this LLVM sends other features than evictionFeatures().
  [[nodiscard]] grpc::Status read(std::optional<std::string>& tensors);

 private:
  EvictionChannel() = default;

  [[nodiscard]] grpc::Status checkHeader(const std::string& line);

  boost::filesystem::path directory_;
  util::FileDescriptor answers_;
  util::FileDescriptor questions_;
  // True if an answer is in its FIFO.
  bool isAnswerPending_ = false;
  bool hasHeader_ = false;
  // The received part of an incomplete message.
  std::string received_;
};

}  // namespace compiler_gym::llvm_service
