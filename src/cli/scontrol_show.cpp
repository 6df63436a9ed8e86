// scontrol show: records of jobs, nodes and partitions, the configuration, host lists.
#include <algorithm>
#include <array>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/scontrol.h"
#include "slurm/errors.h"
#include "slurm/scontrol_text.h"

namespace twinyard::cli {

namespace {

using Show = ExitCode (*)(Scontrol& run, std::string_view value);

slurm::RecordStyle style_of(const Scontrol& run) {
    return {.one_line = run.options.one_line, .detail = run.options.detail};
}

/// "Node n9 not found" is an answer, on stdout.
ExitCode not_found(Scontrol& run, const std::string& text) {
    if (!run.options.quiet) run.output.out(text + "\n");
    return kFailed;
}

template <class Row, class Append>
void print_records(Scontrol& run, std::span<const Row> rows, Append append) {
    const slurm::TextContext context = text_context(run.environment);
    std::string text;
    for (const Row& row : rows) {
        append(text, row, style_of(run), context);
        if (text.size() > 65536) run.output.out(std::exchange(text, {}));
    }
    run.output.out(text);
}

// ---- jobs, nodes, partitions

ExitCode load_failed(Scontrol& run, std::string_view what, const Error& error) {
    print_error(run.output, what, error);
    return kFailed;
}

ExitCode show_jobs(Scontrol& run, std::string_view value) {
    constexpr std::string_view kWhat = "slurm_load_jobs error";
    const Error unknown(ErrorCode::NotFound,
                        std::string(slurm::text_of(slurm::Refusal::InvalidJobId)));
    api::JobQuery query{.all_states = true, .with_detail = true, .with_forecast = true};
    for (const std::string_view text : split_list(value)) {
        const auto job = parse_number<std::uint32_t>(text, 1);
        if (!job) return run.options.quiet ? kFailed : load_failed(run, kWhat, unknown);
        query.jobs.push_back(*job);
    }
    const auto rows = rows_of<api::JobRow>(run.cluster, &Cluster::list_jobs, query);
    if (!rows) return load_failed(run, kWhat, rows.error());
    print_records<api::JobRow>(run, *rows, slurm::append_job_record);
    if (query.jobs.empty() && rows->empty() && !run.options.quiet)
        run.output.out("No jobs in the system\n");
    if (rows->size() >= query.jobs.size()) return kOk;
    return run.options.quiet ? kFailed : load_failed(run, kWhat, unknown);
}

ExitCode show_nodes(Scontrol& run, std::string_view value) {
    api::NodeQuery query;
    if (!value.empty() && !equal_nocase(value, "all")) {
        auto names = expand_hostlist(value);
        if (!names) return run.error("Invalid hostlist: " + names.error().message());
        query.nodes = std::move(*names);
        std::ranges::replace(query.nodes, "localhost", run.environment.host_name);
    }
    const auto rows = rows_of<api::NodeRow>(run.cluster, &Cluster::list_nodes, query);
    if (!rows) return load_failed(run, "slurm_load_node error", rows.error());
    print_records<api::NodeRow>(run, *rows, slurm::append_node_record);
    if (query.nodes.empty() && rows->empty() && !run.options.quiet)
        run.output.out("No nodes in the system\n");
    ExitCode exit = kOk;
    for (const std::string& name : query.nodes) {
        if (std::ranges::find(*rows, name, &api::NodeRow::name) == rows->end())
            exit = not_found(run, "Node " + printable(name, 60) + " not found");
    }
    return exit;
}

ExitCode show_partitions(Scontrol& run, std::string_view value) {
    api::PartitionQuery query;
    for (const std::string_view name : split_list(value))
        query.partitions.emplace_back(name);
    auto rows = rows_of<api::PartitionRow>(run.cluster, &Cluster::list_partitions, query);
    if (!rows) return load_failed(run, "slurm_load_partitions error", rows.error());
    if (query.partitions.empty() && !run.options.all)
        std::erase_if(*rows, [](const api::PartitionRow& row) { return row.hidden; });
    print_records<api::PartitionRow>(run, *rows, slurm::append_partition_record);
    if (query.partitions.empty() && rows->empty() && !run.options.quiet)
        run.output.out("No partitions in the system\n");
    ExitCode exit = kOk;
    for (const std::string& name : query.partitions) {
        if (std::ranges::find(*rows, name, &api::PartitionRow::name) == rows->end())
            exit = not_found(run, "Partition " + printable(name, 60) + " not found");
    }
    return exit;
}

// ---- configuration

ExitCode show_config(Scontrol& run, std::string_view) {
    const auto info = run.cluster.info();
    if (!info) return load_failed(run, "slurm_load_ctl_conf error", info.error());
    run.output.out(
        slurm::config_text(with_host(*info, run.environment), text_context(run.environment)));
    return kOk;
}

// ---- host lists: no server is asked

ExitCode show_host_names(Scontrol& run, std::string_view value) {
    for (const std::string_view variable : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
        if (value.empty()) value = run.environment.get(variable).value_or("");
    }
    if (value.empty()) {
        run.output.error("host list is empty");
        return kOk;  // As in Slurm.
    }
    const auto names = expand_hostlist(value);
    if (!names) return run.error("Invalid hostlist: " + names.error().message());
    std::string text;
    for (const std::string& name : *names)
        text.append(name).append("\n");
    run.output.out(text);
    return kOk;
}

constexpr std::size_t kHostFileMax = std::size_t{16} << 20;

/// The names of a host list, of a file with one on each line (a path with a slash), or of stdin
/// (`-`).
Result<std::vector<std::string>> listed_names(const Scontrol& run, std::string_view value) {
    std::string text(value);
    if (value == "-" || value.find('/') != std::string_view::npos) {
        TRY(text, run.environment.read_file(std::string(value), kHostFileMax));
        std::ranges::replace_if(text, is_space, ',');
    }
    std::vector<std::string> all;
    for (const std::string_view piece : split_hostlist(text)) {
        TRY(std::vector<std::string> names, expand_hostlist(piece));
        std::ranges::move(names, std::back_inserter(all));
    }
    return all;
}

ExitCode fold(Scontrol& run, std::string_view value, bool sorted) {
    if (value.empty()) return run.err("invalid encode argument");
    auto names = listed_names(run, value);
    if (!names) return run.error("Invalid hostlist: " + names.error().message());
    if (sorted) sort_hostnames(*names);
    run.output.out(fold_hostlist(*names) + "\n");
    return kOk;
}

ExitCode show_host_list(Scontrol& run, std::string_view value) {
    return fold(run, value, false);
}
ExitCode show_host_list_sorted(Scontrol& run, std::string_view value) {
    return fold(run, value, true);
}

// ---- what can be shown

struct Entity {
    std::string_view word;
    std::size_t min_letters;
    Show show;  ///< Null: not built.
};

constexpr auto kEntities = std::to_array<Entity>({
    {"aliases", 1, nullptr},
    {"assoc_mgr", 2, nullptr},
    {"bbstat", 2, nullptr},
    {"burstbuffer", 2, nullptr},
    {"config", 1, show_config},
    {"daemons", 1, nullptr},
    {"dwstat", 2, nullptr},
    {"federations", 1, nullptr},
    {"hostlist", 5, show_host_list},
    {"hostlistsorted", 9, show_host_list_sorted},
    {"hostnames", 1, show_host_names},
    {"jobs", 1, show_jobs},
    {"jobid", 4, show_jobs},
    {"licenses", 1, nullptr},
    {"nodes", 1, show_nodes},
    {"partitions", 1, show_partitions},
    {"partitionname", 10, show_partitions},
    {"reservations", 1, nullptr},
    {"slurmd", 2, nullptr},
    {"steps", 2, nullptr},
    {"topology", 1, nullptr},
});

}  // namespace

/// `show job 5` and `show job=5`.
ExitCode scontrol_show(Scontrol& run, std::string_view keyword, Args words) {
    const auto pair = split_once(words[0], '=');
    const std::string_view word = pair ? pair->first : words[0];
    const std::string_view value = pair ? pair->second : words.size() > 1 ? words[1] : "";
    const auto entity = std::ranges::find_if(kEntities, [&](const Entity& candidate) {
        return is_word(word, candidate.word, candidate.min_letters);
    });
    if (entity == kEntities.end()) {
        return run.err("invalid entity:" + printable(word, 60) +
                       " for keyword:" + printable(keyword, 60) + " ");
    }
    if (entity->show == nullptr) return run.not_built("show " + std::string(entity->word));
    return entity->show(run, value);
}

}  // namespace twinyard::cli
