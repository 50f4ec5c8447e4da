#include "compiler_gym/service/runtime/server/SessionTable.h"

#include <mutex>
#include <string>
#include <utility>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

Status notFound(uint64_t id) {
  // Clients know the id as a signed number.
  return Status(StatusCode::NOT_FOUND,
                "Session not found: " + std::to_string(static_cast<int64_t>(id)));
}

}  // namespace

SessionTable::Place::~Place() {
  if (table_ == nullptr) return;
  const std::unique_lock lock(table_->mutex_);
  --table_->reserved_;
}

Status SessionTable::reserve(Place* place) {
  {
    const std::unique_lock lock(mutex_);
    if (sessions_.size() + reserved_ < maxSessions_) {
      ++reserved_;
      *place = Place(this);
      return Status::OK;
    }
  }
  return Status(StatusCode::RESOURCE_EXHAUSTED,
                "The limit of " + std::to_string(maxSessions_) +
                    " sessions is reached (--max_sessions of the service changes it): end one "
                    "first");
}

uint64_t SessionTable::add(Place place, std::shared_ptr<ServedSession> session) {
  const std::unique_lock lock(mutex_);
  --reserved_;
  place.table_ = nullptr;
  const uint64_t id = nextId_++;
  sessions_.emplace(id, std::move(session));
  return id;
}

Status SessionTable::find(uint64_t id, std::shared_ptr<ServedSession>* session) const {
  const std::shared_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return notFound(id);
  *session = found->second;
  return Status::OK;
}

Status SessionTable::remove(uint64_t id, std::shared_ptr<ServedSession>* removed,
                            size_t* remaining) {
  const std::unique_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return notFound(id);
  *removed = std::move(found->second);
  sessions_.erase(found);
  (*removed)->close();
  *remaining = sessions_.size();
  return Status::OK;
}

size_t SessionTable::size() const {
  const std::shared_lock lock(mutex_);
  return sessions_.size();
}

}  // namespace compiler_gym::runtime
