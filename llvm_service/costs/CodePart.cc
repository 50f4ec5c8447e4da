#include "llvm_service/costs/CodePart.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/DebugInfo/DWARF/DWARFDataExtractor.h"
#include "llvm/DebugInfo/DWARF/DWARFDebugFrame.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Triple.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::cantFail;
using Section = llvm::object::ELFSectionRef;
using Symbol = llvm::object::ELFSymbolRef;

// The size of jump table entries, and the alignment of frame records except the last.
constexpr uint64_t kWord = 4;
constexpr uint64_t kAddressBytes = 4;

// Returns the length of a record as if another one followed. No-op instructions pad it.
int64_t lengthOf(const llvm::dwarf::FrameEntry& record) {
  uint64_t padding = 0;
  for (const auto& instruction : record.cfis()) {
    padding = instruction.Opcode == llvm::dwarf::DW_CFA_nop ? padding + 1 : 0;
  }
  // The length does not include its own word.
  return static_cast<int64_t>(llvm::alignTo(record.getLength() + kWord - padding, kWord));
}

bool readFrames(llvm::StringRef contents, CodePart& part) {
  llvm::DWARFDebugFrame frames(llvm::Triple::x86_64, /*IsEH=*/true);
  const llvm::DWARFDataExtractor data(contents, /*IsLittleEndian=*/true, /*AddressSize=*/8);
  if (llvm::errorToBool(frames.parse(data))) {
    return false;
  }
  for (const llvm::dwarf::FrameEntry& record : frames.entries()) {
    if (llvm::isa<llvm::dwarf::FDE>(record)) {
      part.frames += lengthOf(record);
    } else if (part.frameHeader == 0) {
      part.frameHeader = static_cast<int64_t>(record.getLength() + kWord);
    } else {
      return false;
    }
  }
  return true;
}

// True if sections of that kind are joined without padding. For code this holds because of the
// alignments that ModuleShell.h removes.
bool addsUp(const Section& section, llvm::StringRef name) {
  const uint64_t alignment = section.getAlignment().value();
  return section.isText() || (name == ".rodata" && alignment <= kWord) ||
         (name.starts_with(".rodata.cst") && section.getSize() % alignment == 0);
}

bool readSection(const Section& section, llvm::StringRef name, CodePart& part) {
  if (!section.isBerkeleyText() || section.getSize() == 0) {
    return true;
  }
  if (name == ".eh_frame") {
    return readFrames(cantFail(section.getContents()), part);
  }
  part.sections[name.str()] += static_cast<int64_t>(section.getSize());
  return addsUp(section, name);
}

// True if the address at that place belongs to a jump: an instruction with one byte (jmp) or two
// (with a condition) before the distance.
bool isJump(llvm::StringRef code, uint64_t offset) {
  const auto byte = [&](uint64_t back) {
    return offset < back ? 0 : static_cast<unsigned char>(code[offset - back]);
  };
  return byte(1) == 0xE9 || (byte(2) == 0x0F && (byte(1) & 0xF0) == 0x80);
}

void readJumps(const Section& code, const Section& relocations, CodePart& part) {
  const llvm::StringRef contents = cantFail(code.getContents());
  const std::string section = cantFail(code.getName()).str();
  for (const llvm::object::RelocationRef& relocation : relocations.relocations()) {
    const bool isDistance = relocation.getType() == llvm::ELF::R_X86_64_PLT32 ||
                            relocation.getType() == llvm::ELF::R_X86_64_PC32;
    if (isDistance && isJump(contents, relocation.getOffset())) {
      const auto end = static_cast<int64_t>(relocation.getOffset() + kAddressBytes);
      part.jumps.push_back({cantFail(relocation.getSymbol()->getName()).str(), {section, end}});
    }
  }
}

void readFunction(const Symbol& symbol, CodePart& part) {
  const Section section = *cantFail(symbol.getSection());
  part.functions[cantFail(symbol.getName()).str()] = {
      cantFail(section.getName()).str(), static_cast<int64_t>(cantFail(symbol.getAddress()))};
}

}  // namespace

bool readCodePart(llvm::StringRef object, CodePart& part) {
  // LLVM has just written the object, so it is well formed.
  const auto file =
      cantFail(llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object")));
  bool addsUp = true;
  for (const Section section : file->sections()) {
    addsUp = addsUp && readSection(section, cantFail(section.getName()), part);
    const auto relocated = cantFail(section.getRelocatedSection());
    if (relocated != file->section_end() && relocated->isText()) {
      readJumps(*relocated, section, part);
    }
  }
  for (const Symbol symbol : file->symbols()) {
    if (symbol.getELFType() == llvm::ELF::STT_FUNC) {
      readFunction(symbol, part);
    }
  }
  return addsUp;
}

}  // namespace compiler_gym::llvm_service
