// Requests and replies on many sockets of the direct channel, in one call each. Python loads it,
// see frame_batch.py; frames.py describes the frames. Nothing here waits.
#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define COMPILER_GYM_EXPORT extern "C" __attribute__((visibility("default")))

// A column of observations: a value, or an array, for each socket. frame_batch.py has the same.
struct CompilerGymColumn {
  int32_t tag;        // Of the field of Event, with its wire type.
  int32_t count;      // The number of values for each socket.
  const char* shape;  // The shape of the array, as a serialised tensor without values.
  int64_t shapeSize;
  void* values;
};

namespace {

// The states of a socket. Zero or more is the number of bytes that were sent of a request, or read
// of a reply.
constexpr int32_t kWaiting = -1;
constexpr int32_t kDecoded = -2;

constexpr size_t kHeaderBytes = 16;

// The tags of fields, with their wire types: see compiler_gym_service.proto.
constexpr uint8_t kHadNoEffect = 0x10;
constexpr uint8_t kObservation = 0x22;
constexpr uint8_t kValues = 0x12;
constexpr int32_t kInt64Value = 0x28;
constexpr int32_t kDoubleValue = 0x39;
constexpr int32_t kInt64Tensor = 0x5a;
constexpr int32_t kFloatTensor = 0x62;
constexpr int32_t kDoubleTensor = 0x6a;

uint32_t readSize(const void* header) {
  uint32_t size;
  memcpy(&size, header, sizeof size);
  return size;
}

// Reads a serialised message from its beginning. All methods return false, or nothing, if it has
// something else at this place.
class Message {
 public:
  Message(const uint8_t* begin, const uint8_t* end) : next_(begin), end_(end) {}

  bool isAtEnd() const { return next_ == end_; }
  size_t left() const { return end_ - next_; }

  bool skip(const void* expected, size_t size) {
    if (left() < size || memcmp(next_, expected, size) != 0) {
      return false;
    }
    next_ += size;
    return true;
  }

  bool skipTag(int32_t tag) {
    const auto byte = static_cast<uint8_t>(tag);
    return skip(&byte, 1);
  }

  bool readVarint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 63 && next_ != end_; shift += 7) {
      const uint64_t byte = *next_++;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        return true;
      }
    }
    // The tenth byte of a large number has a single bit.
    if (next_ == end_ || *next_ > 1) {
      return false;
    }
    value |= static_cast<uint64_t>(*next_++) << 63;
    return true;
  }

  // Reads a number of type sint64.
  bool readSigned(int64_t& value) {
    uint64_t raw;
    if (!readVarint(raw)) {
      return false;
    }
    value = static_cast<int64_t>((raw >> 1) ^ (0 - (raw & 1)));
    return true;
  }

  // Reads all that is left, in the form in which memory has it.
  bool readRest(void* values, size_t size) {
    if (left() != size) {
      return false;
    }
    memcpy(values, next_, size);
    next_ = end_;
    return true;
  }

  // Reads the size of a message, and enters it. The message has to be the last.
  bool enterLast() {
    uint64_t size;
    return readVarint(size) && size == left();
  }

  // Reads a message inside of this one.
  bool readMessage(Message& message) {
    uint64_t size;
    if (!readVarint(size) || size > left()) {
      return false;
    }
    message = Message(next_, next_ + size);
    next_ += size;
    return true;
  }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
};

bool decodeSigned(Message& message, int64_t* values, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (!message.readSigned(values[i])) {
      return false;
    }
  }
  return message.isAtEnd();
}

