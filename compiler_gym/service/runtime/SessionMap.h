// The sessions of a service, by id.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "compiler_gym/service/runtime/HostedSession.h"

namespace compiler_gym::runtime {

// Holds sessions by id. Ids count up from 0 and are never used again. All methods may be called
// from any number of threads, and none waits for a session.
class SessionMap {
 public:
  // NOT_FOUND if there is no such session.
  grpc::Status find(uint64_t id, std::shared_ptr<HostedSession>* session) const;

  // Returns the id of the added session.
  uint64_t add(std::shared_ptr<HostedSession> session);

  // Removes and closes a session; it is destroyed when its last user is done with it. Sets
  // `remaining` to the number of sessions left. NOT_FOUND if there is no such session.
  grpc::Status remove(uint64_t id, size_t* remaining);

  size_t size() const;

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<HostedSession>> sessions_;
  uint64_t nextId_ = 0;
};

}  // namespace compiler_gym::runtime
