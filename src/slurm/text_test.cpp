// Scripts, patterns, signals and times: texts that users write.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "slurm/batch_script.h"
#include "slurm/begin_time.h"
#include "slurm/calendar.h"
#include "slurm/file_pattern.h"
#include "slurm/signal_names.h"

namespace twinyard::slurm {
namespace {

// ---- batch scripts

TEST(BatchScript, Checks) {
    const std::string look =
        "This does not look like a batch script.  The first\n"
        "line must start with #! followed by the path to an interpreter.\n"
        "For instance: #!/bin/sh";
    const std::string nul =
        "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'.";
    const std::string dos =
        "Batch script contains DOS line breaks (\\r\\n)\n"
        "instead of expected UNIX line breaks (\\n).";
    const std::vector<std::pair<std::string, std::string>> rows = {
        {"#!/bin/sh\ntrue\n", ""},
        {"#!/bin/sh", ""},
        {"", "Batch script is empty!"},
        {" \n\t\n", "Batch script contains only whitespace!"},
        {"echo hi\n", look},
        {"\x7f"
         "ELF\x01",
         look},
        {std::string("#!/bin/sh\necho \0", 16), nul},
        {"#!/bin/sh\r\ntrue\r\n", dos},
        {"#!/bin/sh\n" + std::string(kScriptMax, 'x'),
         "Pathname of a file, directory or other parameter too long"},
    };
    for (const auto& [script, error] : rows) {
        const Status status = check_batch_script(script);
        EXPECT_EQ(status ? "" : status.error().message(), error) << script.substr(0, 20);
    }
}

TEST(BatchScript, DirectivesEndAtTheFirstCommand) {
    const Result<std::vector<Directive>> found = batch_directives(
        "#!/bin/bash\n"
        "#SBATCH --job-name=llama70b -N 2\n"
        "# a comment\n"
        "\n"
        "##SBATCH --not-this\n"
        "#SBATCHER --nor-this\n"
        "#SBATCH --comment='a b' --output=\"x y\".out\\ z # the rest is a comment\n"
        "#SBATCH\n"
        "   # indented comments go on\n"
        "#SBATCH\t-t 1\n"
        "echo start\n"
        "#SBATCH --too-late\n");
    ASSERT_TRUE(found.has_value());
    using Args = std::vector<std::string>;
    const std::vector<Directive> expected = {
        {2, Args{"--job-name=llama70b", "-N", "2"}},
        {7, Args{"--comment=a b", "--output=x y.out z"}},
        {10, Args{"-t", "1"}},
    };
    EXPECT_EQ(*found, expected);
}

TEST(BatchScript, OpenQuoteNamesItsLine) {
    const auto found = batch_directives("#!/bin/sh\n#SBATCH --comment='x\ntrue\n");
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().message(), "line 2: a quote is not closed");
}

// ---- file patterns

TEST(FilePattern, Letters) {
    PatternFacts facts;
    facts.job = 42;
    facts.step = 3;
    facts.node = "n7.cluster";
    facts.node_index = 1;
    facts.task = 5;
    facts.restarts = 2;
    facts.user = "ada";
    facts.job_name = "train";
    PatternFacts element = facts;
    element.array_job = 40;
    element.array_task = 13;
    const std::vector<std::pair<const char*, const char*>> rows = {
        {"slurm-%j.out", "slurm-42.out"},
        {"job%4j.out", "job0042.out"},
        {"%J", "42.3"},
        {"%j-%2t.out", "42-05.out"},
        {"%N_%n_%s", "n7_1_3"},
        {"%u/%x.%r", "ada/train.2"},
        {"%A_%a", "42_4294967294"},
        {"%%j", "%j"},
        {"a\\%j", "a%j"},
        {"%z%", "%z%"},
        {"%99j", "0000000042"},
        {"%5", "%5"},
        {"", ""},
    };
    for (const auto& [pattern, expected] : rows)
        EXPECT_EQ(expand_file_pattern(pattern, facts), expected) << pattern;
    EXPECT_EQ(expand_file_pattern("slurm-%A_%a.%b", element), "slurm-40_13.3");
    PatternFacts batch = facts;
    batch.step.reset();
    EXPECT_EQ(expand_file_pattern("name-%J.err %s", batch), "name-42.err batch");
}

TEST(FilePattern, WhoHasAFileOfItsOwn) {
    EXPECT_TRUE(is_per_task("out-%2t"));
    EXPECT_FALSE(is_per_task("out-%%t"));
    EXPECT_FALSE(is_per_task("out\\-%t"));
    EXPECT_TRUE(is_per_node("%N.log"));
    EXPECT_FALSE(is_per_node("%j.log"));
}

// ---- signals

TEST(Signals, NamesAndNumbers) {
    EXPECT_EQ(signal_number("USR1"), 10);
    EXPECT_EQ(signal_number("SIGterm"), 15);
    EXPECT_EQ(signal_number("9"), 9);
    EXPECT_EQ(signal_number("0"), std::nullopt);
    EXPECT_EQ(signal_number("FOO"), std::nullopt);
    EXPECT_EQ(signal_number(""), std::nullopt);
    EXPECT_EQ(signal_name(9), "KILL");
    EXPECT_EQ(signal_name(40), "40");
    EXPECT_EQ(signal_description(9), "Killed");
}

TEST(Signals, Option) {
    const std::vector<std::tuple<const char*, int, int, bool>> rows = {
        {"USR1@30", 10, 30, false},
        {"B:USR2@90", 12, 90, true},
        {"b:10", 10, 60, true},
        {"TERM", 15, 60, false},
    };
    for (const auto& [text, signal, seconds, shell] : rows) {
        const Result<model::EndWarning> warning = parse_signal_option(text);
        ASSERT_TRUE(warning.has_value()) << text;
        EXPECT_EQ(*warning, (model::EndWarning{signal, Seconds{seconds}, shell})) << text;
    }
    for (const char* bad : {"", "FOO", "USR1@", "USR1@x", "X:USR1", "USR1@70000"}) {
        const Result<model::EndWarning> warning = parse_signal_option(bad);
        ASSERT_FALSE(warning.has_value()) << bad;
        EXPECT_EQ(warning.error().message(), "Invalid --signal specification") << bad;
    }
}

// ---- times

/// 2026-12-01 10:00:00 UTC, a Tuesday.
constexpr std::int64_t kNow = 1796119200;

TEST(TimeWords, Table) {
    const Calendar utc = utc_calendar();
    const auto at = [&](const char* text, bool past = false) -> std::string {
        const Result<std::int64_t> time = parse_time_word(text, kNow, utc, past);
        return time ? date_text(utc, *time * 1000, "epoch") : time.error().message();
    };
    const std::vector<std::pair<const char*, const char*>> rows = {
        {"now", "2026-12-01T10:00:00"},
        {"now+1hour", "2026-12-01T11:00:00"},
        {"now+90", "2026-12-01T10:01:30"},
        {"now + 2 days", "2026-12-03T10:00:00"},
        {"now-7days", "2026-11-24T10:00:00"},
        {"now+1week", "2026-12-08T10:00:00"},
        {"today", "2026-12-01T00:00:00"},
        {"tomorrow", "2026-12-02T00:00:00"},
        {"midnight", "2026-12-02T00:00:00"},
        {"noon", "2026-12-01T12:00:00"},
        {"teatime", "2026-12-01T16:00:00"},
        {"fika", "2026-12-01T15:00:00"},
        {"16:00", "2026-12-01T16:00:00"},
        {"9:30", "2026-12-02T09:30:00"},
        {"16:00:05", "2026-12-01T16:00:05"},
        {"3:15 PM", "2026-12-01T15:15:00"},
        {"12:00am", "2026-12-02T00:00:00"},
        {"1215", "2026-12-15T00:00:00"},
        {"0101", "2027-01-01T00:00:00"},
        {"121526", "2026-12-15T00:00:00"},
        {"12/24/26-18:30", "2026-12-24T18:30:00"},
        {"12/24", "2026-12-24T00:00:00"},
        {"24.12.26", "Invalid time specification (pos=0): 24.12.26"},
        {"12.24.26", "2026-12-24T00:00:00"},
        {"2026-12-24", "2026-12-24T00:00:00"},
        {"2026-12-24T18:30", "2026-12-24T18:30:00"},
        {"2026-12-24T18:30:15", "2026-12-24T18:30:15"},
        {"1970-01-01-00:00:01", "1970-01-01T00:00:01"},
        {"2024-02-29", "2024-02-29T00:00:00"},
        {"2026-02-29", "Invalid time specification (pos=0): 2026-02-29"},
        {"2026-13-01", "Invalid time specification (pos=0): 2026-13-01"},
        {"25:00", "Invalid time specification (pos=0): 25:00"},
        {"12:60", "Invalid time specification (pos=0): 12:60"},
        {"13:00 PM", "Invalid time specification (pos=0): 13:00 PM"},
        {"now+", "Invalid time specification (pos=0): now+"},
        {"now+1year", "Invalid time specification (pos=0): now+1year"},
        {"now+99999999999999999999",
         "Invalid time specification (pos=0): now+99999999999999999999"},
        {"foo", "Invalid time specification (pos=0): foo"},
        {"", "Invalid time specification (pos=0): "},
        {"2026-12-24T18:30junk", "Invalid time specification (pos=0): 2026-12-24T18:30junk"},
    };
    for (const auto& [text, expected] : rows)
        EXPECT_EQ(at(text), expected) << text;
    EXPECT_EQ(at("9:30", true), "2026-12-01T09:30:00");
    EXPECT_EQ(at("midnight", true), "2026-12-01T00:00:00");
}

TEST(Dates, Formats) {
    const Calendar utc = utc_calendar();
    const auto text = [&](std::int64_t seconds, const std::string& format) {
        return date_text(utc, seconds * 1000, "Unknown", format, kNow * 1000);
    };
    EXPECT_EQ(text(kNow, "standard"), "2026-12-01T10:00:00");
    EXPECT_EQ(text(0, "standard"), "Unknown");
    EXPECT_EQ(text(kNow, "%H:%M"), "10:00");
    EXPECT_EQ(text(kNow + 3600, "relative"), "11:00:00");
    EXPECT_EQ(text(kNow + 86'400, "relative"), "Tomorr 10:00");
    EXPECT_EQ(text(kNow - 86'400, "relative"), "Ystday 10:00");
    EXPECT_EQ(text(kNow + 3 * 86'400, "relative"), "Fri 10:00");
    EXPECT_EQ(text(kNow + 30 * 86'400, "relative"), "31 Dec 10:00");
}

}  // namespace
}  // namespace twinyard::slurm