// Decodes an Event. Returns false if it is none for the column.
bool decodeEvent(Message event, const CompilerGymColumn& column, int32_t row) {
  const size_t position = static_cast<size_t>(row) * column.count;
  auto* integers = static_cast<int64_t*>(column.values) + position;
  auto* doubles = static_cast<double*>(column.values) + position;
  auto* floats = static_cast<float*>(column.values) + position;
  if (!event.skipTag(column.tag)) {
    return false;
  }
  if (column.tag == kInt64Value) {
    return decodeSigned(event, integers, 1);
  }
  if (column.tag == kDoubleValue) {
    return event.readRest(doubles, sizeof *doubles);
  }
  if (!event.enterLast() || !event.skip(column.shape, column.shapeSize) ||
      !event.skipTag(kValues) || !event.enterLast()) {
    return false;
  }
  switch (column.tag) {
    case kInt64Tensor:
      return decodeSigned(event, integers, column.count);
    case kFloatTensor:
      return event.readRest(floats, sizeof *floats * column.count);
    case kDoubleTensor:
      return event.readRest(doubles, sizeof *doubles * column.count);
    default:
      return false;
  }
}

// Decodes the reply to a step. Returns false if it has anything but observations of the columns.
bool decodeReply(Message reply, int32_t row, const CompilerGymColumn* columns, int32_t columnCount,
                 uint8_t& hadNoEffect) {
  constexpr uint8_t isTrue[] = {kHadNoEffect, 1};
  hadNoEffect = reply.skip(isTrue, sizeof isTrue);
  for (int32_t i = 0; i < columnCount; ++i) {
    Message event(nullptr, nullptr);
    if (!reply.skipTag(kObservation) || !reply.readMessage(event) ||
        !decodeEvent(event, columns[i], row)) {
      return false;
    }
  }
  return reply.isAtEnd();
}

// Returns true if the bytes are a whole frame of status OK.
bool isGoodFrame(const uint8_t* frame, size_t size) {
  constexpr uint8_t noStatus[kHeaderBytes - sizeof(uint32_t)] = {};
  return size >= kHeaderBytes && readSize(frame) == size - kHeaderBytes &&
         memcmp(frame + sizeof(uint32_t), noStatus, sizeof noStatus) == 0;
}

}  // namespace

// Sends requests. Those that were sent are replaced by null.
//
// Returns the number of those that were not sent, or not completely: see their states.
COMPILER_GYM_EXPORT int32_t compiler_gym_send_frames(int32_t count, const int32_t* sockets,
                                                     const char** frames, int32_t* states) {
  int32_t left = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (frames[i] == nullptr) {
      continue;
    }
    const size_t size = kHeaderBytes + readSize(frames[i]);
    const ssize_t sent =
        states[i] == 0 ? send(sockets[i], frames[i], size, MSG_DONTWAIT | MSG_NOSIGNAL) : states[i];
    if (sent == static_cast<ssize_t>(size)) {
      states[i] = kWaiting;
      frames[i] = nullptr;
    } else {
      states[i] = sent > 0 ? static_cast<int32_t>(sent) : 0;
      ++left;
    }
  }
  return left;
}

// Reads the replies that have arrived on sockets whose state is kWaiting, into their buffers, and
// decodes those to steps where `columns` are those of the socket. All other replies, and errors,
// are left to the caller.
//
// Returns the position of the last of those that still wait, or -1.
COMPILER_GYM_EXPORT int32_t compiler_gym_read_frames(int32_t count, const int32_t* sockets,
                                                     uint8_t* const* buffers, int64_t bufferSize,
                                                     int32_t* states, const uint8_t* areDecoded,
                                                     const CompilerGymColumn* columns,
                                                     int32_t columnCount, uint8_t* hadNoEffect) {
  int32_t last = -1;
  for (int32_t i = 0; i < count; ++i) {
    if (states[i] != kWaiting) {
      continue;
    }
    const ssize_t size = recv(sockets[i], buffers[i], bufferSize, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      last = i;
      continue;
    }
    states[i] = size > 0 ? static_cast<int32_t>(size) : 0;
    if (size > 0 && areDecoded[i] != 0 && isGoodFrame(buffers[i], size) &&
        decodeReply(Message(buffers[i] + kHeaderBytes, buffers[i] + size), i, columns, columnCount,
                    hadNoEffect[i])) {
      states[i] = kDecoded;
    }
  }
  return last;
}
