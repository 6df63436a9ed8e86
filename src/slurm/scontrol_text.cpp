// The records of `scontrol show`. Tools read them by key and by line, so lines, order and blanks
// are Slurm's; a record is built as lines, and joined by "\n   " or, with -o, by blanks.
#include "slurm/scontrol_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/duration_text.h"
#include "base/text.h"
#include "slurm/environment.h"
#include "slurm/words.h"

namespace twinyard::slurm {

namespace {

using api::JobRow;
using api::NodeRow;
using api::PartitionRow;

class Record {
  public:
    explicit Record(RecordStyle style) : style_(style) {}

    void line(std::string text) { lines_.push_back(std::move(text)); }
    void append_to(std::string& out) const {
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            if (i > 0) out += style_.one_line ? " " : "\n   ";
            out += lines_[i];
        }
        out += style_.one_line ? "\n" : "\n\n";
    }

  private:
    RecordStyle style_;
    std::vector<std::string> lines_;
};

std::string number(std::int64_t value) {
    return std::to_string(value);
}
std::string or_null(const std::string& text) {
    return text.empty() ? "(null)" : text;
}
std::string yes_no(bool value) {
    return value ? "YES" : "NO";
}

std::string date(const TextContext& context, std::int64_t ms, std::string_view none) {
    return date_text(context.calendar, ms, none, context.time_format, context.now_ms);
}

std::string named(const std::function<std::string(std::uint32_t)>& names, std::uint32_t id) {
    return (names ? names(id) : number(id)) + "(" + number(id) + ")";
}

std::string limit_text(std::int64_t seconds) {
    return format_time_limit_padded(seconds < 0 ? kUnlimited : Seconds{seconds});
}

std::string end_text(const JobRow& row, const TextContext& context) {
    if (row.end_ms > 0) return date(context, row.end_ms, "Unknown");
    if (row.expected_start_ms > 0 && row.time_limit_s >= 0) {
        return date(context, row.expected_start_ms + row.time_limit_s * 1000, "Unknown");
    }
    return "Unknown";
}

std::string nodes_text(const JobRow& row) {
    const bool range = row.base_state == "PENDING" && row.nodes_max > row.nodes;
    return range ? number(row.nodes) + "-" + number(row.nodes_max) : number(row.nodes);
}

void add_job_head(Record& record, const JobRow& row, const TextContext& context) {
    record.line("JobId=" + number(row.job) + " JobName=" + row.name);
    record.line("UserId=" + named(context.user_name, row.uid) +
                " GroupId=" + named(context.group_name, row.gid) + " MCS_label=N/A");
    record.line("Priority=" + number(row.priority) + " Nice=" + number(row.nice) +
                " Account=" + or_null(row.account) + " QOS=" + or_null(row.qos));
    // One word a value, so that readers can split the line at blanks.
    std::string reason = row.reason;
    std::ranges::replace(reason, ' ', '_');
    record.line("JobState=" + row.state + " Reason=" + reason +
                " Dependency=" + or_null(row.dependency));
    record.line("Requeue=" + number(row.requeue) + " Restarts=" + number(row.restarts) +
                " BatchFlag=" + number(row.batch) +
                " Reboot=0 ExitCode=" + exit_code_text(row.exit_code, row.exit_signal));
}

void add_job_times(Record& record, const JobRow& row, const TextContext& context) {
    record.line("RunTime=" + format_time_limit_padded(Seconds{row.run_time_ms / 1000}) +
                " TimeLimit=" + limit_text(row.time_limit_s) +
                " TimeMin=" + (row.time_min_s ? limit_text(*row.time_min_s) : "N/A"));
    record.line("SubmitTime=" + date(context, row.submit_ms, "Unknown") +
                " EligibleTime=" + date(context, row.eligible_ms, "Unknown"));
    record.line("AccrueTime=" + date(context, row.eligible_ms, "Unknown"));
    const std::int64_t start = row.start_ms > 0 ? row.start_ms : row.expected_start_ms;
    record.line("StartTime=" + date(context, start, "Unknown") + " EndTime=" +
                end_text(row, context) + " Deadline=" + date(context, row.deadline_ms, "N/A"));
    record.line("SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main");
}

std::string memory_line(const JobRow& row) {
    const bool per_cpu = row.mem_per_cpu_mb >= 0;
    const std::int64_t mega = per_cpu ? row.mem_per_cpu_mb : row.mem_per_node_mb;
    const std::string amount = mega > 0 ? memory_text(mega, true) : "0";
    return "MinCPUsNode=" + number(std::max<std::int64_t>(row.cpus_per_task, 1)) + " MinMemory" +
           (per_cpu ? "CPU=" : "Node=") + amount + " MinTmpDiskNode=0";
}

void add_job_resources(Record& record, const JobRow& row, const TextContext&, bool detail) {
    record.line("Partition=" + row.partition +
                " AllocNode:Sid=" + (row.submit_host.empty() ? "N/A" : row.submit_host) + ":0");
    record.line("ReqNodeList=" + or_null(row.required_nodes) +
                " ExcNodeList=" + or_null(row.excluded_nodes));
    const std::string scheduled =
        row.expected_nodes.empty() ? "" : " SchedNodeList=" + row.expected_nodes;
    record.line("NodeList=" + row.node_list + scheduled);
    if (!row.batch_host.empty()) record.line("BatchHost=" + row.batch_host);
    const std::string per_node = row.ntasks_per_node == 0 ? "0" : number(row.ntasks_per_node);
    record.line("NumNodes=" + nodes_text(row) + " NumCPUs=" + number(row.cpus) +
                " NumTasks=" + number(row.tasks) + " CPUs/Task=" +
                number(std::max<std::int64_t>(row.cpus_per_task, 1)) + " ReqB:S:C:T=0:0:*:*");
    record.line("ReqTRES=" + or_null(row.req_tres));
    record.line("AllocTRES=" + or_null(row.alloc_tres));
    record.line("Socks/Node=* NtasksPerN:B:S:C=" + per_node + ":0:*:* CoreSpec=*");
    if (detail) {
        record.line("JOB_GRES=" + or_null(row.gres_used));
        for (const JobRow::Grant& grant : row.grants) {
            record.line("  Nodes=" + grant.node + " CPU_IDs=" + index_ranges(grant.cpus) +
                        " Mem=" + number(grant.memory_mb) + " GRES=" + grant.gres);
        }
    }
    record.line(memory_line(row));
    record.line("Features=" + or_null(row.features) + " DelayBoot=00:00:00");
    record.line("OverSubscribe=" + row.oversubscribe +
                " Contiguous=0 Licenses=" + or_null(row.licenses) + " Network=(null)");
}

void add_job_files(Record& record, const JobRow& row) {
    record.line("Command=" + or_null(row.command));
    if (!row.submit_line.empty()) record.line("SubmitLine=" + printable(row.submit_line, 4096));
    record.line("WorkDir=" + row.work_dir);
    if (!row.comment.empty()) record.line("Comment=" + row.comment);
    record.line("StdErr=" + row.std_err);
    record.line("StdIn=" + row.std_in);
    record.line("StdOut=" + row.std_out);
    if (!row.tres_per_job.empty()) record.line("TresPerJob=" + row.tres_per_job);
    if (!row.tres_per_node.empty()) record.line("TresPerNode=" + row.tres_per_node);
    if (!row.tres_per_task.empty()) record.line("TresPerTask=" + row.tres_per_task);
    // Two of our own: Slurm has no such jobs, and no such answer.
    if (row.emulated) record.line("Emulated=yes (no process runs on these nodes)");
    if (!row.explanation.empty()) record.line("Explanation=" + row.explanation);
}

std::string load_text(double load) {
    if (load < 0) return "N/A";
    std::array<char, 32> out{};
    std::snprintf(out.data(), out.size(), "%.2f", load);
    return out.data();
}

void add_node_notes(Record& record, const NodeRow& row, const TextContext& context) {
    if (!row.reason.empty()) {
        std::string reason = "Reason=" + row.reason;
        if (row.reason_ms > 0) {
            const std::string who =
                context.user_name ? context.user_name(row.reason_uid) : number(row.reason_uid);
            reason += " [" + who + "@" + date(context, row.reason_ms, "Unknown") + "]";
        }
        record.line(reason);
    }
    if (row.emulated) record.line("Emulated=yes");
    if (!row.tracking.empty()) record.line("ProcessTracking=" + row.tracking);
    if (!row.notes.empty()) record.line("Notes=" + row.notes);
}

std::string unlimited_or(std::int64_t value) {
    return value < 0 ? "UNLIMITED" : number(value);
}

std::string partition_memory(const PartitionRow& row, bool maximum) {
    const std::string name = maximum ? "MaxMem" : "DefMem";
    const std::int64_t per_cpu = maximum ? row.max_mem_per_cpu_mb : row.def_mem_per_cpu_mb;
    const std::int64_t per_node = maximum ? row.max_mem_per_node_mb : row.def_mem_per_node_mb;
    if (per_cpu >= 0) return name + "PerCPU=" + number(per_cpu);
    return name + "PerNode=" + unlimited_or(per_node);
}

}  // namespace

