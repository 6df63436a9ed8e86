#include "model/notation.h"

#include <string_view>

#include "base/duration_text.h"
#include "base/text.h"

namespace twinyard::model {

namespace {

std::string range_text(const Range& range) {
    const std::string min = std::to_string(range.min);
    if (range.max == range.min) return min;
    return min + ".." + (range.max == kNoMaximum ? "" : std::to_string(range.max));
}

std::string cpu_text(std::int64_t milli) {
    return milli % 1000 == 0 ? std::to_string(milli / 1000) : std::to_string(milli) + "m";
}

void append_resources(std::string& out, std::string_view place, const Resources& resources) {
    if (resources.empty()) return;
    std::vector<std::string> parts;
    if (resources.cpu_milli != 0) parts.push_back("cpu " + cpu_text(resources.cpu_milli));
    if (resources.memory_bytes != 0) parts.push_back("mem " + format_size(resources.memory_bytes));
    for (const DeviceRequest& device : resources.devices) {
        std::string text = std::to_string(device.count) + " " + device.class_path;
        if (device.share_milli != 0) text += " share " + std::to_string(device.share_milli) + "m";
        parts.push_back(std::move(text));
    }
    out += "; ";
    out += place;
    out += ": " + join(parts, ", ");
}

void append_take_all(std::string& out, const TakeAll& take) {
    std::vector<std::string> parts;
    if (take.cpus) parts.emplace_back("cpus");
    if (take.memory) parts.emplace_back("memory");
    if (take.devices) parts.emplace_back("devices");
    if (!parts.empty()) out += "; all " + join(parts, "+");
}

std::string test_text(const LabelTest& test) {
    switch (test.op) {
        case LabelOp::Exists:
            return test.key;
        case LabelOp::DoesNotExist:
            return "!" + test.key;
        case LabelOp::In:
            return test.key + " in (" + join(test.values, ",") + ")";
        case LabelOp::NotIn:
            return test.key + " notin (" + join(test.values, ",") + ")";
        case LabelOp::Greater:
            return test.key + ">" + join(test.values, ",");
        case LabelOp::Less:
            return test.key + "<" + join(test.values, ",");
    }
    return test.key;
}

std::string term_text(const NodeTerm& term) {
    std::vector<std::string> tests;
    for (const LabelTest& test : term.all)
        tests.push_back(test_text(test));
    return join(tests, "&");
}

std::string affinity_text(const Affinity& affinity) {
    const std::string_view kind = affinity.kind == Affinity::Kind::Together ? "together with "
                                  : affinity.kind == Affinity::Kind::Apart  ? "apart from "
                                                                            : "spread over ";
    std::string text(affinity.required ? "" : "rather ");
    text += kind;
    text += term_text(affinity.workloads) + " by " + affinity.level;
    return text;
}

void append_where(std::string& out, const Where& where) {
    if (!where.any_of.empty()) {
        std::vector<std::string> terms;
        for (const NodeTerm& term : where.any_of)
            terms.push_back(term_text(term));
        out += where.same_alternative ? "; one of " : "; where ";
        out += join(terms, " | ");
    }
    for (const PreferredTerm& preferred : where.preferred) {
        out +=
            "; rather " + term_text(preferred.term) + " (" + std::to_string(preferred.weight) + ")";
    }
    if (!where.include.empty()) out += "; with " + join(where.include, ",");
    if (!where.exclude.empty()) out += "; without " + join(where.exclude, ",");
    for (const Affinity& affinity : where.affinity)
        out += "; " + affinity_text(affinity);
    if (where.switches_max) {
        out += "; switches " + std::to_string(*where.switches_max);
        if (where.switches_wait) {
            out += " for " + std::to_string(where.switches_wait->count() / 1000) + "s";
        }
    }
}

}  // namespace

std::string to_text(const TaskGroup& group) {
    std::string out = "members " + range_text(group.members);
    const bool any_nodes = group.nodes == Range{1, kNoMaximum};
    if (!any_nodes) out += " on " + range_text(group.nodes) + " nodes";
    const bool any_spread = group.members_per_node == Range{1, kNoMaximum};
    if (!any_spread) out += ", " + range_text(group.members_per_node) + " a node";
    append_resources(out, "member", group.per_member);
    append_resources(out, "node", group.per_node);
    append_resources(out, "total", group.total);
    append_take_all(out, group.take_all);
    if (group.share == Share::WholeNode) out += "; whole nodes";
    if (group.share == Share::SameUser) out += "; own nodes";
    if (group.binding.devices_to_members) out += "; devices bound";
    append_where(out, group.where);
    return out;
}

}  // namespace twinyard::model
