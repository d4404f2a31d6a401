// What an adapter file holds, as data: its keys by component and family, ranks, number formats, what its trainer wrote,
// and what is wrong with it. Told from the file alone; knows no model.
#pragma once

#include "adapt/adapter.h"
#include "core/json.h"

namespace veneer::adapt {

// One row of a list: {"name", "path", "bytes", "family", "rank": "8" or "4, 8", "keys", "base", "sha256", "auto_v2",
// "auto_v3"}. "base" is the model that it was made for, in its trainer's words or, failing these, by its shapes.
Json summarize(const Adapter& adapter);

// The row, and {"components": {NAME: {"modules", "keys"}}, "families", "ranks", "alphas": {VALUE: modules}, "types":
// {TYPE: keys}, "looks_like": {"family", "evidence"} or null, "trainer", "trigger_words", "embeddings", "ignored":
// [{"key", "rule"}], "defects": [{"key", "what"}], "metadata"}. Reads all numbers of the file.
Json describe(const Adapter& adapter);

}  // namespace veneer::adapt
