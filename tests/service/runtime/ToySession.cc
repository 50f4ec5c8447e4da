#include "tests/service/runtime/ToySession.h"

#include <google/protobuf/text_format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "compiler_gym/util/Subprocess.h"

namespace compiler_gym::toy {

using grpc::Status;
using grpc::StatusCode;

namespace {

constexpr size_t kRestrictedActionCount = 5;
constexpr int kLetterCount = 26;

ActionSpace editSpace(size_t actionCount) {
  ActionSpace space;
  space.set_name("Edit");
  const auto& names = ToySession::editNames();
  *space.mutable_space()->mutable_named_discrete()->mutable_name() = {names.begin(),
                                                                      names.begin() + actionCount};
  return space;
}

ActionSpace appendSpace() {
  ActionSpace space;
  space.set_name("Append");
  Int64Range& range = *space.mutable_space()->mutable_string_value()->mutable_length_range();
  range.set_min(1);
  range.set_max(16);
  return space;
}

// The space of a text of its fields.
ObservationSpace observationSpace(const std::string& name, const std::string& fields,
                                  bool deterministic = true) {
  ObservationSpace space;
  google::protobuf::TextFormat::ParseFromString(fields, &space);
  space.set_name(name);
  space.set_deterministic(deterministic);
  return space;
}

ObservationSpace countSpace(const std::string& name, bool deterministic = true) {
  return observationSpace(name,
                          "space { int64_value { min: 0 } } default_observation { int64_value: 0 }",
                          deterministic);
}

ObservationSpace histogramSpace() {
  ObservationSpace space = observationSpace("histogram", "");
  Int64Box& box = *space.mutable_space()->mutable_int64_box();
  box.mutable_low()->add_shape(kLetterCount);
  box.mutable_high()->add_shape(kLetterCount);
  box.mutable_low()->mutable_value()->Resize(kLetterCount, 0);
  box.mutable_high()->mutable_value()->Resize(kLetterCount, INT64_MAX);
  *space.mutable_default_observation()->mutable_int64_tensor() = box.low();
  return space;
}

Int64Tensor histogramOf(const std::string& text) {
  Int64Tensor tensor;
  tensor.add_shape(kLetterCount);
  tensor.mutable_value()->Resize(kLetterCount, 0);
  for (const char character : text) {
    if (character >= 'a' && character <= 'z') ++tensor.mutable_value()->at(character - 'a');
  }
  return tensor;
}

DoubleTensor ratiosOf(const std::string& text) {
  std::map<char, int> counts;
  for (const char character : text) ++counts[character];
  DoubleTensor tensor;
  tensor.add_shape(counts.size());
  for (const auto& [character, count] : counts) {
    tensor.add_value(static_cast<double>(count) / static_cast<double>(text.size()));
  }
  return tensor;
}

Status readProgram(const File& program, std::string* text) {
  if (program.has_contents()) {
    *text = program.contents();
    return Status::OK;
  }
  const std::string scheme = "file://";
  std::ifstream file(program.uri().substr(std::min(scheme.size(), program.uri().size())),
                     std::ios::binary);
  if (program.uri().rfind(scheme, 0) != 0 || !file) {
    return Status(StatusCode::NOT_FOUND, "Cannot read the program \"" + program.uri() + "\"");
  }
  text->assign(std::istreambuf_iterator<char>(file), {});
  return Status::OK;
}

// Lets tests know that an action is at work.
void announceSleep(const boost::filesystem::path& directory) {
  std::ofstream((directory / "asleep").string(), std::ios::app) << "asleep";
}

// Waits until a test has made the file "released", or some time has passed.
void awaitRelease(const boost::filesystem::path& directory,
                  std::chrono::milliseconds limit = std::chrono::hours(1)) {
  announceSleep(directory);
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end &&
         !boost::filesystem::exists(directory / "released")) {
    std::this_thread::sleep_for(std::min(limit, std::chrono::milliseconds(2)));
  }
}

[[noreturn]] void hang() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

[[noreturn]] void loop() {
  volatile uint64_t count = 0;
  while (true) {
    count = count + 1;
#ifdef COMPILER_GYM_SANITIZER
    // ThreadSanitizer holds signals back until the program calls the system.
    usleep(0);
#endif
  }
}

[[noreturn]] void allocateWithoutEnd() {
  constexpr size_t kPieceBytes = 16 << 20;
  std::vector<std::unique_ptr<std::vector<char>>> pieces;
  while (true) {
    pieces.push_back(std::make_unique<std::vector<char>>(kPieceBytes, 'x'));
    // If nothing but a time limit ends it, the machine must have enough memory until then.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Uses nearly all memory that there may be, and no more.
std::vector<char> allocateMost() {
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  std::ifstream file("/proc/self/statm");
  size_t totalPages = 0;
  size_t residentPages = 0;
  file >> totalPages >> residentPages;
  const size_t used = residentPages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::vector<char>(limit.rlim_cur / 100 * 94 - used, 'x');
}

void corruptHeap() {
  constexpr size_t kBlockBytes = 64;
  constexpr size_t kOverrunBytes = 4096;
  // The compiler must not see that this is out of bounds.
  volatile size_t overrun = kOverrunBytes;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(std::make_unique<char[]>(kBlockBytes));
  volatile char* const block = blocks[10].get();
  for (size_t i = 0; i < overrun; ++i) block[i] = 'x';
}

// Misbehaves like a faulty compiler. Returns false if the action is not a misbehaviour.
bool misbehave(const std::string& name, const boost::filesystem::path& directory) {
  std::vector<char> most;
  if (name == "crash-when-full") most = allocateMost();
  if (name == "crash" || name == "crash-when-full") {
    // Null would be found by the sanitizer of undefined behaviour, which ends the process itself.
    volatile int* volatile nowhere = reinterpret_cast<int*>(alignof(int));
    *nowhere = 1;
  } else if (name == "abort") {
    std::cerr << "toy: giving up" << std::endl;
    std::abort();
  } else if (name == "exit") {
    std::exit(3);
  } else if (name == "loop") {
    announceSleep(directory);
    loop();
  } else if (name == "allocate") {
    allocateWithoutEnd();
  } else if (name == "corrupt-heap") {
    corruptHeap();
  } else if (name == "chatter") {
    for (int i = 0; i < 16384; ++i) std::cerr << std::string(63, 'c') << std::endl;
  } else {
    return false;
  }
  return true;
}

}  // namespace

const std::vector<std::string>& ToySession::editNames() {
  static const std::vector<std::string> names = {
      "uppercase", "reverse",      "rotate",  "append-a",        "no-op",      "end",
      "end-later", "fail",         "throw",   "restrict",        "sleep",      "hang",
      "run",       "corrupt",      "crash",   "abort",           "exit",       "loop",
      "allocate",  "corrupt-heap", "chatter", "crash-when-full", "crash-later"};
  return names;
}

std::vector<ActionSpace> ToySession::getActionSpaces() const {
  return {editSpace(editNames().size()), appendSpace()};
}

std::vector<ObservationSpace> ToySession::getObservationSpaces() const {
  return {observationSpace("text",
                           "space { string_value { length_range { min: 0 } } }"
                           "default_observation { string_value: '' }"),
          countSpace("length"),
          histogramSpace(),
          observationSpace("bytes", "space { byte_sequence { length_range { min: 0 } } }"),
          observationSpace("ratios",
                           "space { double_sequence {"
                           "  length_range { min: 0 } scalar_range { min: 0 max: 1 } } }"),
          countSpace("counter", /*deterministic=*/false),
          countSpace("failing"),
          countSpace("throwing"),
          countSpace("end-of-steps", /*deterministic=*/false)};
}

Status ToySession::init(const ActionSpace& actionSpace, const Benchmark& benchmark) {
  actionSpaceName_ = actionSpace.name();
  actionCount_ = static_cast<size_t>(actionSpace.space().named_discrete().name_size());
  const Status status = readProgram(benchmark.program(), &text_);
  if (!status.ok()) return status;
  if (text_.rfind("awaited", 0) == 0) awaitRelease(workingDirectory());
  if (text_ == "unacceptable" || text_ == "awaited-unacceptable") {
    return Status(StatusCode::INVALID_ARGUMENT, "Cannot parse the program");
  }
  if (text_ == "enormous") {
    return Status(StatusCode::RESOURCE_EXHAUSTED, "The program is too large");
  }
  if (text_ == "deadly") std::abort();
  if (text_ == "explosive") throw std::runtime_error("the program exploded");
  return Status::OK;
}

Status ToySession::applyAction(const Event& action, bool& endOfEpisode,
                               std::optional<ActionSpace>& newActionSpace,
                               bool& actionHadNoEffect) {
  const std::string before = text_;
  if (actionSpaceName_ == "Append") {
    if (action.string_value().empty() || action.string_value().size() > 16) {
      return Status(StatusCode::INVALID_ARGUMENT, "An action is a string of 1 to 16 bytes");
    }
    text_ += action.string_value();
    return Status::OK;
  }
  const int64_t index = action.has_int64_value() ? action.int64_value() : -1;
  if (index < 0 || static_cast<size_t>(index) >= actionCount_) {
    return Status(StatusCode::INVALID_ARGUMENT, "Not an action: " + action.ShortDebugString());
  }
  const Status status = edit(editNames()[static_cast<size_t>(index)], endOfEpisode, newActionSpace);
  actionHadNoEffect = text_ == before;
  return status;
}

Status ToySession::edit(const std::string& name, bool& endOfEpisode,
                        std::optional<ActionSpace>& newActionSpace) {
  if (name == "uppercase") {
    std::transform(text_.begin(), text_.end(), text_.begin(),
                   [](unsigned char character) { return std::toupper(character); });
  } else if (name == "reverse") {
    std::reverse(text_.begin(), text_.end());
  } else if (name == "rotate") {
    if (!text_.empty()) std::rotate(text_.begin(), text_.begin() + 1, text_.end());
  } else if (name == "append-a") {
    text_ += "a";
  } else if (name == "end") {
    endOfEpisode = true;
  } else if (name == "end-later") {
    endLater_ = true;
  } else if (name == "fail") {
    return Status(StatusCode::DATA_LOSS, "The action fail left the program invalid");
  } else if (name == "throw") {
    throw std::runtime_error("thrown by the action");
  } else if (name == "restrict") {
    actionCount_ = kRestrictedActionCount;
    newActionSpace = editSpace(actionCount_);
  } else if (name == "sleep") {
    awaitRelease(workingDirectory(), std::chrono::milliseconds(sleepMilliseconds_));
  } else if (name == "hang") {
    announceSleep(workingDirectory());
    hang();
  } else if (name == "run") {
    const auto folder = workingDirectory() / ("run." + std::to_string(getpid()));
    boost::filesystem::create_directory(folder);
    std::ofstream((folder / "file").string()) << "left behind";
    Command command;
    command.add_argument("ulimit -Sn > command.limit; ulimit -Sd > command.data;");
    command.add_argument("echo $$ > command.pid; sleep 1000; true");
    command.set_timeout_seconds(1000);
    return util::LocalShellCommand(command).checkCall(workingDirectory());
  } else if (name == "corrupt") {
    corrupt_ = true;
  } else if (name == "crash-later") {
    crashLater_ = true;
  } else {
    misbehave(name, workingDirectory());
  }
  return Status::OK;
}

Status ToySession::computeObservation(const ObservationSpace& observationSpace,
                                      Event& observation) {
  const std::string& name = observationSpace.name();
  ++observed_;
  if (name == "text") {
    observation.set_string_value(text_);
  } else if (name == "length") {
    observation.set_int64_value(static_cast<int64_t>(text_.size()));
  } else if (name == "histogram") {
    *observation.mutable_int64_tensor() = histogramOf(text_);
  } else if (name == "bytes") {
    observation.mutable_byte_tensor()->add_shape(text_.size());
    observation.mutable_byte_tensor()->set_value(text_);
  } else if (name == "ratios") {
    *observation.mutable_double_tensor() = ratiosOf(text_);
  } else if (name == "counter") {
    observation.set_int64_value(++counter_);
  } else if (name == "end-of-steps") {
    observation.set_int64_value(endOfSteps_);
  } else if (name == "throwing") {
    throw std::runtime_error("thrown by the observation");
  } else if (text_.size() > 1 && text_.substr(text_.size() - 2) == "aa") {
    return Status(StatusCode::FAILED_PRECONDITION, "The observation failing needs another text");
  } else {
    return Status(StatusCode::INTERNAL, "The observation failing cannot be computed");
  }
  return Status::OK;
}

Status ToySession::endOfStep(bool /*actionHadNoEffect*/, bool& endOfEpisode,
                             std::optional<ActionSpace>& /*newActionSpace*/) {
  ++endOfSteps_;
  if (endLater_) endOfEpisode = true;
  return corrupt_ ? Status(StatusCode::DATA_LOSS, "The text is corrupt") : Status::OK;
}

void ToySession::afterReply() {
  ++replies_;
  if (!crashLater_) return;
  boost::filesystem::create_directory(workingDirectory() / ("crash." + std::to_string(getpid())));
  misbehave("crash", workingDirectory());
}

Status ToySession::saveReproducer(const Event& action, const boost::filesystem::path& directory) {
  if (boost::filesystem::exists(workingDirectory() / "no-reproducer")) {
    return Status(StatusCode::INTERNAL, "There is to be no reproducer");
  }
  std::ofstream((directory / "text").string()) << text_;
  std::ofstream((directory / "action").string()) << action.int64_value();
  return Status::OK;
}

Status ToySession::handleSessionParameter(const std::string& key, const std::string& value,
                                          std::optional<std::string>& reply) {
  if (key == "toy.set_sleep_milliseconds") {
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), sleepMilliseconds_);
    if (error != std::errc() || end != value.data() + value.size() || sleepMilliseconds_ < 0) {
      return Status(StatusCode::INVALID_ARGUMENT, "Not a number of milliseconds: " + value);
    }
    reply = value;
  } else if (key == "toy.get_sleep_milliseconds") {
    reply = std::to_string(sleepMilliseconds_);
  } else if (key == "toy.get_observed") {
    reply = std::to_string(observed_);
  } else if (key == "toy.get_replies") {
    reply = std::to_string(replies_);
  } else if (key == "toy.corrupt") {
    return Status(StatusCode::DATA_LOSS, "The parameter left the program invalid");
  } else if (key == "toy.throw") {
    throw std::runtime_error(value);
  }
  return Status::OK;
}

}  // namespace compiler_gym::toy
