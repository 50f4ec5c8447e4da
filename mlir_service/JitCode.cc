#include "mlir_service/JitCode.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "mlir_service/Lowering.h"

namespace compiler_gym::mlir_service {

namespace {

using grpc::Status;

constexpr size_t kAlignment = 64;

/// Appends the descriptor of a memref: the address twice, the offset, the sizes and the strides.
void describe(const Buffer& buffer, void* memory, std::vector<int64_t>& values) {
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory));
  values.insert(values.end(), {address, address, 0});
  values.insert(values.end(), buffer.shape.begin(), buffer.shape.end());
  int64_t stride = buffer.elements();
  for (int64_t size : buffer.shape) {
    stride /= size;
    values.push_back(stride);
  }
}

Status statusOf(llvm::Error error) {
  return {grpc::StatusCode::INTERNAL,
          "The code of the kernel cannot be loaded: " + llvm::toString(std::move(error))};
}

}  // namespace

void JitCode::Deleter::operator()(void* memory) const { std::free(memory); }

JitCode::JitCode(const std::vector<Buffer>& arguments) : arguments_(arguments) {
  for (const Buffer& buffer : arguments) {
    const size_t size = (buffer.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, size);
    if (memory == nullptr) throw std::bad_alloc();
    buffers_.emplace_back(memory);
    describe(buffer, memory, values_);
  }
  for (int64_t& value : values_) fields_.push_back(&value);
}

JitCode::~JitCode() = default;

Status JitCode::load(const std::string& object) {
  initializeHostTarget();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return statusOf(jit.takeError());
  jit_ = std::move(*jit);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object);
  if (llvm::Error error = jit_->addObjectFile(std::move(buffer))) {
    return statusOf(std::move(error));
  }
  auto address = jit_->lookup(kEntryName);
  if (!address) return statusOf(address.takeError());
  entry_ = address->toPtr<void (*)(void**)>();
  return Status::OK;
}

void JitCode::set(const Contents& contents) {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    std::memcpy(buffers_[i].get(), contents[i].data(), contents[i].size());
  }
}

Contents JitCode::get() const {
  Contents contents;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    contents.emplace_back(static_cast<const char*>(buffers_[i].get()), arguments_[i].bytes());
  }
  return contents;
}

}  // namespace compiler_gym::mlir_service
