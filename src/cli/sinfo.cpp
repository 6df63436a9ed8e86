// sinfo: nodes and partitions are listed whole, filtered here, folded and printed.
#include "cli/sinfo.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/commands.h"
#include "slurm/sinfo_format.h"
#include "slurm/words.h"

namespace twinyard::cli {

namespace {

constexpr std::string_view kStates =
    "allocated,blocked,cloud,completing,down,drain,drained,draining,fail,failing,future,idle,"
    "inval,maint,mixed,no_respond,planned,power_down,power_up,powered_down,powering_down,"
    "powering_up,reboot,reserved,unknown";

FormatChoice chosen_format(const SinfoOptions& options,
                           const std::optional<FormatChoice>& variable) {
    if (options.format) return *options.format;
    if (options.summary) return {std::string(slurm::kSinfoSummary)};
    if (options.reasons && options.long_list) return {"%20E %12U %19H %6t %N"};
    if (options.reasons) return {std::string(slurm::kSinfoReason)};
    if (options.by_node && options.long_list) return {std::string(slurm::kSinfoNodeLong)};
    if (options.by_node) return {std::string(slurm::kSinfoNode)};
    if (options.long_list) return {std::string(slurm::kSinfoLong)};
    if (variable) return *variable;
    return {std::string(slurm::kSinfoDefault)};
}

// ---- filters

/// "idle", or "idle&planned": all of them.
bool has_states(const api::NodeRow& node, std::string_view words) {
    const auto all = split(words, '&');
    return std::ranges::all_of(
        all, [&](std::string_view word) { return slurm::node_has_state(node, trim(word)); });
}

/// Which nodes are wanted; an error is printed.
class NodeFilter {
  public:
    static std::optional<NodeFilter> make(const SinfoOptions& options, Output& output) {
        NodeFilter filter(options);
        if (!options.nodes.empty()) {
            const auto names = expand_hostlist(options.nodes);
            if (!names) {
                output.error("'" + printable(options.nodes, 60) + "' invalid entry for --nodes");
                return std::nullopt;
            }
            filter.names_.insert(names->begin(), names->end());
        }
        for (const std::string& words : options.states) {
            for (const std::string_view word : split(words, '&')) {
                if (slurm::is_node_state(trim(word))) continue;
                output.error("Bad state string: \"" + printable(word, 60) +
                             "\"\nvalid states: " + std::string(kStates));
                return std::nullopt;
            }
        }
        filter.states_ = options.states;
        if (filter.states_.empty() && options.reasons) filter.states_ = {"down", "drain", "fail"};
        return filter;
    }

    [[nodiscard]] bool wants(const api::NodeRow& node) const {
        if (dead_ && !node.no_respond) return false;
        if (responding_ && node.no_respond) return false;
        if (!names_.empty() && !names_.contains(node.name)) return false;
        return states_.empty() || std::ranges::any_of(states_, [&](const std::string& words) {
                   return has_states(node, words);
               });
    }

  private:
    explicit NodeFilter(const SinfoOptions& options)
        : dead_(options.dead), responding_(options.responding) {}

    bool dead_, responding_;
    std::set<std::string, std::less<>> names_;
    std::vector<std::string> states_;
};

/// A partition of which no node passes the filters has a line with none.
void keep_nodes(api::PartitionRow& partition, std::span<const api::NodeRow> nodes) {
    std::set<std::string_view> names;
    for (const api::NodeRow& node : nodes)
        names.insert(node.name);
    std::erase_if(partition.node_names,
                  [&](const std::string& name) { return !names.contains(name); });
}

struct Rows {
    std::vector<api::NodeRow> nodes;
    std::vector<api::PartitionRow> partitions;
};

Result<Rows> load(const SinfoOptions& options, const NodeFilter& filter, Cluster& cluster) {
    Rows rows;
    const api::PartitionQuery which{.partitions = options.partitions};
    TRY(rows.partitions, rows_of<api::PartitionRow>(cluster, &Cluster::list_partitions, which));
    TRY(rows.nodes, rows_of<api::NodeRow>(cluster, &Cluster::list_nodes, api::NodeQuery{}));
    std::erase_if(rows.nodes, [&](const api::NodeRow& node) { return !filter.wants(node); });
    // A hidden partition shows where it is asked for by name.
    std::erase_if(rows.partitions, [&](const api::PartitionRow& partition) {
        return partition.hidden && !options.all && options.partitions.empty();
    });
    for (api::PartitionRow& partition : rows.partitions)
        keep_nodes(partition, rows.nodes);
    return rows;
}

// ---- output

ExitCode print(const SinfoOptions& options,
               slurm::Layout layout,
               const Rows& rows,
               const slurm::TextContext& context,
               Output& output) {
    const slurm::SinfoOptions folding{.by_node = options.by_node,
                                      .exact = options.exact,
                                      .summary = options.summary,
                                      .sort = options.sort.value_or("")};
    const auto groups = slurm::group_nodes(rows.nodes, rows.partitions, layout, folding, context);
    if (!groups) {
        output.error(groups.error().message());
        return kFailed;
    }
    slurm::fit_columns(layout, *groups, context);
    std::string text;
    if (!options.no_header) {
        if (options.long_list) text += date_line(context);
        slurm::append_header(text, layout);
    }
    for (const slurm::NodeGroup& group : *groups)
        slurm::append_group(text, layout, group, context);
    output.out(text);
    return kOk;
}

}  // namespace

ExitCode run_sinfo(Args args, const Environment& environment, Cluster& cluster, Output& output) {
    SinfoOptions options;
    if (const auto exit = read_variables(sinfo_table(), environment, &options, output))
        return *exit;
    const auto variable_format = std::exchange(options.format, std::nullopt);
    const ParsedArgs parsed = read_options(sinfo_table(), args, &options, output);
    if (parsed.exit) return *parsed.exit;
    if (!parsed.positional.empty()) {
        output.error("Unrecognized option: " + printable(parsed.positional.front(), 60));
        output.err(usage_text(sinfo_table()));
        return kFailed;
    }
    const FormatChoice choice = chosen_format(options, variable_format);
    slurm::Layout layout =
        choice.by_name ? slurm::sinfo_name_layout(choice.text) : slurm::sinfo_layout(choice.text);
    for (const std::string& error : layout.errors)
        output.error(error);
    const auto filter = NodeFilter::make(options, output);
    if (!filter) return kFailed;
    const auto rows = load(options, *filter, cluster);
    if (!rows) {
        print_error(output, "slurm_load_partitions", rows.error());
        return kFailed;
    }
    slurm::TextContext context = text_context(environment);
    if (has_field(layout, slurm::sinfo_fields(), {"cluster"})) {
        if (const auto info = cluster.info()) context.cluster = info->cluster;
    }
    return print(options, std::move(layout), *rows, context, output);
}

}  // namespace twinyard::cli
