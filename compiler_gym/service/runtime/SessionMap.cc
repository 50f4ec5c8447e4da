#include "compiler_gym/service/runtime/SessionMap.h"

#include <mutex>
#include <string>
#include <utility>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

Status sessionNotFound(uint64_t id) {
  // Clients know the id as a signed number.
  return Status(StatusCode::NOT_FOUND,
                "Session not found: " + std::to_string(static_cast<int64_t>(id)));
}

}  // namespace

Status SessionMap::find(uint64_t id, std::shared_ptr<HostedSession>* session) const {
  const std::shared_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return sessionNotFound(id);
  *session = found->second;
  return Status::OK;
}

uint64_t SessionMap::add(std::shared_ptr<HostedSession> session) {
  const std::unique_lock lock(mutex_);
  const uint64_t id = nextId_++;
  sessions_.emplace(id, std::move(session));
  return id;
}

Status SessionMap::remove(uint64_t id, size_t* remaining) {
  // Declared before the lock: the session is destroyed, which may take long, after it is released.
  std::shared_ptr<HostedSession> removed;
  const std::unique_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return sessionNotFound(id);
  removed = std::move(found->second);
  sessions_.erase(found);
  removed->close();
  *remaining = sessions_.size();
  return Status::OK;
}

size_t SessionMap::size() const {
  const std::shared_lock lock(mutex_);
  return sessions_.size();
}

}  // namespace compiler_gym::runtime
