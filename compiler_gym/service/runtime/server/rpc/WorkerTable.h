// The sessions of a service, by id.
#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/isolation/Worker.h"
#include "compiler_gym/service/runtime/wire/Channel.h"

namespace compiler_gym::runtime {

// Holds sessions by id. Ids count up from 0 and are never used again. All methods may be called
// from any number of threads, and none waits for a session.
class WorkerTable {
 public:
  // Room for one more session, given back when it is destroyed without having been used.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(table_, other.table_);
      return *this;
    }
    ~Reservation();

   private:
    friend class WorkerTable;
    explicit Reservation(WorkerTable* table) : table_(table) {}

    WorkerTable* table_ = nullptr;
  };

  // A client needs one lease. Each by gRPC takes a call that lasts, each on the direct channel a
  // connection.
  static constexpr size_t kMaxLeases = 8192;

  explicit WorkerTable(int maxSessions);

  // Takes room before a session is made, so that there are never more than the limit.
  // RESOURCE_EXHAUSTED if there is none.
  grpc::Status reserve(Reservation* reservation);

  // Leases, see HoldLease in proto/compiler_gym_service.proto. Their numbers count up from a random
  // one, so that a client that has one of a former service at this address does not share that of
  // another. RESOURCE_EXHAUSTED if there are kMaxLeases.
  grpc::Status openLease(int64_t* lease);
  // Removes and closes the sessions of the lease.
  std::vector<std::shared_ptr<Worker>> closeLease(int64_t lease);

  // Sets `id` to that of the added session. `lease` is 0 or open; FAILED_PRECONDITION, and the
  // session is closed, if it is not.
  grpc::Status add(Reservation reservation, std::shared_ptr<Worker> session, int64_t lease,
                   uint64_t* id);

  // NOT_FOUND if there is no such session. `lease`, if given, is set to that of the session.
  grpc::Status find(uint64_t id, std::shared_ptr<Worker>* session, int64_t* lease = nullptr) const;

  // Removes and closes the sessions without a lease that were neither found nor active since then.
  std::vector<std::shared_ptr<Worker>> removeIdle(Deadline since);

  // Removes and closes all sessions.
  std::vector<std::shared_ptr<Worker>> removeAll();

  // Removes and closes a session. Sets `remaining` to the number of sessions left. NOT_FOUND if
  // there is no such session.
  grpc::Status remove(uint64_t id, std::shared_ptr<Worker>* removed, size_t* remaining);

  size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<Worker> session;
    int64_t lease = 0;
    mutable std::atomic<Deadline> lastUse = Clock::now();
    // The activity number of the session's record. A change since the last look counts as a use.
    uint64_t state = 0;
  };

  // Removes and closes those that `isWanted` selects. Expects the caller to hold mutex_.
  template <typename IsWanted>
  std::vector<std::shared_ptr<Worker>> removeThose(const IsWanted& isWanted);

  const size_t maxSessions_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, Entry> sessions_;
  std::unordered_set<int64_t> leases_;
  size_t reserved_ = 0;
  uint64_t nextId_ = 0;
  int64_t nextLease_;
};

}  // namespace compiler_gym::runtime
