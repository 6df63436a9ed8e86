#include "config/gres_conf.h"

#include <algorithm>
#include <array>

#include "config/host_names.h"
#include "config/node_line.h"

namespace twinyard::config {

namespace {

using G = GresLine;
using Row = Entry<GresLine>;

Status set_count(G& line, std::string_view text) {
    TRY(const std::vector<GresItem> items, parse_gres("x:" + std::string(text)));
    if (items.size() != 1 || !items[0].type.empty()) {
        return fail(ErrorCode::InvalidArgument, "'" + printable(text, 60) + "' is no count");
    }
    line.count = items[0].count;
    return {};
}

constexpr Row yes(std::string_view key, Row::Setter set) {
    return {key, Effect::Honoured, {}, {}, {}, set, nullptr};
}
constexpr Row no(std::string_view key,
                 std::string_view why,
                 std::string_view fine,
                 Row::Setter set) {
    return {key, Effect::NoEffect, why, fine, {}, set, nullptr};
}

constexpr auto kTable = std::to_array<Row>({
    no("AutoDetect",
       "agents look for devices by themselves; what the node's Gres declares counts",
       "off",
       set_text<&G::auto_detect>),
    no("Cores", "placement does not look at cores near a GPU yet", "", set_text<&G::cores>),
    no("CPUs", "placement does not look at cores near a GPU yet", "", set_text<&G::cores>),
    yes("Count", set_count),
    yes("File", set_text<&G::files_text>),
    no("Flags", "devices have no such options", "", set_text<&G::flags>),
    no("Links", "links between GPUs are read from the agent", "", set_text<&G::links>),
    no("MultipleFiles", "a GPU is one file", "", nullptr),
    yes("Name", set_text<&G::name>),
    yes("NodeName", set_text<&G::nodes_text>),
    yes("Type", set_text<&G::type>),
});

void expand_line(G& line, const ConfLine& at, HostNames& hosts, Findings& findings) {
    hosts.expand(at, "NodeName", line.nodes_text, line.nodes);
    std::ranges::sort(line.nodes);
    hosts.expand(at, "File", line.files_text, line.files);
    const bool differs = line.count && !line.files.empty() &&
                         *line.count != static_cast<std::int64_t>(line.files.size());
    if (differs) {
        findings.add({at.file,
                      at.line,
                      Severity::Error,
                      "Count=" + std::to_string(*line.count) + ", but File names " +
                          std::to_string(line.files.size()) + " devices"});
    }
}

bool matches(const G& line, std::string_view node, std::string_view name, std::string_view type) {
    const bool here = line.nodes_text.empty() || std::ranges::binary_search(line.nodes, node);
    return here && equal_nocase(line.name, name) && (type.empty() || equal_nocase(line.type, type));
}

}  // namespace

std::span<const Entry<GresLine>> gres_table() {
    return kTable;
}

std::vector<std::string> GresConf::files_of(std::string_view node,
                                            std::string_view name,
                                            std::string_view type) const {
    std::vector<std::string> files;
    for (const GresLine& line : lines) {
        if (matches(line, node, name, type)) {
            files.insert(files.end(), line.files.begin(), line.files.end());
        }
    }
    return files;
}

GresConf read_gres_conf(std::string_view text,
                        const std::string& name,
                        const FileLoader& loader,
                        Findings& findings) {
    GresConf conf;
    HostNames hosts(findings);
    for (const ConfLine& at : read_lines(text, name, loader, findings)) {
        GresLine line;
        line.file = at.file;
        line.line = at.line;
        for (const Pair& pair : at.pairs) {
            apply_pair(gres_table(), "gres.conf keyword", at, pair, line, findings);
        }
        if (line.name.empty()) {
            if (!line.auto_detect.empty()) {
                conf.auto_detect = line.auto_detect;
            } else {
                findings.add({at.file, at.line, Severity::Error, "the line has no Name="});
            }
            continue;
        }
        expand_line(line, at, hosts, findings);
        conf.lines.push_back(std::move(line));
    }
    return conf;
}

}  // namespace twinyard::config
