#include "compiler_gym/util/CanonicalBytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>

namespace compiler_gym::util {

std::string canonicalBytes(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {  // The last bytes are written when the streams end.
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace compiler_gym::util
