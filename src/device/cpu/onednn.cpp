// From the arguments of an operation to a oneDNN primitive. Interfaces 2.x and 3.x differ in matmul_primitive and
// convolution_primitive only.
#include "device/cpu/onednn.h"

#include <array>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "device/cpu/panel.h"

namespace veneer::device::cpu {
namespace {

using dnnl::memory;
using MatmulDescriptor = dnnl::matmul::primitive_desc;
using ConvDescriptor = dnnl::convolution_forward::primitive_desc;
using Type = memory::data_type;
using Tag = memory::format_tag;
constexpr size_t kMostPrimitives = 1024;  // some picture sizes of the largest networks; more are made anew

// How weights of one shape are packed.
struct Packing {
  size_t layout;
  std::optional<BlockedLayout> blocks;
  memory from, to;
  dnnl::reorder reorder;
};

// How oneDNN describes blocks; empty for any other layout.
std::optional<BlockedLayout> blocks_of(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  if (desc.get_format_kind() != memory::format_kind::blocked || desc.get_data_type() != Type::f32) return std::nullopt;
  const int inner = desc.get_inner_nblks();
  const memory::dims sizes = desc.get_inner_blks(), sides = desc.get_inner_idxs(), strides = desc.get_strides();
  const size_t rank = desc.get_dims().size();
#else
  const dnnl_memory_desc_t& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.data_type != dnnl_f32) return std::nullopt;
  const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  const int inner = blocking.inner_nblks;
  const dnnl_dim_t *sizes = blocking.inner_blks, *sides = blocking.inner_idxs, *strides = blocking.strides;
  const int rank = data.ndims;
#endif
  if (rank != 2 || inner != 2 || sides[0] != 0 || sides[1] != 1) return std::nullopt;
  if (sizes[0] % 4 != 0 || sizes[1] % BlockedLayout::kLeastOut != 0) return std::nullopt;
  return BlockedLayout{sizes[0], sizes[1], strides[0], strides[1]};
}

// A product that is ready to run; the memory objects get their addresses at each call.
struct Primitive {
  dnnl::primitive compute;
  memory x, w, y, scratch;
  std::optional<dnnl::reorder> repack;  // set when this shape cannot use the panel's layout
  memory panel;
};

using Key = std::array<int64_t, 16>;
enum KeyKind : int64_t { kMatmul, kConv, kPackMatmul, kPackConv, kBatchedMatmul };

// oneDNN reports failures by exceptions: short memory is passed on as the standard's, all else is a mistake of ours.
template <typename Body>
auto guarded(const Body& body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    check_failed(__FILE__, __LINE__, error.what());
  }
}

dnnl::primitive_attr attributes(bool accumulate) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  return attributes;
}

Type type_of(Compute compute) { return compute == Compute::kBf16 ? Type::bf16 : Type::f32; }

struct Operands {
  memory::desc x, w, y;
};

// The descriptor is empty when oneDNN cannot do it.
MatmulDescriptor matmul_primitive(const Operands& of, const dnnl::primitive_attr& attributes,
                                  const dnnl::engine& engine) {
#if DNNL_VERSION_MAJOR >= 3
  return MatmulDescriptor(engine, of.x, of.w, of.y, attributes, true);
#else
  return MatmulDescriptor(dnnl::matmul::desc(of.x, of.w, of.y), attributes, engine, true);
#endif
}

ConvDescriptor convolution_primitive(const Operands& of, const ConvGeometry& geometry,
                                     const dnnl::primitive_attr& attributes, const dnnl::engine& engine) {
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::dims strides = {geometry.stride, geometry.stride};
  const memory::dims before = {geometry.pad_top, geometry.pad_left};
  const memory::dims after = {geometry.pad_bottom, geometry.pad_right};
#if DNNL_VERSION_MAJOR >= 3
  return ConvDescriptor(engine, kind, algorithm, of.x, of.w, of.y, strides, before, after, attributes, true);
#else
  const dnnl::convolution_forward::desc desc(kind, algorithm, of.x, of.w, of.y, strides, before, after);
  return ConvDescriptor(desc, attributes, engine, true);
#endif
}

bool is_fast(const dnnl::primitive_desc_base& descriptor) {
  return descriptor && !std::string_view(descriptor.impl_info_str()).starts_with("ref");
}

