// The cases of tests/data/quant/side_tensors.json: reference weights made by sdnq, comfy-kitchen and bitsandbytes
// (their versions stand in that file), with what each is to be decoded to.
#pragma once

#include <gtest/gtest.h>

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

// The named weight of `store` decoded, after its quantized tensors have been joined under `config`. Where the file does
// not tell the layer's shape, it is taken to be `shape`, as a layer would. Every row decoded by itself must equal the
// same row of the whole.
Tensor decode_joined(const io::WeightStore& store, const Json& config, const std::string& name, const Shape& shape);

}  // namespace veneer::test
