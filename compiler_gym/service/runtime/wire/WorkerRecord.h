// A shared-memory record of a worker, which outlives it.
#pragma once

#include <grpcpp/support/status.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// The activities of a worker.
enum class Activity : uint32_t {
  kNothing,
  kStarting,
  kActing,
  kObserving,
  kEndingStep,
  kSettingParameter,
  kForking,
  // Work that the last action has left, after its reply.
  kCatchingUp,
};

// The reason that a worker ended itself, or was not created.
enum class EndReason : uint32_t {
  kNone,
  kDeadline,
  kMemory,
  kClientGone,
  kNotForked,
  kNotForkable,
  kNoPidfd,
};

// A change of a session: an action or a parameter.
struct HistoryEntry {
  bool isAction = true;
  // The number of the step.
  uint64_t step = 0;
  // A serialised Event or SessionParameter.
  std::string message;
};

// Memory that a worker shares with the process of the service: the current activity of the session,
// its history, and the end of its output. A worker writes it with a few stores per action. The
// service reads it after any kind of end of the process.
//
// The reading methods do not trust the contents of the memory.
class WorkerRecord {
 public:
  static constexpr off_t kMaxLogBytes = off_t{64} << 20;

  // Creates an empty record. RESOURCE_EXHAUSTED without memory, or with too many open files.
  static grpc::Status create(std::unique_ptr<WorkerRecord>* record);
  // Opens a record that another process has made.
  static grpc::Status open(util::FileDescriptor memory, std::unique_ptr<WorkerRecord>* record);

  ~WorkerRecord();
  WorkerRecord(const WorkerRecord&) = delete;
  WorkerRecord& operator=(const WorkerRecord&) = delete;

  int memory() const { return memory_.get(); }

  // --- For the worker.

  // Redirects the output of this process to the record.
  void adopt() const;
  // Continues a record: a copied session has the history and the state of its original.
  void copyHistory(const WorkerRecord& original);

  // Sets the activity until the next call. `subject` is the name of the action, observation or
  // parameter, and `number` that of the action. Becoming a copy and catching up do not change the
  // state.
  void begin(Activity activity, std::string_view subject = {}, int64_t number = -1);
  void end() { begin(Activity::kNothing); }
  void beginStep();
  // Adds an entry, which dropFromHistory() removes. An action is added before it is applied, so
  // that after a crash the last entry is its cause.
  void addToHistory(bool isAction, const google::protobuf::MessageLite& message);
  void dropFromHistory();
  // For signal handlers. `limit` is the exceeded limit, or the number of a system call's error.
  void setEndReason(EndReason reason, uint64_t limit);
  // Appends the output of this process since the last call to a file, e.g. the service's log, and
  // clears the buffer. Nothing is written to a regular file of over `kMaxLogBytes`.
  void handOutputOn(int file) const;
  // True if the service has ordered copies of the session that were not made yet.
  bool isCopyOrdered() const;
  // Records whether the session can be copied by copying the process.
  void setForkable(bool isForkable) const;
  // Counts an order as done.
  void noteCopy();

  // --- For the service.

  // True if the session works on a request, or becomes a copy.
  bool isBusy() const;
  // True if the session works on a request.
  bool isAtWork() const;
  bool isForkable() const;
  // True if the session applies an action, or does work that the last action has left.
  bool isActing() const;
  // A number that changes with each activity of the session. A copy has the same number.
  uint64_t state() const;
  // Announces a request for a copy by the service, which takes precedence over all others.
  void orderCopy();
  // Records the state of the next copy.
  void expectState(uint64_t state) const;
  EndReason endReason() const;
  uint64_t limit() const;
  // E.g. "action 'gvn' (number 70, step 12)".
  std::string describeActivity() const;
  // The name of the action or observation.
  std::string subject() const;
  // The last printed lines that were not passed on, each indented by two blanks.
  std::string outputTail() const;
  // False if there were too many actions for the record.
  bool history(std::vector<HistoryEntry>* entries) const;

 private:
  struct Page;

  std::string readOutput(off_t begin, off_t end) const;

  explicit WorkerRecord(util::FileDescriptor memory, void* mapping);

  util::FileDescriptor memory_;
  Page* page_;
  char* history_;
};

}  // namespace compiler_gym::runtime
