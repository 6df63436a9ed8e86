#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "accounting/accounting.h"

/// What every history must do. Instantiate with a factory in each engine's test.
namespace twinyard::accounting {

inline api::AccountingRecord job_row(std::uint32_t job,
                                     std::uint64_t seq,
                                     std::int64_t started,
                                     std::int64_t ended) {
    api::AccountingRecord record;
    record.outbox_seq = seq;
    record.workload = model::WorkloadId(job);
    record.job = model::JobId(job);
    record.attempt = 1;
    record.name = "j" + std::to_string(job);
    record.uid = 1000 + job;
    record.submitted = WallTime(Millis(started));
    record.started = WallTime(Millis(started));
    record.ended = WallTime(Millis(ended));
    return record;
}

inline std::vector<std::string> rows_of(Accounting& history, const api::AccountingQuery& query) {
    std::vector<std::string> rows;
    const Status read = history.query(query, [&](const api::AccountingRecord& r) {
        rows.push_back(std::to_string(r.job.value()) + "." + std::to_string(r.attempt) + "." +
                       std::to_string(r.step) + ":" + std::to_string(r.outbox_seq));
        return true;
    });
    EXPECT_TRUE(read.has_value());
    return rows;
}

using Rows = std::vector<std::string>;

inline void expect_later_rows_replace_earlier(Accounting& history) {
    const api::AccountingRecord second[] = {job_row(1, 7, 100, 200)};
    const api::AccountingRecord first[] = {job_row(1, 3, 100, 0)};
    ASSERT_TRUE(history.write(first).has_value());
    ASSERT_TRUE(history.write(second).has_value());
    ASSERT_TRUE(history.write(first).has_value());
    ASSERT_TRUE(history.write(second).has_value());
    EXPECT_EQ(rows_of(history, {}), (Rows{"1.1.-1:7"}));
}

inline void expect_filters(Accounting& history) {
    std::vector<api::AccountingRecord> rows{
        job_row(1, 1, 100, 200), job_row(2, 2, 300, 0), job_row(3, 3, 500, 900)};
    api::AccountingRecord step = rows[0];
    step.outbox_seq = 4;
    step.step = 0;
    api::AccountingRecord batch = step;
    batch.outbox_seq = 5;
    batch.step = api::kBatchStep;
    api::AccountingRecord again = rows[2];
    again.outbox_seq = 6;
    again.attempt = 2;
    rows.insert(rows.end(), {step, batch, again});
    ASSERT_TRUE(history.write(rows).has_value());
    using Q = api::AccountingQuery;
    const struct {
        const char* name;
        Q query;
        Rows want;
    } cases[] = {
        {"all, a job before its steps",
         Q{},
         {"1.1.-1:1", "1.1.-5:5", "1.1.0:4", "2.1.-1:2", "3.2.-1:6"}},
        {"all attempts",
         Q{.with_steps = false, .all_attempts = true},
         {"1.1.-1:1", "2.1.-1:2", "3.1.-1:3", "3.2.-1:6"}},
        {"by job", Q{.jobs = {model::JobId(2)}}, {"2.1.-1:2"}},
        {"by user", Q{.uids = {1003}}, {"3.2.-1:6"}},
        {"by name", Q{.names = {"j2"}}, {"2.1.-1:2"}},
        {"ended before the window", Q{.from = WallTime(Millis(250))}, {"2.1.-1:2", "3.2.-1:6"}},
        {"began after the window",
         Q{.to = WallTime(Millis(250)), .with_steps = false},
         {"1.1.-1:1"}},
        {"names are text, not SQL", Q{.names = {"j1' OR '1'='1"}}, {}},
    };
    for (const auto& c : cases)
        EXPECT_EQ(rows_of(history, c.query), c.want) << c.name;
}

}  // namespace twinyard::accounting
