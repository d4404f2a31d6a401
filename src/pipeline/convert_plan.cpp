// Planning a conversion, component by component.
#include "pipeline/convert_plan.h"

#include <algorithm>
#include <set>

#include "codec/form_of.h"
#include "codec/sdnq_encode.h"
#include "codec/side_factors.h"
#include "core/format.h"
#include "io/gguf_write.h"
#include "io/printable.h"
#include "io/safetensors_header.h"
#include "pipeline/convert_metadata.h"

namespace veneer::pipeline {
namespace {

namespace fs = std::filesystem;
using io::KeepReason;

Error unsupported(const std::string& name, std::string_view type, std::string_view why) {
  return {ErrorCode::kUnsupported, concat("tensor ", io::printable(name), ": ", type, " ", why), name};
}

Error no_place(const std::string& name, std::string_view type, ConvertTarget target) {
  const std::string_view other = target == ConvertTarget::kGguf ? "a .safetensors file or a folder"
                                 : type == "sdnq"               ? "a folder"
                                                                : "a .gguf file";
  return unsupported(name, type,
                     concat("has no place in a ", target == ConvertTarget::kGguf ? "GGUF" : "safetensors",
                            " file; give another type by --type, or name ", other, " as output"));
}

// The layer of a weight's name; empty for a tensor that is named otherwise.
std::string layer_of(std::string_view name) {
  constexpr std::string_view kSuffix = ".weight";
  return name.ends_with(kSuffix) ? std::string(name.substr(0, name.size() - kSuffix.size())) : std::string();
}

// The shape that a weight is stored by: its file's, or the layer's where the file does not tell.
const Shape& shape_of(const codec::Weight& weight, const WeightChange* change) {
  return change && weight.shape_is_open() ? change->shape : weight.shape;
}

// Whether a weight of this form keeps the change in its side factors.
bool joins_factors(const WeightChange* change, const io::TargetType& type) {
  return change && change->low_rank && type.is_sdnq();
}
bool joins_factors(const WeightChange* change, const codec::Weight& weight) {
  return change && change->low_rank && weight.codec->name == "sdnq";
}

// The form in which an SDNQ weight's codes are stored when side factors come to it afterwards: the groups are those
// that it would have without them.
io::TargetType without_more_factors(io::TargetType type, const Shape& shape) {
  auto& form = std::get<codec::SdnqForm>(type.form);
  form.group_size = codec::sdnq_group(form, shape);
  return type;
}

// Makes room for a change in the low-rank part of these tensors of an SDNQ weight, whose rank is returned.
int64_t add_rank(std::vector<codec::StoredTensor>& tensors, const Shape& shape, const LowRankChange& change) {
  int64_t rank = change.rank;
  for (const codec::StoredTensor& tensor : tensors)
    if (tensor.suffix == ".svd_up") rank += tensor.shape[1];
  std::erase_if(tensors, [](const codec::StoredTensor& tensor) { return tensor.suffix.starts_with(".svd_"); });
  tensors.push_back({".svd_up", "F32", {shape[0], rank}});
  tensors.push_back({".svd_down", "F32", {rank, shape.elements() / shape[0]}});
  return rank;
}

// What one component's weights become.
using Decisions = std::map<std::string, io::TypeRules::Decision, std::less<>>;

class ComponentPlanner {
 public:
  ComponentPlanner(const ConvertComponent& component, const ConvertOptions& options, ConvertTarget target,
                   ConvertPlan& plan, const ConvertChanges* changes)
      : component_(component), options_(options), target_(target), plan_(plan), changes_(changes), names_(component) {}

  // Adds the component's tensors to `file`, what they need said of them to `notes`.
  Status add_to(ConvertFile& file, ConvertNotes& notes);

