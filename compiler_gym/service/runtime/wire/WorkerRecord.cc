#include "compiler_gym/service/runtime/wire/WorkerRecord.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>
#include <utility>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

struct WorkerRecord::Page {
  std::atomic<Activity> activity;
  std::atomic<EndReason> endReason;
  std::atomic<uint64_t> limit;
  std::atomic<uint64_t> step;
  std::atomic<uint64_t> state;
  std::atomic<int64_t> number;
  std::atomic<uint64_t> historyBytes;
  // The size of the history before the last entry.
  std::atomic<uint64_t> formerHistoryBytes;
  // Not of type bool, since a dying process may leave any byte here.
  std::atomic<uint8_t> isHistoryIncomplete;
  std::atomic<uint8_t> isUnforkable;
  std::atomic<uint64_t> copiesOrdered;
  std::atomic<uint64_t> copiesMade;
  std::array<char, 256> subject;
};

namespace {

// Layout of the memory: one page of facts, the history, and the output. The output ends at the end
// of the file, so that nothing can be printed beyond it. Unused pages take no memory.
constexpr size_t kPageBytes = 4096;
constexpr size_t kHistoryBytes = 1024 * 1024;
constexpr size_t kOutputBytes = 64 * 1024;
constexpr size_t kOutputBegin = kPageBytes + kHistoryBytes;
constexpr size_t kTotalBytes = kOutputBegin + kOutputBytes;
constexpr size_t kMappedBytes = kOutputBegin;
// Room for the stack that an interpreter prints.
constexpr size_t kMaxTailBytes = 4096;

static_assert(std::atomic<uint64_t>::is_always_lock_free);

Status failure(const char* what) {
  return Status(StatusCode::RESOURCE_EXHAUSTED,
                std::string("Cannot ") + what + ": " + std::generic_category().message(errno));
}

// Not atomic as a whole, since there is only one writer.
void increment(std::atomic<uint64_t>& number) {
  number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

struct EntryHeader {
  uint64_t step;
  uint32_t isAction;
  uint32_t size;
};

std::string indented(const std::string& text) {
  std::string result;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) result += "\n  " + text.substr(begin, end - begin);
    begin = end + 1;
  }
  return result;
}

bool isRequest(Activity activity) {
  return activity != Activity::kNothing && activity != Activity::kForking &&
         activity != Activity::kCatchingUp;
}

const char* nameOf(Activity activity) {
  switch (activity) {
    case Activity::kStarting:
      return "the start of the session";
    case Activity::kActing:
      return "action";
    case Activity::kObserving:
      return "observation";
    case Activity::kEndingStep:
      return "the end of the step";
    case Activity::kSettingParameter:
      return "parameter";
    case Activity::kForking:
      return "the start of the copy";
    case Activity::kCatchingUp:
      return "the work left by action";
    case Activity::kNothing:
      break;
  }
  return "no action or observation";
}

}  // namespace

Status WorkerRecord::create(std::unique_ptr<WorkerRecord>* record) {
  FileDescriptor memory(memfd_create("compiler_gym-session", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.isOpen() || ftruncate(memory.get(), kTotalBytes) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    return failure("make the record of a session");
  }
  return open(std::move(memory), record);
}

Status WorkerRecord::open(FileDescriptor memory, std::unique_ptr<WorkerRecord>* record) {
  void* const mapping =
      mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapping == MAP_FAILED) return failure("map the record of a session");
  record->reset(new WorkerRecord(std::move(memory), mapping));
  return Status::OK;
}

WorkerRecord::WorkerRecord(FileDescriptor memory, void* mapping)
    : memory_(std::move(memory)),
      page_(static_cast<Page*>(mapping)),
      history_(static_cast<char*>(mapping) + kPageBytes) {
  static_assert(sizeof(Page) <= kPageBytes);
}

WorkerRecord::~WorkerRecord() { munmap(page_, kMappedBytes); }

void WorkerRecord::adopt() const {
  lseek(memory_.get(), kOutputBegin, SEEK_SET);
  dup2(memory_.get(), STDOUT_FILENO);
  dup2(memory_.get(), STDERR_FILENO);
}

void WorkerRecord::copyHistory(const WorkerRecord& original) {
  const uint64_t bytes = std::min<uint64_t>(original.page_->historyBytes, kHistoryBytes);
  std::memcpy(history_, original.history_, bytes);
  page_->historyBytes = bytes;
  page_->isHistoryIncomplete = original.page_->isHistoryIncomplete.load();
  page_->step = original.page_->step.load();
  page_->state = original.page_->state.load();
}

void WorkerRecord::begin(Activity activity, std::string_view subject, int64_t number) {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (isRequest(activity)) increment(page_->state);
  page_->activity.store(activity, relaxed);
  page_->number.store(number, relaxed);
  const size_t size = subject.copy(page_->subject.data(), page_->subject.size() - 1);
  page_->subject[size] = '\0';
}

