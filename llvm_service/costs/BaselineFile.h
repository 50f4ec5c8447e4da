#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "compiler_gym/util/FileDescriptor.h"
#include "llvm/ADT/StringRef.h"

namespace compiler_gym::llvm_service {

/// Costs of baselines, kept from run to run in a file that all processes of a user share.
///
/// Key: a BLAKE3 hash of the program's bitcode, of the name of the cost and the baseline, and of
/// the code that computes it; see LoadedCode.h. The bitcode names the target and, in attributes of
/// functions, the processor. Nothing else decides a cost that is kept here: costs of what a
/// benchmark's commands build, and run times, are not.
///
/// Format: one file, a table of 4,096 pages of 64 records, so at most 16 MiB. It has holes where
/// there are no records yet. The key tells the page; a record may be anywhere in it. A record has
/// 64 bytes in the order of the machine: key (32), value (8), time of writing in nanoseconds (8),
/// checksum of these (16). A record whose checksum is wrong is none: so are the zeros of a hole,
/// what another program has written, and what two writers have mixed. In a full page the record
/// written longest ago makes room.
///
/// A page is read and a record written by one system call, without locks: nobody waits for anybody,
/// and a process that is killed leaves at most one record that is none.
///
/// Nothing here fails. A file that cannot be used keeps nothing: it cannot be made, the disk is
/// full, or the directory or the file belongs to somebody else or can be written to by others, who
/// could put wrong costs there. One that can only be read is read. The log says why.
///
/// May be used by any number of threads and processes, also by those forked from one that has it.
class BaselineFile {
 public:
  /// A BLAKE3 hash.
  using Hash = std::array<uint8_t, 32>;

  static constexpr char kName[] = "baselines.table";
  static constexpr size_t kRecordBytes = 64;
  static constexpr size_t kRecordsOfPage = 64;
  static constexpr size_t kPages = 4096;

  /// @param directory absolute; made, open to nobody else, if it does not exist.
  /// @param code tells the code that computes costs from all other.
  /// @param pages how many there are; all who use the directory have to agree on it.
  BaselineFile(const std::string& directory, llvm::StringRef code, size_t pages = kPages);

  static Hash hashOf(llvm::StringRef bytes);

  /// @param program the hash of the program's bitcode.
  /// @param name of the cost and the baseline.
  std::optional<int64_t> find(const Hash& program, llvm::StringRef name) const;

  void insert(const Hash& program, llvm::StringRef name, int64_t value) const;

 private:
  struct Record;
  using Page = std::array<Record, kRecordsOfPage>;

  Hash keyOf(const Hash& program, llvm::StringRef name) const;
  // Holes and what is beyond the end of the file are zeros.
  void read(const Hash& key, Page& page) const;

  off_t pageOffset(const Hash& key) const;

  const Hash code_;
  const size_t pages_;
  util::FileDescriptor file_;
};

}  // namespace compiler_gym::llvm_service
