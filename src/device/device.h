// A place that computes: its memory, and a table of the operations that it really has. What is not in the table cannot
// be called; planners ask `has` and route around it. All calls come from the runtime's engine thread.
#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "device/operations.h"

namespace veneer::device {

class Device;

template <typename Operation>
using Kernel = void (*)(Device&, const Operation&);

// One place for the kernel of each operation in `List`; an empty place means that the device lacks it.
template <typename List>
class KernelTable;

template <typename... Operation>
class KernelTable<OperationList<Operation...>> {
 public:
  template <typename Wanted>
  void add(Kernel<Wanted> kernel) {
    std::get<Kernel<Wanted>>(kernels_) = kernel;
  }
  template <typename Wanted>
  void remove() {
    std::get<Kernel<Wanted>>(kernels_) = nullptr;
  }
  template <typename Wanted>
  Kernel<Wanted> find() const {
    return std::get<Kernel<Wanted>>(kernels_);
  }
  size_t size() const { return (size_t{find<Operation>() != nullptr} + ...); }

 private:
  std::tuple<Kernel<Operation>...> kernels_{};
};

using OperationTable = KernelTable<Operations>;

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string name() const = 0;         // as --backend spells it: "cpu", "ref"
  virtual std::string description() const = 0;  // for people: "AVX-512, 2 threads"
  virtual bool host_visible() const { return true; }
  // At a speed that makes sense; float32 always.
  virtual bool can_compute(Compute compute) const { return compute == Compute::kF32; }
  // Float32 can be added to a weight that this device holds in the given type ("f16", "bf16", ...) where it lies. Asked
  // only of devices whose memory the host can not reach.
  virtual bool can_add_into(std::string_view /*type*/) const { return true; }

  const OperationTable& operations() const { return operations_; }
  template <typename Operation>
  bool has() const {
    return operations_.find<Operation>() != nullptr;
  }
  // Failures are exceptional here: shapes were checked before, so what is left is std::bad_alloc.
  template <typename Operation>
  void run(const Operation& operation) {
    const Kernel<Operation> kernel = operations_.find<Operation>();
    VENEER_CHECK(kernel != nullptr);
    kernel(*this, operation);
  }

 protected:
  Device() = default;
  OperationTable operations_;
};

}  // namespace veneer::device
