// squeue's fields: one table of names, headers and texts. Fields of things that this controller
// does not have (arrays, federations, burst buffers …) print what Slurm prints for jobs without
// them.
#include "slurm/squeue_format.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdio>
#include <numeric>
#include <utility>

#include "base/duration_text.h"
#include "base/text.h"
#include "slurm/words.h"

namespace twinyard::slurm {

namespace {

using api::JobRow;

struct Cell {
    const JobRow& row;
    const TextContext& context;
};
using TextOf = std::string (*)(const Cell&);

std::string number(std::int64_t value) {
    return std::to_string(value);
}

std::string or_null(const std::string& text) {
    return text.empty() ? "(null)" : text;
}
std::string or_na(const std::string& text) {
    return text.empty() ? "N/A" : text;
}

std::string user(const Cell& c) {
    return c.context.user_name ? c.context.user_name(c.row.uid) : number(c.row.uid);
}
std::string group(const Cell& c) {
    return c.context.group_name ? c.context.group_name(c.row.gid) : number(c.row.gid);
}

std::string date(const Cell& c, std::int64_t ms) {
    return date_text(c.context.calendar, ms, "N/A", c.context.time_format, c.context.now_ms);
}

std::string limit_text(std::int64_t seconds) {
    return format_time_limit(seconds < 0 ? kUnlimited : Seconds{seconds});
}

std::string time_used(const Cell& c) {
    return format_time_limit(Seconds{c.row.run_time_ms / 1000});
}

std::string time_left(const Cell& c) {
    if (c.row.time_limit_s < 0) return "UNLIMITED";
    const std::int64_t left = c.row.time_limit_s - c.row.run_time_ms / 1000;
    if (left < 0) return "-" + format_time_limit(Seconds{-left});
    return format_time_limit(Seconds{left});
}

std::int64_t start_ms(const JobRow& row) {
    return row.start_ms > 0 ? row.start_ms : row.expected_start_ms;
}

std::int64_t end_ms(const JobRow& row) {
    if (row.end_ms > 0) return row.end_ms;
    const bool known = row.expected_start_ms > 0 && row.time_limit_s >= 0;
    return known ? row.expected_start_ms + row.time_limit_s * 1000 : 0;
}

/// Between submission and start, or now.
std::string pending_time(const Cell& c) {
    const std::int64_t until = c.row.start_ms > 0 ? c.row.start_ms : c.context.now_ms;
    return number(std::max<std::int64_t>(until - c.row.submit_ms, 0) / 1000);
}

std::string node_list_or_reason(const Cell& c) {
    const bool waits = c.row.base_state == "PENDING";
    const bool failed = c.row.base_state == "FAILED" || c.row.base_state == "TIMEOUT" ||
                        c.row.base_state == "NODE_FAIL" || c.row.base_state == "OUT_OF_MEMORY" ||
                        c.row.base_state == "DEADLINE";
    if (waits || (failed && c.row.state == c.row.base_state)) return "(" + c.row.reason + ")";
    return c.row.node_list;
}

std::string min_memory(const Cell& c) {
    if (c.row.mem_per_cpu_mb >= 0)
        return memory_text(c.row.mem_per_cpu_mb, c.context.convert_units);
    const std::int64_t mega = std::max<std::int64_t>(c.row.mem_per_node_mb, 0);
    return mega == 0 ? "0" : memory_text(mega, c.context.convert_units);
}

/// 0 … 1: kept for tools that still read it.
std::string priority_fraction(const Cell& c) {
    std::array<char, 32> out{};
    std::snprintf(
        out.data(), out.size(), "%16.14f", static_cast<double>(c.row.priority) / 4294967295.0);
    return out.data();
}

std::string time_min(const Cell& c) {
    return c.row.time_min_s ? limit_text(*c.row.time_min_s) : "N/A";
}

std::string exit_code(const Cell& c) {
    return exit_code_text(c.row.exit_code, c.row.exit_signal);
}

template <std::string JobRow::*Member>
std::string text(const Cell& c) {
    return c.row.*Member;
}
template <std::string JobRow::*Member>
std::string text_or_null(const Cell& c) {
    return or_null(c.row.*Member);
}
template <std::string JobRow::*Member>
std::string text_or_na(const Cell& c) {
    return or_na(c.row.*Member);
}
template <auto Member>
std::string count(const Cell& c) {
    return number(static_cast<std::int64_t>(c.row.*Member));
}
template <auto Member>
std::string moment(const Cell& c) {
    return date(c, c.row.*Member);
}
std::string na(const Cell&) {
    return "N/A";
}
std::string null(const Cell&) {
    return "(null)";
}
std::string star(const Cell&) {
    return "*";
}
std::string zero(const Cell&) {
    return "0";
}

struct Field {
    FieldName name;
    TextOf text;
};

// Letters first, in the order of the alphabet; then what only -O has.
constexpr auto kFields = std::to_array<Field>({
    {{'a', "account", "ACCOUNT"}, text_or_null<&JobRow::account>},
    {{'A', "jobid", "JOBID"}, count<&JobRow::job>},
    {{'B', "batchhost", "EXEC_HOST"}, text_or_na<&JobRow::batch_host>},
    {{'c', "mincpus", "MIN_CPUS"},
     [](const Cell& c) { return number(std::max<std::int64_t>(c.row.cpus_per_task, 1)); }},
    {{'C', "numcpus", "CPUS"}, count<&JobRow::cpus>},
    {{'d', "mintmpdisk", "MIN_TMP_DISK"}, zero},
    {{'D', "numnodes", "NODES"}, count<&JobRow::nodes>},
    {{'e', "endtime", "END_TIME"}, [](const Cell& c) { return date(c, end_ms(c.row)); }},
    {{'E', "dependency", "DEPENDENCY"}, text_or_null<&JobRow::dependency>},
    {{'f', "feature", "FEATURES"}, text_or_null<&JobRow::features>},
    {{'F', "arrayjobid", "ARRAY_JOB_ID"}, count<&JobRow::job>},
    {{'g', "groupname", "GROUP"}, group},
    {{'G', "groupid", "GROUP"}, count<&JobRow::gid>},
    {{'h', "oversubscribe", "OVER_SUBSCRIBE"}, text<&JobRow::oversubscribe>},
    {{'H', "sockets", "SOCKETS_PER_NODE"}, star},
    {{'i', "jobarrayid", "JOBID"}, count<&JobRow::job>},
    {{'I', "cores", "CORES_PER_SOCKET"}, star},
    {{'j', "name", "NAME"}, text<&JobRow::name>},
    {{'J', "threads", "THREADS_PER_CORE"}, star},
    {{'k', "comment", "COMMENT"}, text_or_null<&JobRow::comment>},
    {{'K', "arraytaskid", "ARRAY_TASK_ID"}, na},
    {{'l', "timelimit", "TIME_LIMIT"},
     [](const Cell& c) { return limit_text(c.row.time_limit_s); }},
    {{'L', "timeleft", "TIME_LEFT"}, time_left},
    {{'m', "minmemory", "MIN_MEMORY"}, min_memory},
    {{'M', "timeused", "TIME"}, time_used},
    {{'n', "reqnodes", "REQ_NODES"}, text<&JobRow::required_nodes>},
    {{'N', "nodelist", "NODELIST"}, text<&JobRow::node_list>},
    {{'o', "command", "COMMAND"}, text_or_null<&JobRow::command>},
    {{'O', "contiguous", "CONTIGUOUS"}, zero},
    {{'p', "priority", "PRIORITY"}, priority_fraction},
    {{'P', "partition", "PARTITION"}, text<&JobRow::partition>},
    {{'q', "qos", "QOS"}, text_or_na<&JobRow::qos>},
    {{'Q', "prioritylong", "PRIORITY"}, count<&JobRow::priority>},
    {{'r', "reason", "REASON"}, text<&JobRow::reason>},
    {{'R', "reasonlist", "NODELIST(REASON)"}, node_list_or_reason},
    {{'s', "selectjobinfo", "SELECT_JOBINFO"}, [](const Cell&) { return std::string(); }},
    {{'S', "starttime", "START_TIME"}, [](const Cell& c) { return date(c, start_ms(c.row)); }},
    {{'t', "statecompact", "ST"},
     [](const Cell& c) { return std::string(compact_state(c.row.state)); }},
    {{'T', "state", "STATE"}, text<&JobRow::state>},
    {{'u', "username", "USER"}, user},
    {{'U', "userid", "UID"}, count<&JobRow::uid>},
    {{'v', "reservation", "RESERVATION"}, null},
    {{'V', "submittime", "SUBMIT_TIME"}, moment<&JobRow::submit_ms>},
    {{'w', "wckey", "WCKEY"}, null},
    {{'W', "licenses", "LICENSES"}, text_or_null<&JobRow::licenses>},
    {{'x', "excnodes", "EXC_NODES"}, text<&JobRow::excluded_nodes>},
    {{'X', "corespec", "CORE_SPEC"}, na},
    {{'y', "nice", "NICE"}, count<&JobRow::nice>},
    {{'Y', "schednodes", "SCHEDNODES"}, text_or_null<&JobRow::expected_nodes>},
    {{'z', "sct", "S:C:T"}, [](const Cell&) { return std::string("*:*:*"); }},
    {{'Z', "workdir", "WORK_DIR"}, text<&JobRow::work_dir>},
    {{'b', "gres", "TRES_PER_NODE"}, text_or_na<&JobRow::tres_per_node>},
    {{0, "accruetime", "ACCRUE_TIME"}, moment<&JobRow::eligible_ms>},
    {{0, "admin_comment", "ADMIN_COMMENT"}, null},
    {{0, "allocnodes", "ALLOC_NODES"}, text_or_na<&JobRow::submit_host>},
    {{0, "allocsid", "ALLOC_SID"}, zero},
    {{0, "associd", "ASSOC_ID"}, zero},
    {{0, "batchflag", "BATCH_FLAG"},
     [](const Cell& c) { return std::string(c.row.batch ? "1" : "0"); }},
    {{0, "boardspernode", "BOARDS_PER_NODE"}, na},
    {{0, "burstbuffer", "BURST_BUFFER"}, na},
    {{0, "burstbufferstate", "BURST_BUFFER_STATE"}, na},
    {{0, "cluster", "CLUSTER"}, [](const Cell& c) { return c.context.cluster; }},
    {{0, "clusterfeature", "CLUSTER_FEATURES"}, null},
    {{0, "container", "CONTAINER"}, null},
    {{0, "containerid", "CONTAINER_ID"}, null},
    {{0, "cpus-per-task", "CPUS_PER_TASK"}, count<&JobRow::cpus_per_task>},
    {{0, "cpus-per-tres", "CPUS_PER_TRES"}, na},
    {{0, "deadline", "DEADLINE"}, moment<&JobRow::deadline_ms>},
    {{0, "delayboot", "DELAY_BOOT"}, [](const Cell&) { return std::string("0:00"); }},
    {{0, "derivedec", "DERIVED_EC"}, exit_code},
    {{0, "eligibletime", "ELIGIBLE_TIME"}, moment<&JobRow::eligible_ms>},
    {{0, "exit_code", "EXIT_CODE"}, count<&JobRow::exit_code>},
    {{0, "hetjobid", "HET_JOB_ID"}, na},
    {{0, "hetjobidset", "HET_JOB_ID_SET"}, na},
    {{0, "hetjoboffset", "HET_JOB_OFFSET"}, na},
    {{0, "lastschedeval", "LAST_SCHED_EVAL"}, na},
    {{0, "maxcpus", "MAX_CPUS"}, zero},
    {{0, "maxnodes", "MAX_NODES"}, count<&JobRow::nodes_max>},
    {{0, "mcslabel", "MCSLABEL"}, na},
    {{0, "mem-per-tres", "MEM_PER_TRES"}, na},
    {{0, "mintime", "TIME_MIN"}, time_min},
    {{0, "network", "NETWORK"}, null},
    {{0, "nodes", "NODELIST"}, text<&JobRow::node_list>},
    {{0, "ntperboard", "NTASKS_PER_BOARD"}, na},
    {{0, "ntpercore", "NTASKS_PER_CORE"}, na},
    {{0, "ntpernode", "NTASKS_PER_NODE"}, count<&JobRow::ntasks_per_node>},
    {{0, "ntpersocket", "NTASKS_PER_SOCKET"}, na},
    {{0, "numtasks", "TASKS"}, count<&JobRow::tasks>},
    {{0, "origin", "ORIGIN"}, na},
    {{0, "originraw", "ORIGIN_RAW"}, na},
    {{0, "pendingtime", "PENDING_TIME"}, pending_time},
    {{0, "preempttime", "PREEMPT_TIME"}, na},
    {{0, "prefer", "PREFER"}, null},
    {{0, "profile", "PROFILE"}, na},
    {{0, "reboot", "REBOOT"}, zero},
    {{0, "reqswitch", "REQ_SWITCH"}, zero},
    {{0, "requeue", "REQUEUE"},
     [](const Cell& c) { return std::string(c.row.requeue ? "1" : "0"); }},
    {{0, "resizetime", "RESIZE_TIME"}, na},
    {{0, "restartcnt", "RESTART_COUNT"}, count<&JobRow::restarts>},
    {{0, "resvport", "RESERVED_PORTS"}, na},
    {{0, "siblingsactive", "ACTIVE_SIBLINGS"}, na},
    {{0, "siblingsactiveraw", "ACTIVE_SIBLINGS_RAW"}, na},
    {{0, "siblingsviable", "VIABLE_SIBLINGS"}, na},
    {{0, "siblingsviableraw", "VIABLE_SIBLINGS_RAW"}, na},
    {{0, "sperboard", "SOCKETS_PER_BOARD"}, na},
    {{0, "stderr", "STDERR"}, text<&JobRow::std_err>},
    {{0, "stdin", "STDIN"}, text<&JobRow::std_in>},
    {{0, "stdout", "STDOUT"}, text<&JobRow::std_out>},
    {{0, "stepid", "STEPID"}, na},
    {{0, "stepname", "NAME"}, na},
    {{0, "stepstate", "STATE"}, na},
    {{0, "submitline", "SUBMIT_LINE"}, text<&JobRow::submit_line>},
    {{0, "system_comment", "SYSTEM_COMMENT"}, null},
    {{0, "tres-alloc", "TRES_ALLOC"},
     [](const Cell& c) { return c.row.alloc_tres.empty() ? c.row.req_tres : c.row.alloc_tres; }},
    {{0, "tres-bind", "TRES_BIND"}, na},
    {{0, "tres-freq", "TRES_FREQ"}, na},
    {{0, "tres-per-job", "TRES_PER_JOB"}, text_or_na<&JobRow::tres_per_job>},
    {{0, "tres-per-node", "TRES_PER_NODE"}, text_or_na<&JobRow::tres_per_node>},
    {{0, "tres-per-socket", "TRES_PER_SOCKET"}, na},
    {{0, "tres-per-step", "TRES_PER_STEP"}, na},
    {{0, "tres-per-task", "TRES_PER_TASK"}, text_or_na<&JobRow::tres_per_task>},
});

constexpr auto kNames = [] {
    std::array<FieldName, kFields.size()> names{};
    for (std::size_t i = 0; i < kFields.size(); ++i)
        names[i] = kFields[i].name;
    return names;
}();

/// Numbers sort as numbers, everything else (states too) as text.
std::strong_ordering compare(const Field& field, const Cell& a, const Cell& b) {
    switch (field.name.letter) {
        case 'i':
        case 'A':
        case 'F':
            return a.row.job <=> b.row.job;
        case 'p':
        case 'Q':
            return a.row.priority <=> b.row.priority;
        case 'C':
            return a.row.cpus <=> b.row.cpus;
        case 'D':
            return a.row.nodes <=> b.row.nodes;
        case 'S':
            // Nobody knows when: after those that are known.
            return std::pair(start_ms(a.row) <= 0, start_ms(a.row)) <=>
                   std::pair(start_ms(b.row) <= 0, start_ms(b.row));
        case 'e':
            return end_ms(a.row) <=> end_ms(b.row);
        case 'V':
            return a.row.submit_ms <=> b.row.submit_ms;
        case 'M':
            return a.row.run_time_ms <=> b.row.run_time_ms;
        case 'l':
            return a.row.time_limit_s <=> b.row.time_limit_s;
        case 'U':
            return a.row.uid <=> b.row.uid;
        default:
            return field.text(a) <=> field.text(b);
    }
}

}  // namespace

std::span<const FieldName> squeue_fields() {
    return kNames;
}

Layout squeue_layout(std::string_view format) {
    return parse_letter_format(kNames, format, "job");
}

Layout squeue_name_layout(std::string_view format) {
    return parse_name_format(kNames, format, "job");
}

void append_job(std::string& out,
                const Layout& layout,
                const JobRow& row,
                const TextContext& context) {
    const Cell cell{row, context};
    out += layout.lead;
    for (const Column& column : layout.columns) {
        const bool literal = column.field == Column::kLiteral;
        append_cell(out, literal ? std::string() : kFields[column.field].text(cell), column);
    }
    out += '\n';
}

Status sort_jobs(std::vector<JobRow>& rows, std::string_view keys, const TextContext& context) {
    TRY(std::vector<SortKey> order, parse_sort(kNames, keys, "job"));
    if (rows.empty()) return {};
    const auto diff_by = [&](const SortKey& key, const JobRow& a, const JobRow& b) {
        const auto diff = compare(kFields[key.field], Cell{a, context}, Cell{b, context});
        return key.descending && diff != 0
                   ? (diff < 0 ? std::strong_ordering::greater : std::strong_ordering::less)
                   : diff;
    };
    // In most queues all wait in one partition: a key that tells no two apart costs most of a sort.
    std::erase_if(order, [&](const SortKey& key) {
        return std::ranges::all_of(
            rows, [&](const JobRow& row) { return diff_by(key, rows.front(), row) == 0; });
    });
    const auto before = [&](const JobRow& a, const JobRow& b) {
        for (const SortKey& key : order) {
            const auto diff = diff_by(key, a, b);
            if (diff != 0) return diff < 0;
        }
        return false;
    };
    if (std::ranges::is_sorted(rows, before)) return {};
    // Rows are large: their places are sorted, then each moves once.
    std::vector<std::size_t> places(rows.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::stable_sort(
        places, [&](std::size_t a, std::size_t b) { return before(rows[a], rows[b]); });
    std::vector<JobRow> sorted;
    sorted.reserve(rows.size());
    for (const std::size_t place : places)
        sorted.push_back(std::move(rows[place]));
    rows = std::move(sorted);
    return {};
}

}  // namespace twinyard::slurm
