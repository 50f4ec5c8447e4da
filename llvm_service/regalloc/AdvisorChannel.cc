#include "llvm_service/regalloc/AdvisorChannel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm_service/benchmark/Files.h"

namespace compiler_gym::llvm_service {

namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;

std::string optionName(AllocatorDecision decision) {
  const bool isEviction = decision == AllocatorDecision::kEviction;
  return std::string("regalloc-") + (isEviction ? "evict" : "priority") +
         "-interactive-channel-base";
}

llvm::cl::opt<std::string>* channelOption(AllocatorDecision decision) {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find(optionName(decision));
  return found == options.end() ? nullptr : static_cast<llvm::cl::opt<std::string>*>(found->second);
}

Status failure(const std::string& what) {
  return {StatusCode::INTERNAL, what + ": " + std::strerror(errno)};
}

// Makes a FIFO and opens both of its ends, so that opening does not wait for a reader or a writer.
Status openFifo(const fs::path& path, int flags, util::FileDescriptor& file) {
  if (mkfifo(path.c_str(), S_IRUSR | S_IWUSR) != 0) return failure("Cannot make " + path.string());
  file = util::FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags));
  return file.isOpen() ? Status::OK : failure("Cannot open " + path.string());
}

bool isKnown(const llvm::json::Object& spec, const AdvisorFeature& feature) {
  const llvm::json::Array* shape = spec.getArray("shape");
  if (shape == nullptr) return false;
  size_t size = 1;
  for (const llvm::json::Value& length : *shape) size *= length.getAsInteger().value_or(0);
  return spec.getString("name") == llvm::StringRef(feature.name) && size == feature.size &&
         spec.getString("type") == llvm::StringRef(feature.isInteger ? "int64_t" : "float");
}

}  // namespace

Status AdvisorChannel::open(AllocatorDecision decision, const fs::path& workingDirectory,
                            std::unique_ptr<AdvisorChannel>& channel) {
  llvm::cl::opt<std::string>* const option = channelOption(decision);
  if (option == nullptr) {
    return {StatusCode::UNIMPLEMENTED, "This LLVM has no option " + optionName(decision)};
  }
  std::unique_ptr<AdvisorChannel> opened(new AdvisorChannel(decision));
  // The service removes it if this process cannot, see CompilationSession.
  opened->directory_ =
      uniquePath(workingDirectory, "regalloc-%%%%%%%%." + std::to_string(getpid()));
  boost::system::error_code error;
  fs::create_directories(opened->directory_, error);
  if (error) {
    return {StatusCode::INTERNAL,
            "Cannot make the directory " + opened->directory_.string() + ": " + error.message()};
  }
  const std::string base = (opened->directory_ / "channel").string();
  RETURN_IF_ERROR(openFifo(base + ".in", 0, opened->answers_));
  RETURN_IF_ERROR(openFifo(base + ".out", O_NONBLOCK, opened->questions_));
  option->setValue(base);
  channel = std::move(opened);
  return Status::OK;
}

AdvisorChannel::~AdvisorChannel() {
  channelOption(decision_)->setValue("");
  boost::system::error_code ignored;  // A destructor cannot report errors.
  fs::remove_all(directory_, ignored);
}

void AdvisorChannel::setAnswer(int64_t answer) {
  std::array<char, sizeof(int64_t)> bytes{};
  if (pendingBytes_ > 0 &&
      ::read(answers_.get(), bytes.data(), pendingBytes_) != static_cast<ssize_t>(pendingBytes_)) {
    return;
  }
  // LLVM expects a priority as float.
  const auto priority = static_cast<float>(answer);
  const bool isEviction = decision_ == AllocatorDecision::kEviction;
  const size_t size = isEviction ? sizeof answer : sizeof priority;
  std::memcpy(bytes.data(), isEviction ? static_cast<const void*>(&answer) : &priority, size);
  const bool isWritten = ::write(answers_.get(), bytes.data(), size) == static_cast<ssize_t>(size);
  pendingBytes_ = isWritten ? size : 0;
}

Status AdvisorChannel::read(std::optional<std::string>& tensors) {
  const size_t tensorBytes = advisorTensorBytes(decision_);
  std::array<char, 1 << 14> buffer;
  ssize_t count = 0;
  while ((count = ::read(questions_.get(), buffer.data(), buffer.size())) > 0) {
    received_.append(buffer.data(), count);
  }
  size_t end = 0;
  while ((end = received_.find('\n')) != std::string::npos) {
    const std::string line = received_.substr(0, end);
    if (line.find("\"observation\"") != std::string::npos) {
      if (received_.size() < end + 1 + tensorBytes + 1) break;
      tensors = received_.substr(end + 1, tensorBytes);
      end += 1 + tensorBytes;
      pendingBytes_ = 0;
    } else if (!hasHeader_) {
      RETURN_IF_ERROR(checkHeader(line));
      hasHeader_ = true;
    }
    received_.erase(0, end + 1);
  }
  return Status::OK;
}

Status AdvisorChannel::checkHeader(const std::string& line) {
  const Status unknown(
      StatusCode::INTERNAL,
      "This LLVM describes its questions by other features than expected: " + line);
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(line);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return unknown;
  }
  const llvm::json::Object* header = parsed->getAsObject();
  const llvm::json::Array* specs = header ? header->getArray("features") : nullptr;
  const llvm::ArrayRef<AdvisorFeature> features = advisorFeatures(decision_);
  if (specs == nullptr || specs->size() != features.size()) return unknown;
  for (size_t i = 0; i < specs->size(); ++i) {
    const llvm::json::Object* spec = (*specs)[i].getAsObject();
    if (spec == nullptr || !isKnown(*spec, features[i])) return unknown;
  }
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
