#include "compiler_gym/service/runtime/server/isolation/WorkerCopies.h"

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/isolation/Worker.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

constexpr std::chrono::seconds kSendTimeout(10);
// Limits the wait for a fork that is still in progress. Nothing else is worth waiting for.
constexpr std::chrono::milliseconds kSpareTimeout(10);
// The copy of a large process takes some milliseconds.
constexpr std::chrono::milliseconds kReadyTimeout(100);

}  // namespace

Status WorkerCopies::make(Deadline deadline, std::shared_ptr<Worker>* copy,
                          std::unique_ptr<PendingCopy>* order) {
  std::unique_lock<std::timed_mutex> guard;
  RETURN_IF_ERROR(original_.lock(deadline, &guard));
  const uint64_t state = original_.record_->state();
  isRepeated_ = std::exchange(copiedState_, state) == state;
  if (original_.hasHungUp()) return original_.die();
  if (hasSpare()) {
    *copy = std::move(spare_);
    return Status::OK;
  }
  spare_.reset();
  Sockets sockets;
  RETURN_IF_ERROR(this->order(copy, &sockets));
  *order = std::make_unique<PendingCopy>(original_.shared_from_this(), std::move(guard), *copy,
                                         std::move(sockets));
  return Status::OK;
}

void WorkerCopies::makeSpare() {
  const std::shared_ptr<Worker> spare = orderSpare();
  if (!spare) return;
  // If a client has the spare already, that client's request detects a failure.
  const std::unique_lock guard(spare->mutex_, kSpareTimeout);
  // If the spare takes longer or fails, the next request detects it.
  if (guard && spare->life_ == Worker::Life::kStarting &&
      spare->control_.isReadable(kReadyTimeout)) {
    spare->hasHungUp();
  }
}

std::shared_ptr<Worker> WorkerCopies::orderSpare() {
  const std::unique_lock guard(original_.mutex_, kSpareTimeout);
  if (!guard || original_.isClosed_ || original_.isDead()) return nullptr;
  if (original_.record_->isBusy() || !original_.record_->isForkable() || hasSpare()) return nullptr;
  std::shared_ptr<Worker> spare;
  Sockets sockets;
  if (!order(&spare, &sockets).ok()) return nullptr;
  send(*spare, sockets);
  spare_ = spare;
  return spare;
}

bool WorkerCopies::dropSpare() {
  const std::unique_lock guard(original_.mutex_, kSpareTimeout);
  if (guard) spare_.reset();
  return guard.owns_lock();
}

bool WorkerCopies::hasSpare() {
  if (!spare_ || spare_->record_->state() != original_.record_->state()) return false;
  const std::unique_lock guard(spare_->mutex_, std::try_to_lock);
  // No client has the spare yet, so a thread that holds the lock waits for it to be ready.
  if (guard && !spare_->isDead() && spare_->hasHungUp()) spare_->die();
  return !guard || !spare_->isDead();
}

Status WorkerCopies::order(std::shared_ptr<Worker>* copy, Sockets* sockets) {
  RETURN_IF_ERROR(
      Worker::prepare(original_.forkServer_, original_.origin_, copy, &sockets->control));
  RETURN_IF_ERROR(Channel::pair(&(*copy)->clientSocket_, &sockets->direct));
  (*copy)->isCopy_ = true;
  (*copy)->record_->expectState(original_.record_->state());
  original_.record_->orderCopy();
  return Status::OK;
}

void WorkerCopies::send(const Worker& copy, const Sockets& sockets) {
  const auto sendOrder = [this](const std::vector<int>& descriptors) {
    return original_.control_.send(static_cast<uint16_t>(Method::kFork), "",
                                   Clock::now() + kSendTimeout, {}, descriptors);
  };
  Status status = sendOrder({sockets.control.get(), copy.record_->memory(), sockets.direct.get()});
  if (status.error_code() == StatusCode::RESOURCE_EXHAUSTED) {
    // The original still waits for an order.
    copy.record_->setEndReason(EndReason::kNotForked, ETOOMANYREFS);
    status = sendOrder({});
  }
  if (!status.ok()) original_.die();
}

WorkerCopies::PendingCopy::PendingCopy(std::shared_ptr<Worker> original,
                                       std::unique_lock<std::timed_mutex> guard,
                                       std::shared_ptr<const Worker> copy, Sockets sockets)
    : original_(std::move(original)),
      guard_(std::move(guard)),
      copy_(std::move(copy)),
      sockets_(std::move(sockets)) {}

WorkerCopies::PendingCopy::~PendingCopy() { original_->copies().send(*copy_, sockets_); }

}  // namespace compiler_gym::runtime
