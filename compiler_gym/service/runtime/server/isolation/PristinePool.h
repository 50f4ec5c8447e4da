// Workers that have loaded a program and done nothing else.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/isolation/SpareWorkers.h"
#include "compiler_gym/service/runtime/server/isolation/Worker.h"

namespace compiler_gym::runtime {

using SpaceIndices = google::protobuf::RepeatedField<int32_t>;

// Creates workers for programs. The first one for a program parses it in a process of its own, the
// *pristine session*, which is kept. Sessions are copies of it, so their start takes the time of a
// fork(2), independent of the program.
//
// Memory and number of pristine sessions are limited; the least recently used ones are ended first.
// Thread-safe. Requests for different programs do not wait for each other.
class PristinePool {
 public:
  // `forkServer` and `spareWorkers` must outlive the pool.
  PristinePool(ForkServerProcess& forkServer, SpareWorkers& spareWorkers, size_t maxSizeInBytes,
               size_t maxCount);

  // Returns a worker for the program, withRoom(). Fails like StartSession.
  //
  // `observations` are the indices of spaces that will be requested. The pristine session computes
  // the deterministic ones once, so that its copies have them.
  grpc::Status start(const Origin& origin, const SpaceIndices& observations, Deadline deadline,
                     std::shared_ptr<Worker>* process);

  // Repeats an attempt to make `process` while the system has no process or open file left for it,
  // and there is room to make.
  grpc::Status withRoom(const std::shared_ptr<Worker>& process,
                        const std::function<grpc::Status()>& attempt);

  // Ends the least recently used half of the idle pristine sessions, and waits briefly for their
  // ends. Returns false if none is idle.
  bool makeRoom();

  size_t maxSizeInBytes() const;
  size_t sizeInBytes() const;
  // Sets the limit, and ends pristine sessions until they fit.
  void setMaxSizeInBytes(size_t maxSizeInBytes);

 private:
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  // Like start(), but makes only one attempt. `process` is also set to one that fails.
  grpc::Status startOnce(const Origin& origin, const SpaceIndices& observations, Deadline deadline,
                         std::shared_ptr<Worker>* process);
  EntryPtr find(const std::string& key);
  // Finds the entry of the program and locks it. DEADLINE_EXCEEDED if another start holds it for
  // too long.
  grpc::Status lockEntry(const std::string& key, Deadline deadline, EntryPtr* entry,
                         std::unique_lock<std::timed_mutex>* lock);
  // Starts a worker by the entry, whose lock the caller holds.
  grpc::Status startFrom(Entry& entry, const std::string& key, const Origin& origin,
                         const SpaceIndices& observations, Deadline deadline,
                         std::shared_ptr<Worker>* process);
  // Makes the entry's pristine session if it is not there; one that fails is in `failed`. Expects
  // the caller to hold the entry's lock.
  grpc::Status prepare(Entry& entry, const std::string& key, const Origin& origin,
                       Deadline deadline, std::shared_ptr<Worker>* failed);
  // Lets the pristine session compute missing observations. Expects the caller to hold the entry's
  // lock.
  void observe(Entry& entry, const std::string& key, const SpaceIndices& observations,
               Deadline deadline);
  void measure(const std::string& key, Entry& entry);
  bool isKept(const std::string& key, const Entry& entry) const;
  void forget(const std::string& key, const Entry& entry);
  // Expects the caller to hold mutex_, and to destroy the removed entries.
  std::vector<EntryPtr> evict();

  ForkServerProcess& forkServer_;
  SpareWorkers& spareWorkers_;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, EntryPtr> entries_;
  size_t maxSizeInBytes_;
  const size_t maxCount_;
  size_t sizeInBytes_ = 0;
  uint64_t uses_ = 0;
};

}  // namespace compiler_gym::runtime
