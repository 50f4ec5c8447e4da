#include "llvm_service/regalloc/EvictionChannel.h"

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
#include "llvm_service/regalloc/EvictionFeatures.h"

namespace compiler_gym::llvm_service {

namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;

llvm::cl::opt<std::string>* channelOption() {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("regalloc-evict-interactive-channel-base");
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

bool isKnown(const llvm::json::Object& spec, const EvictionFeature& feature) {
  const llvm::json::Array* shape = spec.getArray("shape");
  if (shape == nullptr) return false;
  size_t size = 1;
  for (const llvm::json::Value& length : *shape) size *= length.getAsInteger().value_or(0);
  return spec.getString("name") == llvm::StringRef(feature.name) && size == feature.size() &&
         spec.getString("type") == llvm::StringRef(feature.isInteger ? "int64_t" : "float");
}

}  // namespace

Status EvictionChannel::open(const fs::path& workingDirectory,
                             std::unique_ptr<EvictionChannel>& channel) {
  llvm::cl::opt<std::string>* const option = channelOption();
  if (option == nullptr) {
    return {StatusCode::UNIMPLEMENTED,
            "This LLVM has no option regalloc-evict-interactive-channel-base"};
  }
  std::unique_ptr<EvictionChannel> opened(new EvictionChannel());
  // The service removes it if this process cannot, see CompilationSession.
  opened->directory_ =
      uniquePath(workingDirectory, "evictions-%%%%%%%%." + std::to_string(getpid()));
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

EvictionChannel::~EvictionChannel() {
  channelOption()->setValue("");
  boost::system::error_code ignored;  // A destructor cannot report errors.
  fs::remove_all(directory_, ignored);
}

void EvictionChannel::setAnswer(int64_t position) {
  int64_t unread = 0;
  if (isAnswerPending_ && ::read(answers_.get(), &unread, sizeof unread) != sizeof unread) return;
  isAnswerPending_ = ::write(answers_.get(), &position, sizeof position) == sizeof position;
}

Status EvictionChannel::read(std::optional<std::string>& tensors) {
  std::array<char, 1 << 14> buffer;
  ssize_t count = 0;
  while ((count = ::read(questions_.get(), buffer.data(), buffer.size())) > 0) {
    received_.append(buffer.data(), count);
  }
  size_t end = 0;
  while ((end = received_.find('\n')) != std::string::npos) {
    const std::string line = received_.substr(0, end);
    if (line.find("\"observation\"") != std::string::npos) {
      if (received_.size() < end + 1 + evictionTensorBytes() + 1) break;
      tensors = received_.substr(end + 1, evictionTensorBytes());
      end += 1 + evictionTensorBytes();
      isAnswerPending_ = false;
    } else if (!hasHeader_) {
      RETURN_IF_ERROR(checkHeader(line));
      hasHeader_ = true;
    }
    received_.erase(0, end + 1);
  }
  return Status::OK;
}

Status EvictionChannel::checkHeader(const std::string& line) {
  const Status unknown(StatusCode::INTERNAL,
                       "This LLVM describes evictions by other features than expected: " + line);
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(line);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return unknown;
  }
  const llvm::json::Object* header = parsed->getAsObject();
  const llvm::json::Array* specs = header ? header->getArray("features") : nullptr;
  if (specs == nullptr || specs->size() != evictionFeatures().size()) return unknown;
  for (size_t i = 0; i < specs->size(); ++i) {
    const llvm::json::Object* spec = (*specs)[i].getAsObject();
    if (spec == nullptr || !isKnown(*spec, evictionFeatures()[i])) return unknown;
  }
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
