// Translation by prefix, and fused modules taken apart.
#include "model/name_map.h"

#include <gtest/gtest.h>

#include <numeric>

namespace veneer::model {
namespace {

io::Entry counted(const std::string& name, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0f);
  return {codec::weight_from(values, shape, *codec::find_codec("f32"), name), "F32"};
}

io::WeightStore store_of(const std::map<std::string, Shape>& shapes) {
  io::WeightStore::Entries entries;
  for (const auto& [name, shape] : shapes) entries.emplace(name, counted(name, shape));
  return {std::move(entries), {}, {}};
}

TEST(NameMap, LongestPrefixWins) {
  NameMap map;
  map.add("a", "x");
  map.add("a.b", "y");
  EXPECT_EQ(map("a.b.weight"), "y.weight");
  EXPECT_EQ(map("a.c.weight"), "x.c.weight");
  EXPECT_EQ(map("ab.weight"), "ab.weight");
}

TEST(NameMap, FusedModulesAreTakenApart) {
  NameMap map;
  map.add_fused("a.qkv", {{"q", 1}, {"k", 1}, {"v", 2}});
  map.add("a", "x");
  const io::WeightStore store =
      map.apply(store_of({{"a.qkv.weight", {4, 2}}, {"a.qkv.bias", {4}}, {"a.proj.weight", {1, 1}}}));
  EXPECT_EQ(names_of(store),
            NameSet({"q.weight", "k.weight", "v.weight", "q.bias", "k.bias", "v.bias", "x.proj.weight"}));
  EXPECT_EQ(store.weight("k.weight")->decode_all(), std::vector<float>({2, 3}));
  EXPECT_EQ(store.weight("v.weight")->decode_all(), std::vector<float>({4, 5, 6, 7}));
  EXPECT_EQ(store.weight("v.bias")->decode_all(), std::vector<float>({2, 3}));
}

TEST(NameMap, HalvesChangePlaces) {
  NameMap map;
  map.add_fused("a", {{"b", 4}}, 2);
  const io::WeightStore store = map.apply(store_of({{"a.bias", {4}}}));
  EXPECT_EQ(store.weight("b.bias")->decode_all(), std::vector<float>({2, 3, 0, 1}));
}

TEST(NameMap, WrongNumberOfRowsStaysVisible) {
  NameMap map;
  map.add_fused("a", {{"q", 2}, {"k", 2}});
  map.add_fused("b", {{"r", -1}, {"s", 4}});
  const io::WeightStore store = map.apply(store_of({{"a.weight", {3, 2}}, {"b.weight", {3, 2}}}));
  for (const char* name : {"q.weight", "k.weight", "r.weight", "s.weight"})
    EXPECT_EQ(store.find(name)->weight.shape, Shape({3, 2})) << name;
}

}  // namespace
}  // namespace veneer::model
