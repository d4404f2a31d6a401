// Reading of the cases, and decoding as a layer does it.
#include "side_cases.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "io/assemble.h"
#include "io/container.h"
#include "tests/support/golden.h"

namespace veneer::test {

namespace {

Json all_cases() {
  const auto text = read_text_file(data_path("quant/side_tensors.json"));
  auto index = text ? parse_json(*text, "side_tensors.json") : Result<Json>(text.error());
  return index ? (*index)["cases"] : Json::array();
}

}  // namespace

std::vector<std::string> side_cases(std::string_view kind) {
  std::vector<std::string> ids;
  for (const Json& entry : all_cases())
    if (entry["kind"] == kind) ids.push_back(entry["id"].get<std::string>());
  return ids;
}

Json side_case(const std::string& id) {
  for (const Json& entry : all_cases())
    if (entry["id"] == id) return entry;
  ADD_FAILURE() << "no case " << id;
  return {};
}

std::string case_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

io::WeightStore quant_store(const std::string& path) {
  auto opened = io::open_weights(data_path("quant/" + path));
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : io::WeightStore();
}

Shape shape_of(const Json& sizes) {
  const auto list = sizes.get<std::vector<int64_t>>();
  return Shape(std::span<const int64_t>(list));
}

std::optional<codec::Weight> join_case(const io::WeightStore& store, const Json& config, const std::string& name,
                                       const Shape& shape) {
  const auto joined = io::assemble_quantized(store, config, "case");
  EXPECT_TRUE(joined) << joined.error().message;
  if (!joined) return std::nullopt;
  codec::Weight weight = joined->weights.find(name)->weight;
  if (weight.side->setting("open_shape", 0) != 0) weight.shape = shape;
  EXPECT_EQ(weight.shape, shape) << weight.shape.to_string();
  const Status checked = weight.codec->check(weight);
  EXPECT_TRUE(checked) << checked.error().message;
  return checked && weight.shape == shape ? std::optional(weight) : std::nullopt;
}

Tensor stored_tensor(const io::WeightStore& store, const std::string& name) {
  const auto weight = store.weight(name);
  EXPECT_TRUE(weight) << weight.error().message;
  return weight ? Tensor::from(weight->decode_all(), weight->shape) : Tensor::zeros({1});
}

Json sdnq_config(const Json& entry) {
  Json config = entry;
  config["quant_method"] = "sdnq";
  config["use_quantized_matmul_conv"] = entry["use_quantized_matmul"];
  return config;
}

io::WeightStore sdnq_layer_of(const io::WeightStore& all, const std::string& id) {
  return all.under(id + ".").renamed([](std::string_view name) {
    static constexpr std::string_view kGolden[] = {"dequant", "x", "y", "adapter", "with_adapters"};
    const bool golden = std::ranges::any_of(kGolden, [&](std::string_view start) { return name.starts_with(start); });
    return golden ? std::string() : "layer." + std::string(name);
  });
}

Tensor decode_joined(const io::WeightStore& store, const Json& config, const std::string& name, const Shape& shape) {
  const auto weight = join_case(store, config, name, shape);
  if (!weight) return Tensor::zeros({1});
  const std::vector<float> all = weight->decode_all();
  std::vector<float> row(static_cast<size_t>(weight->row_values()));
  for (int64_t r = 0; r < weight->rows(); ++r) {
    weight->decode_rows(r, 1, row.data());
    EXPECT_EQ(std::memcmp(row.data(), all.data() + r * weight->row_values(), row.size() * sizeof(float)), 0) << r;
  }
  return Tensor::from(all, shape);
}

}  // namespace veneer::test
