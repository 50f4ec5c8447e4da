#include "llvm_service/observations/Utf8.h"

#include <string>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace compiler_gym::llvm_service {

namespace {

void escapeText(std::string& text) {
  size_t valid = 0;
  if (llvm::json::isUTF8(text, &valid)) return;
  std::string escaped;
  llvm::StringRef rest = text;
  do {
    escaped += rest.take_front(valid);
    escaped += "\\" + llvm::toHex(rest.substr(valid, 1));
    rest = rest.drop_front(valid + 1);
  } while (!llvm::json::isUTF8(rest, &valid));
  text = escaped + rest.str();
}

}  // namespace

void escapeInvalidUtf8(Event& value) {
  switch (value.value_case()) {
    case Event::kStringValue:
      return escapeText(*value.mutable_string_value());
    case Event::kStringTensor:
      for (std::string& text : *value.mutable_string_tensor()->mutable_value()) escapeText(text);
      return;
    case Event::kEventList:
      for (Event& each : *value.mutable_event_list()->mutable_event()) escapeInvalidUtf8(each);
      return;
    case Event::kEventDict:
      for (auto& [key, each] : *value.mutable_event_dict()->mutable_event()) {
        escapeInvalidUtf8(each);
      }
      return;
    default:
      return;
  }
}

}  // namespace compiler_gym::llvm_service