memory::desc rows_desc(int64_t rows, int64_t columns, Type type) { return {{rows, columns}, type, Tag::ab}; }

memory::desc image_desc(int64_t batch, int64_t height, int64_t width, int64_t channels, Type type) {
  return {{batch, channels, height, width}, type, Tag::nhwc};
}

// oneDNN wants grouped weights with the groups as a dimension of their own, ahead of the outputs of one group.
memory::desc filter_desc(const Shape& shape, int64_t groups, Type type, bool as_given) {
  if (groups == 1) return {{shape[0], shape[1], shape[2], shape[3]}, type, as_given ? Tag::oihw : Tag::any};
  return {{groups, shape[0] / groups, shape[1], shape[2], shape[3]}, type, as_given ? Tag::goihw : Tag::any};
}

ConvDescriptor describe_conv(const Conv& conv, const Shape& shape, Type type, const memory::desc& w,
                             const dnnl::engine& engine) {
  const ConvGeometry& geometry = conv.geometry;
  const memory::desc x = image_desc(conv.batch, conv.height, conv.width, shape[1] * geometry.groups, type);
  const memory::desc y = image_desc(conv.batch, geometry.out_height(conv.height, shape[2]),
                                    geometry.out_width(conv.width, shape[3]), shape[0], Type::f32);
  return convolution_primitive({x, w, y}, geometry, attributes(conv.accumulate), engine);
}

}  // namespace

struct OneDnn::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<memory::desc> layouts;  // all that a panel may have, each once
  std::map<Key, Primitive> primitives;
  std::map<Key, Packing> packings;
  Buffer scratchpad, repacked;

  size_t layout_index(const memory::desc& layout);
  template <typename Choose>
  Packing& packing(const Key& key, const memory::desc& given, const Choose& choose);
  Packing& packing(const PackMatmul& pack);
  void fill(Panel* panel, const float* weight, Compute compute, Packing& packing);
  template <typename Describe>
  Primitive& primitive(const Key& key, size_t layout, const memory::desc& any, const Describe& describe);
  template <typename Descriptor>
  Primitive prepare(const Descriptor& descriptor, const memory::desc& panel_layout);
  void execute(Primitive& primitive, const void* x, const void* w, float* y);
  bool packs_matmul() const;
};

size_t OneDnn::State::layout_index(const memory::desc& layout) {
  for (size_t i = 0; i < layouts.size(); ++i)
    if (layouts[i] == layout) return i;
  layouts.push_back(layout);
  return layouts.size() - 1;
}

// Without AVX-512 `any` packs nothing and leaves [in, out], with which wide layers run at half speed; the transposed
// order that weights come in is the better one there.
bool OneDnn::State::packs_matmul() const {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni: return false;
    default: return true;
  }
}

// `choose` finds the layout for weights that come as `given`; asked once for each key.
template <typename Choose>
Packing& OneDnn::State::packing(const Key& key, const memory::desc& given, const Choose& choose) {
  if (const auto found = packings.find(key); found != packings.end()) return found->second;
  if (packings.size() >= kMostPrimitives) packings.clear();
  const memory::desc layout = choose();
  const memory from(given, engine, nullptr), to(layout, engine, nullptr);
  return packings.emplace(key, Packing{layout_index(layout), blocks_of(layout), from, to, dnnl::reorder(from, to)})
      .first->second;
}

void OneDnn::State::fill(Panel* panel, const float* weight, Compute compute, Packing& packing) {
  PackedWeight& result = reserve(panel, packing.to.get_desc().get_size(), compute);
  result.layout = packing.layout;
  packing.from.set_data_handle(const_cast<float*>(weight));
  packing.to.set_data_handle(result.bytes.get());
  packing.reorder.execute(stream, packing.from, packing.to);
  stream.wait();
}

// `describe` makes a descriptor for weights of a given layout. The panel's own is tried first; where that leaves only
// the reference code, oneDNN chooses anew and the panel is reordered at each call.
template <typename Describe>
Primitive& OneDnn::State::primitive(const Key& key, size_t layout, const memory::desc& any, const Describe& describe) {
  if (const auto found = primitives.find(key); found != primitives.end()) return found->second;
  if (primitives.size() >= kMostPrimitives) primitives.clear();
  auto descriptor = describe(layouts[layout]);
  if (!is_fast(descriptor)) descriptor = describe(any);
  return primitives.emplace(key, prepare(descriptor, layouts[layout])).first->second;
}

