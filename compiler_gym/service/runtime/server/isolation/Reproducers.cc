#include "compiler_gym/service/runtime/server/isolation/Reproducers.h"

#include <glog/logging.h>

#include <algorithm>
#include <boost/filesystem/fstream.hpp>
#include <cctype>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/isolation/Repetition.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace fs = boost::filesystem;

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

constexpr std::chrono::seconds kTimeout(10);
constexpr size_t kMaxNameLength = 80;
// Each attempt uses a processor for up to kTimeout.
constexpr int kMaxAttempts = 3;

std::string directoryName(const std::string& action) {
  std::string name = action.substr(0, kMaxNameLength);
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char character) { return !std::isalnum(character) && character != '-'; }, '_');
  return name.empty() ? "action" : name;
}

}  // namespace

Reproducers::Reproducers(PristinePool& pristine, fs::path workingDirectory, int maxCount)
    : pristine_(pristine),
      directory_(std::move(workingDirectory) / "reproducers"),
      maxCount_(static_cast<size_t>(std::max(maxCount, 0))) {}

Reproducers::~Reproducers() {
  const std::lock_guard lock(mutex_);
  isStopping_ = true;
  for (const auto& weak : processes_) {
    if (const auto process = weak.lock()) process->close();
  }
}

bool Reproducers::claim(const std::string& action) {
  const std::lock_guard lock(mutex_);
  const auto failures = failures_.find(action);
  if (failures != failures_.end() && failures->second >= kMaxAttempts) return false;
  return actions_.size() < maxCount_ && actions_.insert(action).second;
}

void Reproducers::release(const std::string& action) {
  const std::lock_guard lock(mutex_);
  actions_.erase(action);
  ++failures_[action];
}

std::string Reproducers::save(const std::shared_ptr<Worker>& dead, Deadline deadline) {
  const std::string action = dead->record().subject();
  std::vector<HistoryEntry> history;
  if (!dead->record().history(&history) || history.empty()) return "";
  // A parameter after the last action has no reproducer.
  if (!history.back().isAction) return "";
  if (!claim(action)) return "";
  const fs::path directory = directory_ / fs::unique_path(directoryName(action) + "-%%%%");
  std::shared_future<bool> saved = std::async(
      std::launch::async, [this, action, origin = dead->origin(), history = std::move(history),
                           note = dead->memoryNote(), directory] {
        const bool isFilled = fill(origin, history, note, directory);
        if (!isFilled) release(action);
        return isFilled;
      });
  {
    const std::lock_guard lock(mutex_);
    savings_.push_back(saved);
  }
  if (saved.wait_until(deadline) == std::future_status::timeout) {
    return "\nReproducer (still being saved): " + directory.string();
  }
  return saved.get() ? "\nReproducer: " + directory.string() : "";
}

bool Reproducers::fill(const Origin& origin, const std::vector<HistoryEntry>& history,
                       const std::string& memoryNote, const fs::path& directory) {
  const Status status = util::callWithoutExceptions("saving a reproducer", [&] {
    fs::create_directories(directory);
    fs::permissions(directory_, fs::owner_all);
    // With more memory, the commands of the reproducer may not crash.
    if (!memoryNote.empty()) fs::ofstream(directory / "memory.txt") << memoryNote << ".\n";
    return repeat(origin, history, directory);
  });
  if (status.ok()) return true;
  LOG(INFO) << "There is no reproducer " << directory << ": " << status.error_message();
  boost::system::error_code ignored;
  fs::remove_all(directory, ignored);
  return false;
}

Status Reproducers::start(const Origin& origin, Deadline deadline,
                          std::shared_ptr<Worker>* process) {
  RETURN_IF_ERROR(pristine_.start(origin, /*observations=*/{}, deadline, process));
  const std::lock_guard lock(mutex_);
  if (isStopping_) return Status(StatusCode::CANCELLED, "The service ends");
  processes_.push_back(*process);
  return Status::OK;
}

Status Reproducers::repeat(const Origin& origin, const std::vector<HistoryEntry>& history,
                           const fs::path& directory) {
  const Deadline deadline = Clock::now() + kTimeout;
  std::shared_ptr<Worker> process;
  RETURN_IF_ERROR(start(origin, deadline, &process));
  RETURN_IF_ERROR(repeatHistory(*process, {history.begin(), std::prev(history.end())}, deadline));

  ListEvent arguments;
  RETURN_IF_ERROR(parseMessage(history.back().message, arguments.add_event()));
  arguments.add_event()->set_string_value(directory.string());
  StepReply none;
  return process->call(Method::kSaveReproducer, arguments, &none, deadline);
}

}  // namespace compiler_gym::runtime
