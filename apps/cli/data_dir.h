// Where the program's own data lie: the model that ships with it and the CLIP vocabulary.
#pragma once

#include <filesystem>

namespace veneer::cli {

constexpr const char* kEmbeddedModel = "emoji-v1";

// `variable` is the value of VENEER_DATA_DIR, or null; set and not empty, it decides. Otherwise the first that exists
// of share/veneer beside the program's folder (installed) and `data` in it (as built); the first of them if neither
// does.
std::filesystem::path find_data_dir(const char* variable, const std::filesystem::path& program_folder);
// The same with this process's environment and place.
std::filesystem::path data_dir();

std::filesystem::path embedded_model(const std::filesystem::path& data);
// What `-m given` means: the embedded model for its bare name, unless a file of that name exists; else `given`.
std::filesystem::path model_named(const std::filesystem::path& given, const std::filesystem::path& data);

}  // namespace veneer::cli