void append_job_record(std::string& out,
                       const JobRow& row,
                       RecordStyle style,
                       const TextContext& context) {
    Record record(style);
    add_job_head(record, row, context);
    if (style.detail) {
        record.line("DerivedExitCode=" + exit_code_text(row.exit_code, row.exit_signal));
    }
    add_job_times(record, row, context);
    add_job_resources(record, row, context, style.detail);
    add_job_files(record, row);
    record.append_to(out);
}

void append_node_record(std::string& out,
                        const NodeRow& row,
                        RecordStyle style,
                        const TextContext& context) {
    Record record(style);
    record.line("NodeName=" + row.name + (row.arch.empty() ? "" : " Arch=" + row.arch) +
                " CoresPerSocket=" + number(row.cores_per_socket));
    record.line("CPUAlloc=" + number(row.cpus_alloc) + " CPUEfctv=" + number(row.cpus) +
                " CPUTot=" + number(row.cpus) + " CPULoad=" + load_text(row.load));
    record.line("AvailableFeatures=" + or_null(row.features));
    record.line("ActiveFeatures=" + or_null(row.features));
    record.line("Gres=" + or_null(row.gres));
    if (style.detail) {
        record.line("GresDrain=N/A");
        record.line("GresUsed=" + (row.gres_used.empty() ? "gpu:0" : row.gres_used));
    }
    record.line("NodeAddr=" + row.address + " NodeHostName=" + row.host_name +
                (row.version.empty() ? "" : " Version=" + row.version));
    if (!row.os.empty()) record.line("OS=" + row.os);
    const std::string free = row.memory_free_mb < 0 ? "N/A" : number(row.memory_free_mb);
    record.line("RealMemory=" + number(row.memory_mb) + " AllocMem=" + number(row.memory_alloc_mb) +
                " FreeMem=" + free + " Sockets=" + number(row.sockets) +
                " Boards=" + number(row.boards));
    record.line("State=" + row.state + " ThreadsPerCore=" + number(row.threads_per_core) +
                " TmpDisk=" + number(row.tmp_disk_mb) + " Weight=" + number(row.weight) +
                " Owner=N/A MCS_label=N/A");
    if (!row.partitions.empty()) record.line("Partitions=" + row.partitions);
    record.line("BootTime=" + date(context, row.boot_ms, "None") +
                " SlurmdStartTime=" + date(context, row.agent_start_ms, "None"));
    record.line("LastBusyTime=" + date(context, row.last_busy_ms, "Unknown"));
    record.line("CfgTRES=" + row.cfg_tres);
    record.line("AllocTRES=" + row.alloc_tres);
    add_node_notes(record, row, context);
    record.append_to(out);
}

