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
/// functions, the processor. Costs that depend on anything else are not kept: those of builds by a
/// benchmark's commands, and run times.
///
/// Format: one file, a table of 4,096 pages of 64 records, so at most 16 MiB. It has holes where
/// there are no records yet. The key tells the page; a record may be anywhere in it. A record has
/// 64 bytes in the order of the machine: key (32), value (8), time of writing in nanoseconds (8),
/// checksum of these (16). A record with a wrong checksum is ignored: the zeros of a hole, foreign
/// data, and mixed data of two writers. In a full page the oldest record is replaced.
///
/// A page is read and a record is written by one system call. There are no locks, so nothing waits,
/// and a killed process leaves at most one invalid record.
///
/// No function fails. An unusable file keeps nothing: if it cannot be created, the disk is full, or
/// the directory or file belongs to or is writable by another user, who could insert wrong costs. A
/// read-only file is read. The log has the reason.
///
/// Safe for use by threads and processes, including forks of a process that uses it.
class BaselineFile {
 public:
  /// A BLAKE3 hash.
  using Hash = std::array<uint8_t, 32>;

  static constexpr char kName[] = "baselines.table";
  static constexpr size_t kRecordBytes = 64;
  static constexpr size_t kRecordsOfPage = 64;
  static constexpr size_t kPages = 4096;

  /// @param directory An absolute path. It is created with access for this user only.
  /// @param code Identifies the code that computes costs.
  /// @param pages The number of pages, which must be the same for all users of the directory.
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
  // Holes, and positions beyond the end of the file, read as zeros.
  void read(const Hash& key, Page& page) const;

  off_t pageOffset(const Hash& key) const;

  const Hash code_;
  const size_t pages_;
  util::FileDescriptor file_;
};

}  // namespace compiler_gym::llvm_service
