// sacct's fields. Each says whether steps have it too; where they have not, their cell is empty, as
// in Slurm. Widths and spellings are those of `sacct --helpformat`.
#include "slurm/sacct_format.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/duration_text.h"
#include "base/text.h"
#include "slurm/words.h"

namespace twinyard::slurm {

namespace {

using api::AccountingRecord;

struct Cell {
    const AccountingRecord& record;
    const SacctLayout& layout;
    const TextContext& context;
};
using TextOf = std::string (*)(const Cell&);

enum class On : std::uint8_t { JobsOnly, StepsOnly, Both };

std::string number(std::int64_t value) {
    return std::to_string(value);
}

std::string job_id(const Cell& c) {
    const std::string job = number(c.record.job.value());
    switch (c.record.step) {
        case -1:
            return job;
        case api::kBatchStep:
            return job + ".batch";
        case api::kExternStep:
            return job + ".extern";
        default:
            return job + "." + number(c.record.step);
    }
}

std::string date(const Cell& c, WallTime time) {
    return date_text(c.context.calendar,
                     time.time_since_epoch().count(),
                     "Unknown",
                     c.context.time_format,
                     c.context.now_ms);
}

template <WallTime AccountingRecord::*Member>
std::string moment(const Cell& c) {
    return date(c, c.record.*Member);
}

template <std::string AccountingRecord::*Member>
std::string text(const Cell& c) {
    return c.record.*Member;
}

/// The value of one name of a TRES list: tres_value("cpu=4,mem=64G", "mem") is "64G".
std::string tres_value(std::string_view list, std::string_view name) {
    for (const std::string_view entry : split_list(list)) {
        const auto pair = split_once(entry, '=');
        if (pair && pair->first == name) return std::string(pair->second);
    }
    return {};
}

std::int64_t alloc_cpus(const AccountingRecord& record) {
    if (record.step != -1) return record.cpus;
    const Result<std::int64_t> cpus =
        parse_number<std::int64_t>(tres_value(record.alloc_tres, "cpu"));
    if (cpus) return *cpus;
    return record.started > WallTime{} ? record.cpus : 0;
}

std::int64_t elapsed_s(const Cell& c) {
    if (c.record.started <= WallTime{}) return 0;
    const std::int64_t end =
        c.record.ended > WallTime{} ? c.record.ended.time_since_epoch().count() : c.context.now_ms;
    const std::int64_t length =
        end - c.record.started.time_since_epoch().count() - c.record.suspended.count();
    return std::max<std::int64_t>(length / 1000, 0);
}

std::string length_text(std::int64_t seconds) {
    return format_time_limit_padded(Seconds{seconds});
}

/// 01:02.345, 01:02:03, 1-02:03:04: shorter times, but for none at all, are told to the
/// millisecond.
std::string cpu_time_text(Millis time) {
    const long long ms = time.count() < 0 ? 0 : time.count();
    if (ms == 0 || ms >= 3'600'000) return length_text(ms / 1000);
    std::array<char, 48> out{};
    std::snprintf(
        out.data(), out.size(), "%02lld:%02lld.%03lld", ms / 60'000, ms / 1000 % 60, ms % 1000);
    return out.data();
}

/// Bytes as K, or the largest unit that loses nothing, or --units.
std::string bytes_text(const Cell& c, std::int64_t bytes) {
    constexpr std::string_view kLetters = "KMGTP";
    if (bytes == 0) return "0";
    std::int64_t kilo = (bytes + kKiB - 1) / kKiB;
    const std::size_t wanted = kLetters.find(c.layout.units == 0 ? '?' : c.layout.units);
    if (wanted != std::string_view::npos) {
        const double value = static_cast<double>(kilo) / static_cast<double>(1LL << (10 * wanted));
        std::array<char, 48> out{};
        std::snprintf(out.data(), out.size(), "%.2f%c", value, kLetters[wanted]);
        return out.data();
    }
    std::size_t letter = 0;
    while (c.layout.convert_units && kilo % 1024 == 0 && letter + 1 < kLetters.size()) {
        kilo /= 1024;
        ++letter;
    }
    return number(kilo) + kLetters[letter];
}

std::string user(const Cell& c) {
    return c.context.user_name ? c.context.user_name(c.record.uid) : number(c.record.uid);
}
std::string group(const Cell& c) {
    return c.context.group_name ? c.context.group_name(c.record.gid) : number(c.record.gid);
}
std::string node_list(const Cell& c) {
    return c.record.node_list.empty() ? "None assigned" : c.record.node_list;
}
std::string time_limit(const Cell& c) {
    if (!c.record.time_limit) return "UNLIMITED";
    return length_text(std::chrono::duration_cast<Seconds>(*c.record.time_limit).count());
}
std::string time_limit_minutes(const Cell& c) {
    if (!c.record.time_limit) return "UNLIMITED";
    return number(std::chrono::duration_cast<Seconds>(*c.record.time_limit).count() / 60);
}
std::int64_t planned_s(const Cell& c) {
    const std::int64_t from = c.record.eligible.time_since_epoch().count();
    const std::int64_t to = c.record.started > WallTime{}
                                ? c.record.started.time_since_epoch().count()
                                : c.context.now_ms;
    return from == 0 ? 0 : std::max<std::int64_t>((to - from) / 1000, 0);
}
std::string req_cpus(const Cell& c) {
    const std::string said = tres_value(c.record.req_tres, "cpu");
    return said.empty() ? number(c.record.cpus) : said;
}
std::string req_memory(const Cell& c) {
    const std::string said = tres_value(c.record.req_tres, "mem");
    return said.empty() ? "0" : said;
}
std::string exit_code(const Cell& c) {
    return exit_code_text(c.record.outcome.exit_code, c.record.outcome.signal);
}
std::string nodes(const Cell& c) {
    return number(c.record.nodes);
}
std::string peak(const Cell& c) {
    return bytes_text(c, c.record.usage.memory_peak_bytes);
}
std::string none(const Cell&) {
    return "";
}

struct Field {
    std::string_view name;
    std::int32_t width;
    TextOf text = none;
    On on = On::Both;
};

constexpr auto kFields = std::to_array<Field>({
    {"Account", 10, text<&AccountingRecord::queue>},
    {"AdminComment", 19},
    {"AllocCPUS", 10, [](const Cell& c) { return number(alloc_cpus(c.record)); }},
    {"AllocNodes",
     10,
     [](const Cell& c) { return c.record.started > WallTime{} ? nodes(c) : "0"; }},
    {"AllocTRES", 10, text<&AccountingRecord::alloc_tres>},
    {"AssocID", 7},
    {"AveCPU",
     10,
     [](const Cell& c) {
         return length_text((c.record.usage.cpu_user + c.record.usage.cpu_system).count() / 1000 /
                            std::max<std::int64_t>(c.record.tasks, 1));
     },
     On::StepsOnly},
    {"AveCPUFreq", 10},
    {"AveDiskRead", 14},
    {"AveDiskWrite", 14},
    {"AvePages", 10},
    {"AveRSS", 10, peak, On::StepsOnly},
    {"AveVMSize", 10},
    {"BlockID", 16},
    {"Cluster", 10, text<&AccountingRecord::cluster>},
    {"Comment", 14, text<&AccountingRecord::comment>, On::JobsOnly},
    {"Constraints", 19},
    {"ConsumedEnergy", 14, [](const Cell&) { return std::string("0"); }},
    {"ConsumedEnergyRaw", 17, [](const Cell&) { return std::string("0"); }},
    {"Container", 19},
    {"CPUTime", 10, [](const Cell& c) { return length_text(elapsed_s(c) * alloc_cpus(c.record)); }},
    {"CPUTimeRAW", 10, [](const Cell& c) { return number(elapsed_s(c) * alloc_cpus(c.record)); }},
    {"DBIndex",
     10,
     [](const Cell& c) { return number(static_cast<std::int64_t>(c.record.workload.value())); }},
    {"DerivedExitCode", 15, exit_code, On::JobsOnly},
    {"Elapsed", 10, [](const Cell& c) { return length_text(elapsed_s(c)); }},
    {"ElapsedRaw", 10, [](const Cell& c) { return number(elapsed_s(c)); }},
    {"Eligible", 19, moment<&AccountingRecord::eligible>, On::JobsOnly},
    {"End", 19, moment<&AccountingRecord::ended>},
    {"ExitCode", 8, exit_code},
    {"Extra", 14},
    {"FailedNode", 15},
    {"Flags", 20},
    {"GID", 6, [](const Cell& c) { return number(c.record.gid); }, On::JobsOnly},
    {"Group", 9, group, On::JobsOnly},
    {"JobID", -12, job_id},
    {"JobIDRaw", -12, job_id},
    {"JobName", 10, text<&AccountingRecord::name>},
    {"Layout", 9},
    {"Licenses", 10},
    {"MaxDiskRead", 12},
    {"MaxDiskReadNode", 15},
    {"MaxDiskReadTask", 15},
    {"MaxDiskWrite", 12},
    {"MaxDiskWriteNode", 16},
    {"MaxDiskWriteTask", 16},
    {"MaxPages", 8},
    {"MaxPagesNode", 12},
    {"MaxPagesTask", 14},
    {"MaxRSS", 10, peak, On::StepsOnly},
    {"MaxRSSNode", 10},
    {"MaxRSSTask", 10},
    {"MaxVMSize", 10},
    {"MaxVMSizeNode", 14},
    {"MaxVMSizeTask", 14},
    {"McsLabel", 10},
    {"MinCPU", 10},
    {"MinCPUNode", 10},
    {"MinCPUTask", 10},
    {"NCPUS", 10, [](const Cell& c) { return number(alloc_cpus(c.record)); }},
    {"NNodes", 8, nodes},
    {"NodeList", 15, node_list},
    {"NTasks", 8, [](const Cell& c) { return number(c.record.tasks); }, On::StepsOnly},
    {"Partition", 10, text<&AccountingRecord::partition>, On::JobsOnly},
    {"Planned", 10, [](const Cell& c) { return length_text(planned_s(c)); }, On::JobsOnly},
    {"PlannedCPU",
     10,
     [](const Cell& c) { return length_text(planned_s(c) * c.record.cpus); },
     On::JobsOnly},
    {"PlannedCPURAW",
     13,
     [](const Cell& c) { return number(planned_s(c) * c.record.cpus); },
     On::JobsOnly},
    {"Priority", 10, [](const Cell& c) { return number(c.record.priority); }, On::JobsOnly},
    {"QOS", 10, text<&AccountingRecord::qos>, On::JobsOnly},
    {"QOSRAW", 10},
    {"QOSREQ", 10, text<&AccountingRecord::qos>, On::JobsOnly},
    {"Reason", 22, [](const Cell&) { return std::string("None"); }, On::JobsOnly},
    {"ReqCPUFreq", 10},
    {"ReqCPUFreqGov", 13},
    {"ReqCPUFreqMax", 13},
    {"ReqCPUFreqMin", 13},
    {"ReqCPUS", 8, req_cpus},
    {"ReqMem", 10, req_memory, On::JobsOnly},
    {"ReqNodes", 8, nodes},
    {"ReqTRES", 10, text<&AccountingRecord::req_tres>, On::JobsOnly},
    {"Reservation", 20},
    {"ReservationId", 13},
    {"Restarts", 8, [](const Cell& c) { return number(c.record.restarts); }, On::JobsOnly},
    {"SLUID", 14},
    {"Start", 19, moment<&AccountingRecord::started>},
    {"State", 10, [](const Cell& c) { return sacct_state(c.record); }},
    {"StdErr", 20},
    {"StdIn", 20},
    {"StdOut", 20},
    {"Submit", 19, moment<&AccountingRecord::submitted>},
    {"SubmitLine", 20, text<&AccountingRecord::submit_line>},
    {"Suspended", 10, [](const Cell& c) { return length_text(c.record.suspended.count() / 1000); }},
    {"SystemComment", 19},
    {"SystemCPU", 10, [](const Cell& c) { return cpu_time_text(c.record.usage.cpu_system); }},
    {"Timelimit", 10, time_limit, On::JobsOnly},
    {"TimelimitRaw", 12, time_limit_minutes, On::JobsOnly},
    {"TotalCPU",
     10,
     [](const Cell&
            c) { return cpu_time_text(c.record.usage.cpu_user + c.record.usage.cpu_system); }},
    {"TRESUsageInAve", 14},
    {"TRESUsageInMax", 14},
    {"TRESUsageInMaxNode", 18},
    {"TRESUsageInMaxTask", 18},
    {"TRESUsageInMin", 14},
    {"TRESUsageInMinNode", 18},
    {"TRESUsageInMinTask", 18},
    {"TRESUsageInTot", 14},
    {"TRESUsageOutAve", 15},
    {"TRESUsageOutMax", 15},
    {"TRESUsageOutMaxNode", 19},
    {"TRESUsageOutMaxTask", 19},
    {"TRESUsageOutMin", 15},
    {"TRESUsageOutMinNode", 19},
    {"TRESUsageOutMinTask", 19},
    {"TRESUsageOutTot", 15},
    {"UID", 6, [](const Cell& c) { return number(c.record.uid); }, On::JobsOnly},
    {"User", 9, user, On::JobsOnly},
    {"UserCPU", 10, [](const Cell& c) { return cpu_time_text(c.record.usage.cpu_user); }},
    {"WCKey", 10},
    {"WCKeyID", 8},
    {"WorkDir", 20, text<&AccountingRecord::work_dir>, On::JobsOnly},
});

/// The whole name, else the first that begins so.
const Field* find_field(std::string_view name) {
    for (const Field& field : kFields) {
        if (equal_nocase(field.name, name)) return &field;
    }
    for (const Field& field : kFields) {
        if (!name.empty() && starts_with_nocase(field.name, name)) return &field;
    }
    return nullptr;
}

void add_column(SacctLayout& layout, const Field& field, std::int32_t width) {
    layout.columns.push_back(
        {static_cast<std::uint16_t>(&field - kFields.data()), width, field.name});
}

Status add_field(SacctLayout& layout, std::string_view text) {
    const std::size_t percent = text.find('%');
    const std::string_view name = text.substr(0, percent);
    if (equal_nocase(name, "ALL")) {
        for (const Field& field : kFields)
            add_column(layout, field, field.width);
        return {};
    }
    for (const std::string_view gone : {"AllocGRES", "ReqGRES"}) {
        if (!equal_nocase(name, gone)) continue;
        return fail(ErrorCode::InvalidArgument,
                    std::string(gone) + " is deprecated, please use " +
                        std::string(gone.substr(0, gone.size() - 4)) + "TRES");
    }
    const Field* field = find_field(name);
    if (field == nullptr) {
        return fail(ErrorCode::InvalidArgument,
                    "Invalid field requested: \"" + printable(name, 60) + "\"");
    }
    std::int32_t width = field->width;
    if (percent != std::string_view::npos) {
        const Result<std::int32_t> said =
            parse_number<std::int32_t>(text.substr(percent + 1), -10'000, 10'000);
        if (said && *said != 0) width = *said;
    }
    add_column(layout, *field, width);
    return {};
}

void append_padded(std::string& out, std::string_view text, std::int32_t width) {
    const auto room = static_cast<std::size_t>(std::abs(width));
    std::string shown(text.substr(0, room));
    if (text.size() > room) shown.back() = '+';
    const std::size_t padding = room - shown.size();
    if (width > 0) out.append(padding, ' ');
    out += shown;
    if (width < 0) out.append(padding, ' ');
    out += ' ';
}

void append_line(std::string& out, const SacctLayout& layout, std::span<const std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (layout.style == SacctStyle::Table) {
            append_padded(out, cells[i], layout.columns[i].width);
            continue;
        }
        out += cells[i];
        const bool ends = layout.style == SacctStyle::Parsable2 && i + 1 == cells.size();
        if (!ends) out += layout.delimiter;
    }
    out += '\n';
}

/// A step's row shows its job's account, user and the like.
AccountingRecord completed_by(const AccountingRecord& step, const AccountingRecord* job) {
    AccountingRecord record = step;
    if (job == nullptr) return record;
    record.job = job->job;
    if (record.queue.empty()) record.queue = job->queue;
    if (record.cluster.empty()) record.cluster = job->cluster;
    if (record.submitted == WallTime{}) record.submitted = job->submitted;
    if (record.node_list.empty()) record.node_list = job->node_list;
    return record;
}

std::string_view base_word(const AccountingRecord& record) {
    switch (record.state) {
        case model::WorkloadState::Pending:
            return "PENDING";
        case model::WorkloadState::Starting:
        case model::WorkloadState::Running:
            return "RUNNING";
        case model::WorkloadState::Suspended:
            return "SUSPENDED";
        case model::WorkloadState::Completing:
        case model::WorkloadState::Done:
            break;
    }
    return record.requeued ? "REQUEUED" : end_state(record.outcome.kind);
}

}  // namespace

std::vector<std::string_view> sacct_field_names() {
    std::vector<std::string_view> names;
    for (const Field& field : kFields)
        names.push_back(field.name);
    return names;
}

std::string sacct_help_format() {
    std::string out;
    std::size_t column = 0;
    for (const Field& field : kFields) {
        std::string cell(field.name);
        cell.resize(std::max<std::size_t>(cell.size(), 19), ' ');
        out += cell;
        ++column;
        out += column % 4 == 0 ? '\n' : ' ';
    }
    if (column % 4 != 0) out += '\n';
    return out;
}

Result<SacctLayout> sacct_layout(std::string_view format) {
    SacctLayout layout;
    for (const std::string_view part : split_list(format)) {
        TRY_STATUS(add_field(layout, part));
    }
    return layout;
}

void append_sacct_header(std::string& out, const SacctLayout& layout) {
    std::vector<std::string> names, dashes;
    for (const SacctColumn& column : layout.columns) {
        names.emplace_back(column.header);
        dashes.emplace_back(static_cast<std::size_t>(std::abs(column.width)), '-');
    }
    append_line(out, layout, names);
    if (layout.style == SacctStyle::Table) append_line(out, layout, dashes);
}

void append_sacct_row(std::string& out,
                      const SacctLayout& layout,
                      const AccountingRecord& record,
                      const AccountingRecord* job,
                      const TextContext& context) {
    const AccountingRecord shown = completed_by(record, job);
    const Cell cell{shown, layout, context};
    const On row_is = record.step == -1 ? On::JobsOnly : On::StepsOnly;
    std::vector<std::string> cells;
    for (const SacctColumn& column : layout.columns) {
        const Field& field = kFields[column.field];
        const bool has = field.on == On::Both || field.on == row_is;
        cells.push_back(has ? field.text(cell) : std::string());
    }
    append_line(out, layout, cells);
}

std::string sacct_state(const AccountingRecord& record) {
    std::string state(base_word(record));
    if (state == "CANCELLED" && record.step == -1) {
        state += " by " + std::to_string(record.outcome.by_uid);
    }
    return state;
}

bool sacct_has_state(const AccountingRecord& record, std::span<const std::string> states) {
    return std::ranges::any_of(states, [&](const std::string& word) {
        const auto parsed = parse_job_state(word);
        return parsed && *parsed == base_word(record);
    });
}

}  // namespace twinyard::slurm
