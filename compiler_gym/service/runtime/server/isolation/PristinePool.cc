#include "compiler_gym/service/runtime/server/isolation/PristinePool.h"

#include <glog/logging.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler_gym/util/CanonicalBytes.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

// The minimum memory that counts for a process, even if it has not written to any.
constexpr size_t kMinProcessBytes = size_t{1} << 20;

// An observation that has failed so often is left to the sessions that need it. A failure may be
// due to a short time limit, and then the next request succeeds.
constexpr int kMaxFailures = 3;

// An idle process ends at once, unless the machine is busy.
constexpr std::chrono::milliseconds kEndTimeout(100);

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digestOf(const Benchmark& benchmark) {
  const std::string bytes = util::canonicalBytes(benchmark);
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

// True if the system had no process or open file left for `process`, which is null if it was not
// even prepared. A session in a process that was made can need too much of something else.
bool isForLackOfRoom(const Status& status, const Worker* process) {
  if (status.error_code() != StatusCode::RESOURCE_EXHAUSTED) return false;
  if (process == nullptr) return true;
  return process->isDead() ? process->record().endReason() == EndReason::kNotForked
                           : process->pid() == 0;
}

}  // namespace

struct PristinePool::Entry {
  // Locked while a copy is made or the pristine session is started.
  std::timed_mutex mutex;
  // The benchmark of the last request, and its digest.
  std::shared_ptr<const Benchmark> benchmark;
  Digest program = {};
  std::shared_ptr<Worker> pristine;
  // That of the fork server when the pristine session was started.
  uint64_t generation = 0;
  // Observations that were requested of the pristine session.
  std::unordered_set<int32_t> observed;
  // Requests with each observation of this program that have failed.
  std::unordered_map<int32_t, int> failures;

  // The pool's mutex protects the following members.
  size_t bytes = 0;
  uint64_t lastUse = 0;
};

PristinePool::PristinePool(ForkServerProcess& forkServer, SpareWorkers& spareWorkers,
                           size_t maxSizeInBytes, size_t maxCount)
    : forkServer_(forkServer),
      spareWorkers_(spareWorkers),
      maxSizeInBytes_(maxSizeInBytes),
      maxCount_(maxCount) {}

PristinePool::EntryPtr PristinePool::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  EntryPtr& entry = entries_[key];
  if (!entry) entry = std::make_shared<Entry>();
  entry->lastUse = ++uses_;
  return entry;
}

Status PristinePool::start(const Origin& origin, const SpaceIndices& observations,
                           Deadline deadline, std::shared_ptr<Worker>* process) {
  return withRoom(*process, [&] {
    process->reset();
    return startOnce(origin, observations, deadline, process);
  });
}

Status PristinePool::withRoom(const std::shared_ptr<Worker>& process,
                              const std::function<Status()>& attempt) {
  while (true) {
    const Status status = attempt();
    if (!isForLackOfRoom(status, process.get()) || !makeRoom()) return status;
  }
}

Status PristinePool::startOnce(const Origin& origin, const SpaceIndices& observations,
                               Deadline deadline, std::shared_ptr<Worker>* process) {
  // Programs in files are not kept, since a file may change at any time.
  if (!origin.benchmark->program().has_contents()) {
    return Worker::start(forkServer_, origin, deadline, process);
  }
  const std::string key = std::to_string(origin.actionSpace) + " " + origin.benchmark->uri();
  EntryPtr entry;
  std::unique_lock<std::timed_mutex> lock;
  RETURN_IF_ERROR(lockEntry(key, deadline, &entry, &lock));
  const Status status = startFrom(*entry, key, origin, observations, deadline, process);
  if (status.ok()) return status;
  // No other start may use the session with which this one has failed.
  entry->pristine.reset();
  forget(key, *entry);
  return status;
}

Status PristinePool::lockEntry(const std::string& key, Deadline deadline, EntryPtr* entry,
                               std::unique_lock<std::timed_mutex>* lock) {
  while (true) {
    const EntryPtr found = find(key);
    std::unique_lock locked(found->mutex, std::defer_lock);
    if (!locked.try_lock_until(deadline)) {
      return Status(StatusCode::DEADLINE_EXCEEDED,
                    "The time limit was reached while another session was started on the program");
    }
    // Another thread may have removed the entry in the meantime.
    if (!isKept(key, *found)) continue;
    *entry = found;
    *lock = std::move(locked);
    return Status::OK;
  }
}

Status PristinePool::startFrom(Entry& entry, const std::string& key, const Origin& origin,
                               const SpaceIndices& observations, Deadline deadline,
                               std::shared_ptr<Worker>* process) {
  Status status;
  // A pristine session may have been killed from outside. A new one is started once.
  for (int attempt = 0; attempt < 2; ++attempt) {
    RETURN_IF_ERROR(prepare(entry, key, origin, deadline, process));
    observe(entry, key, observations, deadline);
    if (!entry.pristine->isForkable(deadline)) {
      *process = std::move(entry.pristine);
      forget(key, entry);
      return Status::OK;
    }
    std::unique_ptr<WorkerCopies::PendingCopy> order;
    status = spareWorkers_.copy(entry.pristine, deadline, process, &order);
    if (status.error_code() != StatusCode::ABORTED) return status;
    entry.pristine.reset();
  }
  return status;
}

