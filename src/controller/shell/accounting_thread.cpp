#include "controller/shell/accounting_thread.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "accounting/filter.h"
#include "os/log.h"

namespace twinyard::controller {
namespace {

constexpr std::size_t kRowsPerWrite = 512;
// Rows gather for so long: each write syncs its own file and then a batch of ours, on the disk that
// submissions wait for. Nobody waits for the rows: queries see those that are on their way.
constexpr std::chrono::milliseconds kGather{100};
constexpr std::chrono::milliseconds kRetryAfter{1'000};
// Recorded is one transaction: it stays below the most records of a command.
constexpr std::size_t kRecordedPerCommand = 32;

const api::Principal kAccounting{.uid = 0, .gid = 0, .is_admin = true};

}  // namespace

AccountingThread::AccountingThread(std::shared_ptr<Lanes> lanes, accounting::Accounting& history)
    : lanes_(std::move(lanes)), history_(history) {}

AccountingThread::~AccountingThread() {
    stop();
}

void AccountingThread::start() {
    thread_ = std::thread([this] { run(); });
}

void AccountingThread::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    news_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void AccountingThread::add(std::vector<api::AccountingRecord> rows) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.insert(waiting_.end(),
                        std::make_move_iterator(rows.begin()),
                        std::make_move_iterator(rows.end()));
    }
    news_.notify_all();
}

std::vector<api::AccountingRecord> AccountingThread::next_rows() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    news_.wait_for(lock, kGather, [this] { return stopping_ || waiting_.size() >= kRowsPerWrite; });
    if (stopping_)
        return {};  // What is left stays in the outbox and is handed on by the next start.
    const auto count = std::min(waiting_.size(), kRowsPerWrite);
    return {waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void AccountingThread::run() {
    bool complained = false;
    for (;;) {
        const std::vector<api::AccountingRecord> rows = next_rows();
        if (rows.empty()) return;
        const Status written = history_.write(rows);
        if (written) {
            complained = false;
            drop_written(rows);
            continue;
        }
        if (!complained)
            os::log_error("history: {}; rows are kept and tried again", written.error().message());
        complained = true;
        std::unique_lock lock(mutex_);
        if (news_.wait_for(lock, kRetryAfter, [this] { return stopping_; })) return;
    }
}

void AccountingThread::drop_written(const std::vector<api::AccountingRecord>& written) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.erase(waiting_.begin(),
                       waiting_.begin() + static_cast<std::ptrdiff_t>(written.size()));
    }
    for (std::size_t at = 0; at < written.size(); at += kRecordedPerCommand) {
        api::Recorded recorded;
        const std::size_t end = std::min(written.size(), at + kRecordedPerCommand);
        for (std::size_t i = at; i < end; ++i)
            recorded.outbox_seqs.push_back(written[i].outbox_seq);
        // Refused by a full lane: the rows stay in the outbox until the next start, which writes
        // them again; harmless.
        if (!lanes_->try_push(Lane::Bulk,
                              {.command = std::move(recorded), .principal = kAccounting}))
            return;
    }
}

Status AccountingThread::query(const api::AccountingQuery& query,
                               const accounting::RowCallback& row) {
    // In the order of the listing: a job before its steps.
    using Key = std::tuple<model::JobId, model::WorkloadId, model::Attempt, std::int64_t>;
    const auto key_of = [](const api::AccountingRecord& r) {
        return Key{r.job, r.workload, r.attempt, accounting::row_order(r.step)};
    };
    std::map<Key, api::AccountingRecord> rows;
    TRY_STATUS(history_.query(query, [&](const api::AccountingRecord& r) {
        rows.insert_or_assign(key_of(r), r);
        return true;
    }));
    {
        const std::lock_guard lock(mutex_);
        for (const api::AccountingRecord& r : waiting_) {
            const auto found = rows.find(key_of(r));
            if (found != rows.end() && found->second.outbox_seq > r.outbox_seq) continue;
            if (found != rows.end()) rows.erase(found);
            if (accounting::matches(query, r)) rows.emplace(key_of(r), r);
        }
    }
    std::map<model::WorkloadId, model::Attempt> last;
    for (const auto& [key, r] : rows)
        last[r.workload] = std::max(last[r.workload], r.attempt);
    for (const auto& [key, r] : rows) {
        if (!query.all_attempts && r.attempt != last[r.workload]) continue;
        if (!row(r)) break;
    }
    return {};
}

}  // namespace twinyard::controller
