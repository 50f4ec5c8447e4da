// Copies of workers that are made in advance.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "compiler_gym/service/runtime/server/isolation/DeferredWork.h"
#include "compiler_gym/service/runtime/server/isolation/Worker.h"
#include "compiler_gym/service/runtime/wire/Channel.h"

namespace compiler_gym::runtime {

// Copies workers. A state that is copied for the second time is likely to be copied again: a
// pristine session whose program is used again, or a session from which a search tries one action
// after the other. The next copy of such a state is made in advance.
//
// All methods may be called from any number of threads.
class SpareWorkers {
 public:
  // At most `maxCount` copies wait at a time. The oldest are dropped first. `deferredWork` makes
  // them, and must be destroyed before this object.
  SpareWorkers(DeferredWork& deferredWork, int maxCount);

  // Copies the process, see WorkerCopies::make(). Sets `copy` to the original if that has died.
  grpc::Status copy(const std::shared_ptr<Worker>& original, Deadline deadline,
                    std::shared_ptr<Worker>* copy,
                    std::unique_ptr<WorkerCopies::PendingCopy>* order);

 private:
  void make(const std::shared_ptr<Worker>& original);

  DeferredWork& deferredWork_;
  const size_t maxCount_;
  std::mutex mutex_;
  // The processes that may have a spare, the latest at the end.
  std::deque<std::weak_ptr<Worker>> originals_;
};

}  // namespace compiler_gym::runtime