void append_partition_record(std::string& out,
                             const PartitionRow& row,
                             RecordStyle style,
                             const TextContext&) {
    Record record(style);
    record.line("PartitionName=" + row.name);
    record.line("AllowGroups=" + row.allow_groups +
                (row.deny_accounts.empty() ? " AllowAccounts=" + row.allow_accounts
                                           : " DenyAccounts=" + row.deny_accounts) +
                (row.deny_qos.empty() ? " AllowQos=" + row.allow_qos : " DenyQos=" + row.deny_qos));
    record.line("AllocNodes=ALL Default=" + yes_no(row.is_default) +
                " QoS=" + (row.qos.empty() ? "N/A" : row.qos));
    const std::string default_time =
        row.time_default_s == -2 ? "NONE" : limit_text(row.time_default_s);
    record.line("DefaultTime=" + default_time + " DisableRootJobs=NO ExclusiveUser=NO" +
                " ExclusiveTopo=NO GraceTime=0 Hidden=" + yes_no(row.hidden));
    record.line("MaxNodes=" + unlimited_or(row.nodes_max) +
                " MaxTime=" + limit_text(row.time_max_s) + " MinNodes=" + number(row.nodes_min) +
                " LLN=NO MaxCPUsPerNode=" + unlimited_or(row.cpus_per_node_max) +
                " MaxCPUsPerSocket=UNLIMITED");
    record.line("Nodes=" + or_null(row.nodes));
    record.line("PriorityJobFactor=" + number(row.job_factor) +
                " PriorityTier=" + number(row.tier) + " RootOnly=" + yes_no(row.root_only) +
                " ReqResv=NO OverSubscribe=" + row.oversubscribe);
    record.line("OverTimeLimit=NONE PreemptMode=OFF");
    record.line("State=" + row.state + " TotalCPUs=" + number(row.total_cpus) +
                " TotalNodes=" + number(row.total_nodes) + " SelectTypeParameters=NONE");
    record.line("JobDefaults=(null)");
    record.line(partition_memory(row, false) + " " + partition_memory(row, true));
    record.line("TRES=" + row.tres);
    record.append_to(out);
}

std::string config_text(const api::ControllerInfo& info, const TextContext& context) {
    std::string out = "Configuration data as of " + date(context, context.now_ms, "Unknown") + "\n";
    for (const auto& [name, value] : info.config) {
        std::string key = name;
        key.resize(std::max<std::size_t>(key.size(), 23), ' ');
        out += key + " = " + value + "\n";
    }
    out += "\nSlurmctld(primary) at " + info.host + " is UP\n";
    return out;
}

std::string ping_text(const api::ControllerInfo& info) {
    return "Slurmctld(primary) at " + info.host + " is UP\n";
}

}  // namespace twinyard::slurm
