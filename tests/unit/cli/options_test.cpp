// The option tables: what each option sets, and how a command line that is wrong is answered.
#include "options.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "core/format.h"
#include "image_options.h"

namespace veneer::cli {
namespace {

struct Parsed {
  ImageOptions options;
  ConsoleOptions console;
  Result<std::string> help = std::string();
};

Parsed parse(const std::vector<std::string>& args) {
  Parsed parsed;
  parsed.help = parse_options(image_option_table(parsed.options, parsed.console), args);
  return parsed;
}

// A good command line and a condition on what it sets.
struct Good {
  std::vector<std::string> args;
  bool (*holds)(const Parsed& parsed);
};

const Good kGood[] = {
    {{"-p", "a fox"}, [](const Parsed& p) { return p.options.request.prompt == "a fox"; }},
    {{"--prompt", ""}, [](const Parsed& p) { return p.options.request.prompt.empty(); }},
    // Texts are taken as they are, whatever they look like.
    {{"-p", "[a, b]"}, [](const Parsed& p) { return p.options.request.prompt == "[a, b]"; }},
    {{"-p", "-x"}, [](const Parsed& p) { return p.options.request.prompt == "-x"; }},
    {{"-p", "--json"}, [](const Parsed& p) { return p.options.request.prompt == "--json" && !p.console.json; }},
    {{"-p", "\"q\" {} %% \\"}, [](const Parsed& p) { return p.options.request.prompt == "\"q\" {} %% \\"; }},
    {{"-n", "blurry"}, [](const Parsed& p) { return p.options.request.negative_prompt == "blurry"; }},
    {{"-W", "640", "-H", "384"},
     [](const Parsed& p) { return p.options.request.width == 640 && p.options.request.height == 384; }},
    {{"-s", "-1"}, [](const Parsed& p) { return p.options.request.seed == -1; }},
    {{"--seed", "9007199254740993"}, [](const Parsed& p) { return p.options.request.seed == 9007199254740993; }},
    {{"--steps", "3", "--steps", "5"}, [](const Parsed& p) { return p.options.request.steps == 5; }},
    {{"--cfg-scale", "1.5"}, [](const Parsed& p) { return p.options.request.cfg_scale == 1.5; }},
    {{"--eta", "0"}, [](const Parsed& p) { return p.options.request.eta == 0.0; }},
    {{}, [](const Parsed& p) { return !p.options.request.eta && p.options.request.seed == 42; }},
    {{"--sampling-method", "dpm++2m"}, [](const Parsed& p) { return p.options.request.sampler->name == "dpm++2m"; }},
    {{"--scheduler", "normal"}, [](const Parsed& p) { return p.options.request.schedule->name == "discrete"; }},
    {{"--sigmas", "14.6,3.2,0"},
     [](const Parsed& p) {
       return p.options.request.sigmas == std::vector<double>({14.6, 3.2, 0});
     }},
    {{"--rng", "cpu"}, [](const Parsed& p) { return p.options.request.rng == sample::GeneratorKind::kCpu; }},
    {{"--prediction", "v"}, [](const Parsed& p) { return p.options.session.prediction == sample::Prediction::kV; }},
    {{"--clip_l", "l.safetensors"}, [](const Parsed& p) { return p.options.session.paths.clip_l == "l.safetensors"; }},
    {{"--tae", "t.safetensors"}, [](const Parsed& p) { return p.options.session.paths.tiny_vae == "t.safetensors"; }},
    {{"--no-mmap"}, [](const Parsed& p) { return p.options.session.paths.mode == MappedFile::Mode::kRead; }},
    {{"--reproducible"}, [](const Parsed& p) { return p.options.session.strict; }},
    {{"--backend", "cpu", "--backend", "vae=ref"},
     [](const Parsed& p) { return p.options.session.backend == "cpu,vae=ref"; }},
    {{"--vae-tile-size", "48x16"},
     [](const Parsed& p) {
       return p.options.request.tiling.tile_width == 48 && p.options.request.tiling.tile_height == 16;
     }},
    {{"--vae-relative-tile-size", "0.5"},
     [](const Parsed& p) {
       return p.options.request.tiling.relative_width == 0.5 && p.options.request.tiling.relative_height == 0.5;
     }},
    {{"--disable-image-metadata"}, [](const Parsed& p) { return !p.options.image_metadata; }},
    {{"-o", "-"}, [](const Parsed& p) { return p.options.output == "-"; }},
    {{"--preview", "proj"},
     [](const Parsed& p) { return p.options.request.preview == pipeline::PreviewMode::kProjection; }},
    {{"-vq", "--json"}, [](const Parsed& p) { return p.console.verbose && p.console.quiet && p.console.json; }},
    {{"--fa"}, [](const Parsed& p) { return p.options.no_effect.empty(); }},
    {{"--ram", "1.5"}, [](const Parsed& p) { return p.options.session.panel_cache_bytes == uint64_t{3} << 29; }},
    {{"--ram", "0"}, [](const Parsed& p) { return p.options.session.panel_cache_bytes == uint64_t{0}; }},
    {{"--type", "q8_0"}, [](const Parsed& p) { return p.options.types.type == "q8_0"; }},
    {{"--tensor-type-rules", "a=f16", "--tensor-type-rules", "b=f32"},
     [](const Parsed& p) { return p.options.types.rules == "a=f16,b=f32"; }},
    {{"--guidance", "3.5", "--vae-conv-direct"}, [](const Parsed& p) { return p.options.no_effect.size() == 1; }},
    {{"--guidance", "3.5", "--img-cfg-scale", "1.2"},
     [](const Parsed& p) { return p.options.request.guidance == 3.5 && p.options.request.image_cfg_scale == 1.2; }},
};

TEST(Options, SetWhatTheySay) {
  for (const Good& good : kGood) {
    const Parsed parsed = parse(good.args);
    ASSERT_TRUE(parsed.help) << parsed.help.error().message;
    EXPECT_TRUE(parsed.help->empty());
    EXPECT_TRUE(good.holds(parsed)) << join(good.args, " ");
  }
}

struct Bad {
  std::vector<std::string> args;
  ErrorCode code;
  const char* where;
  const char* message;  // how it starts
};

const Bad kBad[] = {
    {{"--stepz", "3"}, ErrorCode::kUsage, "--stepz", "--stepz: is not known; did you mean --steps?"},
    {{"--clip-l", "x"}, ErrorCode::kUsage, "--clip-l", "--clip-l: is not known; did you mean --clip_l?"},
    {{"-x"}, ErrorCode::kUsage, "-x", "-x: is not known"},
    {{"a fox"}, ErrorCode::kUsage, "a fox", "argument \"a fox\": is not expected here"},
    {{"--steps"}, ErrorCode::kUsage, "--steps", "--steps: expected a value after it, found none"},
    {{"--steps", "many"}, ErrorCode::kUsage, "--steps", "--steps: expected a whole number, found \"many\""},
    {{"--steps", "2.5"}, ErrorCode::kUsage, "--steps", "--steps: expected a whole number, found \"2.5\""},
    {{"--steps", "3000000000"}, ErrorCode::kUsage, "--steps", "--steps: expected a whole number of at most 31 bits"},
    {{"-W", ""}, ErrorCode::kUsage, "--width", "--width: expected a whole number, found \"\""},
    {{"-s", "99999999999999999999"}, ErrorCode::kUsage, "--seed", "--seed: expected a whole number"},
    {{"--cfg-scale", "nan"}, ErrorCode::kUsage, "--cfg-scale", "--cfg-scale: expected a number, found \"nan\""},
    {{"--eta", "x"}, ErrorCode::kUsage, "--eta", "--eta: expected a number"},
    {{"-m", ""}, ErrorCode::kUsage, "--model", "--model: expected a file or folder"},
    {{"--sampling-method", "eulr"}, ErrorCode::kUsage, "--sampling-method", "--sampling-method: "},
    {{"--scheduler", "karas"}, ErrorCode::kUsage, "--scheduler", "--scheduler: "},
    {{"--rng", "std_default"}, ErrorCode::kUnsupported, "--rng", "--rng: "},
    {{"--compute", "f16"}, ErrorCode::kUsage, "--compute", "--compute: expected one of auto, f32, bf16, found \"f16\""},
    {{"--vae-tile-size", "1x2x3"},
     ErrorCode::kUsage,
     "--vae-tile-size",
     "--vae-tile-size: expected one or two numbers"},
    {{"--vae-tile-size", "32x"}, ErrorCode::kUsage, "--vae-tile-size", "--vae-tile-size: expected a whole number"},
    {{"--sigmas", "1,x"}, ErrorCode::kUsage, "--sigmas", "--sigmas: "},
    {{"--json=maybe"}, ErrorCode::kUsage, "--json", "--json: takes no value"},
    {{"--lora", "a.safetensors:high"}, ErrorCode::kUsage, "--adapter", "--adapter: "},
    {{"--lora-apply-mode", "later"}, ErrorCode::kUsage, "--lora-apply-mode", "--lora-apply-mode: expected auto, "},
    {{"--lora-cache-mb", "-1"}, ErrorCode::kUsage, "--lora-cache-mb", "--lora-cache-mb: expected a number of MiB"},
    {{"--ram", "-1"}, ErrorCode::kUsage, "--ram", "--ram: expected GiB from 0"},
    {{"--ram", "nan"}, ErrorCode::kUsage, "--ram", "--ram: expected a number"},
    {{"--imat-in", "x"}, ErrorCode::kUnsupported, "--imat-in", "--imat-in: is reserved"},
    {{"--hires"}, ErrorCode::kUnsupported, "--hires", "--hires: is reserved"},
    {{"-r", "x.png"}, ErrorCode::kUnsupported, "--ref-image", "--ref-image: is reserved"},
};

TEST(Options, AnswerWhatIsWrong) {
  for (const Bad& bad : kBad) {
    const Parsed parsed = parse(bad.args);
    ASSERT_FALSE(parsed.help) << join(bad.args, " ");
    const Error& error = parsed.help.error();
    EXPECT_EQ(error.code, bad.code) << error.message;
    EXPECT_EQ(error.where, bad.where) << error.message;
    EXPECT_EQ(error.message.substr(0, std::strlen(bad.message)), bad.message);
  }
}

TEST(Options, HelpListsEveryRowThatIsNotReserved) {
  const Parsed parsed = parse({"--steps", "3", "--help"});
  ASSERT_TRUE(parsed.help);
  EXPECT_EQ(parsed.options.request.steps, 20) << "nothing is set when help is asked for";
  ImageOptions options;
  ConsoleOptions console;
  for (const OptionGroup& group : image_option_table(options, console).groups) {
    for (const Option& row : group.options) {
      const bool listed = contains(*parsed.help, row.names.substr(row.names.rfind(',') + 1) + " ");
      EXPECT_EQ(listed, !row.help.empty()) << row.names;
    }
  }
}

TEST(Options, NamesAreUnique) {
  ImageOptions options;
  ConsoleOptions console;
  std::set<std::string> seen;
  for (const OptionGroup& group : image_option_table(options, console).groups)
    for (const Option& row : group.options)
      for (const std::string& name : split(row.names, ',')) EXPECT_TRUE(seen.insert(name).second) << name;
}

TEST(Options, ANamelessArgumentIsSet) {
  std::filesystem::path target;
  const OptionTable table{"veneer inspect", "Inspects.", {{"Input", {{"PATH", "PATH", "what", path(target)}}}}};
  const std::vector<std::string> one = {"a.safetensors"}, two = {"a.safetensors", "b.safetensors"};
  ASSERT_TRUE(parse_options(table, one));
  EXPECT_EQ(target, "a.safetensors");
  const auto result = parse_options(table, two);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "b.safetensors");
}

}  // namespace
}  // namespace veneer::cli