 private:
  Status decide();
  Result<io::TypeRules::Decision> decide_one(const std::string& name, const io::Entry& entry);
  Result<io::TypeRules::Decision> keep(io::TypeRules::Decision decision, const io::Entry& entry) const;
  bool holds(const io::Entry& entry) const;
  const WeightChange* change_of(const io::Entry& entry) const {
    return changes_ ? changes_->find(component_, entry.weight.name) : nullptr;
  }
  std::set<std::string, std::less<>> side_tensors_to_drop() const;
  Status add_copy(const std::string& name, const io::Entry& entry, ConvertFile& file, ConvertNotes& notes) const;
  Status add_encoded(const std::string& name, const io::Entry& entry, ConvertFile& file, ConvertNotes& notes) const;
  const io::Entry* with_shape(const io::Entry& entry, const Shape& shape, ConvertFile& file) const;
  void add_factors(const std::string& name, const io::Entry& entry, ConvertFile& file, ConvertNotes& notes) const;
  std::string out_name(std::string_view name) const;

  const ConvertComponent& component_;
  const ConvertOptions& options_;
  const ConvertTarget target_;
  ConvertPlan& plan_;
  const ConvertChanges* const changes_;  // or null
  const ComponentNames names_;
  Decisions decisions_;
};

// Whether the target can hold an entry of the joined view as it is.
bool ComponentPlanner::holds(const io::Entry& entry) const {
  const codec::Weight& weight = entry.weight;
  if (target_ == ConvertTarget::kGguf) return !weight.side && io::gguf_can_hold(entry.type_name);
  const bool configured = weight.side && weight.codec->name == "sdnq";
  return io::find_safetensors_type(entry.type_name) != nullptr && (!configured || target_ == ConvertTarget::kFolder);
}

// A tensor that stays as it is, unless its values change: then it is stored anew in the type that it has.
Result<io::TypeRules::Decision> ComponentPlanner::keep(io::TypeRules::Decision decision, const io::Entry& entry) const {
  const WeightChange* change = change_of(entry);
  if (!change || joins_factors(change, entry.weight)) return decision;
  codec::Weight weight = entry.weight;
  weight.shape = shape_of(entry.weight, change);
  const auto form = codec::form_of(weight);
  if (!form)
    return unsupported(weight.name, weight.codec->name,
                       "is a type that is only read, and its values change; give another type by --type");
  decision.type = {std::string(weight.codec->name), *form};
  decision.keep = KeepReason::kNone;
  return decision;
}

// A tensor that stays only because of its name or shape must still find a place in the target: it is widened, exactly.
Result<io::TypeRules::Decision> ComponentPlanner::decide_one(const std::string& name, const io::Entry& entry) {
  io::TypeRules::Decision decision = options_.rules.decide(names_.canonical(name), entry);
  plan_.use.count(decision);
  if (decision.converts()) return decision;
  if (holds(entry)) return keep(std::move(decision), entry);
  const std::string_view type = entry.weight.codec ? entry.weight.codec->name : std::string_view(entry.type_name);
  if (entry.weight.codec == nullptr || entry.weight.shape_is_open() || options_.rules.empty())
    return no_place(entry.weight.name, type, target_);
  const bool exact_in_f16 = type == "f8_e4m3" || type == "f8_e5m2";
  VENEER_TRY(wider, io::target_named(exact_in_f16 ? "f16" : "f32"));
  decision.type = std::move(wider);
  decision.keep = KeepReason::kNone;
  return decision;
}

Status ComponentPlanner::decide() {
  for (const auto& [name, entry] : component_.joined.entries()) {
    VENEER_TRY(decision, decide_one(name, entry));
    decisions_.emplace(name, std::move(decision));
  }
  return {};
}

// Side tensors and records of weights that are encoded anew: all that is stored under their layer and is not in the
// joined view. Markers and input scales of a file whose weights all lose their side tensors go as well.
std::set<std::string, std::less<>> ComponentPlanner::side_tensors_to_drop() const {
  std::set<std::string, std::less<>> drop;
  bool keeps_some = false, encodes_some = false;
  for (const auto& [name, decision] : decisions_) {
    const io::Entry& entry = *component_.joined.find(name);
    if (!entry.weight.side) continue;
    (decision.converts() ? encodes_some : keeps_some) = true;
    const std::string prefix = layer_of(name) + ".";
    if (!decision.converts() && change_of(entry)) drop.insert({prefix + "svd_up", prefix + "svd_down"});
    if (!decision.converts()) continue;
    for (auto it = component_.stored.entries().lower_bound(prefix);
         it != component_.stored.entries().end() && it->first.starts_with(prefix); ++it)
      if (!component_.joined.contains(it->first)) drop.insert(it->first);
  }
  if (encodes_some && !keeps_some)
    for (const auto& [name, entry] : component_.stored.entries())
      if (!component_.joined.contains(name)) drop.insert(name);
  return drop;
}

std::string ComponentPlanner::out_name(std::string_view name) const {
  if (target_ == ConvertTarget::kFolder) return std::string(name);
  return options_.canonical_names ? names_.canonical(name) : names_.prefixed(name);
}

Status ComponentPlanner::add_copy(const std::string& name, const io::Entry& entry, ConvertFile& file,
                                  ConvertNotes& notes) const {
  const codec::Weight& weight = entry.weight;
  if (const bool known = target_ == ConvertTarget::kGguf ? io::gguf_can_hold(entry.type_name)
                                                         : io::find_safetensors_type(entry.type_name) != nullptr;
      !known)
    return no_place(weight.name, entry.type_name, target_);
  file.jobs.push_back({&entry, std::nullopt, file.tensors.size()});
  io::TensorPlan tensor{out_name(name), entry.type_name, weight.shape};
  if (target_ == ConvertTarget::kGguf) notes.fit_into_record(tensor, weight.codec);
  file.tensors.push_back(std::move(tensor));
  return {};
}

const io::Entry* ComponentPlanner::with_shape(const io::Entry& entry, const Shape& shape, ConvertFile& file) const {
  auto made = std::make_shared<io::Entry>(entry);
  made->weight.shape = shape;
  file.made.push_back(made);
  return made.get();
}

Status ComponentPlanner::add_encoded(const std::string& name, const io::Entry& entry, ConvertFile& file,
                                     ConvertNotes& notes) const {
  io::TargetType type = decisions_.find(name)->second.type;
  const WeightChange* change = change_of(entry);
  const Shape& shape = shape_of(entry.weight, change);
  const bool joins = joins_factors(change, type);
  if (joins) type = without_more_factors(std::move(type), shape);
  file.jobs.push_back({change ? with_shape(entry, shape, file) : &entry, type, file.tensors.size(), change});
  const std::string layer = layer_of(name);
  std::vector<codec::StoredTensor> tensors = codec::stored_tensors(type.form, shape);
  if (joins) std::get<codec::SdnqForm>(type.form).svd_rank = add_rank(tensors, shape, *change->low_rank);
  for (const codec::StoredTensor& stored : tensors) {
    const std::string own = stored.suffix.empty() ? name : concat(layer, stored.suffix);
    if (own != name && component_.joined.contains(own))
      return unsupported(own, type.name, "needs a tensor of this name, and the model has one");
    file.tensors.push_back({out_name(own), stored.type, stored.shape});
  }
  notes.add_encoded(out_name(layer), layer, type);
  return {};
}

// The low-rank factors of a weight that stays, with the change in them.
void ComponentPlanner::add_factors(const std::string& name, const io::Entry& entry, ConvertFile& file,
                                   ConvertNotes& notes) const {
  const WeightChange& change = *change_of(entry);
  codec::Weight weight = entry.weight;
  weight.shape = shape_of(entry.weight, &change);
  const auto& [up, down, rank] = *change.low_rank;
  const auto joined = codec::with_side_factors(weight, up, down, rank);
  VENEER_CHECK(joined.has_value());
  for (const char* part : {"svd_up", "svd_down"}) {
    const codec::Weight& factor = *joined->side->find(part);
    const auto made = std::make_shared<const io::Entry>(io::Entry{factor, codec::type_name(*factor.codec)});
    file.made.push_back(made);
    file.jobs.push_back({made.get(), std::nullopt, file.tensors.size()});
    file.tensors.push_back({out_name(concat(layer_of(name), ".", part)), made->type_name, factor.shape});
  }
  const Shape& up_shape = joined->side->find("svd_up")->shape;
  notes.add_factors(name, up_shape.elements() / weight.rows());
}

Status ComponentPlanner::add_to(ConvertFile& file, ConvertNotes& notes) {
  VENEER_TRY_STATUS(decide());
  const auto drop = side_tensors_to_drop();
  for (const auto& [name, entry] : component_.stored.entries()) {
    if (drop.contains(name)) continue;
    const auto decision = decisions_.find(name);
    if (decision != decisions_.end() && decision->second.converts()) {
      VENEER_TRY_STATUS(add_encoded(name, *component_.joined.find(name), file, notes));
      continue;
    }
    VENEER_TRY_STATUS(add_copy(name, entry, file, notes));
    if (decision == decisions_.end()) continue;
    const io::Entry& joined = *component_.joined.find(name);
    notes.add_kept(out_name(layer_of(name)), layer_of(name), joined.weight);
    if (change_of(joined)) add_factors(name, joined, file, notes);
  }
  return {};
}

// A text encoder's weights have another name than those of the diffusers library itself.
fs::path weights_path(const ConvertComponent& component) {
  const bool text =
      component.folder.starts_with("text_encoder") || component.joined.contains("text_model.final_layer_norm.weight");
  return fs::path(component.folder) / (text ? "model.safetensors" : "diffusion_pytorch_model.safetensors");
}

}  // namespace

Result<ConvertTarget> convert_target(const fs::path& output) {
  const std::string extension = lower_ascii(output.extension().string());
  std::error_code ignored;
  if (fs::is_directory(output, ignored)) return ConvertTarget::kFolder;
  if (extension == ".safetensors") return ConvertTarget::kSafetensors;
  if (extension == ".gguf") return ConvertTarget::kGguf;
  if (extension.empty()) return ConvertTarget::kFolder;
  return Error{ErrorCode::kUsage,
               concat("--output ", output.string(), ": expected a name with .safetensors or .gguf, or a folder"),
               "--output"};
}

Status check_target_types(const io::TypeRules& rules, ConvertTarget target) {
  for (const io::TargetType& type : rules.types()) {
    if (target == ConvertTarget::kGguf && (type.is_f8() || type.is_sdnq()))
      return Error{ErrorCode::kUsage,
                   concat("--type ", type.name, ": GGUF has no such type; name a ",
                          type.is_sdnq() ? "folder" : ".safetensors file or a folder", " as output"),
                   "--type"};
    if (target == ConvertTarget::kSafetensors && type.is_sdnq())
      return Error{ErrorCode::kUsage,
                   concat("--type ", type.name, ": SDNQ weights need a configuration beside them; name a folder"),
                   "--type"};
    const auto* plain = std::get_if<codec::PlainForm>(&type.form);
    if (target != ConvertTarget::kGguf && plain && plain->codec->block_values > 1)
      return Error{ErrorCode::kUsage,
                   concat("--type ", type.name, ": safetensors has no such type; name a .gguf file as output"),
                   "--type"};
  }
  return {};
}

Result<ConvertPlan> plan_conversion(const ConvertInput& input, const ConvertOptions& options, ConvertTarget target,
                                    const ConvertChanges* changes) {
  if (target == ConvertTarget::kFolder && input.folder.empty())
    return Error{ErrorCode::kUnsupported,
                 "--output: a folder is written from a folder, whose configurations and tokenizer it needs; name a "
                 ".safetensors or .gguf file",
                 "--output"};
  ConvertPlan plan{target, {}, RuleUse(options.rules)};
  ConvertNotes notes(input, target);
  for (const ConvertComponent& component : input.components) {
    if (plan.files.empty() || target == ConvertTarget::kFolder) plan.files.emplace_back();
    ConvertFile& file = plan.files.back();
    file.path = target == ConvertTarget::kFolder ? weights_path(component) : options.output;
    if (target == ConvertTarget::kFolder) notes = ConvertNotes(input, target);
    notes.add_metadata(component.stored);
    VENEER_TRY_STATUS(ComponentPlanner(component, options, target, plan, changes).add_to(file, notes));
    if (target != ConvertTarget::kFolder && &component != &input.components.back()) continue;
    VENEER_TRY(layout, notes.layout(file.tensors));
    file.layout = std::move(layout);
    if (target == ConvertTarget::kFolder) {
      VENEER_TRY(config, notes.component_config(component));
      file.config = std::move(config);
    }
  }
  return plan;
}

}  // namespace veneer::pipeline
