#include "compiler_gym/service/runtime/server/isolation/SpareWorkers.h"

#include <algorithm>
#include <vector>

namespace compiler_gym::runtime {

using grpc::Status;

SpareWorkers::SpareWorkers(DeferredWork& deferredWork, int maxCount)
    : deferredWork_(deferredWork), maxCount_(static_cast<size_t>(maxCount)) {}

Status SpareWorkers::copy(const std::shared_ptr<Worker>& original, Deadline deadline,
                          std::shared_ptr<Worker>* copy,
                          std::unique_ptr<WorkerCopies::PendingCopy>* order) {
  const Status status = original->copies().make(deadline, copy, order);
  if (!status.ok() && original->isDead()) *copy = original;
  if (status.ok() && maxCount_ > 0 && original->copies().isRepeated()) {
    deferredWork_.add([this, weak = std::weak_ptr(original)] {
      if (const std::shared_ptr<Worker> wanted = weak.lock()) make(wanted);
    });
  }
  return status;
}

void SpareWorkers::make(const std::shared_ptr<Worker>& original) {
  std::vector<std::shared_ptr<Worker>> oldest;
  {
    const std::lock_guard lock(mutex_);
    const auto isObsolete = [&](const std::weak_ptr<Worker>& weak) {
      const auto process = weak.lock();
      return !process || process == original;
    };
    originals_.erase(std::remove_if(originals_.begin(), originals_.end(), isObsolete),
                     originals_.end());
    originals_.push_back(original);
    while (originals_.size() > maxCount_) {
      oldest.push_back(originals_.front().lock());
      originals_.pop_front();
    }
  }
  for (const std::shared_ptr<Worker>& each : oldest) {
    if (!each || each->copies().dropSpare()) continue;
    // Tried again later, because the thread that ends sessions must not wait for a request.
    const std::lock_guard lock(mutex_);
    originals_.push_back(each);
  }
  original->copies().makeSpare();
}

}  // namespace compiler_gym::runtime
