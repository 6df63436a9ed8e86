#include "agent/shell/agent.h"

#include <algorithm>
#include <utility>

#include "agent/shell/host_clock.h"
#include "agent/shell/journal_codec.h"
#include "os/log.h"

namespace twinyard::agent {
namespace {

constexpr Millis kJournalRetry{1'000};
/// A journal with so many records more than it needs is written anew.
constexpr std::uint64_t kStaleRecordsMax = 20'000;

}  // namespace

Agent::Agent(rpc::Loop& loop, Settings settings, std::optional<os::JournalFile> journal)
    : loop_(loop),
      core_(std::move(settings)),
      journal_(std::move(journal)),
      alive_(std::make_shared<bool>(true)) {}

Agent::~Agent() {
    *alive_ = false;
}

OnEvent Agent::inlet() {
    return [this](Event event) { take(std::move(event)); };
}

Status Agent::start(std::vector<JournalEntry> entries,
                    StepdPort& stepds,
                    const std::string& controller) {
    stepds_ = &stepds;
    take(JournalLoaded{std::move(entries)});
    TRY(link_, ControllerLink::open(loop_, controller, inlet()));
    return {};
}

void Agent::take(Event event) {
    events_.push_back(std::move(event));
    if (std::exchange(posted_, true)) return;
    loop_.post([this, alive = alive_] {
        if (*alive) run();
    });
}

/// Effects never raise events while they are performed: both queues drain in order.
void Agent::run() {
    posted_ = false;
    if (!perform_all()) return;
    while (!events_.empty()) {
        const Event event = std::move(events_.front());
        events_.pop_front();
        for (Effect& effect : core_.handle(event, host_now()))
            effects_.push_back(std::move(effect));
        if (!perform_all()) return;
    }
    for (Effect& effect : core_.flush(host_now()))
        effects_.push_back(std::move(effect));
    if (!perform_all()) return;
    compact_if_large();
    arm();
}

bool Agent::perform_all() {
    while (!effects_.empty()) {
        if (!perform(effects_.front())) return false;
        effects_.pop_front();
    }
    return sync();
}

bool Agent::perform(Effect& effect) {
    if (const auto* append_it = std::get_if<AppendJournal>(&effect)) return append(*append_it);
    if (!sync()) return false;
    if (const auto* hello = std::get_if<SendHello>(&effect)) {
        link_->send(*hello);
    } else if (auto* report = std::get_if<SendReport>(&effect)) {
        link_->send(std::move(*report));
    } else if (const auto* reason = std::get_if<DropConnection>(&effect)) {
        link_->drop(*reason);
    } else if (const auto* notice = std::get_if<Notice>(&effect)) {
        os::log_warning("{}", notice->text);
    } else {
        stepds_->perform(effect);
    }
    return true;
}

bool Agent::append(const AppendJournal& append) {
    if (!journal_) return true;
    const Status appended = journal_->append(encode_entry(append.entry));
    if (!appended) {
        journal_failed(appended.error());
        return false;
    }
    must_sync_ |= append.durable;
    return true;
}

bool Agent::sync() {
    if (!must_sync_) return true;
    const Status synced = journal_->sync();
    if (!synced) {
        journal_failed(synced.error());
        return false;
    }
    must_sync_ = false;
    return true;
}

/// Jobs go on without us; new ones and the reports of ends wait for the disk.
void Agent::journal_failed(const Error& error) {
    os::log_error("journal: {}", error.message());
    journal_retry_ = loop_.after(kJournalRetry, [this] { run(); });
}

void Agent::compact_if_large() {
    if (!journal_ || journal_->records() < records_after_compaction_ + kStaleRecordsMax) return;
    std::vector<std::string> records;
    for (const JournalEntry& entry : core_.journal())
        records.push_back(encode_entry(entry));
    const Status compacted = journal_->compact(records);
    if (!compacted) os::log_warning("journal: {}", compacted.error().message());
    // Also after a failure: it is not tried again with every event.
    records_after_compaction_ = journal_->records();
}

void Agent::arm() {
    const std::optional<Millis> at = core_.next_wakeup();
    if (!at) {
        timer_.cancel();
        return;
    }
    timer_ = loop_.after(std::max(*at - host_now().boot, Millis{0}), [this] { run(); });
}

}  // namespace twinyard::agent
