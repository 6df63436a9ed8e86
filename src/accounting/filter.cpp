#include "accounting/filter.h"

#include <algorithm>

namespace twinyard::accounting {
namespace {

template <class T>
bool names(const std::vector<T>& wanted, const T& value) {
    return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

bool overlaps(const api::AccountingQuery& query, const api::AccountingRecord& record) {
    const WallTime begin = record.submitted != WallTime{} ? record.submitted : record.started;
    const bool ended = record.ended != WallTime{};
    if (query.from && ended && record.ended < *query.from) return false;
    return !query.to || begin <= *query.to;
}

}  // namespace

bool matches(const api::AccountingQuery& query, const api::AccountingRecord& record) {
    if (record.step != -1 && !query.with_steps) return false;
    return names(query.jobs, record.job) && names(query.uids, record.uid) &&
           names(query.names, record.name) && names(query.partitions, record.partition) &&
           names(query.queues, record.queue) && overlaps(query, record);
}

}  // namespace twinyard::accounting
