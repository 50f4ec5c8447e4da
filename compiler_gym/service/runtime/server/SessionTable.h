// The sessions of a service, by id.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "compiler_gym/service/runtime/server/ServedSession.h"

namespace compiler_gym::runtime {

// Holds sessions by id. Ids count up from 0 and are never used again. All methods may be called
// from any number of threads, and none waits for a session.
class SessionTable {
 public:
  // Room for one more session, given back when it is destroyed without having been used.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(table_, other.table_);
      return *this;
    }
    ~Place();

   private:
    friend class SessionTable;
    explicit Place(SessionTable* table) : table_(table) {}

    SessionTable* table_ = nullptr;
  };

  explicit SessionTable(int maxSessions) : maxSessions_(static_cast<size_t>(maxSessions)) {}

  // Takes room before a session is made, so that there are never more than the limit.
  // RESOURCE_EXHAUSTED if there is none.
  grpc::Status reserve(Place* place);

  // Returns the id of the added session.
  uint64_t add(Place place, std::shared_ptr<ServedSession> session);

  // NOT_FOUND if there is no such session.
  grpc::Status find(uint64_t id, std::shared_ptr<ServedSession>* session) const;

  // Removes and closes a session. Sets `remaining` to the number of sessions left. NOT_FOUND if
  // there is no such session.
  grpc::Status remove(uint64_t id, std::shared_ptr<ServedSession>* removed, size_t* remaining);

  size_t size() const;

 private:
  const size_t maxSessions_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<ServedSession>> sessions_;
  size_t reserved_ = 0;
  uint64_t nextId_ = 0;
};

}  // namespace compiler_gym::runtime
