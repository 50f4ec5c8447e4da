#include "compiler_gym/service/runtime/server/rpc/WorkerTable.h"

#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <utility>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

Status notFound(uint64_t id) {
  // Clients see the id as a signed number.
  return Status(StatusCode::NOT_FOUND,
                "Session not found: " + std::to_string(static_cast<int64_t>(id)));
}

int64_t randomLease() {
  // The upper half of the range stays free for later leases.
  std::uniform_int_distribution<int64_t> numbers(1, std::numeric_limits<int64_t>::max() / 2);
  std::random_device random;
  return numbers(random);
}

}  // namespace

WorkerTable::WorkerTable(int maxSessions)
    : maxSessions_(static_cast<size_t>(maxSessions)), nextLease_(randomLease()) {}

WorkerTable::Reservation::~Reservation() {
  if (table_ == nullptr) return;
  const std::unique_lock lock(table_->mutex_);
  --table_->reserved_;
}

Status WorkerTable::reserve(Reservation* reservation) {
  {
    const std::unique_lock lock(mutex_);
    if (sessions_.size() + reserved_ < maxSessions_) {
      ++reserved_;
      *reservation = Reservation(this);
      return Status::OK;
    }
  }
  return Status(StatusCode::RESOURCE_EXHAUSTED,
                "The limit of " + std::to_string(maxSessions_) +
                    " sessions is reached (--max_sessions of the service changes it): end one "
                    "first");
}

Status WorkerTable::openLease(int64_t* lease) {
  const std::unique_lock lock(mutex_);
  if (leases_.size() >= kMaxLeases) {
    return Status(StatusCode::RESOURCE_EXHAUSTED,
                  "Clients hold " + std::to_string(kMaxLeases) +
                      " leases, the limit of a service: end one first");
  }
  *lease = *leases_.insert(nextLease_++).first;
  return Status::OK;
}

std::vector<std::shared_ptr<Worker>> WorkerTable::closeLease(int64_t lease) {
  const std::unique_lock lock(mutex_);
  leases_.erase(lease);
  return removeThose([lease](const Entry& entry) { return entry.lease == lease; });
}

Status WorkerTable::add(Reservation reservation, std::shared_ptr<Worker> session, int64_t lease,
                        uint64_t* id) {
  std::unique_lock lock(mutex_);
  if (lease != 0 && leases_.count(lease) == 0) {
    lock.unlock();
    session->close();
    return Status(StatusCode::FAILED_PRECONDITION,
                  "The lease " + std::to_string(lease) + " has ended: open another one");
  }
  --reserved_;
  reservation.table_ = nullptr;
  *id = nextId_++;
  Entry& entry = sessions_[*id];
  entry.state = session->record().state();
  entry.session = std::move(session);
  entry.lease = lease;
  return Status::OK;
}

Status WorkerTable::find(uint64_t id, std::shared_ptr<Worker>* session, int64_t* lease) const {
  const std::shared_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return notFound(id);
  *session = found->second.session;
  found->second.lastUse = Clock::now();
  if (lease) *lease = found->second.lease;
  return Status::OK;
}

Status WorkerTable::remove(uint64_t id, std::shared_ptr<Worker>* removed, size_t* remaining) {
  const std::unique_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return notFound(id);
  *removed = std::move(found->second.session);
  sessions_.erase(found);
  (*removed)->close();
  *remaining = sessions_.size();
  return Status::OK;
}

std::vector<std::shared_ptr<Worker>> WorkerTable::removeIdle(Deadline since) {
  const std::unique_lock lock(mutex_);
  return removeThose([since](Entry& entry) {
    if (const uint64_t state = entry.session->record().state(); state != entry.state) {
      entry.state = state;
      entry.lastUse = Clock::now();
    }
    return entry.lease == 0 && entry.lastUse.load() < since;
  });
}

std::vector<std::shared_ptr<Worker>> WorkerTable::removeAll() {
  const std::unique_lock lock(mutex_);
  return removeThose([](const Entry& /*any*/) { return true; });
}

template <typename IsWanted>
std::vector<std::shared_ptr<Worker>> WorkerTable::removeThose(const IsWanted& isWanted) {
  std::vector<std::shared_ptr<Worker>> removed;
  for (auto each = sessions_.begin(); each != sessions_.end();) {
    if (isWanted(each->second)) {
      each->second.session->close();
      removed.push_back(std::move(each->second.session));
      each = sessions_.erase(each);
    } else {
      ++each;
    }
  }
  return removed;
}

size_t WorkerTable::size() const {
  const std::shared_lock lock(mutex_);
  return sessions_.size();
}

}  // namespace compiler_gym::runtime
