// Which program this is, for pictures and reports.
#pragma once

#include <string_view>

namespace veneer::pipeline {

std::string_view version();  // "0.1.0"
std::string_view commit();   // abbreviated, with "-dirty" after local changes; empty when built outside a checkout

}  // namespace veneer::pipeline