Status PristinePool::prepare(Entry& entry, const std::string& key, const Origin& origin,
                             Deadline deadline, std::shared_ptr<Worker>* failed) {
  const uint64_t generation = forkServer_.generation();
  if (std::exchange(entry.generation, generation) != generation) entry.pristine.reset();
  if (entry.pristine && entry.benchmark == origin.benchmark) return Status::OK;
  const Digest program = digestOf(*origin.benchmark);
  entry.benchmark = origin.benchmark;
  const bool isSameProgram = std::exchange(entry.program, program) == program;
  if (entry.pristine && isSameProgram) return Status::OK;
  if (!isSameProgram) entry.failures.clear();
  entry.pristine.reset();
  entry.observed.clear();
  // A session that has failed to start must never be copied.
  failed->reset();
  RETURN_IF_ERROR(Worker::start(forkServer_, origin, deadline, failed));
  entry.pristine = std::move(*failed);
  measure(key, entry);
  return Status::OK;
}

void PristinePool::observe(Entry& entry, const std::string& key, const SpaceIndices& observations,
                           Deadline deadline) {
  StepRequest request;
  const auto& spaces = forkServer_.description().spaces().observation_space_list();
  for (const int32_t index : observations) {
    const bool isKept = index >= 0 && index < spaces.size() && spaces[index].deterministic();
    if (!isKept || entry.failures[index] >= kMaxFailures) continue;
    if (entry.observed.insert(index).second) request.add_observation_space(index);
  }
  if (request.observation_space().empty()) return;
  StepReply reply;
  if (entry.pristine->call(Method::kObserve, request, &reply, deadline).ok()) {
    measure(key, entry);
  } else {
    // The session that needs the observation fails in the same way and reports it.
    for (const int32_t index : request.observation_space()) ++entry.failures[index];
  }
}

void PristinePool::measure(const std::string& key, Entry& entry) {
  const size_t bytes = std::max(entry.pristine->ownMemoryBytes(), kMinProcessBytes);
  std::vector<EntryPtr> evicted;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.get() != &entry) return;
  sizeInBytes_ += bytes - entry.bytes;
  entry.bytes = bytes;
  evicted = evict();
}

bool PristinePool::isKept(const std::string& key, const Entry& entry) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found != entries_.end() && found->second.get() == &entry;
}

void PristinePool::forget(const std::string& key, const Entry& entry) {
  EntryPtr forgotten;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.get() != &entry) return;
  sizeInBytes_ -= entry.bytes;
  forgotten = std::move(found->second);
  entries_.erase(found);
}

std::vector<PristinePool::EntryPtr> PristinePool::evict() {
  std::vector<EntryPtr> evicted;
  while ((sizeInBytes_ > maxSizeInBytes_ || entries_.size() > maxCount_) && !entries_.empty()) {
    const auto oldest = std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second->lastUse < b.second->lastUse; });
    sizeInBytes_ -= oldest->second->bytes;
    evicted.push_back(std::move(oldest->second));
    entries_.erase(oldest);
  }
  return evicted;
}

bool PristinePool::makeRoom() {
  std::vector<EntryPtr> ended;
  std::vector<int> pids;
  {
    const std::lock_guard lock(mutex_);
    using Position = decltype(entries_)::iterator;
    std::vector<Position> idle;
    for (auto each = entries_.begin(); each != entries_.end(); ++each) {
      if (each->second->bytes > 0) idle.push_back(each);
    }
    std::sort(idle.begin(), idle.end(), [](const Position& a, const Position& b) {
      return a->second->lastUse < b->second->lastUse;
    });
    const size_t half = (idle.size() + 1) / 2;
    for (const Position& each : idle) {
      const std::unique_lock unused(each->second->mutex, std::try_to_lock);
      if (!unused || ended.size() == half) continue;
      if (each->second->pristine) pids.push_back(each->second->pristine->pid());
      sizeInBytes_ -= each->second->bytes;
      ended.push_back(std::move(each->second));
    }
    for (auto each = entries_.begin(); each != entries_.end();) {
      each = each->second ? std::next(each) : entries_.erase(each);
    }
  }
  if (ended.empty()) return false;
  LOG(INFO) << "Ended " << ended.size() << " idle pristine session(s) to make room";
  ended.clear();
  for (const int pid : pids) forkServer_.waitForDeath(pid, kEndTimeout);
  return true;
}

size_t PristinePool::maxSizeInBytes() const {
  const std::lock_guard lock(mutex_);
  return maxSizeInBytes_;
}

size_t PristinePool::sizeInBytes() const {
  const std::lock_guard lock(mutex_);
  return sizeInBytes_;
}

void PristinePool::setMaxSizeInBytes(size_t maxSizeInBytes) {
  std::vector<EntryPtr> evicted;
  const std::lock_guard lock(mutex_);
  maxSizeInBytes_ = maxSizeInBytes;
  evicted = evict();
}

}  // namespace compiler_gym::runtime