void WorkerRecord::beginStep() { increment(page_->step); }

void WorkerRecord::addToHistory(bool isAction, const google::protobuf::MessageLite& message) {
  const uint64_t used = page_->historyBytes.load(std::memory_order_relaxed);
  page_->formerHistoryBytes.store(used, std::memory_order_relaxed);
  const EntryHeader header = {page_->step.load(std::memory_order_relaxed), isAction,
                              static_cast<uint32_t>(message.ByteSizeLong())};
  if (used + sizeof(header) + header.size > kHistoryBytes) {
    page_->isHistoryIncomplete = true;
    return;
  }
  std::memcpy(history_ + used, &header, sizeof(header));
  message.SerializeToArray(history_ + used + sizeof(header), static_cast<int>(header.size));
  page_->historyBytes.store(used + sizeof(header) + header.size, std::memory_order_relaxed);
}

void WorkerRecord::dropFromHistory() { page_->historyBytes = page_->formerHistoryBytes.load(); }

void WorkerRecord::setEndReason(EndReason reason, uint64_t limit) {
  page_->limit = limit;
  page_->endReason = reason;
}

void WorkerRecord::handOutputOn(int file) const {
  std::fflush(stdout);
  const off_t end = lseek(STDERR_FILENO, 0, SEEK_CUR);
  if (end <= static_cast<off_t>(kOutputBegin)) return;
  const std::string text = readOutput(kOutputBegin, end);
  struct stat status;
  const bool isFull =
      fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > kMaxLogBytes;
  size_t written = 0;
  while (!isFull && written < text.size()) {
    const ssize_t count = write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) break;  // E.g. the reader is gone.
    written += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  lseek(STDERR_FILENO, kOutputBegin, SEEK_SET);
  // Streams that ran out of space print nothing until they are cleared.
  std::cout.clear();
  std::cerr.clear();
}

bool WorkerRecord::isCopyOrdered() const { return page_->copiesOrdered != page_->copiesMade; }

void WorkerRecord::setForkable(bool isForkable) const { page_->isUnforkable = !isForkable; }

bool WorkerRecord::isForkable() const { return !page_->isUnforkable; }

void WorkerRecord::noteCopy() { increment(page_->copiesMade); }

bool WorkerRecord::isBusy() const {
  const Activity activity = page_->activity;
  return isRequest(activity) || activity == Activity::kForking;
}

bool WorkerRecord::isAtWork() const { return isRequest(page_->activity); }

bool WorkerRecord::isActing() const {
  const Activity activity = page_->activity;
  return activity == Activity::kActing || activity == Activity::kCatchingUp;
}

uint64_t WorkerRecord::state() const { return page_->state; }

void WorkerRecord::orderCopy() { increment(page_->copiesOrdered); }

void WorkerRecord::expectState(uint64_t state) const { page_->state = state; }

EndReason WorkerRecord::endReason() const { return page_->endReason; }

uint64_t WorkerRecord::limit() const { return page_->limit; }

std::string WorkerRecord::subject() const {
  const size_t size = page_->subject.size();
  return std::string(page_->subject.data(), strnlen(page_->subject.data(), size));
}

std::string WorkerRecord::describeActivity() const {
  std::string text = nameOf(page_->activity);
  if (const std::string name = subject(); !name.empty()) text += " '" + name + "'";
  if (!isActing()) return text;
  const int64_t number = page_->number;
  const std::string step = "step " + std::to_string(page_->step);
  return text + (number < 0 ? " (" : " (number " + std::to_string(number) + ", ") + step + ")";
}

std::string WorkerRecord::outputTail() const {
  const off_t end = std::clamp<off_t>(lseek(memory_.get(), 0, SEEK_CUR), kOutputBegin, kTotalBytes);
  const off_t begin = std::max<off_t>(end - static_cast<off_t>(kMaxTailBytes), kOutputBegin);
  return indented(readOutput(begin, end));
}

std::string WorkerRecord::readOutput(off_t begin, off_t end) const {
  std::string text(static_cast<size_t>(end - begin), '\0');
  const ssize_t count = pread(memory_.get(), text.data(), text.size(), begin);
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

bool WorkerRecord::history(std::vector<HistoryEntry>* entries) const {
  const uint64_t bytes = std::min<uint64_t>(page_->historyBytes, kHistoryBytes);
  uint64_t position = 0;
  EntryHeader header;
  while (position + sizeof(header) <= bytes) {
    std::memcpy(&header, history_ + position, sizeof(header));
    position += sizeof(header);
    if (header.size > bytes - position) return false;
    entries->push_back(
        {header.isAction != 0, header.step, std::string(history_ + position, header.size)});
    position += header.size;
  }
  return !page_->isHistoryIncomplete;
}

}  // namespace compiler_gym::runtime
