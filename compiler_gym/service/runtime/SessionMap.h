// The sessions of a service, by id.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace compiler_gym::runtime {

// Holds sessions by id. Ids count up from 0 and are never used again. All methods may be called
// from any number of threads, and none waits for a session. `SessionType` has a method close(),
// which makes its later requests fail.
template <typename SessionType>
class SessionMap {
 public:
  // NOT_FOUND if there is no such session.
  grpc::Status find(uint64_t id, std::shared_ptr<SessionType>* session) const {
    const std::shared_lock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return notFound(id);
    *session = found->second;
    return grpc::Status::OK;
  }

  // Returns the id of the added session.
  uint64_t add(std::shared_ptr<SessionType> session) {
    const std::unique_lock lock(mutex_);
    const uint64_t id = nextId_++;
    sessions_.emplace(id, std::move(session));
    return id;
  }

  // Removes and closes a session; it is destroyed, which may take long, when its last user is done
  // with it. Sets `remaining` to the number of sessions left. NOT_FOUND if there is no such
  // session.
  grpc::Status remove(uint64_t id, std::shared_ptr<SessionType>* removed, size_t* remaining) {
    const std::unique_lock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return notFound(id);
    *removed = std::move(found->second);
    sessions_.erase(found);
    (*removed)->close();
    *remaining = sessions_.size();
    return grpc::Status::OK;
  }

  size_t size() const {
    const std::shared_lock lock(mutex_);
    return sessions_.size();
  }

 private:
  static grpc::Status notFound(uint64_t id) {
    // Clients know the id as a signed number.
    return grpc::Status(grpc::StatusCode::NOT_FOUND,
                        "Session not found: " + std::to_string(static_cast<int64_t>(id)));
  }

  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<SessionType>> sessions_;
  uint64_t nextId_ = 0;
};

}  // namespace compiler_gym::runtime
