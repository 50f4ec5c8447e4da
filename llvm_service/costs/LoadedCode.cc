#include "llvm_service/costs/LoadedCode.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Host.h"

namespace compiler_gym::llvm_service {

namespace {

// Returns the build id among the notes of a segment, or nothing.
llvm::StringRef findBuildId(llvm::StringRef notes, uint64_t alignment) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    const auto* header = reinterpret_cast<const ElfW(Nhdr)*>(notes.data());
    const uint64_t nameEnd = sizeof(*header) + header->n_namesz;
    const uint64_t begin = llvm::alignTo(nameEnd, alignment);
    const uint64_t end = begin + header->n_descsz;
    if (end > notes.size()) return "";
    if (header->n_type == NT_GNU_BUILD_ID &&
        notes.slice(sizeof(*header), nameEnd) == llvm::StringRef(ELF_NOTE_GNU, 4)) {
      return notes.slice(begin, end);
    }
    notes = notes.drop_front(std::min<uint64_t>(llvm::alignTo(end, alignment), notes.size()));
  }
  return "";
}

llvm::StringRef findBuildId(const dl_phdr_info& object) {
  for (const ElfW(Phdr) & segment : llvm::ArrayRef(object.dlpi_phdr, object.dlpi_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    const auto* begin = reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
    const llvm::StringRef id =
        findBuildId(llvm::StringRef(begin, segment.p_memsz), segment.p_align == 8 ? 8 : 4);
    if (!id.empty()) return id;
  }
  return "";
}

std::string describeFile(llvm::StringRef path) {
  struct stat status = {};
  stat(path.str().c_str(), &status);
  return path.str() + " " + std::to_string(status.st_size) + " " +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

int append(dl_phdr_info* object, size_t /*size*/, void* text) {
  const llvm::StringRef name = object->dlpi_name;
  // Skips the kernel's library with the clocks.
  if (name.starts_with("linux-vdso") || name.starts_with("linux-gate")) return 0;
  const llvm::StringRef id = findBuildId(*object);
  *static_cast<std::string*>(text) +=
      (id.empty() ? describeFile(name.empty() ? "/proc/self/exe" : name)
                  : llvm::toHex(id, /*LowerCase=*/true)) +
      "\n";
  return 0;
}

}  // namespace

std::string identityOfLoadedCode() {
  std::string text = llvm::sys::getHostCPUName().str() + "\n";
  dl_iterate_phdr(append, &text);
  return text;
}

}  // namespace compiler_gym::llvm_service