template <typename Descriptor>
Primitive OneDnn::State::prepare(const Descriptor& descriptor, const memory::desc& panel_layout) {
  const auto unbound = [this](const memory::desc& desc) { return memory(desc, engine, nullptr); };
  Primitive result;
  result.compute = dnnl::primitive(descriptor.get());
  result.x = unbound(descriptor.src_desc());
  result.w = unbound(descriptor.weights_desc());
  result.y = unbound(descriptor.dst_desc());
  result.scratch = unbound(descriptor.scratchpad_desc());
  if (descriptor.weights_desc() != panel_layout) {
    result.panel = unbound(panel_layout);
    result.repack = dnnl::reorder(result.panel, result.w);
  }
  return result;
}

void OneDnn::State::execute(Primitive& primitive, const void* x, const void* w, float* y) {
  void* weights = const_cast<void*>(w);
  if (primitive.repack) {
    primitive.panel.set_data_handle(weights);
    weights = repacked.reserve(primitive.w.get_desc().get_size());
    primitive.w.set_data_handle(weights);
    primitive.repack->execute(stream, primitive.panel, primitive.w);
  }
  primitive.x.set_data_handle(const_cast<void*>(x));
  primitive.w.set_data_handle(weights);
  primitive.y.set_data_handle(y);
  primitive.scratch.set_data_handle(scratchpad.reserve(primitive.scratch.get_desc().get_size()));
  primitive.compute.execute(stream, {{DNNL_ARG_SRC, primitive.x},
                                     {DNNL_ARG_WEIGHTS, primitive.w},
                                     {DNNL_ARG_DST, primitive.y},
                                     {DNNL_ARG_SCRATCHPAD, primitive.scratch}});
  stream.wait();
}

OneDnn::OneDnn() : state_(guarded([] { return std::make_unique<State>(); })) {}
OneDnn::~OneDnn() = default;

std::string OneDnn::instruction_set() const {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41: return "SSE4.1";
    case dnnl::cpu_isa::avx: return "AVX";
    case dnnl::cpu_isa::avx2: return "AVX2";
    case dnnl::cpu_isa::avx2_vnni: return "AVX2 with VNNI";
    case dnnl::cpu_isa::avx512_core: return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni: return "AVX-512 with VNNI";
    case dnnl::cpu_isa::avx512_core_bf16: return "AVX-512 with BF16";
    case dnnl::cpu_isa::avx512_core_amx: return "AVX-512 with AMX";
    default: return "the processor's own";
  }
}

bool OneDnn::multiplies_bf16() const {
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;  // each has a bit of its own
}

Packing& OneDnn::State::packing(const PackMatmul& pack) {
  const Type type = type_of(pack.compute);
  const memory::dims shape = {pack.in, pack.out};
  const memory::desc given(shape, Type::f32, Tag::ba);
  const auto choose = [&]() -> memory::desc {
    if (!packs_matmul()) return given;
    constexpr int64_t kRows = 1024;  // the layout depends on the weight alone; any number of rows finds it
    const memory::desc any(shape, type, Tag::any);
    return matmul_primitive({rows_desc(kRows, pack.in, type), any, rows_desc(kRows, pack.out, Type::f32)},
                            attributes(false), engine)
        .weights_desc();
  };
  return packing(Key{kPackMatmul, static_cast<int64_t>(type), pack.out, pack.in}, given, choose);
}

std::optional<BlockedLayout> OneDnn::reserve_blocked(const PackMatmul& pack) {
  return guarded([&]() -> std::optional<BlockedLayout> {
    const Packing& packing = state_->packing(pack);
    if (!packing.blocks) return std::nullopt;
    pack.panel->shape = {pack.out, pack.in};
    reserve(pack.panel, packing.to.get_desc().get_size(), pack.compute).layout = packing.layout;
    return packing.blocks;
  });
}

