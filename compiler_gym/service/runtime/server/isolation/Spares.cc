#include "compiler_gym/service/runtime/server/isolation/Spares.h"

#include <algorithm>
#include <vector>

namespace compiler_gym::runtime {

using grpc::Status;

Spares::Spares(Chores& chores, int maxCount)
    : chores_(chores), maxCount_(static_cast<size_t>(maxCount)) {}

Status Spares::copy(const std::shared_ptr<SessionProcess>& original, Deadline deadline,
                    std::shared_ptr<SessionProcess>* copy,
                    std::unique_ptr<SessionCopies::Order>* order) {
  const Status status = original->copies().make(deadline, copy, order);
  if (status.ok() && maxCount_ > 0 && original->copies().isRepeated()) {
    chores_.add([this, weak = std::weak_ptr(original)] {
      if (const std::shared_ptr<SessionProcess> wanted = weak.lock()) make(wanted);
    });
  }
  return status;
}

void Spares::make(const std::shared_ptr<SessionProcess>& original) {
  std::vector<std::shared_ptr<SessionProcess>> oldest;
  {
    const std::lock_guard lock(mutex_);
    const auto isObsolete = [&](const std::weak_ptr<SessionProcess>& weak) {
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
  for (const std::shared_ptr<SessionProcess>& each : oldest) {
    if (!each || each->copies().dropSpare()) continue;
    // Tried again later, because the thread that ends sessions must not wait for a request.
    const std::lock_guard lock(mutex_);
    originals_.push_back(each);
  }
  original->copies().makeSpare();
}

}  // namespace compiler_gym::runtime
