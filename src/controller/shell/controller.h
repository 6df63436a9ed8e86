#pragma once

#include <functional>
#include <memory>
#include <string>

#include "accounting/accounting.h"
#include "base/result.h"
#include "controller/shell/context.h"
#include "store/store.h"

namespace twinyard::controller {

struct ControllerOptions {
    std::string socket_path;  ///< Of commands and local agents.
    std::string
        cluster_secret_path;  ///< Made at the first start, readable by the controller's user only.
    Millis heartbeat{5'000};  ///< Asked of agents.
    std::size_t workers = 2;
};

/// The controller: load, then threads, then the socket. Owns all threads; store and history are the
/// caller's and must live longer. One start a process.
class Controller {
  public:
    /// Loads all records and starts. Errors: store or configuration cannot be read, records are
    /// corrupt, the socket is taken. `fatal` is called at most once, from any thread, when the
    /// process must end (another controller has taken over).
    [[nodiscard]] static Result<std::unique_ptr<Controller>> start(
        ControllerOptions options,
        store::Store& store,
        accounting::Accounting& history,
        ConfigSource config,
        std::function<void(const std::string&)> fatal);
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;
    /// Stops: the socket, then the engine, then what is open is committed. Jobs are not touched.
    ~Controller();

    /// Reads the configuration again (SIGHUP). Any thread.
    void reconfigure();

  private:
    struct Impl;
    explicit Controller(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace twinyard::controller
