// Messages as keys.
#pragma once

#include <string>

namespace google::protobuf {
class MessageLite;
}

namespace compiler_gym::util {

// Serialises a message so that equal messages have equal bytes. SerializeAsString() does not: it
// writes the entries of a map in an order that differs between objects.
//
// Use the bytes for comparison and hashing within one version of this program. Do not store them.
std::string canonicalBytes(const google::protobuf::MessageLite& message);

}  // namespace compiler_gym::util
