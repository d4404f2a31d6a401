// The cases of tests/data/quant/side_tensors.json: reference weights made by sdnq, comfy-kitchen and bitsandbytes
// (their versions stand in that file), with what each is to be decoded to.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/tensor.h"
#include "io/weight_store.h"

namespace veneer::test {

// The names of all cases of one kind ("sdnq_tensor"), in the order of the file.
std::vector<std::string> side_cases(std::string_view kind);
Json side_case(const std::string& id);
// For names of parameterised tests.
std::string case_name(const testing::TestParamInfo<std::string>& info);

// A file under tests/data/quant, as stored. Fails the test when it cannot be opened.
io::WeightStore quant_store(const std::string& path);

Shape shape_of(const Json& sizes);

// A plain tensor of a store. Fails the test when there is none.
Tensor stored_tensor(const io::WeightStore& store, const std::string& name);

// The configuration of an SDNQ case: the case's own fields are those of the library's.
Json sdnq_config(const Json& entry);
// What a file would hold of an SDNQ case, as a layer named "layer".
io::WeightStore sdnq_layer_of(const io::WeightStore& all, const std::string& id);

// The named weight of `store` after its quantized tensors have been joined under `config`, as a layer of this shape
// takes it. Fails the test, and is empty, when that can not be done.
std::optional<codec::Weight> join_case(const io::WeightStore& store, const Json& config, const std::string& name,
                                       const Shape& shape);

// That weight decoded. Every row decoded by itself must equal the same row of the whole.
Tensor decode_joined(const io::WeightStore& store, const Json& config, const std::string& name, const Shape& shape);

}  // namespace veneer::test
