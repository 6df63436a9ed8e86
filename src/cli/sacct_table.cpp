// All options of sacct. Order: as in its manual page.
#include <array>

#include "cli/commands.h"
#include "cli/sacct.h"

namespace twinyard::cli {

namespace {

using O = SacctOptions;
using enum Argument;
using enum OptionState;

constexpr std::string_view kOneCluster = "there is one cluster, this one";

constexpr std::string_view kLongFields =
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,"
    "maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,"
    "mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,reqcpufreqmin,"
    "reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,"
    "maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,"
    "reqtres,alloctres,tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,"
    "tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutmax,"
    "tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutave,tresusageouttot";

void add_to_fields(SacctOptions& options, std::string_view fields) {
    options.fields.append(fields).append(",");
}
Status add_fields(SacctOptions& options, OptionValue value) {
    add_to_fields(options, value.text);
    return {};
}
Status add_brief(SacctOptions& options, OptionValue) {
    add_to_fields(options, slurm::kSacctBrief);
    return {};
}
Status add_long(SacctOptions& options, OptionValue) {
    add_to_fields(options, kLongFields);
    return {};
}
template <slurm::SacctStyle Style>
Status set_style(SacctOptions& options, OptionValue) {
    options.style = Style;
    return {};
}
/// Ids may have brackets: "5,7_[1-3,9]".
Status add_jobs(SacctOptions& options, OptionValue value) {
    int depth = 0;
    std::string job;
    for (const char c : std::string(value.text) + ",") {
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c != ',' || depth > 0) {
            job += c;
        } else if (!trim(job).empty()) {
            options.jobs.emplace_back(trim(job));
            job.clear();
        }
    }
    return {};
}
Status set_units(SacctOptions& options, OptionValue value) {
    const bool known = value.text.size() == 1 &&
                       std::string_view("KMGTP").find(value.text.front()) != std::string::npos;
    if (!known) {
        return fail(
            ErrorCode::Conflict,
            "Invalid unit type '" + printable(value.text, 20) + "'. Possible options are 'KMGTP'");
    }
    options.units = value.text.front();
    return {};
}

constexpr auto kRows = std::to_array<OptionRow>({
    {.names = "accounts|account",
     .letter = 'A',
     .argument = Required,
     .state = Built,
     .set = add_items<&O::accounts>,
     .test = "Sacct.Filters",
     .help = "jobs of these accounts",
     .value = "accounts"},
    no_effect("allclusters", 'L', None, kOneCluster),
    {.names = "allocations",
     .letter = 'X',
     .state = Built,
     .set = keep_flag<&O::allocations>,
     .test = "Sacct.Steps",
     .help = "jobs without their steps"},
    {.names = "allusers",
     .letter = 'a',
     .state = Built,
     .set = keep_flag<&O::all_users>,
     .test = "Sacct.Users",
     .help = "jobs of all users"},
    no_effect("array", 0, None, "every line is one job: there are no job arrays yet"),
    not_built("associations", 'x'),
    not_built("batch-script", 'B', None),
    {.names = "brief",
     .letter = 'b',
     .state = Built,
     .set = call<&add_brief>,
     .test = "Sacct.Formats",
     .help = "jobid, state, exitcode"},
    {.names = "clusters|cluster",
     .letter = 'M',
     .argument = Required,
     .state = Built,
     .set = add_items<&O::clusters>,
     .test = "Sacct.Clusters",
     .help = "this cluster by its name, or all",
     .value = "names"},
    not_built("completion", 'c', None),
    not_built("constraints", 'C'),
    {.names = "delimiter",
     .argument = Required,
     .state = Built,
     .set = keep_text<&O::delimiter>,
     .test = "Sacct.Formats",
     .help = "between the columns of -p and -P",
     .value = "characters"},
    {.names = "duplicates",
     .letter = 'D',
     .state = Built,
     .set = keep_flag<&O::duplicates>,
     .test = "Sacct.Attempts",
     .help = "every attempt of requeued jobs"},
    {.names = "endtime",
     .letter = 'E',
     .argument = Required,
     .state = Built,
     .set = keep_text<&O::end>,
     .test = "Sacct.Window",
     .help = "jobs before this time",
     .value = "time"},
    not_built("env-vars", 0, None),
    not_built("expand-patterns", 0, None),
    not_built("federation", 0, None),
    not_built("file", 'f'),
    not_built("flags", 'F'),
    {.names = "format|fields",
     .letter = 'o',
     .argument = Required,
     .state = Built,
     .set = call<&add_fields>,
     .test = "Sacct.Formats",
     .help = "columns: \"jobid%20,state\"",
     .value = "fields"},
    not_built("gid|group", 'g'),
    {.names = "helpformat",
     .letter = 'e',
     .state = Built,
     .set = keep_flag<&O::help_format>,
     .test = "Sacct.HelpFormat",
     .help = "names of all columns"},
    {.names = "jobs",
     .letter = 'j',
     .argument = Required,
     .state = Built,
     .set = call<&add_jobs>,
     .test = "Sacct.Jobs",
     .help = "these jobs or steps",
     .value = "job[.step]"},
    not_built("json", 0, Optional),
    no_effect("local", 0, None, kOneCluster),
    {.names = "long",
     .letter = 'l',
     .state = Built,
     .set = call<&add_long>,
     .test = "Sacct.Formats",
     .help = "many columns"},
    {.names = "name",
     .argument = Required,
     .state = Built,
     .set = add_items<&O::names>,
     .test = "Sacct.Filters",
     .help = "jobs with these names",
     .value = "names"},
    not_built("ncpus", 'I'),
    not_built("nnodes", 'i'),
    {.names = "noconvert",
     .state = Built,
     .set = keep_flag<&O::no_convert>,
     .test = "Sacct.Formats",
     .help = "sizes in their own unit"},
    not_built("nodelist", 'N'),
    {.names = "noheader",
     .letter = 'n',
     .state = Built,
     .set = keep_flag<&O::no_header>,
     .test = "Sacct.Formats",
     .help = "no header lines"},
    {.names = "parsable",
     .letter = 'p',
     .state = Built,
     .set = call<&set_style<slurm::SacctStyle::Parsable>>,
     .test = "Sacct.Formats",
     .help = "columns end with a bar"},
    {.names = "parsable2",
     .letter = 'P',
     .state = Built,
     .set = call<&set_style<slurm::SacctStyle::Parsable2>>,
     .test = "Sacct.Formats",
     .help = "bars between the columns"},
    {.names = "partition",
     .letter = 'r',
     .argument = Required,
     .state = Built,
     .set = add_items<&O::partitions>,
     .test = "Sacct.Filters",
     .help = "jobs of these partitions",
     .value = "names"},
    {.names = "qos",
     .letter = 'q',
     .argument = Required,
     .state = Built,
     .set = add_items<&O::qos>,
     .test = "Sacct.Filters",
     .help = "jobs of these qos",
     .value = "names"},
    not_built("reason", 'R'),
    {.names = "starttime",
     .letter = 'S',
     .argument = Required,
     .state = Built,
     .set = keep_text<&O::start>,
     .test = "Sacct.Window",
     .help = "jobs after this time",
     .value = "time"},
    {.names = "state",
     .letter = 's',
     .argument = Required,
     .state = Built,
     .set = add_items<&O::states>,
     .test = "Sacct.States",
     .help = "jobs that were in these states",
     .value = "states"},
    not_built("timelimit-max", 'K'),
    not_built("timelimit-min", 'k'),
    not_built("truncate", 'T', None),
    {.names = "uid|user",
     .letter = 'u',
     .argument = Required,
     .state = Built,
     .set = add_items<&O::users>,
     .test = "Sacct.Users",
     .help = "jobs of these users",
     .value = "users"},
    {.names = "units",
     .argument = Required,
     .state = Built,
     .set = call<&set_units>,
     .test = "Sacct.Formats",
     .help = "sizes in K, M, G, T or P",
     .value = "unit"},
    no_effect("use-local-uid", 0, None, "names of users are always this host's"),
    no_effect("verbose", 'v', None, "the command has nothing more to say"),
    not_built("wckeys", 'W'),
    no_effect("whole-hetjob", 0, Optional, "every job has one component"),
    not_built("yaml", 0, Optional),
    {.names = "help", .letter = 'h', .state = Help, .help = "show this help message"},
    kUsageRow,
    kVersionRow,
});

constexpr OptionTable kTable{
    .command = "sacct",
    .usage =
        "[-abDlnPpX] [-A accounts] [-E time] [-j job[.step]] [--name names] [-o fields] "
        "[-q qos] [-r partitions] [-S time] [-s states] [-u users]",
    .rows = kRows,
};

}  // namespace

const OptionTable& sacct_table() {
    return kTable;
}

}  // namespace twinyard::cli