float* OneDnn::reserve_plain(const PackMatmul& pack) {
  return guarded([&]() -> float* {
    const Packing& packing = state_->packing(pack);
    if (packing.from.get_desc() != packing.to.get_desc()) return nullptr;
    pack.panel->shape = {pack.out, pack.in};
    PackedWeight& weight = reserve(pack.panel, packing.to.get_desc().get_size(), pack.compute);
    weight.layout = packing.layout;
    return reinterpret_cast<float*>(weight.bytes.get());
  });
}

void OneDnn::pack(const PackMatmul& pack, const float* rows) {
  guarded([&] {
    pack.panel->shape = {pack.out, pack.in};
    state_->fill(pack.panel, rows, pack.compute, state_->packing(pack));
  });
}

void OneDnn::pack(const PackConv& pack, const float* weight) {
  guarded([&] {
    const Type type = type_of(pack.compute);
    const ConvGeometry& g = pack.geometry;
    const auto choose = [&] {
      const Conv first_use{nullptr, pack.batch, pack.height, pack.width, nullptr, g, nullptr, pack.shape[0]};
      return describe_conv(first_use, pack.shape, type, filter_desc(pack.shape, g.groups, type, false), state_->engine)
          .weights_desc();
    };
    const Shape& s = pack.shape;
    const Key key = {kPackConv,   static_cast<int64_t>(type),
                     s[0],        s[1],
                     s[2],        s[3],
                     g.stride,    g.pad_top,
                     g.pad_left,  g.pad_bottom,
                     g.pad_right, g.groups,
                     pack.batch,  pack.height,
                     pack.width};
    pack.panel->shape = s;
    state_->fill(pack.panel, weight, pack.compute,
                 state_->packing(key, filter_desc(s, g.groups, Type::f32, true), choose));
  });
}

void OneDnn::run(const Matmul& product, const void* x) {
  guarded([&] {
    const int64_t out = product.w->shape[0], in = product.w->shape[1];
    const PackedWeight& weight = packed(product.w);
    const Type type = type_of(weight.compute);
    // The layout tells the type.
    const Key key = {kMatmul, static_cast<int64_t>(weight.layout), product.rows, out, in, product.accumulate};
    const memory::desc any({in, out}, type, Tag::any);
    const auto describe = [&](const memory::desc& w) {
      return matmul_primitive({rows_desc(product.rows, in, type), w, rows_desc(product.rows, out, Type::f32)},
                              attributes(product.accumulate), state_->engine);
    };
    state_->execute(state_->primitive(key, weight.layout, any, describe), x, weight.bytes.get(), product.y);
  });
}

void OneDnn::run(const Conv& conv, const void* x) {
  guarded([&] {
    const Shape& s = conv.w->shape;
    const ConvGeometry& g = conv.geometry;
    const PackedWeight& weight = packed(conv.w);
    const Type type = type_of(weight.compute);
    const Key key = {kConv,        static_cast<int64_t>(weight.layout),
                     conv.batch,   conv.height,
                     conv.width,   s[0],
                     s[1],         s[2],
                     s[3],         g.stride,
                     g.pad_top,    g.pad_left,
                     g.pad_bottom, g.pad_right,
                     g.groups,     conv.accumulate};
    const memory::desc any = filter_desc(s, g.groups, type, false);
    const auto describe = [&](const memory::desc& w) { return describe_conv(conv, s, type, w, state_->engine); };
    state_->execute(state_->primitive(key, weight.layout, any, describe), x, weight.bytes.get(), conv.y);
  });
}

void OneDnn::run(const BatchedMatmul& p) {
  guarded([&] {
    const Type type = type_of(p.compute);
    const Key key = {kBatchedMatmul, static_cast<int64_t>(type), p.count, p.rows, p.out, p.in};
    // Three dimensions are never packed: the transposed order is the one that needs no copy of our own.
    const memory::desc weights({p.count, p.in, p.out}, type, Tag::acb);
    const auto describe = [&](const memory::desc& w) {
      return matmul_primitive(
          {{{p.count, p.rows, p.in}, type, Tag::abc}, w, {{p.count, p.rows, p.out}, Type::f32, Tag::abc}},
          attributes(false), state_->engine);
    };
    state_->execute(state_->primitive(key, state_->layout_index(weights), weights, describe), p.x, p.w, p.y);
  });
}

}  // namespace veneer::device::cpu
