// How a weight is stored, in words for people.
#pragma once

#include <string>

#include "io/weight_store.h"

namespace veneer::pipeline {

// "f16", "q4_K", "I64"; with what stands beside the codes where there is something: "sdnq uint4, groups of 64, low rank
// 32", "f8_e4m3, a scale a row", "int8, one scale, rotated by 256".
std::string storage_words(const io::Entry& entry);

}  // namespace veneer::pipeline
