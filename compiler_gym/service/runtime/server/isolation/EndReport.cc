#include "compiler_gym/service/runtime/server/isolation/EndReport.h"

#include <sys/wait.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <sstream>
#include <system_error>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

// A process that used at least this share of its limit may have run out of memory.
constexpr uint64_t kScarcePercent = 90;

// Clients recognise a lost session, as opposed to a crash of the compiler, by this prefix.
constexpr char kWasLost[] = "The session was lost: ";

std::string inSeconds(uint64_t microseconds) {
  std::ostringstream text;
  text << std::round(static_cast<double>(microseconds) / 1e3) / 1e3 << " s";
  return text.str();
}

std::string inMebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// True for signals that compilers do not send to themselves.
bool isFromOutside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

bool isLoss(const WorkerRecord& record, const EndFacts& facts) {
  if (!facts.death) return facts.forkServerHasEnded;
  const int status = facts.death->status;
  // A process whose client has closed its socket is not lost: it ends in order.
  const bool isIdle = !record.isAtWork() && !record.isActing();
  return isIdle || (WIFSIGNALED(status) && isFromOutside(WTERMSIG(status)));
}

std::string describeDeath(const EndFacts& facts) {
  const std::optional<Death>& death = facts.death;
  if (!death) return facts.forkServerHasEnded ? "ended with the fork server" : "ended";
  if (WIFSIGNALED(death->status)) {
    const int signal = WTERMSIG(death->status);
    return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(death->status));
}

// Describes the memory used. Without memory, a compiler may crash far from the failed request.
std::string describeMemory(const Death& death, uint64_t limit) {
  const uint64_t peak = static_cast<uint64_t>(death.peakKibibytes) << 10;
  if (limit == 0 || peak < limit / 100 * kScarcePercent) return "";
  return "It had used " + inMebibytes(peak) + " of the " + inMebibytes(limit) +
         " of memory that a session may have (--session_memory_mib of the service)";
}

std::string describeOutput(const WorkerRecord& record) {
  const std::string output = record.outputTail();
  return output.empty() ? "" : ". It printed last:" + output;
}

// Returns the status of a process whose record has no reason for its end.
EndReport writeUnexplained(const WorkerRecord& record, const EndFacts& facts) {
  EndReport report;
  if (facts.death) report.memoryNote = describeMemory(*facts.death, facts.memoryLimit);
  report.wasLost = facts.hadEnded && isLoss(record, facts);
  const std::string note = report.memoryNote.empty() ? "" : ". " + report.memoryNote;
  const std::string text = report.wasLost ? kWasLost + ("its process " + describeDeath(facts)) +
                                                ", for which no action or observation is to blame"
                                          : "The session's process " + describeDeath(facts) +
                                                " in " + record.describeActivity();
  report.status = Status(StatusCode::ABORTED, text + note + describeOutput(record));
  return report;
}

}  // namespace

EndReport reportEnd(const WorkerRecord& record, const EndFacts& facts) {
  const auto withStatus = [](StatusCode code, const std::string& text) {
    return EndReport{Status(code, text), /*wasLost=*/false, /*memoryNote=*/""};
  };
  switch (record.endReason()) {
    case EndReason::kDeadline:
      return withStatus(StatusCode::DEADLINE_EXCEEDED,
                        "The time limit of " + inSeconds(record.limit()) + " was exceeded in " +
                            record.describeActivity() + describeOutput(record));
    case EndReason::kMemory:
      return withStatus(StatusCode::RESOURCE_EXHAUSTED,
                        "The memory limit of " + inMebibytes(record.limit()) +
                            " for a session was reached in " + record.describeActivity() +
                            " (--session_memory_mib of the service changes it)" +
                            describeOutput(record));
    case EndReason::kClientGone:
      return withStatus(StatusCode::ABORTED, std::string(kWasLost) + "its client has gone away");
    case EndReason::kNotForked:
      return withStatus(StatusCode::RESOURCE_EXHAUSTED,
                        "Cannot make a process for the session: " +
                            std::generic_category().message(static_cast<int>(record.limit())) +
                            (record.limit() == ETOOMANYREFS ? kRoomForFilesHint : ""));
    case EndReason::kNoPidfd:
      return withStatus(
          StatusCode::RESOURCE_EXHAUSTED,
          "Cannot open the session's own process (pidfd_open, which needs Linux 5.3): " +
              std::generic_category().message(static_cast<int>(record.limit())));
    case EndReason::kNotForkable:
      return withStatus(StatusCode::ABORTED,
                        "The session of which this one was to be a copy could not be copied any "
                        "more when it had finished what it was at: fork it again");
    case EndReason::kNone:
      break;
  }
  if (facts.wasReady) return writeUnexplained(record, facts);
  if (facts.isCopy) {
    return withStatus(StatusCode::ABORTED,
                      "The session of which this one was to be a copy ended before it was copied");
  }
  return withStatus(StatusCode::ABORTED, std::string(kWasLost) +
                                             "its process ended before it served a request" +
                                             describeOutput(record));
}

}  // namespace compiler_gym::runtime
