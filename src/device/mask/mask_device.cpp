// The mask: a table of kernels that hand on to the wrapped device, with places left empty.
#include "device/mask/mask_device.h"

#include <algorithm>
#include <set>

#include "device/devices.h"

namespace veneer::device::mask {
namespace {

constexpr std::string_view kPrefix = "mask(";

class MaskDevice final : public Device {
 public:
  explicit MaskDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) { fill(Operations{}); }
  std::string name() const override { return concat("mask of ", inner_->name()); }
  std::string description() const override { return inner_->description(); }
  bool host_visible() const override { return host_visible_ && inner_->host_visible(); }
  bool can_compute(Compute compute) const override { return inner_->can_compute(compute); }
  bool can_add_into(std::string_view type) const override {
    return !no_add_.contains(std::string(type)) && inner_->can_add_into(type);
  }

  // False for a word that means nothing.
  bool take_away(std::string_view what) {
    constexpr std::string_view kNoAdd = "no-add=", kNoOperation = "no-op=";
    if (what == "device-memory") {
      host_visible_ = false;
      return true;
    }
    if (what.starts_with(kNoAdd)) {
      no_add_.emplace(what.substr(kNoAdd.size()));
      return true;
    }
    return what.starts_with(kNoOperation) && remove(what.substr(kNoOperation.size()));
  }

 private:
  template <typename Operation>
  static void hand_on(Device& self, const Operation& operation) {
    static_cast<MaskDevice&>(self).inner_->run(operation);
  }
  template <typename... Operation>
  void fill(OperationList<Operation...>) {
    ((inner_->has<Operation>() ? operations_.add<Operation>(hand_on<Operation>) : void()), ...);
  }
  // Operations that something can do without.
  bool remove(std::string_view name) {
    if (name == "RotateColumns")
      operations_.remove<RotateColumns>();
    else if (name == "ScaleColumns")
      operations_.remove<ScaleColumns>();
    else if (name == "MixGroups")
      operations_.remove<MixGroups>();
    else if (name == "AddDifference")
      operations_.remove<AddDifference>();
    else
      return false;
    return true;
  }

  std::unique_ptr<Device> inner_;
  bool host_visible_ = true;
  std::set<std::string> no_add_;
};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<std::unique_ptr<Device>> open(std::string_view spec, int threads, bool strict) {
  if (!spec.starts_with(kPrefix) || !spec.ends_with(')'))
    return Error{ErrorCode::kUsage, concat("backend: \"", spec, "\" is no mask(DEVICE; ...)"), "backend"};
  std::string_view rest = spec.substr(kPrefix.size(), spec.size() - kPrefix.size() - 1);
  std::unique_ptr<MaskDevice> mask;
  while (!rest.empty() || !mask) {
    const size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view word = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!mask) {
      VENEER_TRY(inner, open_device(word, threads, strict));
      mask = std::make_unique<MaskDevice>(std::move(inner));
    } else if (!mask->take_away(word)) {
      return Error{ErrorCode::kUsage, concat("backend: a mask can not take away \"", word, "\""), "backend"};
    }
  }
  return std::unique_ptr<Device>(std::move(mask));
}

}  // namespace veneer::device::mask
