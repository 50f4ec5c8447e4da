#include "llvm_service/regalloc/AllocatorPlayer.h"

#include <algorithm>
#include <limits>

namespace compiler_gym::llvm_service {

namespace {

using grpc::StatusCode;

// LLVM's rule puts the length of a live range into the lowest bits of its priority. The others are
// for its class.
constexpr unsigned kLengthBits = (1U << 24) - 1;

}  // namespace

int64_t chosenBy(AllocatorDecision decision, int64_t answer, int64_t byDefault) {
  if (answer == kDefaultAnswer) return byDefault;
  if (decision == AllocatorDecision::kEviction) return answer;
  const auto priority = static_cast<unsigned>(byDefault);
  const unsigned length = priority & kLengthBits;
  switch (answer) {
    case kFirst:
      return std::numeric_limits<unsigned>::max();
    case kLast:
      return 0;
    case kSooner:
      return (priority & ~kLengthBits) | std::min(2 * length, kLengthBits);
    default:
      return (priority & ~kLengthBits) | (length / 2);
  }
}

std::optional<std::string> AllocatorPlayer::receive() {
  std::optional<std::string> tensors;
  if (status_.ok()) status_ = channel_.read(tensors);
  return tensors;
}

void AllocatorPlayer::prepare(int64_t byDefault) {
  const size_t number = questions_.size();
  const int64_t answer = number < answers_.size() ? answers_[number] : kDefaultAnswer;
  next_ = {};
  next_.byDefault = byDefault;
  next_.chosen = chosenBy(decision_, answer, byDefault);
  next_.decided = answer != kDefaultAnswer;
  channel_.setAnswer(next_.chosen);
}

bool AllocatorPlayer::keepsFeatures() const {
  const size_t number = questions_.size();
  return number >= answers_.size() && number < answers_.size() + kFeaturesAhead;
}

bool AllocatorPlayer::noteEviction(llvm::StringRef function) {
  const std::optional<std::string> tensors = receive();
  if (!tensors) return false;
  next_.function = function.str();
  std::vector<float> features = decodeAdvisorFeatures(decision_, *tensors);
  for (size_t i = 0; i < kEvictionCandidates; ++i) next_.mask.push_back(features[i] != 0);
  if (keepsFeatures()) next_.features = std::move(features);
  if (next_.decided && !next_.mask[next_.chosen]) {
    status_ = {StatusCode::INVALID_ARGUMENT,
               "Candidate " + std::to_string(next_.chosen) + " does not answer question " +
                   std::to_string(questions_.size()) + " about " + next_.function};
    next_.decided = false;
    next_.chosen = next_.byDefault;
  }
  questions_.push_back(std::move(next_));
  return questions_.back().decided;
}

unsigned AllocatorPlayer::notePriority(llvm::StringRef function, unsigned rangeSize) {
  if (keepsFeatures()) {
    if (const auto tensors = receive()) next_.features = decodeAdvisorFeatures(decision_, *tensors);
  }
  next_.function = function.str();
  next_.mask.assign(kPriorities, true);
  next_.rangeSize = rangeSize;
  questions_.push_back(std::move(next_));
  return static_cast<unsigned>(questions_.back().chosen);
}

}  // namespace compiler_gym::llvm_service
