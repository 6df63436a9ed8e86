#include "config/twinyard_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/conf_text.h"
#include "config/entries.h"

namespace twinyard::config {

namespace {

/// Bounds the nesting before yaml-cpp, which recurses, sees the text.
constexpr std::size_t kNestingMax = 50;
constexpr std::size_t kYamlBytesMax = std::size_t{1} << 20;
constexpr std::size_t kQosMax = 10'000;

template <class Target>
struct YamlEntry {
    std::string_view key;
    Status (*set)(Target&, const YAML::Node& value);
    std::string_view help;
};

Result<std::string> scalar(const YAML::Node& value) {
    if (!value.IsScalar()) return fail(ErrorCode::InvalidArgument, "one value is expected");
    TRY_STATUS(check_text(value.Scalar()));
    return value.Scalar();
}

Result<std::vector<std::string>> words(const YAML::Node& value) {
    if (!value.IsSequence()) return fail(ErrorCode::InvalidArgument, "a list is expected");
    std::vector<std::string> out;
    for (const YAML::Node& item : value) {
        TRY(std::string word, scalar(item));
        out.push_back(std::move(word));
    }
    return out;
}

Status set_qos_name(QosEntry& qos, const YAML::Node& value) {
    TRY(qos.name, scalar(value));
    if (qos.name.empty()) return fail(ErrorCode::InvalidArgument, "a name is missing");
    return {};
}

Status set_qos_priority(QosEntry& qos, const YAML::Node& value) {
    TRY(const std::string text, scalar(value));
    TRY(qos.priority, parse_number<std::uint32_t>(text));
    return {};
}

Status set_qos_preempt(QosEntry& qos, const YAML::Node& value) {
    TRY(qos.preempt, words(value));
    return {};
}

constexpr auto kQosEntries = std::to_array<YamlEntry<QosEntry>>({
    {"name", set_qos_name, "What --qos calls it."},
    {"preempt", set_qos_preempt, "Names of the QOS whose jobs it may preempt."},
    {"priority", set_qos_priority, "Its share of the score, against the highest of all QOS."},
});

Status set_policy(TwinyardYaml& yaml, const YAML::Node& value) {
    TRY(const std::string text, scalar(value));
    constexpr std::string_view kPolicies = "research,enterprise,throughput";
    TRY(const std::size_t choice, parse_choice(text, kPolicies));
    yaml.policy = split(kPolicies, ',')[choice];
    return {};
}

Status set_shared_memory(TwinyardYaml&, const YAML::Node& value) {
    TRY(const std::string text, scalar(value));
    TRY(const std::size_t choice, parse_choice(text, "wholeNode,proportional"));
    if (choice == 0) return {};
    return fail(ErrorCode::InvalidArgument, "proportional is not built yet");
}

Status set_qos(TwinyardYaml& yaml, const YAML::Node& value);

constexpr auto kEntries = std::to_array<YamlEntry<TwinyardYaml>>({
    {"policy", set_policy, "A preset of weights: research, enterprise, throughput."},
    {"qos", set_qos, "Qualities of service beside those that slurm.conf names."},
    {"sharedNodeMemory",
     set_shared_memory,
     "What a job gets that asks for no memory: wholeNode, as in Slurm."},
});

template <class Target, std::size_t Size>
Status apply_map(const std::array<YamlEntry<Target>, Size>& table,
                 const YAML::Node& map,
                 Target& target) {
    if (!map.IsMap()) return fail(ErrorCode::InvalidArgument, "keys with values are expected");
    for (const auto& item : map) {
        TRY(const std::string key, scalar(item.first));
        const auto row = std::ranges::find(table, key, &YamlEntry<Target>::key);
        const int line = item.first.Mark().line + 1;
        if (row == table.end()) {
            std::vector<std::string_view> known;
            for (const YamlEntry<Target>& entry : table)
                known.push_back(entry.key);
            return fail(ErrorCode::InvalidArgument,
                        std::to_string(line) + ": unknown key '" + printable(key, 60) + "'" +
                            did_you_mean(key, known));
        }
        const Status status = row->set(target, item.second);
        if (status) continue;
        const std::string& why = status.error().message();
        // An error of an inner map has its line already.
        const bool placed = why.find_first_of(':') != std::string::npos && is_digit(why.front());
        return fail(ErrorCode::InvalidArgument,
                    placed ? why : std::to_string(line) + ": " + key + ": " + why);
    }
    return {};
}

Status set_qos(TwinyardYaml& yaml, const YAML::Node& value) {
    if (!value.IsSequence()) return fail(ErrorCode::InvalidArgument, "a list is expected");
    if (value.size() > kQosMax) return fail(ErrorCode::InvalidArgument, "more than 10000 entries");
    for (const YAML::Node& item : value) {
        QosEntry qos;
        TRY_STATUS(apply_map(kQosEntries, item, qos));
        const std::string line = std::to_string(item.Mark().line + 1) + ": ";
        if (qos.name.empty()) {
            return fail(ErrorCode::InvalidArgument, line + "a QOS needs a name");
        }
        if (std::ranges::find(yaml.qos, qos.name, &QosEntry::name) != yaml.qos.end()) {
            return fail(ErrorCode::InvalidArgument,
                        line + "QOS " + printable(qos.name, 60) + " is there twice");
        }
        yaml.qos.push_back(std::move(qos));
    }
    return {};
}

bool nests_too_deep(std::string_view text) {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    for (const char c : text) {
        if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
        if ((c == ']' || c == '}') && depth > 0) --depth;
    }
    std::size_t dashes = 0;
    for (const char c : text) {
        if (c == '-' || c == '?') deepest = std::max(deepest, ++dashes);
        if (c != '-' && c != ' ' && c != '?') dashes = 0;
    }
    const std::vector<std::string_view> lines = split(text, '\n');
    const auto indent = [](std::string_view line) {
        const std::size_t at = line.find_first_not_of(' ');
        return at == std::string_view::npos ? 0 : at;
    };
    for (const std::string_view line : lines)
        deepest = std::max(deepest, indent(line));
    return deepest > kNestingMax;
}

/// "12: text" as the finding that it is.
Finding finding_of(const std::string& file, const std::string& message) {
    const auto parts = split_once(message, ':');
    const auto line = parts ? parse_number<std::size_t>(parts->first) : Result<std::size_t>(0);
    if (!line || *line == 0) return {file, 0, Severity::Error, message};
    return {file, *line, Severity::Error, std::string(trim(parts->second))};
}

}  // namespace

TwinyardYaml read_twinyard_yaml(std::string_view text,
                                const std::string& name,
                                Findings& findings) {
    TwinyardYaml yaml;
    if (text.size() > kYamlBytesMax || nests_too_deep(text)) {
        findings.add({name, 0, Severity::Error, "the file is larger than 1 MB or nests too deep"});
        return yaml;
    }
    try {
        const YAML::Node root = YAML::Load(std::string(text));
        if (root.IsNull()) return yaml;
        const Status status = apply_map(kEntries, root, yaml);
        if (!status) findings.add(finding_of(name, status.error().message()));
    } catch (const YAML::Exception& error) {
        const std::size_t line =
            error.mark.is_null() ? 0 : static_cast<std::size_t>(error.mark.line) + 1;
        findings.add({name, line, Severity::Error, printable(error.msg)});
    }
    const bool preempts =
        std::ranges::any_of(yaml.qos, [](const QosEntry& qos) { return !qos.preempt.empty(); });
    if (preempts) {
        findings.add({name, 0, Severity::NoEffect, "preempt: nothing is preempted yet"});
    }
    return yaml;
}

Result<TwinyardYaml> load_twinyard_yaml(const std::string& path) {
    Result<std::string> text = read_file(path);
    if (!text) return fail(std::move(text.error()).in(path));
    Findings findings;
    TwinyardYaml yaml = read_twinyard_yaml(*text, path, findings);
    TRY_STATUS(findings.status());
    return yaml;
}

}  // namespace twinyard::config
