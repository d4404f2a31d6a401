// Writing tensors piece by piece: any order, several threads, and nothing left behind by what is not finished.
#include "io/tensor_file.h"

#include <thread>

#include "io/container.h"
#include "test_files.h"

namespace veneer::io {
namespace {

std::unique_ptr<TensorFileWriter> open_writer(const std::filesystem::path& path, const std::vector<TensorPlan>& plans,
                                              const std::map<std::string, std::string>& metadata = {}) {
  auto layout = safetensors_layout(plans, metadata);
  EXPECT_TRUE(layout) << layout.error().message;
  auto writer = TensorFileWriter::create(path, *std::move(layout));
  EXPECT_TRUE(writer) << writer.error().message;
  return *std::move(writer);
}

int64_t files_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

const std::vector<std::byte> kFour(4, std::byte{7});

TEST(TensorFile, PiecesOfSeveralThreadsAreTheFileWrittenAtOnce) {
  const ScratchFolder scratch;
  std::vector<float> a(3000), b(500);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  for (size_t i = 0; i < b.size(); ++i) b[i] = -static_cast<float>(i);
  const auto bytes_a = std::as_bytes(std::span(a)), bytes_b = std::as_bytes(std::span(b));
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  ASSERT_TRUE(
      write_safetensors(scratch / "whole", {{"a", "F32", {3000}, bytes_a}, {"b", "F16", {1000}, bytes_b}}, metadata));

  const auto writer = open_writer(scratch / "pieces", {{"b", "F16", {1000}}, {"a", "F32", {3000}}}, metadata);
  std::vector<std::thread> threads;
  for (const uint64_t part : {3, 1, 0, 2})
    threads.emplace_back([&, part] { EXPECT_TRUE(writer->write(1, part * 3000, bytes_a.subspan(part * 3000, 3000))); });
  EXPECT_TRUE(writer->write(0, 0, bytes_b));
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(std::filesystem::exists(scratch / "pieces")) << "seen before it is whole";
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(*read_text_file(scratch / "pieces"), *read_text_file(scratch / "whole"));
}

TEST(TensorFile, LeavesTheOldFileWhenItIsGivenUp) {
  const ScratchFolder scratch;
  scratch.write("x", "old");
  {
    const auto writer = open_writer(scratch / "x", {{"a", "F32", {1}}});
    EXPECT_TRUE(writer->write(0, 0, kFour));
  }
  EXPECT_EQ(*read_text_file(scratch / "x"), "old");
  EXPECT_EQ(files_in(scratch.path()), 1) << "a temporary file was left";
}

// A caller that forgets bytes, or writes beyond a tensor, has a fault of its own.
TEST(TensorFile, ChecksItsCaller) {
  const ScratchFolder scratch;
  const auto writer = open_writer(scratch / "x", {{"a", "F32", {2}}});
  EXPECT_THROW((void)writer->write(1, 0, {}), std::logic_error);
  EXPECT_THROW((void)writer->write(0, 5, kFour), std::logic_error);
  EXPECT_THROW((void)writer->write(0, UINT64_MAX, kFour), std::logic_error);
  EXPECT_TRUE(writer->write(0, 4, kFour));
  EXPECT_THROW((void)writer->commit(), std::logic_error);
  EXPECT_TRUE(writer->write(0, 0, kFour));
  EXPECT_TRUE(writer->commit());
}

TEST(SafetensorsLayout, RefusesWhatNoReaderWouldTake) {
  const auto refusal = [](const std::vector<TensorPlan>& plans) {
    const auto layout = safetensors_layout(plans, {});
    return layout ? "accepted" : layout.error().message;
  };
  EXPECT_EQ(refusal({{"x", "F8_E4M3", {3}}, {"y", "U8", {0}}}), "accepted");
  EXPECT_EQ(refusal({{"x", "Q8_0", {32}}}),
            "tensor x: safetensors cannot hold Q8_0 [32]; write another type or format");
  EXPECT_EQ(refusal({{"x", "F32", {1}}, {"x", "F16", {1}}}), "tensor x: the name would occur twice in the file");
  EXPECT_TRUE(contains(refusal({{"__metadata__", "F32", {1}}}), "would occur twice"));
  EXPECT_TRUE(contains(refusal({{"\xFF", "F32", {1}}}), "is not UTF-8"));
}

}  // namespace
}  // namespace veneer::io
