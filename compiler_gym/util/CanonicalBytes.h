// Messages as keys.
#pragma once

#include <string>

namespace google::protobuf {
class MessageLite;
}

namespace compiler_gym::util {

// The bytes of a message, the same for messages that are equal. Those of SerializeAsString() are
// not: the entries of a map come in any order, another one in each object.
//
// They are for comparing and hashing within one version of this program, not for keeping.
std::string canonicalBytes(const google::protobuf::MessageLite& message);

}  // namespace compiler_gym::util
