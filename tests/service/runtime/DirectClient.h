// A test client of the direct channel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.grpc.pb.h"
#include "compiler_gym/service/runtime/wire/Channel.h"
#include "tests/Statuses.h"

namespace compiler_gym::runtime {

// Long enough for what does not hang.
Deadline soon();

// The name of the socket that the service at this port tells; empty if there is none.
std::string directSocketOf(int port);

// A connection to the socket of that name; not open if that fails.
Channel connectTo(const std::string& name);

// Like roundTrip(), for a method whose reply comes with a socket to a session's process.
grpc::Status callWithSocket(Channel& channel, Method method,
                            const google::protobuf::MessageLite& request,
                            google::protobuf::MessageLite* reply, Channel* session);

// A step of the toy's "Edit" actions of these numbers, which observes the text.
StepRequest stepOf(int64_t session, const std::vector<int64_t>& actions);

// The bytes of a frame's header.
std::string headerOf(uint32_t size, uint16_t code, uint64_t timeout = 0);

// Sends bytes that need not be a frame. False if they cannot be sent at once.
bool sendBytes(const Channel& channel, const std::string& bytes);

}  // namespace compiler_gym::runtime
