#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "accounting/accounting.h"
#include "controller/shell/lanes.h"

namespace twinyard::controller {

/// Moves the outbox into the history: writes rows in batches, tells the core which are in, tries
/// again while the history is away. Threads: add() from the state thread, query() from workers.
class AccountingThread {
  public:
    AccountingThread(std::shared_ptr<Lanes> lanes, accounting::Accounting& history);
    ~AccountingThread();

    void start();
    void stop();
    void add(std::vector<api::AccountingRecord> rows);

    /// History and what is still on its way to it, as one.
    [[nodiscard]] Status query(const api::AccountingQuery& query,
                               const accounting::RowCallback& row);

  private:
    void run();
    [[nodiscard]] std::vector<api::AccountingRecord> next_rows();
    void drop_written(const std::vector<api::AccountingRecord>& written);

    std::shared_ptr<Lanes> lanes_;  // Owners: the controller's threads that push.
    accounting::Accounting& history_;
    std::mutex mutex_;
    std::condition_variable news_;
    std::deque<api::AccountingRecord> waiting_;  ///< The first are being written.
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace twinyard::controller
