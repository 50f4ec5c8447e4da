#include <array>
#include <boost/filesystem.hpp>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Host.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

namespace fs = boost::filesystem;

constexpr std::array<const char*, 5> kCaches = {"l1i", "l1d", "l2", "l3", "l4"};

struct Cache {
  int64_t bytes = -1;
  // Each physical cache is listed once for every processor that shares it.
  std::set<std::string> sharers;
};

std::string readLine(const fs::path& path) {
  std::ifstream file(path.string());
  std::string line;
  std::getline(file, line);
  return line;
}

// Converts "32K", "8M" or "512" to bytes. Returns -1 for other text.
int64_t parseSize(llvm::StringRef text) {
  int64_t unit = 1;
  if (text.consume_back("K")) {
    unit = 1024;
  } else if (text.consume_back("M")) {
    unit = 1024 * 1024;
  }
  int64_t value = 0;
  return text.getAsInteger(10, value) ? -1 : value * unit;
}

// Returns a name such as "l1i" for the level and type that Linux reports.
std::string nameOfCache(const std::string& level, const std::string& type) {
  const std::string name = "l" + level;
  return level == "1" ? name + (type == "Instruction" ? "i" : "d") : name;
}

// Facts from Linux in /sys/devices/system/cpu (see its documentation of sysfs-devices-system-cpu).
std::map<std::string, Cache> readCaches() {
  std::map<std::string, Cache> caches;
  boost::system::error_code error;
  for (const fs::directory_entry& cpu : fs::directory_iterator("/sys/devices/system/cpu", error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(cpu.path() / "cache", error)) {
      const fs::path& index = entry.path();
      const std::string level = readLine(index / "level");
      const int64_t bytes = parseSize(readLine(index / "size"));
      // Some boards with Arm processors list caches without their sizes.
      if (level.empty() || bytes < 0) {
        continue;
      }
      Cache& cache = caches[nameOfCache(level, readLine(index / "type"))];
      cache.bytes = bytes;
      cache.sharers.insert(readLine(index / "shared_cpu_list"));
    }
  }
  return caches;
}

std::string readCpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto [key, value] = llvm::StringRef(line).split(':');
    if (key.trim() == "model name") {
      return value.trim().str();
    }
  }
  // The kernel of Arm processors has numbers only.
  return llvm::sys::getHostCPUName().str();
}

Event makeCpuInfo() {
  Event event;
  auto& fields = *event.mutable_event_dict()->mutable_event();
  fields["name"].set_string_value(readCpuName());
  fields["cores_count"].set_int64_value(std::thread::hardware_concurrency());
  std::map<std::string, Cache> caches = readCaches();
  for (const std::string name : kCaches) {
    const Cache& cache = caches[name];
    fields[name + "_cache_size"].set_int64_value(cache.bytes);
    fields[name + "_cache_count"].set_int64_value(static_cast<int64_t>(cache.sharers.size()));
  }
  return event;
}

ObservationSpace makeSpace() {
  ObservationSpace space;
  space.set_name("CpuInfo");
  space.set_deterministic(true);
  space.set_platform_dependent(true);
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  fields["name"].mutable_string_value()->mutable_length_range()->set_min(0);
  fields["cores_count"].mutable_int64_value()->set_min(0);
  for (const std::string name : kCaches) {
    fields[name + "_cache_size"].mutable_int64_value()->set_min(-1);
    fields[name + "_cache_count"].mutable_int64_value()->set_min(0);
  }
  return space;
}

}  // namespace

/// CpuInfo: the processor of the service's machine. Cache sizes are in bytes, -1 for a cache that
/// does not exist.
Observations cpuInfo() {
  const auto compute = [](const ObservationInput&, Event& event) {
    static const Event info = makeCpuInfo();
    event = info;
    return grpc::Status::OK;
  };
  return {{makeSpace(), compute}};
}

}  // namespace compiler_gym::llvm_service
