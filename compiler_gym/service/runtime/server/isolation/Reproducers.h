// Saves reproducers of crashes.
#pragma once

#include <boost/filesystem.hpp>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/server/isolation/PristinePool.h"
#include "compiler_gym/service/runtime/server/isolation/Worker.h"

namespace compiler_gym::runtime {

// Saves reproducers, each into a new directory in reproducers/ of the working directory. There is
// one for each action, up to a limit, because a player meets the same fault of the compiler often.
// Thread-safe.
class Reproducers {
 public:
  Reproducers(PristinePool& pristine, boost::filesystem::path workingDirectory, int maxCount);
  // Cancels unfinished reproducers.
  ~Reproducers();

  // For a session that has died in an action: repeats its former actions in another process, which
  // saves the program. Waits until the deadline; the work continues after it. Returns a line for
  // the end report with the directory; empty if there is no reproducer.
  std::string save(const std::shared_ptr<Worker>& dead, Deadline deadline);

 private:
  // True if a reproducer should be made for this action: there is none yet, and not too many
  // attempts have failed.
  bool claim(const std::string& action);
  // Withdraws a claim, after a failure.
  void release(const std::string& action);
  // Fills the directory, or removes it and returns false. `memoryNote` goes to memory.txt.
  bool fill(const Origin& origin, const std::vector<HistoryEntry>& history,
            const std::string& memoryNote, const boost::filesystem::path& directory);
  grpc::Status repeat(const Origin& origin, const std::vector<HistoryEntry>& history,
                      const boost::filesystem::path& directory);
  grpc::Status start(const Origin& origin, Deadline deadline, std::shared_ptr<Worker>* process);

  PristinePool& pristine_;
  const boost::filesystem::path directory_;
  const size_t maxCount_;
  std::mutex mutex_;
  bool isStopping_ = false;
  std::set<std::string> actions_;
  // Failed attempts by action.
  std::map<std::string, int> failures_;
  // One of each reproducer.
  std::vector<std::weak_ptr<Worker>> processes_;
  std::vector<std::shared_future<bool>> savings_;
};

}  // namespace compiler_gym::runtime
