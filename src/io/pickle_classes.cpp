// The list. What training programs write beside the weights (counters of numpy, callbacks of Lightning) is named so
// that well-known checkpoints open; it stays opaque.
#include "io/pickle_classes.h"

#include <algorithm>
#include <iterator>

namespace veneer::io {
namespace {

using Role = PickleClass::Role;

constexpr PickleClass kClasses[] = {
    {"torch", "FloatStorage", Role::kStorage, "F32"},
    {"torch", "HalfStorage", Role::kStorage, "F16"},
    {"torch", "BFloat16Storage", Role::kStorage, "BF16"},
    {"torch", "DoubleStorage", Role::kStorage, "F64"},
    {"torch", "LongStorage", Role::kStorage, "I64"},
    {"torch", "IntStorage", Role::kStorage, "I32"},
    {"torch", "ShortStorage", Role::kStorage, "I16"},
    {"torch", "CharStorage", Role::kStorage, "I8"},
    {"torch", "ByteStorage", Role::kStorage, "U8"},
    {"torch", "BoolStorage", Role::kStorage, "BOOL"},
    {"torch._utils", "_rebuild_tensor_v2", Role::kTensor},
    {"torch._utils", "_rebuild_tensor", Role::kTensor},
    {"torch._utils", "_rebuild_parameter", Role::kParameter},
    {"torch", "Size", Role::kSize},
    {"collections", "OrderedDict", Role::kDict},
    {"torch.nn.modules.container", "ParameterDict", Role::kDict},
    {"torch", "float32", Role::kOpaque},
    {"torch", "float16", Role::kOpaque},
    {"torch", "bfloat16", Role::kOpaque},
    {"numpy", "dtype", Role::kOpaque},
    {"numpy.core.multiarray", "scalar", Role::kOpaque},
    {"numpy._core.multiarray", "scalar", Role::kOpaque},
    {"_codecs", "encode", Role::kOpaque},
    {"pytorch_lightning.callbacks.model_checkpoint", "ModelCheckpoint", Role::kOpaque},
};

}  // namespace

const PickleClass* find_pickle_class(std::string_view module, std::string_view name) {
  const auto found = std::find_if(std::begin(kClasses), std::end(kClasses),
                                  [&](const PickleClass& c) { return c.module == module && c.name == name; });
  return found == std::end(kClasses) ? nullptr : found;
}

}  // namespace veneer::io
