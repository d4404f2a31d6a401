// A place that computes: its memory, and a table of the operations that it really has. What is not in the table cannot
// be called; planners ask `has` and route around it. All calls come from the runtime's engine thread.
#pragma once

#include <any>
#include <map>
#include <string>
#include <typeindex>
#include <unordered_map>

#include "device/operations.h"

namespace veneer::device {

class Device;

template <typename Operation>
using Kernel = void (*)(Device&, const Operation&);

// Kernels by the type of their arguments.
class OperationTable {
 public:
  template <typename Operation>
  void add(Kernel<Operation> kernel) {
    kernels_[typeid(Operation)] = reinterpret_cast<AnyKernel>(kernel);
  }
  template <typename Operation>
  void remove() {
    kernels_.erase(typeid(Operation));
  }
  template <typename Operation>
  Kernel<Operation> find() const {
    const auto found = kernels_.find(typeid(Operation));
    return found == kernels_.end() ? nullptr : reinterpret_cast<Kernel<Operation>>(found->second);
  }
  size_t size() const { return kernels_.size(); }

 private:
  using AnyKernel = void (*)();
  std::unordered_map<std::type_index, AnyKernel> kernels_;
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string name() const = 0;         // as --backend spells it: "cpu", "ref"
  virtual std::string description() const = 0;  // for people: "AVX-512, 2 threads"
  virtual bool host_visible() const { return true; }

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
